"""One resolved step: the time-out, retry, posture, claims and workspace in force, and the level that set them.

Levels, the first that is set wins: step > agent > `defaults` > the contract's standard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, assert_never

from msgspec import Struct

from pixirnb.planning.environment import Environment
from pixirnb.planning.items import as_planned
from pixirnb.planning.placement import Placement
from pixirnb.planning.plan import Posture
from pixirnb.planning.roots import WORKSPACE
from pixirnb.spec.fields import Texts
from pixirnb.spec.policies import Agent, Retry
from pixirnb.spec.steps import AgentStep, DecisionStep, MergeStep, PythonStep, ShellStep, Step
from pixirnb.spec.workflow import Workflow

STANDARD_TIMEOUT_MS: Final = 30 * 60_000
NOTHING: Final[tuple[str, ...]] = ()
ONE_ATTEMPT: Final = Retry()

Claims = tuple[Posture, Texts, Texts, bool, bool]
"""Posture, reads, writes, whether undeclared, whether it claims everything for want of a set."""
TimeoutSource = Literal["step", "agent", "defaults", "standard", "none"]


class Resolved(Struct):
    """A step with all levels applied, before its neighbours are considered."""

    spec: Step
    agent: Agent | None
    timeout_ms: int | None
    timeout_source: TimeoutSource
    retry: Retry
    posture: Posture
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    workspace: Literal["shared", "isolated"]
    process: bool
    is_undeclared: bool
    """True for a shell step that declares neither reads nor writes."""
    is_wide: bool
    """True if it claims to write everything only because it names nothing."""
    placement: Literal["local", "cluster"] = "local"
    root: str | None = WORKSPACE
    """Name of the root that holds its folder; None for an agent's folder outside all roots."""


class Resolver:
    """Resolver of the steps of one workflow; levels shared by all steps are looked up once."""

    def __init__(
        self,
        workflow: Workflow,
        placement: Placement | None = None,
        *,
        tells_children: bool = True,
    ) -> None:
        self.tells_children = tells_children
        self.workflow = workflow
        self.placement = placement or Placement(workflow, Environment())
        self.defaults = workflow.defaults
        # Time-outs and retries have an agent between step and defaults: they cannot be merged into the step.
        self.merged = frozenset(workflow.defaults.model_fields_set - {"timeout", "retry"})
        self.is_bare = not workflow.defaults.model_fields_set
        self.retry = workflow.defaults.retry or ONE_ATTEMPT
        self.cluster = workflow.placement == "cluster" or "placement" in workflow.used_keys
        self.serialize = workflow.undeclared_writers == "serialize"

    def resolve(self, step: Step, merged: Mapping[str, Resolved]) -> Resolved:
        """Return the step with all levels applied. `merged` has the steps that a merge brings back, resolved before it."""
        if type(step) is ShellStep and self.is_bare and step.for_each is None:
            return self._shell(step)
        spec = self._with_defaults(step) if self.merged else step
        agent: Agent | None = None
        if isinstance(spec, AgentStep) and spec.agent is not None:
            agent = self.workflow.agents.get(spec.agent)
        timeout_ms, source = self._timeout(spec, agent)
        retry = spec.retry
        if retry is None:
            retry = self.retry if agent is None else agent.retry or self.retry
        posture, reads, writes, is_undeclared, is_wide = self._claims(spec, agent, merged)
        if spec.for_each is not None:
            reads, writes = as_planned(reads), as_planned(writes)
        workspace = _workspace(spec, posture)
        return Resolved(
            spec,
            agent,
            timeout_ms,
            source,
            retry,
            posture,
            reads,
            writes,
            workspace,
            isinstance(spec, PythonStep)
            and (not self.tells_children or needs_process(spec, posture, workspace, retry)),
            is_undeclared,
            is_wide,
            self._placement(spec),
            self.placement.root_of(spec, agent),
        )

    def _shell(self, step: ShellStep) -> Resolved:
        """Return a resolved shell step for the most common case: only the step itself sets anything."""
        timeout = step.timeout
        posture, reads, writes, is_undeclared, is_wide = self._shell_claims(step)
        return Resolved(
            step,
            None,
            STANDARD_TIMEOUT_MS if timeout is None else timeout,
            "standard" if timeout is None else "step",
            step.retry or self.retry,
            posture,
            reads,
            writes,
            step.workspace or "shared",
            False,
            is_undeclared,
            is_wide,
            self._placement(step),
            WORKSPACE if step.cwd is None else self.placement.root_of(step, None),
        )

    def _with_defaults(self, step: Step) -> Step:
        written, known = step.model_fields_set, type(step).model_fields
        update = {
            name: getattr(self.defaults, name)
            for name in self.merged
            if name not in written and name in known
        }
        return step.model_copy(update=update) if update else step

    def _placement(self, spec: Step) -> Literal["local", "cluster"]:
        """Return where a step runs: decisions and merges are of the run itself."""
        if not self.cluster:
            return "local"
        is_able = isinstance(spec, ShellStep | PythonStep | AgentStep)
        return (spec.placement or self.workflow.placement) if is_able else "local"

    def _timeout(self, spec: Step, agent: Agent | None) -> tuple[int | None, TimeoutSource]:
        if spec.timeout is not None:
            return spec.timeout, "step"
        if isinstance(spec, DecisionStep):
            return None, "none"
        if agent is not None and agent.timeout is not None:
            return agent.timeout, "agent"
        if self.defaults.timeout is not None:
            return self.defaults.timeout, "defaults"
        return STANDARD_TIMEOUT_MS, "standard"

    def _claims(self, spec: Step, agent: Agent | None, merged: Mapping[str, Resolved]) -> Claims:
        reads, writes = spec.read_set, spec.write_set
        everything = self.placement.everything(spec, agent)
        match spec:
            case DecisionStep():
                return "read_only", NOTHING, NOTHING, False, False
            case MergeStep():
                brought = [glob for name in spec.merge for glob in self._brought(merged.get(name))]
                whole = tuple(dict.fromkeys(brought)) or everything
                return "writer", reads or NOTHING, whole, False, False
            case ShellStep():
                return self._shell_claims(spec)
            case PythonStep():
                posture = spec.posture or ("writer" if writes else "read_only")
            case AgentStep():
                posture = spec.posture or (agent.posture if agent else None) or "writer"
            case _:
                assert_never(spec)
        if posture == "writer":
            return "writer", reads or NOTHING, writes or everything, False, not writes
        if reads is None:
            reads = NOTHING if isinstance(spec, PythonStep) else everything
        return "read_only", reads, writes or NOTHING, False, False

    def _brought(self, step: Resolved | None) -> Texts:
        """Return the globs that a merge may write for one of its steps."""
        if step is None or step.posture == "read_only":
            return NOTHING
        return step.writes or self.placement.everything(step.spec, step.agent)

    def _shell_claims(self, spec: ShellStep) -> Claims:
        posture, reads, writes = spec.posture, spec.read_set, spec.write_set
        if writes and posture != "read_only":
            return "writer", reads or NOTHING, writes, False, False
        everything = self.placement.everything(spec, None)
        if posture == "writer":
            return "writer", reads or NOTHING, everything, False, True
        if posture is None and reads is None and writes is None:
            return "undeclared", NOTHING, everything if self.serialize else NOTHING, True, False
        return "read_only", everything if reads is None else reads, writes or NOTHING, False, False


def needs_process(spec: PythonStep, posture: Posture, workspace: str, retry: Retry) -> bool:
    """Return whether a Python step needs a process: a thread cannot be killed, and has the kernel's folder and environment.

    The failure context of a retry is a variable.
    """
    return (
        posture == "writer"
        or bool(spec.env)
        or spec.cwd is not None
        or workspace == "isolated"
        or bool(spec.process)
        or (
            retry.max_attempts > 1 and (retry.include_failure_context or "timeout" in retry.classes)
        )
    )


def _workspace(spec: Step, posture: Posture) -> Literal["shared", "isolated"]:
    if isinstance(spec, DecisionStep | MergeStep):
        return "shared"
    if spec.workspace is not None:
        return spec.workspace
    return "isolated" if isinstance(spec, AgentStep) and posture == "writer" else "shared"
