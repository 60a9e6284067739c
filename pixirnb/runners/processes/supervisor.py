"""The engine's end of the supervisor process: starts it when needed, sends it steps, and can always shut it down.

One long-lived process an engine, so that a step costs two forks and no interpreter start. If it dies, the steps it had end
`supervisor_lost` (their reapers notice by themselves; for one that cannot, `attempt_process.py` does it) and a fresh one starts
with the next step, or to guard what goes on. Nothing here can wait for ever: every wait on another process is bounded, and ends
in SIGKILL.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio

from pixirnb.errors import Cannot
from pixirnb.planning.environment import is_secret_variable
from pixirnb.runners.processes import process_tree
from pixirnb.runners.processes.supervisor_process import (
    ANY,
    BOOTSTRAP,
    GUARD,
    MARK,
    PYTHON,
    RELEASE,
)
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.system import process_marks
from pixirnb.system.inherited_signals import group_signals_blocked

PACKAGE: Final = Path(__file__).resolve().parents[2]

_FOR_PYTHON: Final = frozenset(
    {"LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"}
    | {"__PYVENV_LAUNCHER__"}
)
_SPAWNING_AT_ONCE: Final = 48
"""Maximum number of steps sent and not yet started: limits the descriptors in flight, which the system limits too."""
_ROOM_S: Final = 0.1
"""Seconds to wait for room in the channel before its process is looked at again."""


class Supervisor:
    """A handle on one supervisor process, used from one event loop. `async with`, or call `aclose`.

    Args:
        spawn_limit_s: how long a step may take from request to process id before it ends `spawn_failed`.
        shutdown_limit_s: how long `aclose` waits for trees to end politely before SIGKILL.
        platform: value of `sys.platform`; set only by tests.

    Raises:
        Cannot: code `platform_unsupported`, on Windows.
    """

    def __init__(
        self,
        *,
        spawn_limit_s: float = 30.0,
        shutdown_limit_s: float = 5.0,
        platform: str = sys.platform,
    ) -> None:
        if platform in {"win32", "cygwin"}:
            raise Cannot(
                "Windows is not supported: processes of a step could outlive it",
                fix="run the workflow on Linux, in WSL or in a container",
                code="platform_unsupported",
            )
        self.spawn_limit_s = spawn_limit_s
        self._shutdown_limit_s = shutdown_limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._was_lost = False
        self._death = anyio.Event()
        """Set when the present process is found dead."""
        self._times_stopped = 0
        self._sending = anyio.Lock(fast_acquire=True)
        self._marks: set[int] = set()
        self.threads_since: int | None = None
        """Time when a step in a thread first began, here or on a worker (`process_marks.now`)."""
        self.spawning = anyio.Semaphore(_SPAWNING_AT_ONCE, fast_acquire=True)

    @property
    def pid(self) -> int | None:
        """Return the process's id; None before the first step and after its end."""
        return None if self._process is None else self._process.pid

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def hand_over(self, descriptors: list[int], *, is_python: bool) -> anyio.Event:
        """Pass a step's far ends (control, stdout, stderr, then report and answers if any) to a fresh reaper.

        They stay open here: the caller closes our copies. Raises OSError if no process can be started.

        Returns: the event that this process was found dead, in `stand_by` or by the next step.
        """
        async with self._sending:
            while True:
                try:
                    self._send(
                        lambda channel: socket.send_fds(
                            channel, [PYTHON if is_python else ANY], descriptors
                        )
                    )
                    return self._death
                except BlockingIOError:
                    await self._room()
                except OSError as error:
                    if error.errno != errno.ETOOMANYREFS:
                        raise
                    await anyio.sleep(0.01)

    @property
    def was_ever_lost(self) -> bool:
        """Return whether a supervisor process has died under its steps: its processes may have no parent of ours now."""
        return self._was_lost or (self._process is not None and self._is_dead())

    @property
    def marks(self) -> frozenset[int]:
        """Return the marks of processes started by steps in threads."""
        return frozenset(self._marks)

    def expect_threads(self) -> None:
        """Note that steps begin in threads from now on: what C code starts there bears no mark."""
        if self.threads_since is None:
            self.threads_since = process_marks.now()

    async def guard(self, mark: int) -> None:
        """Make all processes with this mark end with this process, however it dies. Raises OSError if that is impossible."""
        async with self._sending:
            with anyio.move_on_after(self.spawn_limit_s):
                while True:
                    try:
                        return self.guard_now(mark)
                    except BlockingIOError:
                        await self._room()
            raise OSError(errno.ETIMEDOUT, "the supervisor process does not answer")

    def guard_now(self, mark: int) -> None:
        """Do as `guard`, or raise BlockingIOError while the process has not read what was sent before."""
        if mark in self._marks:
            self._be_alive()
        else:
            self._send(lambda channel: channel.send(GUARD + MARK.pack(mark)))
            self._marks.add(mark)

    def release(self, mark: int) -> None:
        """Release a mark that no process bears any more; one that is not guarded stays so."""
        if mark not in self._marks:
            return
        self._marks.discard(mark)
        if self._channel is not None and not self._is_dead():
            try:
                self._channel.send(RELEASE + MARK.pack(mark))
            except OSError:
                pass  # it looks for a mark in vain

    def stand_by(self) -> None:
        """Continue the process if a step has stopped it: it would end nothing. Tell its death to its attempts.

        One that is found stopped twice in a row is killed: something stops it again whenever it is continued. A dead one is
        followed by another if marks are guarded.
        """
        if self._process is not None and self._process.poll() is None:
            is_stopped = process_tree.is_stopped(self._process.pid)
            self._times_stopped = self._times_stopped + 1 if is_stopped else 0
            number = signal.SIGCONT if self._times_stopped < 2 else signal.SIGKILL
            with suppress(OSError):
                self._process.send_signal(number)
        if self._process is not None and self._is_dead():
            self._death.set()
        if self._marks and self._is_dead():
            with suppress(OSError):  # none can be started now: asked again
                self._be_alive()

    async def is_lost(self, death: anyio.Event) -> bool:
        """Return whether the process that `hand_over` returned `death` of has died. Called when a reaper is silent."""
        for _ in range(5):
            if death.is_set() or self._is_dead():
                return True
            # The kernel closes a dying process's sockets one by one: ours may be a moment later than the reaper's.
            await anyio.sleep(0.01)
        return False

    async def aclose(self) -> None:
        """End the process and everything below it. Returns at once when it is gone already; never hangs."""
        process, self._process = self._process, None
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        if process is None:
            return
        _continue(process)
        with anyio.CancelScope(shield=True):
            if not await _has_ended(process, self._shutdown_limit_s):
                process.kill()
                await _has_ended(process, self._shutdown_limit_s)

    def end_without_loop(self) -> None:
        """End the process and everything below it without the loop: it has ended, or the process is dying. Blocks, bounded."""
        process, self._process = self._process, None
        channel, self._channel = self._channel, None
        if channel is not None:
            with suppress(OSError):  # a step has closed it
                channel.close()
        if process is not None:
            _continue(process)
            try:
                process.wait(self._shutdown_limit_s)
            except subprocess.TimeoutExpired:
                process.kill()

    def _is_dead(self) -> bool:
        # `poll` answers even where someone else has taken the exit status: ECHILD counts as an end.
        if self._process is None or self._channel is None or self._process.poll() is not None:
            return True
        try:
            return not self._channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _send(self, send: Callable[[socket.socket], object]) -> None:
        """Call `send` with the channel of a living process; one that dies meanwhile is followed by another, once."""
        for is_last_try in (False, True):
            self._be_alive()
            assert self._channel is not None
            try:
                send(self._channel)
                return
            except (BrokenPipeError, ConnectionResetError):
                if is_last_try:
                    raise
                self._was_lost = True
                self.end_without_loop()

    def _be_alive(self) -> None:
        if not self._is_dead():
            return
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._was_lost = True
            self._process.poll()
        self._death.set()
        ours, theirs = connected_pair()
        command = [
            sys.executable,
            "-c",
            BOOTSTRAP,
            str(PACKAGE),
            str(theirs.fileno()),
            str(os.getpid()),
            INSTANCE,
            f"{process_tree.TAG}={os.environ.get(process_tree.TAG, '')}{'-' * process_tree.TAG_ROOM}",
        ]
        try:
            with group_signals_blocked():
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=settings_of_python(os.environ),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._channel = ours
        self._death = anyio.Event()
        self._times_stopped = 0
        if self._marks:
            ours.send(b"".join(GUARD + MARK.pack(mark) for mark in self._marks))

    async def _room(self) -> None:
        """Wait until the process has read what it was sent; only for a moment, as another may take its place."""
        assert self._channel is not None
        with anyio.move_on_after(_ROOM_S):
            await anyio.wait_writable(self._channel)


def connected_pair() -> tuple[socket.socket, socket.socket]:
    """Return our end, which never blocks, and theirs, which does though `socket.setdefaulttimeout` was called."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(True)
    return ours, theirs


def settings_of_python(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that configure the interpreter; none whose name looks secret."""
    kept = {n: v for n, v in env.items() if n in _FOR_PYTHON or n.startswith(("PYTHON", "LC_"))}
    return {name: value for name, value in kept.items() if not is_secret_variable(name)}


def child_path() -> list[str]:
    """Return this process's `sys.path` for a function in a child; our own package can always be imported with it."""
    try:
        here = str(Path.cwd())
    except FileNotFoundError:  # deleted below this process: nothing can be imported from it
        here = ""
    entries = [path for entry in sys.path if (path := os.fspath(entry) or here)]
    home = str(PACKAGE.parent)
    return entries if home in entries else [*entries, home]


def own_path() -> list[str]:
    """Return the same entries for code of our own in a child: what is installed goes before what a step may have written."""
    installed = (f"{sys.prefix}{os.sep}", f"{sys.base_prefix}{os.sep}", str(PACKAGE.parent))
    return sorted(child_path(), key=lambda entry: not entry.startswith(installed))


def _continue(process: subprocess.Popen[bytes]) -> None:
    """Continue a process that a step may have stopped: it has others to end."""
    with suppress(OSError):
        process.send_signal(signal.SIGCONT)


async def _has_ended(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Poll, never wait(): a status that another waiter has taken would be waited for without end."""
    with anyio.move_on_after(limit_s):
        while process.poll() is None:  # noqa: ASYNC110 — nobody tells us; Popen.wait would block
            await anyio.sleep(0.005)
    return process.poll() is not None
