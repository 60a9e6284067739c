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
from pixirnb.spec.agent_commands import PermissionMode
from pixirnb.spec.agent_scripts import Script, check_script
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
    """A policy for attempts after a failed one."""

    max_attempts: Annotated[StrictInt, Field(ge=1, le=limits.MAX_ATTEMPTS)] = 1
    """Maximum number of attempts, including the first."""
    delay: Delay = 10_000
    """Delay before the second attempt."""
    backoff: Annotated[StrictFloat, Field(ge=1, le=1000, allow_inf_nan=False)] = 1.0
    """Factor by which each delay is longer than the previous one."""
    jitter: Annotated[StrictFloat, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1
    """Share of the delay by which it varies at random, either way."""
    max_delay: Delay = 300_000
    """Maximum delay between attempts."""
    timeout_scale: Annotated[StrictFloat, Field(ge=1, le=1000, allow_inf_nan=False)] = 1.0
    """Factor by which each timeout is longer than the previous one."""
    include_failure_context: StrictBool = False
    """Whether the next attempt receives the error and the end of the output."""
    classes: Annotated[
        tuple[RetryClass, ...],
        BeforeValidator(
            shorthands.items, json_schema_input_type=RetryClass | tuple[RetryClass, ...]
        ),
    ] = DEFAULT_RETRY_CLASSES
    """Kinds of failure that are retried."""


RetryKey = Annotated[Retry, BeforeValidator(shorthands.retry, json_schema_input_type=int | Retry)]
"""A retry policy; a number alone is its `max_attempts`."""


class Check(SpecModel):
    """A check of a step's result, with exactly one kind key; a command may have `exit_code` and `timeout`."""

    command: Command | None = None
    """Command that must exit with `exit_code` (default 0)."""
    exit_code: Annotated[StrictInt, Field(ge=-(2**31), lt=2**32)] | None = None
    """Expected exit code of the step, or of `command`."""
    timeout: Duration | None = None
    """Time limit of a `command` or `python` check."""
    file_exists: Annotated[str, Field(min_length=1)] | None = None
    """Glob that at least one file must match, relative to the step's `cwd`, or `repos.NAME:glob`."""
    git_changes: Annotated[str, Field(min_length=1)] | None = None
    """Glob that at least one changed file must match, in the repository of the step's `cwd`, or `repos.NAME:glob`."""
    output_contains: Annotated[str, Field(min_length=1)] | None = None
    """Text that the output must contain."""
    output_matches: str | None = None
    """Regular expression that must be found in the output."""
    python: Called | None = None
    """Function `module:function` that receives the step's output."""
    json_schema: JsonObject | None = Field(default=None, alias="schema")
    """JSON Schema that the step's output must match."""

    @property
    def kind(self) -> CheckKind:
        """Return the kind of this check."""
        written = self.model_fields_set
        for kind in CHECK_KINDS:
            if ("json_schema" if kind == "schema" else kind) in written:
                return kind
        raise AssertionError("validation lets no check without a kind pass")

    def document(self) -> JsonObject:
        """Return the check as written."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

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
            kinds_text = " and ".join(f"`{kind}`" for kind in sorted(kinds)) or "none"
            raise mistake(
                "check_kind",
                f"a check must have exactly one kind, found {kinds_text}",
                f"write one check for each: {', '.join(f'`{{{kind}: …}}`' for kind in sorted(kinds))}"
                if kinds
                else "use `file_exists`, `command`, `output_contains`, `git_changes`, `schema` …",
            )
        kind = next(iter(kinds))
        if "timeout" in written and kind not in {"command", "python"}:
            raise mistake("check_kind", f"a `{kind}` check has no timeout", "remove `timeout`")
        if getattr(self, "json_schema" if kind == "schema" else kind) is None:
            raise mistake("wrong_type", f"the `{kind}` check is empty", f"add a value to `{kind}`")
        return self


Checks = Annotated[
    tuple[Check, ...],
    BeforeValidator(shorthands.checks, json_schema_input_type=Check | tuple[Check, ...]),
]
"""A list of checks; a single check is a list of one."""


class Agent(SpecModel):
    """An agent that tasks can be delegated to."""

    runner: Runner = "scripted"
    """Program that drives the agent: an LLM, a coding agent, or a script."""
    role: str = ""
    """Instructions placed before every task."""
    model: str | None = None
    """Model: `provider:name` for `llm`, the agent's own model name for coding agents."""
    command: Command | None = None
    """Name of a known agent, or program and arguments, for `acp`, `cli` and `pty`."""
    script: Script | None = None
    """Actions of a `scripted` agent: step id (or `*`) to one list of actions per attempt; the last list repeats."""
    tools: Texts = ()
    """Tools of an `llm` agent; all of them by default."""
    posture: PostureKey | None = None
    """Posture of its steps that declare none."""
    permission_mode: PermissionMode | None = None
    """Permission for everything but reading: refuse (`read_only`), ask a person, or allow (`auto`)."""
    cwd: str | None = None
    """Working directory of its steps, relative to the folder of the workflow file, or `repos.NAME/sub`; may be outside it."""
    additional_paths: Texts = ()
    """Additional folders it may read, relative to the folder of the workflow file."""
    pass_env: Texts = ()
    """Names of environment variables to pass on; agents inherit no others."""
    timeout: Duration | None = None
    """Timeout of each attempt of its steps."""
    retry: RetryKey | None = None
    """Retry policy of its steps that declare none."""

    def script_of(self, step_id: str) -> Any:
        """Return its attempts for a step: those of its id, of an item's step, or of `*`; None where it has none."""
        script, names = self.script or {}, (step_id, step_id.partition("@")[0], "*")
        return next((script[name] for name in names if name in script), None)

    def scripts_of_items(self, step_id: str) -> Script:
        """Return its attempts for single items of a step, by their ids."""
        script = self.script or {}
        return {name: script[name] for name in script if name.startswith(f"{step_id}@")}

    def is_silent_in(self, step_id: str) -> bool:
        """Return whether it follows a script that has nothing for a step."""
        follows = self.runner == "scripted" and self.script is not None
        return follows and self.script_of(step_id) is None

    @field_validator("script", mode="before")
    @classmethod
    def _actions(cls, value: object) -> object:
        return None if value is None else check_script(value)


class Input(SpecModel):
    """A typed parameter of the workflow; required when it has no default."""

    type: InputType
    """Type of the value."""
    default: Json = None
    """Value if a run is started without one; an input without a default is required."""
    enum: list[Json] | None = None
    """Allowed values."""
    description: str = ""
    """Description for people."""

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
    """A named group of steps."""

    name: Name
    """Name of the phase and of its checkpoint."""
    steps: Texts = ()
    """Ids of its steps."""


class Question(SpecModel):
    """A question to a person."""

    question: NonBlank
    """Text of the question."""
    choices: Annotated[
        list[Json], BeforeValidator(shorthands.items, json_schema_input_type=str | list[Json])
    ] = Field(default_factory=list)
    """Values that an accepting answer may carry; any by default."""


QuestionKey = Annotated[
    Question, BeforeValidator(shorthands.question, json_schema_input_type=str | Question)
]
"""A question; a text alone is its `question`."""


def function_name(text: str, *, local: bool) -> str:
    """Return `text` if it names a function as `module:name` (or `:name` if `local`); raises the error otherwise."""
    if FUNCTION.fullmatch(text) or (local and LOCAL_FUNCTION.fullmatch(text)):
        return text
    module, _, name = text.rpartition(".")
    forms = "use `package.module:function`"
    raise mistake(
        "bad_function",
        f"`{text}` does not name a function",
        f"did you mean `{module}:{name}`?"
        if FUNCTION.fullmatch(f"{module}:{name}")
        else f"{forms} or, in a notebook, `:function`"
        if local
        else forms,
    )
