"""Outcome of a run: the one computation of its status, reasons and step outcomes. Views only draw it.

Nothing but `completed` is success: `ok` is true for it alone. Source: contract.md §4; the JSON is in spellings.md.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from msgspec import field
from msgspec.structs import replace

from pixirnb.history.bundles import CheckpointBundle, bundle
from pixirnb.history.codec import Damage
from pixirnb.history.events import (
    ErrorData,
    HeldBy,
    Reason,
    RetryPlanned,
    RunFinished,
    RunStatus,
    WarningRaised,
)
from pixirnb.history.file_state import Obligation, obligations
from pixirnb.history.run_state import RunState
from pixirnb.json_types import SCHEMA_VERSION, JsonObject, deep_copy
from pixirnb.machine.board import RunStop
from pixirnb.machine.document_access import Attributes, Keyed
from pixirnb.machine.failure_evidence import error_with_evidence
from pixirnb.machine.held_steps import held_dependents, hold_of
from pixirnb.machine.items import item_title
from pixirnb.machine.next_actions import next_actions, step_actions
from pixirnb.machine.outcome_documents import (
    NextAction,
    OpenRequest,
    RunDocument,
    StepDocument,
)
from pixirnb.machine.outcome_reasons import (
    OPERATOR,
    holds,
    own_warnings,
    run_status,
    seams_of,
    step_reasons,
)
from pixirnb.machine.outcome_summary import (
    UNFINISHED,
    attempt_status,
    run_summary,
    step_counts,
    step_summary,
)
from pixirnb.machine.permission_answers import open_requests
from pixirnb.machine.proof_states import proof_states
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.planning.environment import shown_input
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.spec.steps import AgentStep


class StepOutcome(Keyed, frozen=True):
    """The state of one step: the result of its attempt, and whether others may build on it."""

    step_id: str
    """Id of the step."""
    kind: str
    """`shell`, `python`, `agent`, `decision` or `merge`; `for_each` of a step that has items."""
    agent_id: str | None
    """Name of its agent; None if it has none."""
    child_session_id: str | None
    """The session of an agent's last attempt; None for other steps."""
    wave: int | None
    """Number of the wave in which the plan starts it."""
    attempt: int
    """Number of attempts so far."""
    subagent_status: str
    """How its last attempt ended, for every kind of step: `completed`, `failed`, `timed_out`, …"""
    checkpoint_status: str | None
    """None while the step is neither settled nor waiting for a human."""
    summary: str
    """One line: what it returned, printed or reported."""
    elapsed_ms: int | None
    """Duration of the last attempt."""
    timeout_ms: int | None
    """Time limit of an attempt; None if it has none."""
    error: ErrorData | None
    """Why it is not ready: `kind`, `message`, `details`; None if it is ready or has not failed."""
    checkpoint: CheckpointBundle | None
    """The checkpoint bundle."""
    next_actions: list[NextAction]
    """Actions that can be taken for it, each with the cell to run."""
    posture: str
    """`read_only`, `writer` or `undeclared`."""
    read_set: list[str]
    """Globs that it reads."""
    write_set: list[str]
    """Globs that it writes."""
    workspace: str
    """`shared` or `isolated`."""
    held_by: HeldBy | None
    """The hold on it: `kind` and `step`; None if nothing does."""
    depends_on: list[str] = field(default_factory=list)
    """Ids of its dependencies."""
    started_at: str | None = None
    """Start of the last attempt, or the time of the question."""
    ended_at: str | None = None
    """End of the last attempt; None while it runs."""
    exit_code: int | None = None
    """Exit code of its process; None if it has none."""
    output_path: str | None = None
    """Log of what the last attempt printed; None if it printed nothing."""
    output_age_ms: int | None = None
    """Milliseconds since a running attempt last printed, or since it started."""
    retry: RetryPlanned | None = None
    """The planned retry, while the step waits for it: attempt, delay, class, and why the last was not ready."""
    recheck: bool = False
    """True if the step was ready before, and is kept if its dependencies come out unchanged."""
    starting: bool = False
    """True if its attempt is scheduled, and its start not recorded yet."""
    skipped: bool = False
    """True if it is held because its `when` is false, or because only skipped steps hold it."""
    undone: bool = False
    """True if its merge was undone, and it runs again with the next resume."""
    requests: list[OpenRequest] = field(default_factory=list)
    """The calls that its agent waits to be allowed: `request_id`, `tool`, `args`, as attributes and keys."""
    worker: str | None = None
    """Address of the cluster's worker of the last attempt; None where it ran with the owner."""
    title: str = ""
    """Its name for people, of an item what it is of; empty if it has none."""

    def document(self) -> StepDocument:
        """Return the outcome as JSON; `title`, and keys of a passing state such as `retry`, only where they are set."""
        document = {name: getattr(self, name) for name in self.__struct_fields__}
        for passing in (
            "retry",
            "recheck",
            "starting",
            "skipped",
            "undone",
            "requests",
            "worker",
            "title",
        ):
            if not document[passing]:
                del document[passing]
        if self.output_age_ms is None:
            del document["output_age_ms"]
        return cast("StepDocument", document)

    def __repr__(self) -> str:
        return f"<StepOutcome {self.step_id}: {'skipped' if self.skipped else self.checkpoint_status or self.subagent_status}>"


class RunOutcome(Keyed, frozen=True):
    """The state or end of a run."""

    run_id: str
    """Id of the run."""
    workflow: str
    """Name of the workflow."""
    status: RunStatus
    """`completed` is the only success."""
    reasons: list[Reason]
    """Why it is not completed, `{code, step}` each."""
    steps: list[StepOutcome]
    """A `StepOutcome` for each step, in the order of the workflow."""
    held_dependents: dict[str, list[str]]
    """By id of a step that is not ready: the steps that it holds."""
    seam_obligations: list[Obligation]
    """Seams, and whether they are resolved."""
    next_actions: list[NextAction]
    """Actions that can be taken next, each with the cell to run."""
    proof_states: list[str]
    """Proofs in the log, such as `dependencies_resolved`."""
    summary: str
    """One line."""
    counts: dict[str, int]
    """Checkpoint status to number of steps; skipped steps as `skipped`."""
    warnings: list[WarningRaised]
    """Warnings of the run, `{code, message, step}` each."""
    elapsed_ms: int | None
    """Duration, resumes included; None if its process died."""
    started_at: str | None = None
    """Start, UTC."""
    ended_at: str | None = None
    """End, UTC; None while it runs."""
    workspace: str = ""
    """Folder that it works in."""
    inputs: JsonObject = field(default_factory=dict)
    """Inputs by name; a secret is masked."""
    name: str | None = None
    """Name that a person gave to the run."""
    tags: list[str] = field(default_factory=list)
    """Its labels."""
    workflow_title: str = ""
    """Name of the workflow for people; empty if it has none."""

    @property
    def ok(self) -> bool:
        """Return True only for `completed`."""
        return self.status == "completed"

    def step(self, step_id: str) -> StepOutcome:
        """Return one step's outcome. Raises KeyError."""
        for step in self.steps:
            if step.step_id == step_id:
                return step
        raise KeyError(step_id)

    def ids(self, checkpoint_status: str) -> list[str]:
        """Return the ids of the steps with a checkpoint status, in spec order."""
        return [s.step_id for s in self.steps if s.checkpoint_status == checkpoint_status]

    def document(self) -> RunDocument:
        """Return the outcome as JSON, as `--json` prints it."""
        titled: RunDocument = {"workflow_title": self.workflow_title} if self.workflow_title else {}
        return titled | {
            "schema_version": SCHEMA_VERSION,
            "ok": self.ok,
            "run_id": self.run_id,
            "name": self.name,
            "tags": self.tags,
            "workflow": self.workflow,
            "workspace": self.workspace,
            "inputs": self.inputs,
            "status": self.status,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "reasons": self.reasons,
            "steps": [step.document() for step in self.steps],
            "usable_checkpoints": self.ids("checkpoint_ready"),
            "failed_steps": self.ids("failed"),
            "partial_steps": self.ids("partial"),
            "timed_out_steps": [s.step_id for s in self.steps if s.subagent_status == "timed_out"],
            "held_steps": self.ids("held"),
            "skipped_steps": [s.step_id for s in self.steps if s.skipped],
            "needs_orchestrator_steps": self.ids("needs_orchestrator"),
            "held_dependents": self.held_dependents,
            "seam_obligations": self.seam_obligations,
            "next_actions": self.next_actions,
            "proof_states": self.proof_states,
            "summary": self.summary,
            "counts": self.counts,
            "warnings": self.warnings,
            "elapsed_ms": self.elapsed_ms,
        }

    def _otherwise(self) -> str:
        return f'values are on the Run: `pixirnb.open_run("{self.run_id}")["STEP"].value`, or use start()'

    def __repr__(self) -> str:
        return f"<RunOutcome {self}>"

    def __str__(self) -> str:
        return f"{self.run_id} · {self.workflow}: {self.status}. {self.summary}"


def conclude(
    plan: Plan, run: RunState, *, stop: RunStop | None, is_timed_out: bool, elapsed_ms: int
) -> RunFinished:
    """Return the end of a run that has come to rest."""
    reasons = step_reasons(plan, run)
    if is_timed_out:
        reasons.insert(0, {"code": "run_timed_out", "step": None})
    if stop is not None:
        reasons.insert(0, {"code": OPERATOR[stop], "step": None})
    status = run_status(plan, run, reasons)
    return {
        "status": status,
        "reasons": [] if status == "completed" else reasons or holds(plan, run),
        "elapsed_ms": elapsed_ms,
        "counts": step_counts(plan, run),
    }


def outcome(
    plan: Plan,
    run: RunState,
    *,
    is_live: bool,
    gone: str = "owner_died",
    folder: object = None,
) -> RunOutcome:
    """Return the outcome of a run: `is_live` is True while a process holds it; `gone` is the reason why none does, where no end
    is recorded; `folder`: the path with the output logs, if there is one. A change in it changes nothing of the run.
    """
    reasons: list[Reason]
    if run.finished is None:
        reasons = step_reasons(plan, run)
        if is_live:
            status: RunStatus = "running"
        else:
            reasons.insert(0, {"code": gone, "step": None})
            status = run_status(plan, run, reasons)
    else:
        written = deep_copy(run.finished["reasons"])
        kept = [r for r in written if r["code"] in {*OPERATOR.values(), "run_timed_out"}]
        reasons = kept + step_reasons(plan, run)
        if run.decided_after_end:
            reasons.insert(0, {"code": "decided_not_resumed", "step": None})
        status = run_status(plan, run, reasons)
        reasons = reasons or holds(plan, run)
    warnings = [*deep_copy(run.warnings), *own_warnings(plan, run)]
    if status == "completed":
        reasons = []
        if run.finished is None:
            warnings.append(UNFINISHED)
    skipped = skipped_steps(plan, run)
    prefix = "" if folder is None else f"{folder}/"
    counts = step_counts(plan, run, skipped)
    return RunOutcome(
        run_id=run.run_id,
        workflow=run.workflow,
        status=status,
        reasons=reasons,
        steps=[_step_outcome(plan, run, step, prefix, skipped) for step in plan.listed],
        held_dependents=held_dependents(plan, run),
        seam_obligations=deep_copy(obligations(seams_of(plan, run))),
        next_actions=next_actions(plan, run, status),
        proof_states=proof_states(plan, run, status=status),
        summary=run_summary(plan, run, counts, reasons),
        counts=counts,
        warnings=warnings,
        elapsed_ms=run.elapsed_ms if run.finished is not None else None,
        started_at=run.started_at,
        ended_at=run.ended_at,
        workspace=run.workspace,
        inputs={name: shown_input(name, deep_copy(value)) for name, value in run.inputs.items()},
        name=run.name,
        tags=deep_copy(run.tags),
        workflow_title=plan.workflow.title,
    )


def as_damaged(result: RunOutcome, damage: Damage) -> RunOutcome:
    """Return the outcome of a damaged log: it names the damage first, and is never `completed`.

    A torn tail is different: the torn line was never confirmed to anyone, so the status stands, with a warning.
    """
    warning: WarningRaised = {"code": damage.code, "message": damage.message, "step": None}
    warned = replace(result, warnings=[*result.warnings, warning])
    if damage.code == "torn_tail":
        return warned
    kept = [reason for reason in result.reasons if reason["code"] != "owner_died"]
    return replace(
        warned,
        # Whether the end was recorded cannot be told of a log whose end cannot be read.
        warnings=[each for each in warned.warnings if each is not UNFINISHED],
        status="interrupted" if result.ok or result.status == "running" else result.status,
        reasons=[{"code": "log_damaged", "step": None}, *kept],
        next_actions=[],
        proof_states=[p for p in result.proof_states if p != "completion_ready"],
        summary=f"The log is damaged at line {damage.line}; up to there: {result.summary}",
    )


def _step_outcome(
    plan: Plan, run: RunState, step: PlannedStep, prefix: str, skipped: Collection[int]
) -> StepOutcome:
    state = run.step(step.id)
    # What a held step keeps of an earlier course is no part of how it stands.
    is_held = state.checkpoint_status == "held"
    ended = None if is_held else state.ended
    agent_id = step.spec.agent if isinstance(step.spec, AgentStep) else None
    log = None if ended is None else ended.get("output_log")
    return StepOutcome(
        step_id=step.id,
        kind=step.kind,
        agent_id=agent_id,
        child_session_id=None if ended is None else ended.get("session_id"),
        wave=step.wave,
        attempt=state.attempt,
        subagent_status=attempt_status(plan, run, step),
        checkpoint_status=state.checkpoint_status,
        summary=step_summary(run, state),
        elapsed_ms=None if ended is None else ended["elapsed_ms"],
        timeout_ms=state.timeout_ms if state.timeout_ms is not None else step.timeout_ms,
        error=deep_copy(state.failed_before if is_held else error_with_evidence(step, state)),
        checkpoint=deep_copy(bundle(step.id, state, agent_id=agent_id)),
        next_actions=step_actions(run.run_id, step, state),
        posture=step.posture,
        read_set=list(step.read_set),
        write_set=list(step.write_set),
        workspace=step.workspace,
        held_by=hold_of(plan, run, step, skipped),
        depends_on=[plan.steps[index].id for index in plan.awaited(step)],
        started_at=None if is_held else state.started_at,
        ended_at=None if is_held else state.ended_at,
        exit_code=None if ended is None else ended.get("exit_code"),
        output_path=None if log is None or not log["bytes"] else prefix + log["path"],
        retry=deep_copy(state.retry) if state.stage == "retrying" else None,
        recheck=state.stage == "idle" and state.recheck,
        starting=state.stage == "scheduled",
        skipped=step.index in skipped,
        undone=state.is_undone,
        worker=None if is_held else state.worker,
        requests=cast("list[OpenRequest]", [Attributes({**r}) for r in open_requests(run, state)]),
        title=step.spec.title if step.item is None else item_title(plan, run, step),
    )
