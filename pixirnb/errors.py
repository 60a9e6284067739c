"""Everything that can go wrong for a user, as one tree. Messages say what happened, to what, and what to do next.

    PixirnbError                     has a stable code, a message and a fix
    ├── InvalidSpec                  the workflow as written cannot be planned; carries every Problem at once
    ├── InvalidArguments             the call, cell or command line is wrong
    ├── Cannot                       the request is sound and cannot be carried out here and now
    │   ├── UnknownRun               no such run in this state folder
    │   ├── HeldByAnother            a live process owns the run
    │   ├── LogDamaged               the log is not what was written: readable, resumed only with `recover`
    │   ├── LogWriteFailed           the disk refused an event: the run stopped, nothing was promised
    │   ├── StateUnusable            the state folder cannot be used (a file, foreign owner, not writable)
    │   └── ThreadRefused            the system started no thread: its table of processes is full
    ├── RunNotCompleted              a waited-for run ended as something else
    │   └── RunInterrupted           the operator's interrupt ended it
    └── InternalError                our bug, never the user's

Source: contract.md §1, §4, §9; spellings.md for the JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NotRequired, TypedDict

from msgspec import Struct

from pixirnb.json_types import JsonObject

EXIT_COMPLETED: Final = 0
EXIT_PARTIAL: Final = 1
EXIT_INVALID: Final = 2
EXIT_FAILED: Final = 3
EXIT_NEEDS_DECISION: Final = 4
EXIT_CANNOT: Final = 5
EXIT_INTERRUPTED: Final = 130

PROBLEMS_SHOWN: Final = 50
"""Maximum number of errors, or warnings, of one workflow that text lists."""


def sentence(text: str) -> str:
    """Return a message as a sentence: capitalized if it begins with a word, and with a full stop."""
    first, space, rest = text.partition(" ")
    head = first[:1].upper() + first[1:] if first.isalpha() else first
    return head + space + rest + ("" if text.endswith((".", "!", "?")) else ".")


class ProblemDocument(TypedDict):
    """The JSON of a `Problem`."""

    code: str
    path: str
    line: int | None
    message: str
    fix: str


class ErrorBody(TypedDict, total=False):
    """The error itself, with its fix. Views read it as it comes: no member is guaranteed."""

    code: str
    message: str
    fix: str
    path: str | None
    line: int | None
    details: JsonObject


class ErrorDocument(TypedDict):
    """The JSON of an error."""

    schema_version: NotRequired[int]
    ok: bool
    error: NotRequired[ErrorBody]


class Problem(Struct, frozen=True):
    """One error or warning in a workflow, with its position."""

    code: str
    """Stable, in snake_case; users and tests match on it."""
    path: str
    """Position in the spec, e.g. `steps[2].depends_on[0]`; empty for the whole document."""
    message: str
    """The problem, in one sentence."""
    fix: str = ""
    """The next action for the author, in one sentence."""
    line: int | None = None
    """1-based line of the text; None without a text."""

    def document(self) -> ProblemDocument:
        """Return the problem as JSON, as in every list of errors and warnings."""
        return {
            "code": self.code,
            "path": self.path,
            "line": self.line,
            "message": self.message,
            "fix": self.fix,
        }

    def sentence(self) -> str:
        """Return one line for a person: position, message, fix."""
        position = f"line {self.line}: " if self.line is not None else ""
        where = f"{self.path}: " if self.path else ""
        return f"{position}{where}{self.message}" + (f" → {self.fix}" if self.fix else "")


@dataclass(eq=False)
class PixirnbError(Exception):
    """Raised when pixirnb must tell a user that something did not happen, and why.

    Example:
        >>> try:
        ...     pixirnb.load({"name": "demo", "stops": []})
        ... except pixirnb.PixirnbError as error:
        ...     print(error.code)
        invalid_spec
    """

    message: str
    """The problem, and what it concerns."""
    fix: str = ""
    """The next action; may be empty."""
    code: str = "error"
    """Stable; match on it."""
    path: str | None = None
    """Position in the spec, if there is one."""
    line: int | None = None
    """Line in the text, if there is one."""
    details: JsonObject = field(default_factory=dict)
    """Further facts, as JSON."""

    exit_code = EXIT_CANNOT

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f"\n→ {self.fix}" if self.fix else "")

    def one_line(self) -> str:
        """Return message and fix on one line: `message; fix`."""
        return "; ".join(part.removesuffix(".") for part in (self.message, self.fix) if part)

    def document(self) -> ErrorDocument:
        """Return the JSON that `--json` prints instead of an answer."""
        return {
            "ok": False,
            "error": {
                "code": self.code,
                "message": self.message,
                "fix": self.fix,
                "path": self.path,
                "line": self.line,
                "details": self.details,
            },
        }


def _listed(word: str, problems: Sequence[Problem]) -> list[str]:
    lines = [f"  {word}{each.code}: {each.sentence()}" for each in problems[:PROBLEMS_SHOWN]]
    more = len(problems) - PROBLEMS_SHOWN
    return [*lines, *[f"  and {more:,} more"] * (more > 0)]


@dataclass(eq=False)
class InvalidSpec(PixirnbError):
    """Raised when a workflow as written cannot be planned: the author's text, never a run's outcome."""

    code: str = "invalid_spec"
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """Warnings about the same text, which alone would not have kept the workflow from running."""

    exit_code = EXIT_INVALID

    def __str__(self) -> str:
        if [problem.message for problem in self.problems] == [self.message]:
            lines = [f"{self.code}: {self.problems[0].sentence()}"]
        else:
            lines = [f"{self.code}: {self.message}"]
            lines += _listed("", self.problems)
        return "\n".join([*lines, *_listed("warning ", self.warnings)])

    def document(self) -> ErrorDocument:
        """Return the error as JSON, with every problem in `details.errors` and the warnings, if any, in `details.warnings`."""
        document = PixirnbError.document(self)
        document["error"]["details"] = {
            **self.details,
            "errors": [problem.document() for problem in self.problems],
        }
        if self.warnings:
            document["error"]["details"]["warnings"] = [each.document() for each in self.warnings]
        return document


@dataclass(eq=False)
class InvalidArguments(PixirnbError):
    """Raised when a call, a cell's options or a command line is wrong; nothing was started."""

    code: str = "invalid_args"

    exit_code = EXIT_INVALID


@dataclass(eq=False)
class Cannot(PixirnbError):
    """Raised when a sound request cannot be carried out here and now."""

    code: str = "cannot"


@dataclass(eq=False)
class UnknownRun(Cannot):
    """Raised when the state folder has no such run."""

    code: str = "unknown_run"


@dataclass(eq=False)
class HeldByAnother(Cannot):
    """Raised when a live process owns the run; `details` names host, pid and since when."""

    code: str = "held_by_another"


@dataclass(eq=False)
class LogDamaged(Cannot):
    """Raised when a log is not what was written. It can be read up to the damage; `recover` goes on from there."""

    code: str = "log_damaged"


@dataclass(eq=False)
class LogWriteFailed(Cannot):
    """Raised when an event could not be recorded: the disk refused it, or the run is another's now (`lock_lost`)."""

    code: str = "log_write_failed"


@dataclass(eq=False)
class StateUnusable(Cannot):
    """Raised when the state folder cannot be used: a file in its place, a foreign owner, not writable."""

    code: str = "state_unusable"


@dataclass(eq=False)
class ThreadRefused(Cannot):
    """Raised when the system refuses a new thread: its table of processes, or the limit of this user's, is full."""

    code: str = "spawn_failed"

    fix: str = "end other processes or raise the limit (`ulimit -u`), then try again"


@dataclass(eq=False)
class RunNotCompleted(PixirnbError):
    """Raised by a waiting caller when the run ended as anything but `completed`; the outcome is in `details`."""

    code: str = "run_not_completed"

    exit_code = EXIT_PARTIAL


@dataclass(eq=False)
class RunInterrupted(RunNotCompleted):
    """Raised by a waiting caller when the operator's interrupt ended the run."""

    code: str = "interrupted"

    exit_code = EXIT_INTERRUPTED


@dataclass(eq=False)
class InternalError(PixirnbError):
    """Raised when pixirnb broke its own rules. Please report it: the fault is never the user's."""

    code: str = "internal_error"
