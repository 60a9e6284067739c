"""A step as written: five kinds that share their policies and differ in the key that says their work.

    ShellStep(run) · PythonStep(call, with) · AgentStep(task, agent) · DecisionStep(ask) · MergeStep(merge)

`Step` is their union. Attributes are the author's keys, but for `arguments` (written `with`). Durations are in
milliseconds. None, where a field allows it, means "not written": the plan then applies agent, defaults and standards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    StrictBool,
    Tag,
    field_validator,
)

from pixirnb.spec import limits, shorthands
from pixirnb.spec.fields import (
    Command,
    Duration,
    JsonObject,
    Name,
    NonBlank,
    SpecModel,
    Texts,
    json_object,
    mistake,
    system_text,
)
from pixirnb.spec.policies import (
    FUNCTION,
    Called,
    Checks,
    PostureKey,
    QuestionKey,
    RetryKey,
    function_name,
)

StepKind = Literal["shell", "python", "agent", "decision", "merge"]
KIND_KEYS: Final[dict[str, StepKind]] = {
    "run": "shell",
    "call": "python",
    "task": "agent",
    "ask": "decision",
    "merge": "merge",
}
"""Key that decides a step's kind, to the kind."""


def _schema_or_model(value: object) -> object:
    if isinstance(value, str):
        if FUNCTION.fullmatch(value):
            return value
        raise mistake("bad_output", f"`{value}` names no model", "write `package.module:Model`")
    if isinstance(value, Mapping):
        return json_object(value)
    raise mistake(
        "wrong_type",
        "`output` is neither a JSON schema nor a model's name",
        "write a mapping, or `package.module:Model`",
    )


Output = Annotated[
    dict[str, Any] | str,
    PlainValidator(_schema_or_model, json_schema_input_type=dict[str, Any] | str),
]
"""A JSON schema, or `package.module:Model`."""


class Shared(SpecModel):
    """What a step may say whatever its kind, and what `defaults` may say for all of them."""

    description: str = ""
    """For people; nothing depends on it."""
    timeout: Duration | None = None
    """Of one attempt, its checks included."""
    allow_long_timeout: StrictBool = False
    """Accepts a time-out over 30 minutes without a warning."""
    retry: RetryKey | None = None
    """When a failed attempt is followed by another."""
    verify: Checks = ()
    """What must hold before the step counts as ready, beside a clean end."""
    output: Output | None = None
    """JSON schema, or `package.module:Model`, of the typed payload."""
    artifacts: Texts = ()
    """Globs of files kept as blobs, from the workspace or, for a `cwd` in a repository, from there; or `repos.NAME:glob`."""
    posture: PostureKey | None = None
    """Whether it only reads or also writes. A `write_set` makes a writer."""
    read_set: Texts | None = None
    """Globs of what it reads, relative to the workspace, or `repos.NAME:glob`."""
    write_set: Texts | None = None
    """Globs of what it may write. Two steps whose claims could meet in one path do not run at once."""
    workspace: Literal["shared", "isolated"] | None = None
    """The folder itself, or a copy whose changes are merged later. Written nowhere: `isolated` for agents that write."""
    cwd: str | None = None
    """Folder to work in, below the workspace or a repository: `sub`, `repos.NAME/sub`."""
    additional_paths: Texts = ()
    """Folders outside the workspace that it may look at, relative to the folder of the workflow's file."""
    env: Annotated[
        dict[str, str],
        BeforeValidator(
            shorthands.variables, json_schema_input_type=dict[str, str | int | float | bool]
        ),
    ] = Field(default_factory=dict)
    """Environment variables to set."""
    seams: Texts = ()
    """Places where its work must fit that of others, and somebody has to say that it does."""
    process: StrictBool | None = None
    """Whether a python step runs in a process of its own, which can be ended, or in a thread."""
    carry: Texts = ()
    """Ignored files and folders that an isolated step is given all the same, by path: `node_modules`, `repos.NAME:data`."""
    reuse: Literal["spec", "reads", "never"] = "spec"
    """What must be unchanged for a resume to keep its result: step and input; files of its `read_set` too; never kept."""
    rerun: Literal["auto", "ask"] = "auto"
    """After a death in the middle of it: run it again, or ask a person first."""

    @field_validator("env")
    @classmethod
    def _env(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not name or "=" in name or not system_text(name, "a variable's name").strip():
                raise mistake(
                    "bad_env", f"`{name}` cannot name a variable", "use letters, digits and _"
                )
            system_text(text, f"the variable `{name}`")
        return value


class Defaults(Shared):
    """What steps say when they do not say it themselves."""

    arguments: JsonObject | None = Field(default=None, alias="with")
    """Arguments of python steps."""
    agent: str | None = None
    """Who tasks go to that name nobody."""


class StepBase(Shared):
    """What every step has."""

    kind: ClassVar[StepKind]

    id: Name
    """Names the step within the workflow."""
    depends_on: Annotated[
        tuple[str, ...],
        Field(max_length=limits.DEPENDS_ON),
        BeforeValidator(shorthands.items, json_schema_input_type=str | tuple[str, ...]),
    ] = ()
    """Steps that must be `checkpoint_ready` before it starts."""
    phase: Name | None = None
    """The phase it belongs to, where `phases` does not list it."""
    when: str | None = None
    """A condition on inputs and results; where it is false the step is held, and the run is none the worse."""


class ShellStep(StepBase):
    """A command line or an argv list."""

    kind: ClassVar[StepKind] = "shell"

    run: Command
    """Text for `sh -c`, or program and arguments."""


class PythonStep(StepBase):
    """A function: `module:function`, or `:name` for one of the notebook."""

    kind: ClassVar[StepKind] = "python"

    call: Called
    """`package.module:function`, or `:name` for a function of the notebook."""
    arguments: JsonObject = Field(default_factory=dict, alias="with")
    """Arguments by name; references are put in."""

    @field_validator("call")
    @classmethod
    def _call(cls, value: str) -> str:
        return function_name(value, local=True)


class AgentStep(StepBase):
    """A prompt delegated to a subagent."""

    kind: ClassVar[StepKind] = "agent"

    task: NonBlank
    """What the subagent is told to do."""
    agent: str | None = None
    """Who does it: one of `agents`, or the role in `roles/NAME.yaml`."""


class DecisionStep(StepBase):
    """A question to the human."""

    kind: ClassVar[StepKind] = "decision"

    ask: QuestionKey
    """What a person is asked."""


class MergeStep(StepBase):
    """Brings the changes of isolated steps back."""

    kind: ClassVar[StepKind] = "merge"

    merge: Annotated[
        tuple[str, ...],
        Field(min_length=1),
        BeforeValidator(shorthands.items, json_schema_input_type=str | tuple[str, ...]),
    ]
    """Isolated steps whose changes it brings back."""


def _tag(value: Any) -> StepKind | None:
    if not isinstance(value, dict):
        return getattr(value, "kind", None)
    # Called for every step: one look each is three times faster than a loop over the table.
    shell, python, agent = "run" in value, "call" in value, "task" in value
    decision, merge = "ask" in value, "merge" in value
    if shell + python + agent + decision + merge != 1:
        return None
    if shell:
        return "shell"
    if python:
        return "python"
    if agent:
        return "agent"
    return "decision" if decision else "merge"


Step = Annotated[
    Annotated[ShellStep, Tag("shell")]
    | Annotated[PythonStep, Tag("python")]
    | Annotated[AgentStep, Tag("agent")]
    | Annotated[DecisionStep, Tag("decision")]
    | Annotated[MergeStep, Tag("merge")],
    Discriminator(
        _tag, custom_error_type="step_kind", custom_error_message="a step has exactly one kind"
    ),
]
"""A step of any kind."""
