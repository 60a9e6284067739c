"""The reaper: one small forked process a step, which starts the step's child and outlives every descendant of it.

    engine ──control──▶ reaper ──fork──▶ child (own session) ──▶ whatever it starts
       ▲                  │
       └── started, exited┘   `exited` is sent only when the whole tree is gone

The reaper ends its tree on request, when its control socket closes (the engine died or lost interest), when the lifeline
closes (the supervisor died), when the child exits and leaves descendants behind, and when the child runs longer than the
engine would let it (the engine hangs). Standard library only.

Requests come as two 4-byte lengths, a JSON header and a binary tail; answers go as one JSON object a line.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import Any, Final, NamedTuple, NoReturn

from pixirnb.runners.processes import process_tree
from pixirnb.system import process_marks
from pixirnb.system.inherited_signals import OF_PYTHON

REQUEST: Final = struct.Struct(">II")
"""Lengths of the JSON header and of the tail that follow."""

STRAY_GRACE_S: Final = 1.0
"""Seconds for descendants between SIGTERM and SIGKILL when the child has ended without them."""

ORPHAN_GRACE_S: Final = 0.5
"""Seconds for a tree when its engine or supervisor has died."""

KILL_LIMIT_S: Final = 5.0
"""Seconds for which SIGKILL is repeated before survivors (setuid, or stuck in the kernel) are reported."""

_SWEEP_EVERY_S: Final = 0.02


class Ends(NamedTuple):
    """The far ends of a step's channels, as the engine passed them on."""

    control: socket.socket
    stdout: int
    stderr: int
    report: int | None
    """Pipe for a function's frames; None for an exec'ed argv."""
    answers: int | None = None
    """Pipe for the answers to an agent's questions."""

    def pipes(self) -> list[int]:
        """Return the descriptors that only the child may keep open."""
        ends = (self.stdout, self.stderr, self.report, self.answers)
        return [end for end in ends if end is not None]


def serve(ends: Ends, lifeline: int, native: process_tree.Native) -> None:
    """Run one step to the end of its tree. `ends` are this process's own copies."""
    wake = watch_children()
    request = _receive(ends.control)
    if request is None or _is_given_up(ends.control):
        return
    header, tail = request
    native.become_subreaper()
    native.wake_at_parents_death()
    native.set_process_tag(header["tag"])
    unmarked = process_marks.worn(os.getpid()) or 0
    process_marks.put_on(os.getpid(), header["mark"])
    reaper = _Reaper(ends.control, lifeline, wake, native)
    reaper.start(header, tail, ends)
    for descriptor in ends.pipes():
        os.close(descriptor)
    exited = reaper.run()
    native.set_process_tag(
        ""
    )  # nothing of the step is left: a look for strays must not find its undertaker
    process_marks.put_on(os.getpid(), unmarked)
    say(ends.control, exited)


def watch_children() -> int:
    """Make SIGCHLD readable: the returned descriptor becomes readable when a child has changed state."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def drain(descriptor: int) -> None:
    """Empty a wake-up pipe."""
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass


def say(control: socket.socket, message: dict[str, Any]) -> None:
    """Send one line to the engine; ignore a closed connection."""
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        pass


class _Reaper:
    def __init__(
        self, control: socket.socket, lifeline: int, wake: int, native: process_tree.Native
    ) -> None:
        self._control = control
        self._native = native
        self._lifeline = lifeline
        self._wake = wake
        self._heard = b""
        self._poll = select.poll()
        for descriptor in (control.fileno(), lifeline, wake):
            self._poll.register(descriptor, select.POLLIN)
        self._child = 0
        self._status: int | None = None
        self._strays: set[int] = set()
        self._was_stopped = False
        self._killing = False
        self._deadline: float | None = None
        self._overdue_at: float | None = None
        self._grace_s = 0.0
        self._end: dict[str, Any] = {"stopped": False, "supervisor_lost": False, "overdue": False}

    def start(self, header: dict[str, Any], tail: bytes, ends: Ends) -> None:
        """Start the child and send its id to the engine, or the reason why there is none."""
        if header["limit_s"] is not None:
            self._overdue_at = time.monotonic() + header["limit_s"]
        self._grace_s = header["grace_s"]
        phase = "cwd"
        try:
            # This process serves one step only, so it may work in the step's folder.
            os.chdir(header["cwd"])
            phase = header["kind"]
            if phase == "exec":
                self._child = _spawn(header["argv"], header["env"], ends)
            else:
                self._child = os.fork()
        except (OSError, ValueError) as error:
            errno = error.errno if isinstance(error, OSError) else None
            words = {"spawn_failed": phase, "errno": errno, "reason": str(error)}
            if phase == "exec":
                words["command"] = header["argv"][0]
            say(self._control, words)
            return
        if self._child == 0:
            self._native.show()
            _be_the_child(header, tail, ends)
        say(self._control, {"started": self._child})

    def run(self) -> dict[str, Any]:
        """Watch the tree until it is gone; return the message about its end."""
        while not self._is_gone():
            for descriptor, _ in self._poll.poll(self._patience()):
                if descriptor == self._control.fileno():
                    self._listen()
                elif descriptor == self._lifeline:
                    self._poll.unregister(self._lifeline)
                    self._end["supervisor_lost"] |= self._status is None
                    self._ask(ORPHAN_GRACE_S)
                elif descriptor == self._wake:
                    drain(self._wake)
            if self._is_overdue():
                self._end["overdue"] = True
                self._ask(self._grace_s)
            if self._deadline is not None and time.monotonic() >= self._deadline:
                if self._killing:
                    self._end["survivors"] = process_tree.descendants(os.getpid())
                    break
                self._killing = True
                self._count_strays()
                self._deadline = time.monotonic() + KILL_LIMIT_S
            if self._killing:
                process_tree.kill_descendants(os.getpid())
        self._end |= {"exited": True, "strays": len(self._strays)}
        if self._status is not None:
            code = os.waitstatus_to_exitcode(self._status)
            self._end |= {"code": code} if code >= 0 else {"signal": -code}
        return self._end

    def _patience(self) -> float | None:
        if self._killing:
            return _SWEEP_EVERY_S * 1000
        due = self._overdue_at if self._deadline is None else self._deadline
        return None if due is None else max(0.0, due - time.monotonic()) * 1000

    def _is_overdue(self) -> bool:
        """Return whether the engine should have ended it: the engine hangs, and no other process watches the time-out."""
        at = self._overdue_at
        return at is not None and not self._was_stopped and time.monotonic() >= at

    def _is_gone(self) -> bool:
        """Reap dead children. True when no descendant is left: a subreaper would have inherited it."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                # One lives, also where a look finds none: a chain of processes moves on while it is looked at.
                if self._status is not None and not self._was_stopped:
                    self._count_strays()
                    self._ask(STRAY_GRACE_S)
                return False
            if pid == self._child:
                self._status = status

    def _count_strays(self) -> None:
        self._strays.update(
            pid for pid in process_tree.descendants(os.getpid()) if pid != self._child
        )

    def _ask(self, grace_s: float) -> None:
        """SIGTERM the whole tree; SIGKILL is due after `grace_s`, or at an earlier time set before."""
        due = time.monotonic() + grace_s
        self._deadline = due if self._deadline is None else min(due, self._deadline)
        self._was_stopped = True
        if grace_s > 0:
            process_tree.terminate_all(process_tree.descendants(os.getpid()))

    def _listen(self) -> None:
        try:
            words = self._control.recv(4096)
        except OSError:
            words = b""
        if not words:
            self._poll.unregister(self._control.fileno())
            self._ask(ORPHAN_GRACE_S)
            return
        *lines, self._heard = (self._heard + words).split(b"\n")
        for line in lines:
            self._end["stopped"] |= self._status is None
            self._ask(float(json.loads(line)["stop"]))


def _receive(control: socket.socket) -> tuple[dict[str, Any], bytes] | None:
    """Return the request, or None when the engine went away before it was complete."""
    lengths = _receive_exactly(control, REQUEST.size)
    if lengths is None:
        return None
    header_length, tail_length = REQUEST.unpack(lengths)
    header = _receive_exactly(control, header_length)
    tail = _receive_exactly(control, tail_length)
    if header is None or tail is None:
        return None
    return json.loads(header), tail


def _is_given_up(control: socket.socket) -> bool:
    """Return whether the engine hung up or asked for a stop after its request: nothing is to start any more."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    return bool(poll.poll(0))


def _receive_exactly(control: socket.socket, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        try:
            more = control.recv(min(length - len(data), 1 << 20))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return bytes(data)


def _spawn(argv: list[str], env: dict[str, str], ends: Ends) -> int:
    """Start an argv in its own session, its pipes in place and nothing of ours open. Raises OSError, ValueError.

    Spawned, not forked: the child borrows our memory until exec, which halves the price of a step.
    """
    if "PATH" in env:
        os.environ["PATH"] = env[
            "PATH"
        ]  # the search for the command is the system's, by our own PATH
    else:
        os.environ.pop("PATH", None)
    return os.posix_spawnp(
        _encoded(argv[0]),
        [_encoded(word) for word in argv],
        {_encoded(name): _encoded(value) for name, value in env.items()},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, ends.stdout, 1),
            (os.POSIX_SPAWN_DUP2, ends.stderr, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=OF_PYTHON,
    )


def _encoded(text: str) -> bytes:
    """Return text for the system; what an ASCII locale cannot encode is UTF-8, as files of workflows are."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def _be_the_child(header: dict[str, Any], tail: bytes, ends: Ends) -> NoReturn:
    """Become the step's own process, and run one of our functions in it. Never returns."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        # SIGPIPE stays ignored, as in any Python: a write to a closed pipe raises BrokenPipeError.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (ends.stdout, 1), (ends.stderr, 2)):
            os.dup2(source, target)
        assert ends.report is not None
        at = 3
        for kept in sorted(end for end in (ends.report, ends.answers) if end is not None):
            os.closerange(at, kept)
            at = kept + 1
        os.closerange(at, 1 << 20)
        _call(header, tail, ends.report, ends.answers)
    finally:
        os._exit(127)


def _call(header: dict[str, Any], tail: bytes, report: int, answers: int | None) -> NoReturn:
    """Run one of our own functions in this forked child: an agent's program, or a user's Python function."""
    code = 1
    try:
        gc.enable()
        os.environ.clear()
        os.environ.update(header["env"])
        sys.dont_write_bytecode = bool(header["env"].get("PYTHONDONTWRITEBYTECODE"))
        if header["kind"] == "script":
            from pixirnb.runners.agents.script_child import run_script

            code = run_script(header, report, answers)
        elif header["kind"] == "agent":
            assert answers is not None
            sys.path[:] = header["sys_path"]
            _restore_real_package()
            from pixirnb.runners.agents.channel import run_agent

            code = run_agent(header, tail, report, answers)
        else:
            sys.path[:] = header["sys_path"]
            _restore_real_package()
            from pixirnb.runners.python.child import run_function

            code = run_function(header, tail, report)
    except BaseException:  # noqa: BLE001 — the last frame of a process: say it and die
        import traceback

        os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(code)


def _restore_real_package() -> None:
    """Replace the supervisor's hollow package (see supervisor_process) by the real one for user code.

    Loaded modules stay the same objects: `pixirnb.progress` must reach the reporter of this child. It is loaded from the folder
    of the hollow one, not by the path of the user, in whose folders a step may have written a package of that name.
    """
    import importlib.util

    folder = sys.modules["pixirnb"].__path__[0]
    spec = importlib.util.spec_from_file_location(
        "pixirnb", f"{folder}/__init__.py", submodule_search_locations=[folder]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["pixirnb"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    for name, module in list(sys.modules.items()):
        parent, _, leaf = name.rpartition(".")
        if name.startswith("pixirnb."):
            setattr(sys.modules[parent], leaf, module)
