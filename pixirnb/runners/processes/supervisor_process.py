"""The supervisor process: forks a reaper for every step, and ensures that no reaper's tree is lost.

It waits for three things: the engine's channel, the engine's life, its children. It never parses a request: it passes
the step's descriptors to a fresh reaper, which talks to the engine itself. It ends when the channel closes or the
engine's process is gone; its lifeline pipe then closes and every reaper ends its tree. Standard library only, and
until the first Python step nothing more of ours than the reaper and the scripted agent.

The process is started with a hollow `pixirnb` package (`BOOTSTRAP`), so that importing this file imports nothing else
of ours.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import struct
import time
from typing import Final

from pixirnb.runners.processes import process_tree, reaper
from pixirnb.system import process_marks
from pixirnb.system.inherited_signals import begin_afresh

BOOTSTRAP: Final = """
import sys, types
package = sys.modules["pixirnb"] = types.ModuleType("pixirnb")
package.__path__ = [sys.argv[1]]
sys.path[:] = [entry for entry in sys.path if entry]
from pixirnb.runners.processes.supervisor_process import supervise
supervise(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
"""
"""Code for `python -c`: arguments are our package's folder, the channel's descriptor, and the engine's pid and instance."""

ANY: Final = b"+"
PYTHON: Final = b"p"
"""The byte that comes with a step's descriptors: whether the step is a Python function."""

GUARD: Final = b"g"
RELEASE: Final = b"r"
"""The byte before a mark: its processes are to be ended with the engine, or no longer."""

MARK: Final = struct.Struct(">Q")

LAST_WAIT_S: Final = 12.0
"""Seconds for reapers to end their trees once the engine is gone."""


def supervise(channel_descriptor: int, engine: int, instance: str) -> None:
    """Serve the engine until it goes away, then end everything and return."""
    begin_afresh()  # reapers and steps have their signals from here
    channel = socket.socket(fileno=channel_descriptor)
    os.set_inheritable(channel_descriptor, False)
    _Supervisor(channel, engine, instance).run()


class _Supervisor:
    def __init__(self, channel: socket.socket, engine: int, instance: str) -> None:
        self._channel = channel
        self._instance = instance
        importlib.import_module(
            "pixirnb.runners.agents.script_child"
        )  # our own, small: spares every scripted child the search
        self._native = process_tree.Native()
        self._native.hide()
        process_marks.lower_limit()
        self._native.become_subreaper()
        self._native.wake_at_parents_death()
        self._lifeline, self._lifeline_end = os.pipe()
        self._wake = reaper.watch_children()
        self._reapers: set[int] = set()
        self._marks: set[int] = set()
        gc.freeze()  # what is here stays: a collection in a fork would copy every page of it
        gc.disable()
        self._poll = select.poll()
        self._poll.register(channel.fileno(), select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._engine = _watch_process(engine)
        if self._engine is not None:
            self._poll.register(self._engine, select.POLLIN)
        self._over = os.getppid() != engine

    def run(self) -> None:
        while not self._over:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._channel.fileno():
                    self._accept()
                elif descriptor == self._wake:
                    reaper.drain(self._wake)
                    self._collect()
                elif descriptor == self._engine:
                    # A forked copy of the engine may still hold its descriptors open: its pid is the better witness.
                    self._over = True
        self._read_last_frames()
        self._channel.close()
        os.close(self._lifeline_end)
        if self._marks:
            self._end_marked()
        deadline = time.monotonic() + LAST_WAIT_S
        while self._collect() and time.monotonic() < deadline:
            for pid in self._reapers:
                os.kill(pid, signal.SIGCONT)  # its step may have stopped it
            select.select([self._wake], [], [], 0.05)
            reaper.drain(self._wake)
        process_tree.kill_descendants(os.getpid())

    def _accept(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._channel, 1, 5)
        except OSError:
            data, descriptors = b"", []
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # what is passed arrives open to every child
        if not data:
            self._over = True
        elif data in {GUARD, RELEASE}:
            self._note_mark(data)
        elif len(descriptors) >= 3:
            if data == PYTHON:
                importlib.import_module(
                    "pixirnb.runners.python.child"
                )  # once, for all such children
            self._fork(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def _note_mark(self, data: bytes) -> None:
        (mark,) = MARK.unpack(self._channel.recv(MARK.size))  # sent in one piece with its byte
        if data == GUARD:
            self._marks.add(mark)
        else:
            self._marks.discard(mark)

    def _read_last_frames(self) -> None:
        """Read the engine's last messages before it died: it may have been gone before this process started."""
        self._channel.setblocking(False)
        try:
            while True:
                data, descriptors, _, _ = socket.recv_fds(self._channel, 1, 5)
                for descriptor in descriptors:
                    os.close(descriptor)  # of a step that begins no more
                if data in {GUARD, RELEASE}:
                    self._note_mark(data)
                elif not data:
                    return
        except OSError:
            return  # nothing more to hear

    def _end_marked(self) -> None:
        """End processes of steps in threads of the engine: they were its children, and are not below us."""
        for pid, tag in process_marks.variables(process_tree.TAG):
            mark = process_marks.mark_of(tag, self._instance)
            if mark in self._marks:
                process_marks.put_on(pid, mark)  # `su` and the like take it off
        is_match = process_marks.one_of(self._marks)
        process_marks.stop(is_match, reaper.ORPHAN_GRACE_S, reaper.KILL_LIMIT_S)

    def _fork(self, descriptors: list[int]) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            with socket.socket(fileno=os.dup(descriptors[0])) as engine:
                words = {"spawn_failed": "fork", "errno": error.errno, "reason": str(error)}
                reaper.say(engine, words)
            return
        if pid:
            self._reapers.add(pid)
            return
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            self._channel.close()
            os.close(self._lifeline_end)
            os.close(self._wake)
            if self._engine is not None:
                os.close(self._engine)
            control, stdout, stderr, *others = descriptors
            report, answers, *_ = [*others, None, None]
            ends = reaper.Ends(socket.socket(fileno=control), stdout, stderr, report, answers)
            reaper.serve(ends, self._lifeline, self._native)
            status = 0
        finally:
            os._exit(status)

    def _collect(self) -> bool:
        """Reap dead children and end the orphans of a killed reaper. True while children remain."""
        inherited = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                break
            inherited |= pid not in self._reapers or status != 0
            self._reapers.discard(pid)
        if inherited:
            process_tree.kill_descendants(os.getpid(), spare=frozenset(self._reapers))
        return True


def _watch_process(pid: int) -> int | None:
    """Return a descriptor that becomes readable when `pid` dies; None if the system has none (macOS, old kernels)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
