"""Contents of a repository of ours, many of them by one git: a process for each costs more than the reading.

`git cat-file --batch` is asked for one content after the other, and answers `<digest> <kind> <size>`, the bytes, a line's end.
The id of a file on disk is computed without calling git, in microseconds.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from pixirnb.errors import Cannot, ThreadRefused
from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, TreeEntry
from pixirnb.system.inherited_signals import group_signals_blocked
from pixirnb.workspace.errors import unreadable
from pixirnb.workspace.git.command import (
    CALLER,
    Git,
    end_with,
    kill_group,
    require_time,
    unusable,
)
from pixirnb.workspace.git.refs import missing

_CHUNK: Final = 1024 * 1024


def digest_of(path: Path, root: Path, object_format: str) -> TreeEntry | None:
    """Return the entry of the file or link at `path`; None where nothing, a folder or no plain file is there.

    Raises Cannot (`snapshot_unreadable`), also for a file that grows or shrinks each time it is read.
    """
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            where = os.readlink(path)  # noqa: PTH115 - a Path would leave out what is there, as a `/` at the end
            return TreeEntry(LINK, _digest(os.fsencode(where), object_format))
        if not stat.S_ISREG(status.st_mode):
            return None
        return _regular(path, object_format)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(os.path.relpath(path, root), root, error.strerror or str(error)) from error


def _regular(path: Path, object_format: str) -> TreeEntry | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        while True:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            digest = hashlib.new(
                object_format, b"blob %d\0" % status.st_size, usedforsecurity=False
            )
            size = 0
            file.seek(0)
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                digest.update(chunk)
            if size == status.st_size:
                mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else FILE
                return TreeEntry(mode, digest.hexdigest())


def _digest(content: bytes, object_format: str) -> str:
    whole = b"blob %d\0" % len(content) + content
    return hashlib.new(object_format, whole, usedforsecurity=False).hexdigest()


Write = Callable[[str, int], None]
"""Function that writes the bytes of a content, by digest, to a descriptor."""

_CALL = "cat-file"


@contextmanager
def reading(git: Git, root: Path) -> Iterator[Write]:
    """Start one git for many contents, for one thread.

    The yielded function raises OSError where the descriptor does not take the bytes, and Cannot (`tree_missing`,
    `tree_store_unusable`) where git does not have them, or `git_stopped`.
    """
    caller = CALLER.get()
    try:
        with group_signals_blocked():
            process = subprocess.Popen(
                ["git", *git.options, _CALL, "--batch"],
                cwd=git.folder,
                env={**git.environment, **({} if caller is None else caller.environment)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=git.held,
                start_new_session=True,
            )
    except OSError as error:
        raise unusable(_CALL, error.strerror or str(error)) from error
    requests, answers = process.stdin, process.stdout
    assert requests is not None
    assert answers is not None
    is_read = threading.Event()

    def write(digest: str, descriptor: int) -> None:
        if not (digest.isascii() and digest.isalnum()):
            raise missing(digest, root)
        try:
            requests.write(f"{digest}\n".encode())
            requests.flush()
        except OSError as error:
            raise _cut_off() from error
        words = answers.readline().split()
        if len(words) != 3 or words[1] != b"blob":
            if words[1:] == [b"missing"] or len(words) == 3:
                raise missing(digest, root)
            raise _cut_off()
        _copy(answers, int(words[2]), descriptor)

    try:
        if caller is not None:
            caller.adopt(process.pid)
            watch = threading.Thread(target=end_with, args=(process, caller, is_read), daemon=True)
            try:
                watch.start()
            except RuntimeError as error:
                raise ThreadRefused(f"the system refused a new thread: {error}") from error
        yield write
    finally:
        # What it was not asked for to the end nobody wants: a write that failed left the answer half read.
        with suppress(OSError):
            requests.close()
        answers.close()
        is_read.set()
        if process.poll() is None:
            kill_group(process)
        process.wait()


def _cut_off() -> Cannot:
    require_time("read the files of a step")
    return unusable(_CALL, "git exited before all objects were read")


def _copy(answers: IO[bytes], size: int, descriptor: int) -> None:
    while size:
        chunk = answers.read(min(size, _CHUNK))
        if not chunk:
            raise _cut_off()
        size -= len(chunk)
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    answers.read(1)
