"""A workflow as the auditor reads it: what is in force for each step, worked out from the contract's words.

    Reading      one workflow: its steps in spec order, its phases, its limits
    StepReading  one step: kind, edges, time-out, retry, claims, condition, and what its result depends on

Nothing here asks the planner: where both err in the same way, nobody would notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from harness.auditor.globs import meet
from pixirnb.history.codec import canonical
from pixirnb.spec.expressions.conditions import Condition, parse_condition
from pixirnb.spec.expressions.references import Reference, parse_references
from pixirnb.spec.policies import Agent, Retry
from pixirnb.spec.steps import AgentStep, DecisionStep, MergeStep, PythonStep, ShellStep, Step
from pixirnb.spec.workflow import Workflow

HALF_AN_HOUR_MS: Final = 30 * 60 * 1000
SEVEN_DAYS_MS: Final = 7 * 24 * 3600 * 1000
_ALL: Final = ("**/*",)
_PAYLOADS: Final = ("run", "call", "with", "task", "ask", "merge")
_BETWEEN: Final = frozenset({"timeout", "retry"})
"""What an agent says before `defaults` do."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a step touches while it is under way."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    is_shared: bool

    def writes_against(self, other: Claims) -> bool:
        """Whether what this one writes keeps the other from running."""
        if any(meet(mine, theirs) for mine in self.writes for theirs in other.writes):
            return True
        return self.is_shared and any(
            meet(mine, theirs) for mine in self.writes for theirs in other.reads
        )

    def conflicts_with(self, other: Claims) -> bool:
        """Whether the two may not be under way at once."""
        return self.writes_against(other) or other.writes_against(self)


@dataclass(eq=False)
class StepReading:
    """One step, with everything in force for it."""

    step: Step
    workflow: Workflow
    order: tuple[int, int, int]
    """Its place among those that could start: spec order, and for items that of the list and their number."""

    @property
    def id(self) -> str:
        """Its name."""
        return self.step.id

    @property
    def written_id(self) -> str:
        """The name its author gave it: of an item that of its step."""
        return self.step.id

    @property
    def kind(self) -> str:
        """shell, python, agent, decision or merge; for_each of a step that collects what its items leave."""
        return self.step.kind

    @cached_property
    def depends_on(self) -> tuple[str, ...]:
        """What it waits for."""
        return tuple(dict.fromkeys(self.step.depends_on))

    def said(self, key: str) -> Any:
        """What the step says, or `defaults` in its stead, or the standard."""
        written = self.step.model_fields_set
        defaults = self.workflow.defaults
        if key not in written and key in defaults.model_fields_set and key not in _BETWEEN:
            return getattr(defaults, key)
        return getattr(self.step, key, None)

    @cached_property
    def agent(self) -> Agent | None:
        """Whom its task goes to."""
        if not isinstance(self.step, AgentStep):
            return None
        return self.workflow.agents.get(self.said("agent") or "")

    @cached_property
    def timeout_ms(self) -> int | None:
        """Of a first attempt: step, agent, defaults, half an hour; a question has what it says itself."""
        if self.step.timeout is not None or isinstance(self.step, DecisionStep):
            return self.step.timeout
        of_agent = None if self.agent is None else self.agent.timeout
        return of_agent or self.workflow.defaults.timeout or HALF_AN_HOUR_MS

    @cached_property
    def retry(self) -> Retry:
        """Step, agent, defaults, or a single attempt."""
        of_agent = None if self.agent is None else self.agent.retry
        return self.step.retry or of_agent or self.workflow.defaults.retry or Retry()

    def scaled_timeout_ms(self, retries: int) -> tuple[float, float]:
        """Least and most the time-out of an attempt after `retries` retries may be, in ms."""
        base = self.timeout_ms or 0
        if retries == 0:
            return base, base
        cap = SEVEN_DAYS_MS if self.said("allow_long_timeout") else max(HALF_AN_HOUR_MS, base)
        grown = _power(base, self.retry.timeout_scale, retries, cap)
        return grown - 1, grown + 1

    def delay_ms(self, retries: int) -> tuple[float, float]:
        """Least and most that retry number `retries` (from 1) of a course may wait, in ms."""
        policy = self.retry
        bare = _power(policy.delay, policy.backoff, retries - 1, policy.max_delay)
        most = min(bare * (1 + policy.jitter), policy.max_delay)
        return bare * (1 - policy.jitter) - 1, most + 1

    @cached_property
    def claims(self) -> Claims:
        """What it reads and writes, written or by its kind."""
        reads, writes = self._sets()
        return Claims(tuple(reads), tuple(writes), self.workspace == "shared")

    @property
    def is_on_cluster(self) -> bool:
        """Whether it is placed on a cluster: what it says itself, or else what all say of those that can."""
        said = self.said("placement") or self.workflow.placement
        return said == "cluster" and self.kind in {"shell", "python", "agent"}

    @cached_property
    def workspace(self) -> str:
        """Where it works, written or by its kind: an agent that writes has folders of its own."""
        said = self.said("workspace")
        if said is not None:
            return str(said)
        is_writer = isinstance(self.step, AgentStep) and self._posture() == "writer"
        return "isolated" if is_writer else "shared"

    @property
    def says_what_it_writes(self) -> bool:
        """Whether its author said which files it writes, or that it writes none."""
        is_python = isinstance(
            self.step, PythonStep
        )  # which only reads, where nothing else is said
        return is_python or self.said("write_set") is not None or self._posture() == "read_only"

    def _posture(self) -> str | None:
        posture = self.said("posture")
        if posture is None and self.agent is not None:
            posture = self.agent.posture
        if posture is None and isinstance(self.step, AgentStep):
            posture = "writer"
        if posture is None and self.said("write_set"):
            posture = "writer"
        return None if posture is None else str(posture)

    def _sets(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if isinstance(self.step, DecisionStep):
            return (), ()
        reads, writes = self.said("read_set"), self.said("write_set")
        if isinstance(self.step, MergeStep):
            return reads or (), self._merged()
        posture = self._posture()
        if posture is None and isinstance(self.step, ShellStep) and reads is None and not writes:
            # `write_set: []` says something: the step writes nothing.
            is_serialized = self.workflow.undeclared_writers == "serialize"
            if writes is None:
                return (), _ALL if is_serialized else ()
        if posture == "writer":
            return reads or (), writes or _ALL
        if reads is None:
            reads = () if isinstance(self.step, PythonStep) else _ALL
        return reads, writes or ()

    def _merged(self) -> tuple[str, ...]:
        assert isinstance(self.step, MergeStep)
        named = [step for step in self.workflow.steps if step.id in self.step.merge]
        sets = [
            (step.write_set if step.for_each is None else wildcards(step.write_set)) or _ALL
            for step in named
        ]
        return tuple(dict.fromkeys(glob for each in sets for glob in each)) or _ALL

    @cached_property
    def when(self) -> Condition | None:
        """Its condition."""
        return None if self.step.when is None else parse_condition(self.step.when)

    @cached_property
    def checks(self) -> int:
        """How many checks it declares."""
        return len(self.said("verify") or ())

    @cached_property
    def _said(self) -> dict[str, Any]:
        """What it does, in plain data: payload, place, checks and declared output."""
        written = self.step.model_dump(mode="json", by_alias=True, exclude_unset=True)
        said: dict[str, Any] = {key: written[key] for key in _PAYLOADS if key in written}
        if isinstance(self.step, PythonStep):
            said["with"] = self.said("arguments") or {}
        checks = self.said("verify") or ()
        said["verify"] = [
            check.model_dump(mode="json", by_alias=True, exclude_unset=True) for check in checks
        ]
        for key in ("cwd", "output"):
            said[key] = self.said(key)
        said["env"] = dict(self.said("env") or {})
        said["artifacts"] = list(self.said("artifacts") or ())
        said["workspace"] = self.workspace
        said["carry"] = list(self.said("carry") or ())
        return said

    @cached_property
    def _deed(self) -> bytes:
        said: dict[str, Any] = {"kind": self.kind, "said": self._said}
        if self.agent is not None:
            scripts = self.agent.script or {}
            told = self.agent.model_dump(mode="json")
            who = {key: told[key] for key in ("role", "runner", "model", "command", "tools")}
            names = (self.step.id, self.written_id, "*")
            said["agent"] = {
                **who,
                "script": next((scripts[name] for name in names if name in scripts), None),
                "of_items": {n: s for n, s in scripts.items() if n.startswith(f"{self.step.id}@")},
            }
        return canonical(said)

    def deed(self, sources: Mapping[str, str]) -> bytes:
        """What a result of it is a result of: equal deeds, given equal things, need not be done twice."""
        called = [self.step.call] if isinstance(self.step, PythonStep) else []
        called += [check.python for check in self.said("verify") or () if check.python]
        pinned = [sources[name] for name in called if name in sources]
        return self._deed if not pinned else self._deed + canonical(pinned)

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """What its payload, env, place and checks refer to."""
        told = [self._said.get(key) for key in (*_PAYLOADS, "env", "cwd", "verify")]
        return tuple(found for text in _texts(told) for found in parse_references(text))


@dataclass(eq=False)
class Reading:
    """One workflow."""

    workflow: Workflow

    @cached_property
    def steps(self) -> dict[str, StepReading]:
        """Every step by name, in spec order."""
        steps = enumerate(self.workflow.steps)
        return {step.id: StepReading(step, self.workflow, (n, -1, n)) for n, step in steps}

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The steps that the workflow itself has, in its order."""
        return tuple(step.id for step in self.workflow.steps)

    @property
    def listed(self) -> list[str]:
        """Every step in the order of the workflow, each with its items behind it."""
        return list(self.steps)

    def carriers(self, names: Iterable[str]) -> list[str]:
        """The steps that work where these are named: the items of one that has a list, else itself."""
        return list(names)

    def verify(self) -> None:
        """Work out what could fail to be. Raises ValueError."""
        for step in self.steps.values():
            _ = step.when, step.references
        _ = self.phases, self._conflicts

    @cached_property
    def dependents(self) -> dict[str, list[str]]:
        """Step to those that name it in `depends_on`, in spec order."""
        found: dict[str, list[str]] = {name: [] for name in self.steps}
        for step in self.steps.values():
            for name in step.depends_on:
                found.setdefault(name, []).append(step.id)
        return found

    @cached_property
    def phases(self) -> dict[str, list[str]]:
        """Phase to its steps."""
        workflow = self.workflow
        if not workflow.phases and all(step.phase is None for step in workflow.steps):
            return {workflow.name: list(self.written)}
        of = {step: phase.name for phase in workflow.phases for step in phase.steps}
        found: dict[str, list[str]] = {}
        for step in workflow.steps:
            found.setdefault(of.get(step.id) or step.phase or "rest", []).append(step.id)
        return found

    def conflict(self, one: str, other: str) -> bool:
        """Whether two steps may not be under way at once."""
        return one != other and (min(one, other), max(one, other)) in self._conflicts

    @cached_property
    def _conflicts(self) -> set[tuple[str, str]]:
        claiming = [s for s in self.steps.values() if s.claims.reads or s.claims.writes]
        return {
            (min(a.id, b.id), max(a.id, b.id))
            for a in claiming
            for b in claiming
            if a.order < b.order and a.claims.conflicts_with(b.claims)
        }

    def reach(self, start: str, edges: str) -> set[str]:
        """The step and all before it (`depends_on`) or after it (`dependents`)."""
        found, pending = set(), [start]
        while pending:
            name = pending.pop()
            if name in self.steps and name not in found:
                found.add(name)
                before = edges == "depends_on"
                pending += self.steps[name].depends_on if before else self.dependents[name]
        return found


def wildcards(globs: Iterable[str] | None) -> tuple[str, ...]:
    """Globs that cover what those of all items do: any folders for a reference that is a whole name, else any characters."""
    return tuple(map(_wildcard, globs or ()))


def _wildcard(glob: str) -> str:
    for reference in reversed(parse_references(glob)):
        before, after = glob[: reference.start], glob[reference.end :]
        is_whole = before[-1:] in {"", "/", ":"} and after[:1] in {"", "/"}
        wildcard = "" if after.startswith("*") else "**" if is_whole else "*"
        glob = before + wildcard + after
    return glob


def _power(base: float, factor: float, times: int, cap: float) -> float:
    try:
        return min(base * factor**times, cap)
    except OverflowError:
        return cap


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
