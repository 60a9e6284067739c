"""Locks on the files of a root: one merge at a time, whichever state folder its run lies in.

An OS lock a root, on a file in the user's config folder that is named after the root's real path; the kernel drops it however
its holder ends. Next to it lies, while a merge is under way, a record of its journal: a process that has the lock and meets a
record takes the half-done merge of a dead process back. Two users who share a folder have separate locks; the comparison at
each exchange still holds.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from pixirnb import value_codec
from pixirnb.errors import Cannot, StateUnusable, ThreadRefused
from pixirnb.protocols.trees import Rollback
from pixirnb.system.atomic_files import keep_names, make_folders, put_durably, sync_folder
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.errors import refused_error, unfinished_error
from pixirnb.workspace.git.command import CALLER, STOPPED
from pixirnb.workspace.merge import staging
from pixirnb.workspace.merge.journal import read_journal, remove_journal
from pixirnb.workspace.merge.rollback import Gone, Missing, Reversed, clear, reverse

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore
    from pixirnb.workspace.merge.journal import Journal, Work

PATIENCE_S: Final = 30.0
"""Seconds that the holder of a root may show no sign of work before a waiting process gives up."""
LONGEST_S: Final = 600.0
"""Maximum number of seconds that it waits, sign of work or not."""

_PAUSE_S: Final = 0.02
_PULSE_S: Final = 0.25
"""Interval at which a lock that is held shows that its holder lives."""
_FOLDER: Final = "roots"

# A forked child shares the lock of its parent and would keep it after the parent's death.
_held: set[int] = set()


class _Mine(threading.local):
    def __init__(self) -> None:
        self.roots: dict[str, int] = {}
        """Real paths of the roots this thread holds, and the descriptors of their locks: it may lock them again."""


_mine = _Mine()


def _release_in_child() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()
    _mine.roots.clear()


os.register_at_fork(after_in_child=_release_in_child)


class RootLockRecord(Struct, frozen=True):
    """The merge under way in a root."""

    journal: Path
    staging: str


class _Patience(Struct):
    """Limits on waiting for a lock. The dates of a lock's file are the signs of work of its holder."""

    quiet_s: float
    until: float

    @classmethod
    def of(cls, quiet_s: float) -> _Patience:
        """Return limits that give up after so many seconds without a sign."""
        return cls(quiet_s, time.monotonic() + max(quiet_s, LONGEST_S if quiet_s else 0))

    def wait(self, root: str, path: Path, descriptor: int) -> None:
        """Wait until the lock is taken. Raises Cannot (`root_busy`; `git_stopped` where the step has no more time)."""
        seen, since = os.fstat(descriptor).st_mtime_ns, time.monotonic()
        while not _is_taken(descriptor, path):
            sign, now = os.fstat(descriptor).st_mtime_ns, time.monotonic()
            if sign != seen:
                seen, since = sign, now
            if now - since >= self.quiet_s or now >= self.until:
                raise _busy(root, path, descriptor)
            if (caller := CALLER.get()) is not None and caller.is_over():
                raise replace(_busy(root, path, descriptor), code=STOPPED)
            time.sleep(_PAUSE_S)


@contextmanager
def lock_roots(
    roots: Sequence[Path], *, patience_s: float = PATIENCE_S
) -> Iterator[list[Rollback]]:
    """Hold the locks of roots; yield the half-done merges of dead processes, which are taken back first, as `describe_rollback`
    does.

    A thread that holds a root may lock it again. Raises Cannot: `root_busy` where its holder shows no sign of work for
    `patience_s` seconds, or does not end in `LONGEST_S`; `merge_unfinished` where something half done could not be taken back;
    StateUnusable where there can be no locks.
    """
    patience = _Patience.of(patience_s)
    own = set(_mine.roots)  # what this thread is at work on is not left over from anybody
    requested = {real(root) for root in roots}
    while True:
        with held(requested, patience=patience):
            linked = _linked(requested - own)
            if linked <= requested:
                recovered = [_recover(root) for root in sorted(requested - own)]
                yield [each for each in recovered if each is not None]
                return
        # A merge of several roots is taken back as one: all of them are wanted, and in one order, so that two who wait
        # for each other's do not come to be.
        requested |= linked


@contextmanager
def held(roots: set[str], *, patience: _Patience | None = None) -> Iterator[None]:
    """Hold the locks of roots, given by real path, without recovery. Raises as `lock_roots`."""
    patience = patience or _Patience.of(PATIENCE_S)
    with ExitStack() as stack:
        for root in sorted(roots.difference(_mine.roots)):
            descriptor = _taken(root, patience)
            stack.callback(_let_go, root, descriptor)
            _held.add(descriptor)
            _mine.roots[root] = descriptor
            stack.enter_context(_beating(descriptor))
        yield


def is_held(root: Path) -> bool:
    """Return whether this thread holds the lock of a root."""
    return real(root) in _mine.roots


def real(root: Path) -> str:
    """Return the path that a root is locked by."""
    return os.path.realpath(root)


def note(root: Path, record: RootLockRecord) -> None:
    """Record, durably, the merge that begins in a root. Raises OSError, StateUnusable."""
    keep_names(_file_of(real(root), ".json").parent, 3)
    document = {"journal": str(record.journal), "staging": record.staging, "root": str(root)}
    put_durably(_file_of(real(root), ".json"), json.dumps(document).encode())


def forget(root: Path, journal: Path) -> None:
    """Remove the record of that journal. Raises OSError."""
    path = _file_of(real(root), ".json")
    record = _record(path)
    if record is not None and record.journal == journal:
        with suppress(FileNotFoundError):
            retry_eintr(path.unlink)


def roll_back_merge(
    path: Path, journal: Journal, store_of: Callable[[Work], TreeStore | None] | None
) -> Reversed:
    """Take a pending merge back and remove its journal, all its roots being held. Raises Cannot (`merge_unfinished`)."""
    first = journal.works[0].root if journal.works else path
    try:
        result = reverse(journal.works, store_of)
        remove_journal(path)
        clear(journal.works)
        for work in journal.works:
            forget(work.root, path)
    except Missing as missing:
        problem = f"the folder {missing} with its original files is gone"
        raise unfinished_error(path, first, problem) from missing
    except Gone as gone:
        raise unfinished_error(path, first, f"folder {gone} does not exist; move it back") from gone
    except OSError as error:
        raise unfinished_error(path, first, str(error.strerror or error)) from error
    return result


def describe_rollback(journal: Journal, files: int, edited: Sequence[str]) -> Rollback:
    """Return the record of a merge that was taken back. `files`: the number it had changed."""
    data = journal.about.get("data") or {}
    return {
        "run_id": journal.about.get("run_id"),
        "merge": data.get("merge"),
        "files": files,
        "edited": list(edited),
    }


def _recover(root: str) -> Rollback | None:
    """Clean up after a holder of the lock that died. All roots of its journal are held.

    Returns the merge that was taken back, if one was.
    """
    path = _file_of(root, ".json")
    record = _record(path)
    if record is None:
        return None
    journal = read_journal(record.journal)
    folder = Path(root)
    is_known = journal is not None and any(w.staging == record.staging for w in journal.works)
    try:
        if journal is not None and is_known and journal.state == "pending":
            count = staging.touched_files(journal.works)
            return describe_rollback(
                journal, count, roll_back_merge(record.journal, journal, None).edited
            )
        if is_known:
            sync_folder(record.journal.parent)  # `done` is durable before the originals go
            staging.remove(folder, record.staging)
        elif (folder / record.staging).is_dir():
            # A merge begins when its journal is there. Where that was removed since, by whoever removed its run, what came
            # out of the user's files is theirs.
            kept = folder / staging.kept(record.staging)
            retry_eintr(os.rename, folder / record.staging, kept)
        for ending in staging.ENDINGS:
            staging.remove(folder, record.staging + ending)
        forget(folder, record.journal)
    except OSError as error:
        raise refused_error(error) from error
    return None


def _linked(roots: set[str]) -> set[str]:
    """Return the roots of all pending journals that are recorded for these."""
    linked = set()
    for root in roots:
        record = _record(_file_of(root, ".json"))
        journal = read_journal(record.journal) if record else None
        if journal is not None and journal.state == "pending":
            linked |= {str(work.root) for work in journal.works}
    return linked


def _record(path: Path) -> RootLockRecord | None:
    try:
        document = json.loads(path.read_bytes())
        return RootLockRecord(Path(document["journal"]), document["staging"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StateUnusable(
            f"merge record {path} cannot be read: {error}",
            fix=f"resume the run that merged last, then delete {path}",
        ) from error


def _taken(root: str, patience: _Patience) -> int:
    path = _file_of(root, ".lock")
    try:
        make_folders(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise StateUnusable(
            f"lock {path} cannot be created: {error.strerror or error}",
            fix="make the config folder writable, or set XDG_CONFIG_HOME to a writable one",
        ) from error
    try:
        patience.wait(root, path, descriptor)
        with suppress(OSError):  # a disk that is full: only the message of those who wait is poorer
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _busy(root: str, path: Path, descriptor: int) -> Cannot:
    """Return the Cannot that names the holder of a root, as far as the lock tells."""
    text = os.pread(descriptor, 20, 0).decode(errors="replace")
    pid = int(text) if text.isascii() and text.isdecimal() else None
    holder = "another run" if pid is None else f"another run (process {pid})"
    fix = "wait for it; if the process hangs, end it and its merge is undone"
    if pid == os.getpid():
        holder, fix = "another step of this process", "wait for it, or raise `timeout`"
    return Cannot(
        f"{holder} is merging files in {root} and has not finished",
        fix=fix,
        code="root_busy",
        details={"root": root, "lock": str(path), "pid": pid},
    )


def _is_taken(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        raise StateUnusable(
            f"{path}: this file system does not support locks ({error.strerror or error})",
            fix="set XDG_CONFIG_HOME to a folder on a local disk",
            code="locks_unsupported",
        ) from error


@contextmanager
def _beating(descriptor: int) -> Iterator[None]:
    """Show waiting processes, as long as this one is not stopped, that the holder is at work.

    A thread does it: a single call of git, or one file of gigabytes, takes longer than they wait.
    """
    is_over = threading.Event()

    def beat() -> None:
        while not is_over.wait(_PULSE_S):
            with suppress(OSError):
                os.utime(descriptor)

    thread = threading.Thread(target=beat, name="pixirnb-root-lock", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise ThreadRefused(f"the system refused a new thread: {error}") from error
    try:
        yield
    finally:
        # Before the descriptor is closed, and its number another file's.
        is_over.set()
        thread.join()


def _let_go(root: str, descriptor: int) -> None:
    if descriptor in _held:  # not in a forked child, which has no share in it
        _held.discard(descriptor)
        del _mine.roots[root]
        # Said aloud: a child that was forked a moment ago may not have closed its copy yet, which would hold the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _file_of(root: str, ending: str) -> Path:
    key = hashlib.blake2b(os.fsencode(root), digest_size=16).hexdigest()
    return value_codec.config_folder() / _FOLDER / f"{key}{ending}"
