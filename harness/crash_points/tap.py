"""Every operation a process asks of the operating system, counted, and one of them made to go wrong.

    tap = Tap(); tap.install()          in the `os` module, before anything of ours has bound a name of it
    tap.arm(root, fault)                in a forked child: from here on operations on what lies in `root` count

Nothing of ours is replaced: what is below Python's `os`, `open`, `subprocess` and `socket.send_fds` does what a disk and a
kernel may do. Operations are made one at a time, so that at a death none other is half made.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import socket
import subprocess
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from harness.crash_points.durable import Durable
from harness.crash_points.exchanges import install_exchange
from harness.crash_points.faults import ERRORS, HARMLESS, Fault, FaultName, Kind

_FOR_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_RETRIED_BY_PYTHON: Final = frozenset[Kind]({"write", "sync", "open", "truncate", "spawn"})
"""Interrupted calls of these kinds are made again below Python (PEP 475); of the others Python tells."""

LINGER_S: Final = 0.05
"""How long a failing write or sync takes, as a slow disk does: whoever acts before it is durable has the time to."""

_WAITED_FOR: Final = frozenset[Kind]({"write", "sync"})

_write, _open, _kill = os.write, os.open, os.kill


class Tap:
    """One a process. Passes everything through until it is armed, and in every process but the one that armed it."""

    def __init__(self) -> None:
        self.journal: list[str] = []
        """The operations so far, as `kind name`."""
        self.struck: list[str] = []
        """Those of them that the fault befell."""
        self._lock = threading.RLock()
        self._pid = 0
        self._root = ""
        self._fault: Fault | None = None
        self._befallen = 0
        self._is_dying = False
        self._durable: Durable | None = None
        self._before_death: Callable[[Tap], None] = lambda _: None
        self._before_loss: Callable[[], None] = lambda: None
        self.beside: Callable[[int], None] = lambda _: None
        """Called before each operation with its number: what another process does then, it does there, uncounted."""
        self.has_exchange = True
        """False: as on a file system that cannot trade two names."""
        self._is_beside = False

    def arm(
        self,
        root: Path,
        fault: Fault | None,
        durable: Durable,
        before_death: Callable[[Tap], None],
        before_loss: Callable[[], None] = lambda: None,
    ) -> None:
        """Count from here on. `before_death` is called where a fault kills the process, to leave word; `before_loss` where the
        power fails, to end the others that it takes: one that still wrote would write after it."""
        self._root, self._fault, self._durable = f"{root}/", fault, durable
        self._before_death, self._before_loss = before_death, before_loss
        self._pid = os.getpid()
        if fault is not None and fault.name == "eintr":
            signal.signal(signal.SIGUSR1, lambda *_: None)

    def disarm(self) -> None:
        """Count no more."""
        self._pid = 0

    # --- what happens at an operation ---------------------------------------------------------------------------

    def perform(
        self,
        kind: Kind,
        name: str,
        call: Callable[[], Any],
        *,
        half: Callable[[], Any] | None = None,
        after: Callable[[Durable], None],
    ) -> Any:
        """Make one operation, or what the fault makes of it. `after` notes what it made durable, or new."""
        with self._lock:
            if self._is_dying or self._is_beside:
                # The dying thread's own last acts; the others wait for the lock, for ever. Or another process's acts.
                return call()
            self.journal.append(f"{kind} {name}")
            self._is_beside = True
            self.beside(len(self.journal))
            self._is_beside = False
            if not self._is_struck(kind):
                return self._made(call, after)
            self.struck.append(self.journal[-1])
        assert self._fault is not None
        if kind in _WAITED_FOR and self._fault.name not in HARMLESS:
            time.sleep(LINGER_S)
        with self._lock:
            return self._suffered(self._fault.name, kind, name, call, half, after)

    def _suffered(  # noqa: PLR0917, RET503 - all of one operation; every fault returns, raises or does not come back
        self,
        fault: FaultName,
        kind: Kind,
        name: str,
        call: Callable[[], Any],
        half: Callable[[], Any] | None,
        after: Callable[[Durable], None],
    ) -> Any:
        match fault:
            case "die-before":
                self._die()
            case "die-after":
                self._die_after(call, after)
            case "lose-tail":
                self._die_after(call, after, is_power_lost=True)
            case "short-death":
                assert half is not None
                half()
                self._die()
            case "short-return":
                assert half is not None
                return half()
            case "eintr" if kind in _RETRIED_BY_PYTHON:
                signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
                return self._made(call, after)
            case "eintr":
                raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR), name)
            case "enospc" | "enospc-on" | "eio" | "eacces":
                number = ERRORS[fault]
                raise OSError(number, os.strerror(number), name)

    def _is_struck(self, kind: Kind) -> bool:
        if self._fault is None or not self._fault.befalls(kind):
            return False
        self._befallen += 1
        return self._fault.strikes(self._befallen)

    def _made(self, call: Callable[[], Any], after: Callable[[Durable], None]) -> Any:
        made = call()
        assert self._durable is not None
        after(self._durable)
        return made

    def _die_after(
        self,
        call: Callable[[], Any],
        after: Callable[[Durable], None],
        *,
        is_power_lost: bool = False,
    ) -> NoReturn:
        assert self._durable is not None
        try:
            self._made(call, after)
        except OSError:
            pass  # it would have been told so (a folder that is there, say); it does not live to hear it
        self._is_dying = True
        if is_power_lost:
            self._before_loss()
            try:
                self._durable.lose()
            except OSError:
                # Whoever suffers it must not hear of it and live on; the verdict finds it on stderr.
                traceback.print_exc()
        self._die()

    def _die(self) -> NoReturn:
        self._is_dying = True
        self._before_death(self)
        _kill(os.getpid(), signal.SIGKILL)
        while True:
            time.sleep(1)

    # --- where operations come from -----------------------------------------------------------------------------

    def _counts(self, path: str | None) -> bool:
        return path is not None and path.startswith(self._root)

    def _is_armed(self) -> bool:
        return self._pid != 0 and self._pid == os.getpid()

    def performed_on(self, folder: int, name: bytes, kind: Kind, call: Callable[[], int]) -> int:
        """One call of the C library on a name, counted where it counts."""
        path = self._is_armed() and _path(name, folder)
        if not path or not self._counts(path):
            return call()
        result: int = self.perform(kind, _name(path), call, after=_nothing)
        return result

    def install(self) -> None:
        """Stand between Python and the operating system, for the rest of this process's life."""
        for name, kind in (("rename", "rename"), ("replace", "rename"), ("link", "rename")):
            setattr(os, name, self._on_path(kind, getattr(os, name), argument=1))
        for name, kind in (("unlink", "unlink"), ("remove", "unlink"), ("rmdir", "unlink")):
            setattr(os, name, self._on_path(kind, getattr(os, name)))
        os.symlink = self._on_path("open", os.symlink, argument=1, makes=True)
        os.mkdir = self._on_path("mkdir", os.mkdir, makes=True)
        install_exchange(self)
        for name, kind in (("fsync", "sync"), ("fdatasync", "sync"), ("ftruncate", "truncate")):
            if hasattr(os, name):  # macOS has no fdatasync
                setattr(os, name, self._on_descriptor(kind, getattr(os, name)))
        for owner, name in (
            (os, "fork"),
            (os, "posix_spawn"),
            (os, "posix_spawnp"),
            (subprocess.Popen, "__init__"),
            (socket, "send_fds"),
        ):
            setattr(owner, name, self._on_spawn(getattr(owner, name)))
        os.write = self._writing
        os.open = self._opening
        opening_files = self._opening_files(io.open)
        setattr(builtins, "open", opening_files)  # noqa: B010 - a plain assignment shadows the name for mypy
        setattr(io, "open", opening_files)  # noqa: B010 - as above

    def _on_path(
        self, kind: Any, original: Callable[..., Any], *, argument: int = 0, makes: bool = False
    ) -> Callable[..., Any]:
        def tapped(*arguments: Any, **options: Any) -> Any:
            folder = options.get("dir_fd", options.get("dst_dir_fd"))
            path = self._is_armed() and _path(arguments[argument], folder)
            if not path or not self._counts(path):
                return original(*arguments, **options)
            after = (lambda durable: durable.made(path)) if makes else _nothing
            return self.perform(
                kind, _name(path), lambda: original(*arguments, **options), after=after
            )

        return tapped

    def _on_descriptor(self, kind: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        def tapped(file: Any, *arguments: Any) -> Any:
            descriptor = file if isinstance(file, int) else file.fileno()
            path = self._is_armed() and _path_of(descriptor)
            if not path or not self._counts(f"{path}/"):
                return original(file, *arguments)
            is_sync = kind == "sync"
            after = (lambda durable: durable.synced(descriptor)) if is_sync else _nothing
            return self.perform(kind, _name(path), lambda: original(file, *arguments), after=after)

        return tapped

    def _on_spawn(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def tapped(*arguments: Any, **options: Any) -> Any:
            if not self._is_armed():
                return original(*arguments, **options)
            name = original.__qualname__
            call = partial(original, *arguments, **options)
            return self.perform("spawn", name, call, after=_nothing)

        return tapped

    def _writing(self, descriptor: int, data: Any) -> int:
        path = self._path_of_file(descriptor)
        if path is None:
            return _write(descriptor, data)
        return self._written(path, data, lambda part: _write(descriptor, part))

    def _written(self, path: str, data: Any, write: Callable[[Any], int | None]) -> int:
        view = memoryview(data).cast("B")
        count: int = self.perform(
            "write",
            _name(path),
            lambda: write(view),
            after=_nothing,
            half=lambda: write(view[: max(1, len(view) // 2)]),
        )
        return count

    def _opening(
        self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        named = _path(path, dir_fd) if self._is_armed() and flags & _FOR_WRITING else None
        if named is None or not self._counts(named):
            return _open(path, flags, mode, dir_fd=dir_fd)
        makes = bool(flags & os.O_CREAT)
        call = partial(_open, path, flags, mode, dir_fd=dir_fd)
        descriptor: int = self._opened(named, makes, call)
        return descriptor

    def _opened(self, path: str, makes: bool, call: Callable[[], Any]) -> Any:
        is_new = makes and not os.path.lexists(path)
        after = (lambda durable: durable.made(path)) if is_new else _nothing
        return self.perform("open", _name(path), call, after=after)

    def _opening_files(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def tapped(  # noqa: PLR0917 - the signature of `open`
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
            closefd: bool = True,
            opener: Any = None,
        ) -> Any:
            is_counted = self._is_armed() and not set(mode).isdisjoint("wax+")
            path = _path(file, None) if is_counted else None
            if path is None or not self._counts(f"{path}/"):
                return original(file, mode, buffering, encoding, errors, newline, closefd, opener)
            flags = mode.replace("b", "").replace("t", "")
            make = partial(_TappedFile, self, path, file, flags, closefd, opener)
            # A descriptor was opened before, and an opener asks `os.open`: those count there.
            is_here = not isinstance(file, int) and opener is None
            raw = self._opened(path, "r" not in mode, make) if is_here else make()
            if buffering == 0:
                return raw
            size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
            kind: Any = io.BufferedRandom if "+" in mode else io.BufferedWriter
            buffer = kind(raw, size)
            if "b" in mode:
                return buffer
            return io.TextIOWrapper(
                buffer, encoding, errors, newline, line_buffering=buffering == 1
            )

        return tapped

    def _path_of_file(self, descriptor: int) -> str | None:
        if not self._is_armed():
            return None
        path = _path_of(descriptor)
        return path if self._counts(path) else None


class _TappedFile(io.FileIO):
    """A file whose writes are operations: Python's own go past `os.write`."""

    def __init__(  # noqa: PLR0917 - those of `FileIO` follow our own two
        self, tap: Tap, path: str, file: Any, flags: str, closefd: bool = True, opener: Any = None
    ) -> None:
        super().__init__(file, flags, closefd, opener)
        self._tap = tap
        self._path = path

    def write(self, data: Any) -> int:
        """As `FileIO.write`."""
        if not self._tap._is_armed():  # noqa: SLF001 - the tap's own other half
            return super().write(data)
        return self._tap._written(self._path, data, super().write)  # noqa: SLF001 - as above


def _nothing(_: Durable) -> None:
    """Most operations make nothing durable, and nothing new."""


def _path(path: Any, folder: int | None) -> str | None:
    if isinstance(path, int):
        return _path_of(path)
    text = os.fsdecode(path)
    if folder is not None and not os.path.isabs(text):  # noqa: PTH117 - text, many times a step
        text = f"{_path_of(folder)}/{text}"
    return os.path.abspath(text)  # noqa: PTH100 - as above


def _path_of(descriptor: int) -> str | None:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - as above
    except OSError:
        return None


def _name(path: str) -> str:
    return path.rpartition("/")[2]
