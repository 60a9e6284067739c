"""Wrappers that give processes started by a step's thread the step's tag and mark, and leave all others unchanged.

    Popen, asyncio, multiprocessing ─▶ fork_exec  ┐
    os.posix_spawn(p), os.system                  ├─ on a step's thread ─▶ supervisor gets mark, tag in env, mark set ─▶ started
    os.fork, os.forkpty, pty, os.spawn* ─▶ fork   ┘─ on any other thread ─▶ started, never while a mark is set
    os._exit, os.exec*                    ─▶ on a step's thread ─▶ an exception of the step

A thread that a step's thread starts belongs to the step too. The wrappers are installed once, with the first step in
a thread, around the current functions, and stay: removing them would remove the wrappers of others too. Modules that
have a function by name (`from os import system`) get the wrapper by that name. This process bears the mark only during
the start, so that the child is born with it. The environment of this process is never changed.

What would end or replace this process itself, with an exit code that says `completed`, ends the step alone.

A program has a session of its own, as those of a shell step have: an interrupt of a cell, or Ctrl-C in a terminal, is
sent to this process's group, and must not cut off a step that was not stopped. What only forks may want to make a
session itself, which the leader of one cannot, and stays where it is.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NoReturn

from pixirnb.runners.processes import process_tree
from pixirnb.runners.processes.thread_children import (
    MOMENT,
    SHARED,
    WHOSE,
    Children,
    children_of,
    children_of_this_thread,
    other_threads,
)
from pixirnb.system import process_marks

_ENVIRONMENT: Final = 5
_NEW_SESSION: Final = 15
_GROUP: Final = 16
_BEFORE_EXEC: Final = 21
"""Positions among the arguments of `_posixsubprocess.fork_exec`, from Python 3.11 to 3.14."""

_OF_THE_INTERPRETER: Final = (b"resource_tracker import main", b"forkserver import main")

_refused: Children | None = None
"""Children whose fork was refused, as it could not be found again; used with `MOMENT` held."""

_before_mark: int | None = None
"""The limit that this process has again after a fork; used with `MOMENT` held."""

_installing = threading.Lock()
_is_installed = False


def own(children: Children) -> None:
    """Assign all processes that the calling thread and its threads start from now on to `children`. Raises OSError."""
    install()
    setattr(threading.current_thread(), WHOSE, children)


def install() -> None:
    """Install the wrappers, once a process. Raises OSError, ImportError."""
    global _is_installed
    with _installing:
        if _is_installed:
            return
        import _posixsubprocess
        import posix  # these are not there on every system
        from multiprocessing import popen_forkserver

        _is_installed = True  # an import may fail once: no file descriptors are left

        doors: list[tuple[Any, str, Callable[[Any], Any]]] = [
            (subprocess, "_fork_exec", _fork_exec),
            (_posixsubprocess, "fork_exec", _fork_exec),
            *((module, "posix_spawn", _posix_spawn) for module in (os, posix)),
            *((module, "posix_spawnp", _posix_spawn) for module in (os, posix)),
            *((module, "system", _system) for module in (os, posix)),
            (threading.Thread, "start", _start),
            (_thread, "start_new_thread", _start_raw),
            (popen_forkserver.Popen, "_launch", _launch),
            *((module, "_exit", _exit) for module in (os, posix)),
            *((module, name, _exec) for module in (os, posix) for name in ("execv", "execve")),
        ]
        wrapped: dict[int, Any] = {}
        for owner, name, wrapper in doors:
            function = getattr(owner, name)
            wrapped.setdefault(id(function), wrapper(function))
            setattr(owner, name, wrapped[id(function)])
        _rebind(wrapped)
        os.register_at_fork(
            before=_before_fork,
            after_in_parent=_after_fork_in_parent,
            after_in_child=_after_fork_in_child,
        )


def _rebind(wrapped: Mapping[int, Any]) -> None:
    """Give modules that have one of these functions by name its wrapper: `{id(function): wrapper}`."""
    modules: list[object] = list(sys.modules.values())
    for module in modules:
        if isinstance(module, ModuleType) and module is not threading:  # that has one of its own
            names = vars(module)
            for name, value in names.copy().items():
                if id(value) in wrapped:
                    names[name] = wrapped[id(value)]


def _current() -> Children | None:
    children = children_of_this_thread()
    return children if children is not None and children.owner == os.getpid() else None


@contextlib.contextmanager
def _born_with(children: Children) -> Iterator[None]:
    """Mark all processes that this one starts inside the block. Raises OSError, ValueError."""
    with MOMENT:
        children.refuse_late()
        before = process_marks.wear(children.mark)
        try:
            yield
        finally:
            process_marks.wear(before)
            _give_back(children, before)


def _give_back(children: Children, before: int) -> None:
    """Unmark children that C code of another thread forked in that moment: they belong to no step."""
    for thread in other_threads(children.threads):
        for pid in children_of(thread):
            if pid not in children.known and process_marks.worn(pid) == children.mark:
                process_marks.put_on(pid, before)


def _fork_exec(start: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(start)
    def fork_exec(*arguments: Any, **named: Any) -> int:
        children = _current()
        if children is None:
            with MOMENT:
                return start(*arguments, **named)
        if _is_shared(arguments[0]):
            with MOMENT:
                pid = start(*arguments, **named)
                SHARED.add(pid)
                return pid
        children.begin()
        given = list(arguments)
        given[_ENVIRONMENT] = _tagged_list(given[_ENVIRONMENT], children)
        given[_NEW_SESSION] = given[_NEW_SESSION] or _is_plain(given)
        with _born_with(children):
            pid = start(*given, **named)
            children.known.add(pid)
            return pid

    return fork_exec


def _is_plain(given: Sequence[Any]) -> bool:
    """Return whether a program is started that is given no group, and makes no session itself."""
    makes_session = given[_BEFORE_EXEC] is not None or os.fsencode(given[0][0]).endswith(b"setsid")
    return given[_GROUP] == -1 and not makes_session


def _posix_spawn(start: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(start)
    def posix_spawn(path: Any, argv: Any, env: Any, /, **named: Any) -> int:
        children = _current()
        if children is None:
            with MOMENT:
                return start(path, argv, env, **named)
        children.begin()
        if "setpgroup" not in named:
            named["setsid"] = True
        with _born_with(children):
            pid = start(path, argv, _tagged(env, children), **named)
            children.known.add(pid)
            return pid

    return posix_spawn


def _system(call: Callable[[Any], int]) -> Callable[[Any], int]:
    @functools.wraps(call)
    def system(command: Any) -> int:
        if _current() is None:
            return call(
                command
            )  # it lasts as long as the command does: nobody could hold others off that long
        pid = os.posix_spawn("/bin/sh", [b"sh", b"-c", os.fsencode(command)], os.environ)
        return os.waitpid(pid, 0)[1]

    return system


def _start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_thread(thread: threading.Thread) -> None:
        children = _current()
        if children is not None:
            setattr(thread, WHOSE, children)
        start(thread)

    return start_thread


def _start_raw(start: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(start)
    def start_new_thread(function: Callable[..., Any], *arguments: Any, **named: Any) -> int:
        children = _current()
        if children is None:
            return start(function, *arguments, **named)

        def run(*given: Any, **named: Any) -> None:
            setattr(threading.current_thread(), WHOSE, children)
            try:
                function(*given, **named)
            finally:
                # A thread not yet started by `threading` is looked up by its number, which is reused.
                delattr(threading.current_thread(), WHOSE)

        return start(run, *arguments, **named)

    return start_new_thread


def _launch(launch: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    @functools.wraps(launch)
    def launch_from_server(process: Any, target: Any) -> None:
        children = _current()
        if children is not None:
            children.begin()
        launch(process, target)
        if children is not None:
            children.adopt(process.pid)

    return launch_from_server


def _exit(leave: Callable[[int], NoReturn]) -> Callable[[int], None]:
    @functools.wraps(leave)
    def exit_step(status: int) -> None:
        if _current() is None:
            leave(status)
        raise SystemExit(status)

    return exit_step


def _exec(replace: Callable[..., NoReturn]) -> Callable[..., None]:
    @functools.wraps(replace)
    def replace_process(*arguments: Any, **named: Any) -> None:
        if _current() is None:
            replace(*arguments, **named)
        raise PermissionError("a step in a thread cannot replace its process; set `process: true`")

    return replace_process


def _before_fork() -> None:
    global _refused, _before_mark
    children, refused = _current(), None
    if children is not None:
        try:
            children.begin()
        except OSError:
            refused = (
                children  # raised here it would be printed and passed over: the child sees to it
            )
    MOMENT.acquire()
    _refused = children if children is not None and children.has_ended else refused
    # Born with it: what others have to do in the child first may never end.
    _before_mark = None if children is None else process_marks.wear(children.mark)


def _after_fork_in_parent() -> None:
    children = _current()
    if children is not None and _before_mark is not None:
        children.known.update(children_of(threading.get_native_id()))
        process_marks.wear(_before_mark)
        _give_back(children, _before_mark)
    MOMENT.release()


def _after_fork_in_child() -> None:
    children: Children | None = getattr(threading.current_thread(), WHOSE, None)
    if children is not None and children.owner == os.getppid():
        if children is _refused:
            os._exit(1)
        os.environ[process_tree.TAG] = children.tag
    SHARED.clear()
    MOMENT.release()


def _is_shared(argv: Sequence[Any]) -> bool:
    return any(words in os.fsencode(word) for word in argv for words in _OF_THE_INTERPRETER)


def _tagged_list(env: Sequence[bytes] | None, children: Children) -> list[bytes]:
    mark = f"{process_tree.TAG}=".encode()
    if env is None:
        env = [name + b"=" + value for name, value in os.environb.items()]
    return [*(entry for entry in env if not entry.startswith(mark)), mark + children.tag.encode()]


def _tagged(env: Mapping[Any, Any] | None, children: Children) -> dict[Any, Any]:
    kept = {
        k: v
        for k, v in (os.environ if env is None else env).items()
        if os.fsencode(k) != process_tree.TAG.encode()
    }
    return {**kept, process_tree.TAG: children.tag}
