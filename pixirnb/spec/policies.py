"""Models that steps share: retry, agent, check, input, phase.

Field names are the author's spelling, but for `json_schema` (written `schema`). Durations are in milliseconds.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    field_validator,
    model_validator,
)

from pixirnb.spec import limits, shorthands
from pixirnb.spec.agent_scripts import check_script
from pixirnb.spec.fields import (
    Command,
    Delay,
    Duration,
    Json,
    JsonObject,
    Name,
    NonBlank,
    SpecModel,
    Texts,
    mistake,
    pattern_flaw,
    shown,
)


def _called(value: object) -> object:
    """Return the name of a function that stands in a dict."""
    if not callable(value):
        return value
    if (name := shorthands.function_reference(value)) is None:
        raise mistake(
            "bad_function",
            f"{shown(value)} has no name that a step can call",
            "define it with `def` at the top level of a module or of the notebook",
        )
    return name


Called = Annotated[str, BeforeValidator(_called)]
"""`module:function` or `:name`; in a dict also the function itself."""
RetryClass = Literal[
    "timeout",
    "context_overflow",
    "verification",
    "crash",
    "exit",
    "provider_transient",
    "provider_permanent",
    "cancelled",
]
DEFAULT_RETRY_CLASSES: Final[tuple[RetryClass, ...]] = (
    "timeout",
    "context_overflow",
    "verification",
    "crash",
    "exit",
    "provider_transient",
)
CheckKind = Literal[
    "exit_code",
    "file_exists",
    "command",
    "git_changes",
    "output_contains",
    "output_matches",
    "python",
    "schema",
]
CHECK_KINDS: Final[tuple[CheckKind, ...]] = (
    "command",
    "exit_code",
    "file_exists",
    "git_changes",
    "output_contains",
    "output_matches",
    "python",
    "schema",
)
InputType = Literal["string", "integer", "number", "boolean", "array", "object"]
Runner = Literal["scripted", "llm", "acp", "cli", "pty"]
PostureKey = Literal["read_only", "writer"]

FUNCTION: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
"""`package.module:name`, for calls, checks and typed outputs."""
LOCAL_FUNCTION: Final = re.compile(r":[A-Za-z_]\w*")
"""`:name`, a function of the notebook."""


class Retry(SpecModel):
    """When a failed attempt is followed by another."""

    max_attempts: Annotated[StrictInt, Field(ge=1, le=limits.MAX_ATTEMPTS)] = 1
    """Counts the first."""
    delay: Delay = 10_000
    """Before the second attempt."""
    backoff: Annotated[StrictFloat, Field(ge=1, le=1000, allow_inf_nan=False)] = 1.0
    """Each delay is the one before times this."""
    jitter: Annotated[StrictFloat, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1
    """Share of the delay by which it may differ either way."""
    max_delay: Delay = 300_000
    """No delay is longer."""
    timeout_scale: Annotated[StrictFloat, Field(ge=1, le=1000, allow_inf_nan=False)] = 1.0
    """Each attempt's time-out is the one before times this."""
    include_failure_context: StrictBool = False
    """Whether the next attempt is handed the error and the tail of the partial output."""
    classes: Annotated[
        tuple[RetryClass, ...],
        BeforeValidator(
            shorthands.items, json_schema_input_type=RetryClass | tuple[RetryClass, ...]
        ),
    ] = DEFAULT_RETRY_CLASSES
    """Which failures are worth another attempt."""


RetryKey = Annotated[Retry, BeforeValidator(shorthands.retry, json_schema_input_type=int | Retry)]
"""A retry policy; a number alone is its `max_attempts`."""


class Check(SpecModel):
    """One declared check: exactly one kind key, and for a command its exit code and time-out."""

    command: Command | None = None
    """A command that must end with its `exit_code`, 0 unless said."""
    exit_code: Annotated[StrictInt, Field(ge=-(2**31), lt=2**32)] | None = None
    """A check of its own, or what a `command` check must exit with."""
    timeout: Duration | None = None
    """Of a `command` or `python` check."""
    file_exists: Annotated[str, Field(min_length=1)] | None = None
    """A glob that at least one file must match, from the step's `cwd`, or `repos.NAME:glob`."""
    git_changes: Annotated[str, Field(min_length=1)] | None = None
    """A glob that at least one changed file of the repository around the step's `cwd` must match, or `repos.NAME:glob`."""
    output_contains: Annotated[str, Field(min_length=1)] | None = None
    """Text that must be in what it printed."""
    output_matches: str | None = None
    """A regular expression, searched for."""
    python: Called | None = None
    """`module:function`, handed what the step left."""
    json_schema: JsonObject | None = Field(default=None, alias="schema")
    """What the step's output must satisfy."""

    @property
    def kind(self) -> CheckKind:
        """Return the kind of this check."""
        written = self.model_fields_set
        for kind in CHECK_KINDS:
            if ("json_schema" if kind == "schema" else kind) in written:
                return kind
        raise AssertionError("validation lets no check without a kind pass")

    @property
    def argument(self) -> Any:
        """Return the value of the kind key."""
        return self.json_schema if self.kind == "schema" else getattr(self, self.kind)

    @property
    def globs(self) -> tuple[str, ...]:
        """Return the globs of the files that the check looks for."""
        return tuple(glob for glob in (self.file_exists, self.git_changes) if glob is not None)

    @field_validator("output_matches")
    @classmethod
    def _is_pattern(cls, value: str | None) -> str | None:
        if value is not None and (flaw := pattern_flaw(value)) is not None:
            raise mistake("bad_pattern", *flaw)
        return value

    @field_validator("python")
    @classmethod
    def _is_function(cls, value: str | None) -> str | None:
        return None if value is None else function_name(value, local=True)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        written = {"schema" if name == "json_schema" else name for name in self.model_fields_set}
        kinds = written & set(CHECK_KINDS)
        if "command" in kinds:
            kinds.discard("exit_code")
        if len(kinds) != 1:
            kinds_text = "no kind" if not kinds else " and ".join(sorted(kinds))
            raise mistake(
                "check_kind",
                f"a check has exactly one kind, this one has {kinds_text}",
                "write one item a check, with one of " + ", ".join(CHECK_KINDS),
            )
        kind = next(iter(kinds))
        if "timeout" in written and kind not in {"command", "python"}:
            raise mistake(
                "check_kind", f"a {kind} check takes no timeout", "take `timeout` out of this check"
            )
        if getattr(self, "json_schema" if kind == "schema" else kind) is None:
            raise mistake("wrong_type", f"the {kind} check says nothing", f"give `{kind}` a value")
        return self


Checks = Annotated[
    tuple[Check, ...],
    BeforeValidator(shorthands.checks, json_schema_input_type=Check | tuple[Check, ...]),
]
"""A list of checks; a single check is a list of one."""


class Agent(SpecModel):
    """Who a task is delegated to."""

    runner: Runner = "scripted"
    """What drives it."""
    role: str = ""
    """Text put before every task."""
    model: str | None = None
    """`provider:name` for llm; for coding agents the model they are to use."""
    command: Command | None = None
    """Name of a known agent, or program and arguments, for acp, cli and pty."""
    script: dict[str, list[list[dict[str, Any]]]] | None = None
    """For scripted: step id or `*` to one list of actions per attempt; the last list repeats."""
    tools: Texts = ()
    """Tools it is given, for llm; none named: all."""
    posture: PostureKey | None = None
    """Of its steps that say nothing themselves."""
    permission_mode: Literal["read_only", "ask", "auto"] | None = None
    """What happens when it wants to do more than read."""
    cwd: str | None = None
    """Folder its steps work in, relative to that of the workflow's file, or `repos.NAME/sub`; may lie outside the workspace."""
    additional_paths: Texts = ()
    """Further folders it may look at, relative to the folder of the workflow's file."""
    pass_env: Texts = ()
    """Names of environment variables handed on; agents inherit nothing else."""
    timeout: Duration | None = None
    """Of an attempt of its steps."""
    retry: RetryKey | None = None
    """Of its steps that say nothing themselves."""

    @field_validator("script", mode="before")
    @classmethod
    def _actions(cls, value: object) -> object:
        return None if value is None else check_script(value)


class Input(SpecModel):
    """A typed parameter of the workflow; required when it has no default."""

    type: InputType
    """What a value must be."""
    default: Json = None
    """Used where a run is given none; without it the input is required."""
    enum: list[Json] | None = None
    """The only values it may take."""
    description: str = ""
    """For people."""

    @property
    def is_required(self) -> bool:
        """Return whether a run must give a value."""
        return "default" not in self.model_fields_set


InputKey = Annotated[
    Input,
    BeforeValidator(shorthands.input_declaration, json_schema_input_type=Input | Json),
]
"""The declaration of an input; any other value is its default."""


class Phase(SpecModel):
    """A unit of work as a person calls it."""

    name: Name
    """Names the phase, and its checkpoint."""
    steps: Texts = ()
    """Its steps, by id."""


class Question(SpecModel):
    """What a human is asked."""

    question: NonBlank
    """The question, one or a few sentences."""
    choices: Annotated[
        list[Json], BeforeValidator(shorthands.items, json_schema_input_type=str | list[Json])
    ] = Field(default_factory=list)
    """The values an accepting answer may carry; empty: any."""


QuestionKey = Annotated[
    Question, BeforeValidator(shorthands.question, json_schema_input_type=str | Question)
]
"""A question; a text alone is its `question`."""


def function_name(text: str, *, local: bool) -> str:
    """Return `text` if it names a function as `module:name` (or `:name` if `local`); raises the error otherwise."""
    if FUNCTION.fullmatch(text) or (local and LOCAL_FUNCTION.fullmatch(text)):
        return text
    raise mistake(
        "bad_function",
        f"`{text}` does not name a function",
        "write `package.module:function`"
        + (", or `:function` for one of the notebook" if local else ""),
    )
