"""A step as written: five kinds that share their policies and differ in the key of their action.

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
from pixirnb.spec.amounts import amounts
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
    shown,
    system_text,
)
from pixirnb.spec.for_each import ForEachKey
from pixirnb.spec.policies import (
    FUNCTION,
    Called,
    Checks,
    PostureKey,
    QuestionKey,
    RetryKey,
    function_name,
)
from pixirnb.spec.titles import Title

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
        raise mistake(
            "bad_output",
            f"`output` must be a JSON Schema mapping or `package.module:Model`, got {value!r}",
            "write `output: {type: object}`" if value == "json" else "use `package.module:Model`",
        )
    if isinstance(value, Mapping):
        return json_object(value)
    raise mistake(
        "wrong_type",
        f"`output` must be a JSON Schema mapping or `package.module:Model`, got {shown(value)}",
        "write a mapping such as `output: {type: object}`",
    )


Output = Annotated[
    dict[str, Any] | str,
    PlainValidator(_schema_or_model, json_schema_input_type=dict[str, Any] | str),
]
"""A JSON Schema, or `package.module:Model`."""


Resources = Annotated[
    dict[str, float],
    BeforeValidator(amounts, json_schema_input_type=dict[str, float | str]),
]
"""Amounts by name; a text such as `8GiB` is bytes."""


class Shared(SpecModel):
    """Keys of every kind of step, and of `defaults`."""

    description: str = ""
    """Description for people; it has no effect."""
    timeout: Duration | None = None
    """Time limit of one attempt, including its checks."""
    allow_long_timeout: StrictBool = False
    """Allows a timeout over 30 minutes without a warning."""
    retry: RetryKey | None = None
    """Retry policy; a number alone is `max_attempts`."""
    verify: Checks = ()
    """Checks that must pass before the step is ready."""
    output: Output | None = None
    """JSON Schema, or `package.module:Model`, of the step's output."""
    artifacts: Texts = ()
    """Globs of files to keep with the run, relative to the workspace (or to the repository of `cwd`), or `repos.NAME:glob`."""
    posture: PostureKey | None = None
    """Whether the step only reads files or also writes them; a step with a `write_set` is a writer."""
    read_set: Texts | None = None
    """Globs of the files it reads, relative to the workspace, or `repos.NAME:glob`."""
    write_set: Texts | None = None
    """Globs of the files it may write. Two steps whose sets overlap do not run at the same time."""
    workspace: Literal["shared", "isolated"] | None = None
    """Run in the workspace itself, or in a copy whose changes are merged later (`isolated`; default of agents that write)."""
    cwd: str | None = None
    """Working directory, relative to the workspace or a repository: `sub`, `repos.NAME/sub`."""
    additional_paths: Texts = ()
    """Folders outside the workspace that it may read, relative to the folder of the workflow file."""
    env: Annotated[
        dict[str, str],
        BeforeValidator(
            shorthands.variables, json_schema_input_type=dict[str, str | int | float | bool]
        ),
    ] = Field(default_factory=dict)
    """Environment variables to set; numbers and booleans become text."""
    seams: Texts = ()
    """Interfaces to other steps whose compatibility a person must confirm."""
    process: StrictBool | None = None
    """Whether a python step runs in a separate process, which can be stopped, or in a thread."""
    carry: Texts = ()
    """Git-ignored files and folders to copy into the isolated workspace, by path: `node_modules`, `repos.NAME:data`."""
    placement: Literal["local", "cluster"] | None = None
    """Run here, or on a worker of the cluster that the run is given. Decisions and merges run here."""
    resources: Resources = Field(default_factory=dict)
    """Resources that a worker of the cluster must have free, by name, as in Dask: `{GPU: 1, memory: 8GiB}`."""
    reuse: Literal["spec", "reads", "never"] = "spec"
    """When a resume keeps the result: step and inputs unchanged (`spec`), files of `read_set` too (`reads`), or never.
    A decision goes on from every result."""
    rerun: Literal["auto", "ask"] = "auto"
    """If pixirnb died while the step ran: run it again (`auto`), or ask a person first (`ask`)."""

    @field_validator("env")
    @classmethod
    def _env(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not name or "=" in name or not system_text(name, "a variable's name").strip():
                raise mistake(
                    "bad_env", f"invalid variable name `{name}`", "use letters, digits and `_`"
                )
            system_text(text, f"the variable `{name}`")
        return value


class Defaults(Shared):
    """Default values for step keys."""

    arguments: JsonObject | None = Field(default=None, alias="with")
    """Arguments of python steps, by name."""
    agent: str | None = None
    """Agent of tasks without an `agent`."""


class StepBase(Shared):
    """Keys that every step has."""

    kind: ClassVar[StepKind]

    id: Name
    """Unique name of the step in the workflow: in files, logs and commands."""
    title: Title = ""
    """Name of the step for people, in any script; without it the `id` is shown. It has no effect."""
    depends_on: Annotated[
        tuple[str, ...],
        Field(max_length=limits.DEPENDS_ON),
        BeforeValidator(shorthands.items, json_schema_input_type=str | tuple[str, ...]),
    ] = ()
    """Steps that must be ready (`checkpoint_ready`) before it starts."""
    phase: Name | None = None
    """Phase of the step, if `phases` does not list it."""
    when: str | None = None
    """Condition on inputs and results; if false, the step is skipped and the run can still complete."""
    for_each: ForEachKey | None = None
    """Items to run the step over, each as a separate step, in which `{{ item }}` and `{{ index }}` are its item."""


class ShellStep(StepBase):
    """A step that runs a command line or a list of words."""

    kind: ClassVar[StepKind] = "shell"

    run: Command
    """Command line for `sh -c`, or a list of program and arguments."""


class PythonStep(StepBase):
    """A step that calls a Python function."""

    kind: ClassVar[StepKind] = "python"

    call: Called
    """Function to call: `package.module:function`, or `:function` for one of the notebook."""
    arguments: JsonObject = Field(default_factory=dict, alias="with")
    """Arguments by name; references are replaced by their values."""

    @field_validator("call")
    @classmethod
    def _call(cls, value: str) -> str:
        return function_name(value, local=True)


class AgentStep(StepBase):
    """A step that delegates a task to an agent."""

    kind: ClassVar[StepKind] = "agent"

    task: NonBlank
    """Task for the agent."""
    agent: str | None = None
    """Name of the agent: one of `agents`, or of a role file `roles/NAME.yaml`."""


class DecisionStep(StepBase):
    """A step that asks a person for a decision."""

    kind: ClassVar[StepKind] = "decision"

    ask: QuestionKey
    """Question to ask; a text alone is its `question`."""


class MergeStep(StepBase):
    """A step that merges changes of isolated steps into the workspace."""

    kind: ClassVar[StepKind] = "merge"

    merge: Annotated[
        tuple[str, ...],
        Field(min_length=1),
        BeforeValidator(shorthands.items, json_schema_input_type=str | tuple[str, ...]),
    ]
    """Isolated steps whose changes to merge."""


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
