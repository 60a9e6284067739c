"""Work of a runner, the events it emits, and its end: values without behaviour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, Protocol, TypedDict

from msgspec import Struct, field

from pixirnb.history.events import StoredValue
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.spec.expressions.references import Reference


class ShellWork(Struct, frozen=True):
    """A command line for `sh -c`, or an argv list."""

    run: str | list[str]
    is_written: bool = False
    """True for a check's command as its author wrote it: its references are filled in when it runs."""


class UnloadedValue(Struct, frozen=True):
    """A stored value of a step as an argument: loaded by the step or check that is called with it.

    The engine never loads a pickle; of JSON it would hold a copy for each step, many times as large as its text.
    """

    stored: StoredValue
    data: bytes
    """Its bytes; a pickle's signature is proven."""
    reference: Reference | None = None
    """Part of the value that is meant; None: all of it."""
    is_foreign: bool = False
    """True if the attempt's own process made it: its checks load it in a process, too."""


class PythonWork(Struct, frozen=True):
    """A function: `module:function`, or `:name` with its pinned source."""

    call: str
    arguments: JsonObject
    source: str | None
    process: bool
    """True: in a killable child. False: in a thread of this process."""
    is_check: bool = False
    """True: the result is `[verdict, text]`: whether the returned value is true, and its beginning as text."""
    holds_unloaded: bool = False
    """True: an argument holds an `UnloadedValue`, which is loaded where the function is called."""


class Approval(TypedDict):
    """A person's leave for one call."""

    request_id: str
    by: str
    note: str


class ScriptedWork(Struct, frozen=True):
    """One attempt of a scripted agent: the actions of spellings.md, in order. Empty: it repeats the task."""

    task: str
    actions: list[JsonObject]
    permission_mode: str = "auto"
    granted: dict[str, Approval] = field(default_factory=dict)
    """Earlier approvals of a person for this step, by the digest of the call."""


class ToolDefinition(TypedDict):
    """A tool as an agent is offered it."""

    name: str
    description: str
    parameters: JsonObject
    """JSON Schema."""
    mutates: bool


_OF_AGENTS: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "SHELL", "TERM")


def agent_variables(machine: Mapping[str, str], pass_env: Iterable[str]) -> dict[str, str]:
    """Return the part of a machine's environment that an agent is passed: what its spec lists, and what programs need."""
    passed = {*_OF_AGENTS, *pass_env}
    return {name: value for name, value in machine.items() if name in passed}


class AgentWork(Struct, frozen=True):
    """A task delegated to a subagent."""

    runner: Literal["scripted", "llm", "acp", "cli", "pty"]
    task: str
    """The author's task, references filled in."""
    prompt: str
    """The full prompt: the task with its role, inputs, limits and how to report."""
    actions: list[JsonObject]
    """For scripted agents: the actions of this attempt."""
    session: JsonMapping
    """A `SessionStarted`: the identity and the permissions of the session."""
    history: list[tuple[str, JsonObject]] = field(default_factory=list)
    """Events of the session that it continues."""
    granted: dict[str, Approval] = field(default_factory=dict)
    """Earlier approvals of a person for this step, by the digest of the call."""
    additional_paths: tuple[Path, ...] = ()
    roots: dict[str, str] = field(default_factory=dict)
    """Folders of the workspace (`.`) and each `repos.NAME`, as the agent sees them."""
    surface: tuple[ToolDefinition, ...] = ()
    """Tools of the engine that it is offered."""
    output: str | JsonMapping | None = None
    """The declared output: a JSON schema, or the name of a model."""
    pass_env: tuple[str, ...] = ()
    """Names of variables that it is passed from the environment of its machine."""


Work = ShellWork | PythonWork | ScriptedWork | AgentWork
StopReason = Literal["timed_out", "cancelled", "interrupted"]


class Started(Struct, frozen=True):
    """The start of the attempt, with its process id, or None for a thread."""

    pid: int | None
    worker: str | None = None
    """Address of the worker that runs it; None at home."""


class Output(Struct, frozen=True):
    """Bytes as they were produced."""

    stream: Literal["stdout", "stderr"]
    chunk: bytes


class Progress(Struct, frozen=True):
    """Progress of a step, by its own account: 0 to 1, with a message."""

    fraction: float | None
    message: str


class Report(Struct, frozen=True):
    """A structured report of an agent (checkpoint_status summary output limitations seams), or one of its tool calls."""

    kind: Literal["checkpoint", "tool"]
    data: JsonObject


class AgentEvent(Struct, frozen=True):
    """An event for the log of a session."""

    kind: str
    data: JsonObject


RunnerEvent = Started | Output | Progress | Report | AgentEvent


class LargeValue(Protocol):
    """A large value in a file: see `protocols.ports.BlobDraft`."""

    @property
    def path(self) -> Path | None:
        """Return its file."""
        ...

    def keep(self) -> str:
        """Make it a blob and return the digest."""
        ...

    def drop(self) -> None:
        """Delete it."""
        ...


class Ended(Struct, frozen=True):
    """The end of the work, as the runner knows it; checks and readiness are decided elsewhere."""

    status: Literal["completed", "failed", "timed_out", "interrupted", "cancelled", "detached"]
    error_kind: str | None = None
    """`exit`, `exception`, `crash`, `spawn_failed`, `lost`, `supervisor_lost`, `output_unserialisable`,
    `function_missing`, or what a scripted `fail` names."""
    message: str = ""
    details: JsonObject = field(default_factory=dict)
    exit_code: int | None = None
    signal: int | None = None
    value: StoredValue | None = None
    """A python step's return value, small ones inline; large ones come as `payload` for the engine to store."""
    payload: bytes | LargeValue | None = None
    """Bytes of `value` when it is too large for the log: the engine makes them a blob. Very large ones are a draft."""
    strays: int = 0
    """Descendants that outlived the work and were ended with it."""
    survivors: tuple[int, ...] | None = None
    """Ids of its processes that could not be ended; None if none is left, empty if that is unknown."""
    overdue_ms: int | None = None
    """Duration of work beyond the job's limit that could not be ended."""


class WorkRefused(Exception):
    """Raised when a reference of a step cannot be resolved; `kind` is the error kind of the attempt."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
