"""Calls of git, on a repository of ours or to query the user's; independent of the environment.

Ours are called with nothing of the user's: no configuration, no hooks, no filters. Theirs is only ever read, and with the parts
switched off that would run a program or take a lock. A call that fails raises Cannot with git's output in `details["said"]`, so
that a caller that knows the purpose can write a better message.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from shutil import which
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.errors import Cannot
from pixirnb.planning.environment import OLDEST_GIT
from pixirnb.system.inherited_signals import group_signals_blocked, restore_sigchld

LIMIT_S: Final = 1800.0
"""Seconds a single call may take; a first snapshot of 4 GiB on a slow disk takes a few minutes."""

_VERSION_LIMIT_S: Final = 30.0
_LOOK_S: Final = 0.25
_GRACE_S: Final = 2.0
_FIRST_PAUSE_S: Final = 0.0005
_LAST_PAUSE_S: Final = 0.05
_SHOWN: Final = 300
# Where the user's configuration is told of by the environment: their ignore rules are in it.
_KEPT: Final = frozenset(
    {
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)
_QUIET: Final = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    "--literal-pathspecs",
)
_ALWAYS: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_IDENTITY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "pixirnb"),
        ("EMAIL", "pixirnb@localhost"),
        # One date for all: what is made twice from the same trees is the same commit.
        ("DATE", "@946684800 +0000"),
    )
}


AS_IT_IS: Final = -1
"""Marker for the mask of this process."""
_PRIVATE: Final = 0o077


class GitCaller(Struct, frozen=True):
    """The attempt that git works for."""

    environment: Mapping[str, str]
    """Variables that say whose a git is."""
    adopt: Callable[[int], None]
    """Gets the process id of each git."""
    is_over: Callable[[], bool]
    """Return whether git is to end."""


CALLER: Final[ContextVar[GitCaller | None]] = ContextVar("caller of git", default=None)
"""The attempt that this context calls git for; None for a person's own verbs."""
STOPPED: Final = "git_stopped"
"""Code of the Cannot for what was ended with its attempt."""


def require_time(action: str, fix: str = "raise `timeout`, or work on fewer files") -> None:
    """Raise Cannot (`git_stopped`) where the step that asks for it has had its time."""
    if (caller := CALLER.get()) is not None and caller.is_over():
        raise Cannot(
            f"could not {action}: stopped together with the step",
            fix=fix,
            code=STOPPED,
        )


class GitOutput(Struct, frozen=True):
    """The result of a call."""

    code: int
    out: bytes
    errors: str
    """Standard error, as text."""


class Git(Struct, frozen=True):
    """One way to call git: in which folder and with which environment."""

    folder: Path
    environment: Mapping[str, str]
    options: tuple[str, ...] = ()
    held: tuple[int, ...] = field(default=())
    """Descriptors of locks. A git that outlives us keeps them until its end, so that no process meets its half-done work."""
    umask: int = AS_IT_IS
    """The mask of the calls: files in a repository of ours are this user's alone, whatever the mask of this process."""

    @classmethod
    def ours(cls, directory: Path, *, index: Path | None = None, files: Path | None = None) -> Git:
        """Return git on a repository of ours at `directory`, with an index and a work tree where the calls need them."""
        environment = {**_plain(()), **_ALWAYS, **_IDENTITY, **_NO_CONFIGURATION}
        environment["GIT_DIR"] = str(directory)
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        if files is not None:
            environment["GIT_WORK_TREE"] = str(files)
        return cls(files or directory, environment, _QUIET, umask=_PRIVATE)

    @classmethod
    def theirs(cls, folder: Path, *, is_top: bool = False) -> Git:
        """Return git on the repository that `folder` lies in, or is the top of, with the user's own configuration."""
        environment = {**_plain(_KEPT), **_ALWAYS}
        if is_top:
            environment["GIT_CEILING_DIRECTORIES"] = str(folder.parent)
        return cls(folder, environment, _QUIET)

    @property
    def is_theirs(self) -> bool:
        """Return whether it reads the user's repository."""
        return "GIT_DIR" not in self.environment

    def holding(self, *descriptors: int) -> Git:
        """Return this git with further locks that its calls keep alive."""
        return replace(self, held=(*self.held, *descriptors))

    def run(
        self, *arguments: str | bytes, given: bytes = b"", accepted: Collection[int] = (0,)
    ) -> GitOutput:
        """Make one call, with `given` as its input. Raises Cannot (`tree_store_unusable`) for a code that is not accepted."""
        return self._call(arguments, given, accepted, subprocess.PIPE)

    def write(self, descriptor: int, *arguments: str | bytes, given: bytes = b"") -> None:
        """Make one call whose output goes to a descriptor. Raises Cannot (`tree_store_unusable`)."""
        self._call(arguments, given, (0,), descriptor)

    def _call(
        self,
        arguments: tuple[str | bytes, ...],
        given: bytes,
        accepted: Collection[int],
        output: int,
    ) -> GitOutput:
        name, caller = os.fsdecode(arguments[0]), CALLER.get()
        restore_sigchld()
        try:
            with group_signals_blocked():
                process = _Process(
                    ["git", *self.options, *arguments],
                    cwd=self.folder,
                    env={**self.environment, **({} if caller is None else caller.environment)},
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.PIPE,
                    pass_fds=self.held,
                    umask=self.umask,
                    start_new_session=True,
                )
        except OSError as error:
            raise unusable(name, error.strerror or str(error)) from error
        if caller is not None:
            caller.adopt(process.pid)
        try:
            out, err = _communicate(process, name, given, caller)
        except ChildProcessError as error:
            raise _status_unknown(name) from error
        errors = err.decode("utf-8", errors="replace")
        if process.returncode not in accepted:
            raise unusable(name, errors.strip() or f"exit code {process.returncode}")
        return GitOutput(process.returncode, out or b"", errors)


class _Process(subprocess.Popen[bytes]):
    """A process whose exit code is its own: `Popen` says 0 where it is lost."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait as `Popen` does. Raises ChildProcessError where SIGCHLD is ignored, or another waiter took the status."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_PAUSE_S
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, 0 if until is None else os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif until is not None:
                if (left := until - time.monotonic()) <= 0:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
                time.sleep(min(pause, left))
                pause = min(2 * pause, _LAST_PAUSE_S)
        return self.returncode


def _communicate(
    process: subprocess.Popen[bytes],
    name: str,
    given: bytes = b"",
    caller: GitCaller | None = None,
    limit_s: float = LIMIT_S,
) -> tuple[bytes, bytes]:
    """Return what git prints, output and errors. Ends it where nothing waits for it any more."""
    until = time.monotonic() + limit_s
    left: bytes | None = given
    try:
        while True:
            try:
                return process.communicate(left, timeout=_LOOK_S)
            except subprocess.TimeoutExpired:
                left = None  # it is on its way
            if caller is not None and caller.is_over():
                raise Cannot(
                    f"git could not {name}: stopped together with the step",
                    fix="check the files of the step for a pipe named .gitignore or an endless pattern",
                    code=STOPPED,
                )
            if time.monotonic() >= until:
                raise unusable(name, f"stopped after {limit_s:.0f} s")
    except ChildProcessError:
        process.poll()
        raise  # it has ended, and its id may be another's
    except BaseException:
        _stop(process)
        raise


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End git with all that it started, politely first: git takes its lock files away. What left its group may outlive it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        kill_group(process, number)
        try:
            process.communicate(timeout=_GRACE_S)
            return
        except subprocess.TimeoutExpired:
            continue  # it, or one that it started, holds the pipes
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.poll()


def kill_group(process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
    """Send a signal to a git that was not waited for yet, and to what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def end_with(process: subprocess.Popen[bytes], caller: GitCaller, is_done: threading.Event) -> None:
    """Kill a git once its caller is over, unless it is done before."""
    while not is_done.wait(_LOOK_S):
        if caller.is_over():
            kill_group(process)
            return


def unusable(call: str, message: str) -> Cannot:
    """Return the Cannot for a call that failed; `message`: the output of git, whole in `details`."""
    lines = [line for line in message.splitlines() if line and not line.startswith("hint:")]
    fatal = next((line for line in lines if line.startswith("fatal:")), lines[0] if lines else "")
    return Cannot(
        f"git could not {call}: {_shown(fatal.removeprefix('fatal: ').removeprefix('error: '))}",
        fix="try again, as files may have changed meanwhile; else free disk space or make the state folder writable",
        code="tree_store_unusable",
        details={"call": call, "said": message[:4000]},
    )


def _status_unknown(call: str) -> Cannot:
    return Cannot(
        f"git could not {call}: its exit status is unknown, because this process ignores SIGCHLD or waits for all its children",
        fix="run `signal.signal(signal.SIGCHLD, signal.SIG_DFL)` and wait only for children of your own, then try again",
        code="git_status_unknown",
        details={"call": call},
    )


def git_message(error: Cannot) -> str:
    """Return the output of git in an error that a call raised."""
    return str(error.details.get("said", ""))


def is_usable() -> bool:
    """Return whether there is a git that is new enough. Raises Cannot where one exists and the system could not start it now.

    A failure to start is no answer: otherwise a moment without memory would put a run's trees where its next process does not
    look.
    """
    path = which("git")
    return path is not None and _version(path) >= OLDEST_GIT


@lru_cache(maxsize=4)
def _version(path: str) -> tuple[int, ...]:
    try:
        with group_signals_blocked():
            process = subprocess.Popen(
                [path, "version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_plain(()),
                start_new_session=True,
            )
        output, _ = _communicate(process, "version", limit_s=_VERSION_LIMIT_S)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOEXEC}:
            return ()  # what bears its name is no program
        raise unusable("start", error.strerror or str(error)) from error
    match = re.search(rb"(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else ()


_NO_CONFIGURATION: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}


def _plain(kept: Collection[str]) -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in kept
    }


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)[:_SHOWN]
