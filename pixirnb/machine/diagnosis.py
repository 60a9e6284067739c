"""Diagnosis of a run: findings from its plan, its history and its folder. Decides, and reads nothing itself.

    DiagnosisInput   the facts around the log: lease, processes, blobs, output logs, requests, modes
    findings         every finding, the log first, then the folder, then step by step
    Diagnosis        the findings of one run, and how it stands: ready, ready_with_warnings or blocked

A finding is `blocked` where the run cannot go on as it is, or refers to data that is missing; every other is a `warning`.
Source: contract.md §7 (diagnostics).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from pixirnb.history.file_events import OUTSIDE
from pixirnb.history.step_state import StepState
from pixirnb.machine.findings import DiagnosisDocument, Finding, rest_of
from pixirnb.machine.next_actions import offer, step_actions
from pixirnb.machine.outcome_documents import NextAction
from pixirnb.machine.session_diagnosis import SeenSession, of_sessions
from pixirnb.wording import join_names

if TYPE_CHECKING:
    from pixirnb.history.codec import Damage
    from pixirnb.history.run_state import RunState
    from pixirnb.json_types import JsonObject
    from pixirnb.machine.outcome import RunOutcome
    from pixirnb.planning.plan import Plan

Readiness = Literal["ready", "ready_with_warnings", "blocked"]
LeaseStanding = Literal[
    "live", "unlocked", "stale", "reused", "elsewhere", "left_behind", "unsigned"
]
"""State of the record next to the lock: its process lives and holds the lock · it lives and the lock is free · it is gone · its
pid is another process now · it is another host's · the lock is held though its process is gone · it is held without a record.
"""

_LISTED: Final = 8
"""Entries of a long list that are named in the evidence; the rest are counted."""


class Diagnosis(Struct, frozen=True):
    """The findings of one run."""

    run_id: str
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Readiness:
        """Return `ready` without a finding, `blocked` with one that blocks, otherwise `ready_with_warnings`."""
        if any(finding.severity == "blocked" for finding in self.findings):
            return "blocked"
        return "ready_with_warnings" if self.findings else "ready"

    def document(self) -> DiagnosisDocument:
        """Return the diagnosis as the JSON of the reference."""
        collected = [finding.document() for finding in self.findings]
        return {"run_id": self.run_id, "status": self.status, "findings": collected}

    def __repr__(self) -> str:
        message = [f"{f.severity}: {f.message} [{f.code}]" for f in self.findings]
        return "\n".join([f"{self.run_id}: {self.status.replace('_', ' ')}", *message])


class LostBlob(Struct, frozen=True):
    """A blob that an event names and that is missing, or is not what was written."""

    digest: str
    code: str
    """`blob_missing` or `blob_damaged`."""
    step: str | None
    attempt: int | None
    """Attempt of the event that names it; None where the event belongs to no attempt."""


class DiagnosisInput(Struct, frozen=True):
    """Facts about the run's folder, collected around its log; the default is a sound folder that no process holds."""

    damage: Damage | None = None
    is_held: bool = False
    """True if a live owner has the run, or another host's record says so."""
    lease: JsonObject | None = None
    """The record `{host, pid, since}` next to the lock."""
    standing: LeaseStanding | None = None
    """State of that record; None: no record, and the lock is free."""
    strays: tuple[int, ...] | None = ()
    """Processes of its steps that live; None: none was found, and the search for them was not complete."""
    workers: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    """Workers of a cluster with the attempts that go on there; None: it does not answer."""
    lost_blobs: tuple[LostBlob, ...] = ()
    lost_outputs: tuple[tuple[str, int, str], ...] = ()
    """Step, attempt and path of output logs that are named and missing."""
    untrusted: tuple[str, ...] = ()
    """Steps whose value is a pickle that this user did not sign."""
    requests: tuple[str, ...] = ()
    """Ids of requests in the inbox that are not answered."""
    exposed: tuple[tuple[str, str], ...] = ()
    """Path within the run folder and mode of files that others may read or change."""
    planted: tuple[str, ...] = ()
    """Links deeper in the run folder, and files of other users."""
    sessions: tuple[SeenSession, ...] = ()
    """Every child session that the run names or that lies in its folder, by step, oldest attempt first."""
    unfinished: tuple[tuple[str, str], ...] = ()
    """Merges that its log does not hold, though their processes are gone: name, and how they stand."""
    has_workspace: bool = True
    """True if the folder its steps work in is there."""


def unreadable(run_id: str, code: str, message: str, fix: str = "") -> Diagnosis:
    """Return the diagnosis of a run that cannot be read at all."""
    return Diagnosis(run_id, (Finding(code, "blocked", message, evidence={"fix": fix}),))


def findings(
    plan: Plan, run: RunState, outcome: RunOutcome, context: DiagnosisInput
) -> tuple[Finding, ...]:
    """Return every finding of a run: its log, its owner, its folder, its steps in the order of the workflow."""
    collected = [
        *_of_the_log(run, context),
        *_of_the_owner(run, context),
        *_of_the_folder(run, context),
    ]
    sessions: dict[str, list[SeenSession]] = {}
    for session in context.sessions:
        sessions.setdefault(session.step, []).append(session)
    for planned in plan.steps:
        state = run.steps.get(planned.id) or StepState()
        actions = step_actions(run.run_id, planned, state)
        collected += _of_a_step(run, planned.id, state, actions, context)
        collected += of_sessions(
            run.run_id,
            planned.id,
            state,
            sessions.get(planned.id, ()),
            is_held=context.is_held,
            may_run=not context.is_held and not _is_damaged(context),
        )
    for seam in outcome.seam_obligations:
        if seam.get("state") != "resolved":
            between = " and ".join(map(str, seam.get("between") or ()))
            message = f"The seam {seam.get('id')} between {between} is open."
            cell = f"%pixir decide {run.run_id} {seam.get('id')} accept --note WHY"
            between_steps = [side for side in seam.get("between") or () if side in plan.index]
            action = offer("resolve_seam", between_steps[-1] if between_steps else None, cell)
            collected.append(Finding("seam_open", "warning", message, None, dict(seam), action))
    return tuple(collected)


def _of_the_log(run: RunState, context: DiagnosisInput) -> Iterator[Finding]:
    damage = context.damage
    if damage is not None:
        evidence: JsonObject = {"line": damage.line}
        if damage.code == "torn_tail":
            message = (
                f"The last log line is incomplete; it was never acknowledged: {damage.message}."
            )
            yield Finding(damage.code, "warning", message, None, evidence, _resume(run, context))
        else:
            message = f"The log is damaged: {damage.message}. pixirnb can read it up to there, but cannot resume it."
            if damage.code != "version":
                # Told, and not offered: what was behind the damage may run again, which is for a person to weigh.
                message += f" `pixirnb resume {run.run_id} --recover` moves the rest aside and resumes from there."
            yield Finding(damage.code, "blocked", message, None, evidence)
    if run.unread:
        message = f"{len(run.unread)} events are malformed and were ignored."
        yield Finding(
            "events_unread",
            "warning",
            message,
            None,
            {"events": run.unread[:_LISTED]} | rest_of(run.unread, _LISTED),
        )


def _of_the_owner(run: RunState, context: DiagnosisInput) -> Iterator[Finding]:
    lease = context.lease or {}
    who = f"process {lease.get('pid')} on {lease.get('host')}"
    match context.standing:
        case "elsewhere":
            message = f"The last lock owner is {who}; this host cannot see whether it is running."
            cell = f"%pixir resume {run.run_id} --take-over"
            action = offer("resume_run", None, cell)
            yield Finding("lease_elsewhere", "warning", message, None, lease, action)
        case "unlocked":
            holder = f"{who[0].upper()}{who[1:]}"
            message = f"{holder} drives the run without its lock: the lock file was removed, or the disk ignores locks."
            yield Finding("lock_lost", "warning", message, None, lease)
        case "stale":
            message = f"Stale lock record from {who}; the next resume replaces it."
            yield Finding("lease_stale", "warning", message, None, lease)
        case "reused":
            message = f"The lock record names {who}, which is a different process now, or the clock was changed."
            yield Finding("pid_reused", "warning", message, None, lease)
        case "left_behind":
            message = f"A child of the ended {who} holds the lock: end it first; `fuser` names it."
            yield Finding("lock_left_behind", "blocked", message, None, lease)
        case "unsigned":
            message = "The lock is held by an unidentified process."
            yield Finding("lock_unsigned", "blocked", message)
        case "live" | None:
            pass
    if context.is_held:
        return
    # Behind a damage the end may be recorded, and the death of no process.
    if run.finished is None and not _is_damaged(context):
        message = "The process that ran it died; nothing was recorded after the last event."
        evidence: JsonObject = {"seq": run.seq, "at": run.at}
        yield Finding("owner_died", "warning", message, None, evidence, _resume(run, context))
    if context.strays:
        message = f"{len(context.strays)} orphaned step processes are still running; resume will stop them."
        evidence = {"pids": list(context.strays[:_LISTED])} | rest_of(context.strays, _LISTED)
        yield Finding("strays_alive", "warning", message, None, evidence, _resume(run, context))
    if context.strays is None:
        message = "The search for orphaned step processes was not complete: other processes start faster than it reads them."
        yield Finding("strays_unknown", "warning", message)
    for worker, attempts in context.workers:
        if attempts is None:
            message = f"Worker {worker} does not say whether it runs steps of this run."
            yield Finding("worker_silent", "warning", message, None, {"worker": worker})
            continue
        named = join_names(attempts, _LISTED, "`{}`".format)
        message = f"Still running on worker {worker}: {named}; resume ends processes, and is refused while a thread runs."
        evidence = {"worker": worker, "attempts": list(attempts[:_LISTED])}
        yield Finding("strays_on_worker", "warning", message, None, evidence, _resume(run, context))
    if run.decided_after_end:
        message = "A decision is recorded, but the run was not resumed."
        yield Finding("decided_not_resumed", "warning", message, None, {}, _resume(run, context))


def _of_the_folder(run: RunState, context: DiagnosisInput) -> Iterator[Finding]:
    for lost in context.lost_blobs:
        yield _lost_blob(run, lost, context)
    for step, attempt, path in context.lost_outputs:
        message = f"The output log of {step}, attempt {attempt}, is missing: {path}."
        yield Finding(
            "output_missing", "warning", message, step, {"path": path, "attempt": attempt}
        )
    if context.requests:
        count = len(context.requests)
        were = "1 request was" if count == 1 else f"{count} requests were"
        message = f"{were} left without an answer; the senders were informed."
        evidence = {"requests": list(context.requests[:_LISTED])} | rest_of(
            context.requests, _LISTED
        )
        if not context.is_held:
            yield Finding("requests_waiting", "warning", message, None, evidence)
    if context.exposed:
        count = len(context.exposed)
        are = (
            "1 file or folder of the run is"
            if count == 1
            else f"{count} files or folders of the run are"
        )
        message = f"{are} accessible to other users."
        shown = [{"path": path, "mode": mode} for path, mode in context.exposed[:_LISTED]]
        yield Finding(
            "mode_wide",
            "warning",
            message,
            None,
            {"paths": shown} | rest_of(context.exposed, _LISTED),
        )
    if context.planted:
        message = f"{len(context.planted)} symbolic links or files of other users in the run folder are ignored."
        evidence = {"paths": list(context.planted[:_LISTED])} | rest_of(context.planted, _LISTED)
        yield Finding("symlink_refused", "blocked", message, None, evidence)
    for merge, text in () if context.is_held else context.unfinished:
        action = _resume(run, context)
        yield Finding("merge_unfinished", "warning", text, None, {"merge": merge}, action)
    if not context.has_workspace:
        message = "The workspace of the run is missing: the run can be shown here, but not resumed."
        yield Finding("workspace_missing", "warning", message, None, {"workspace": run.workspace})


def _of_a_step(
    run: RunState,
    step: str,
    state: StepState,
    actions: Sequence[NextAction],
    context: DiagnosisInput,
) -> Iterator[Finding]:
    first = actions[0] if actions and not context.is_held and not _is_damaged(context) else None
    again = None if _is_damaged(context) or context.is_held else _again(run, step)
    attempt = {"attempt": state.attempt}
    if state.checkpoint_status == "checkpoint_ready" and _lacks_evidence(state):
        message = f"{step} is recorded as ready without evidence: no attempt ended and no decision was made."
        yield Finding("evidence_missing", "blocked", message, step, attempt, again)
    stray = [limit for limit in state.limitations if limit.startswith(f"{OUTSIDE}: ")]
    if state.checkpoint_status == "checkpoint_ready" and stray:
        what = stray[0].removeprefix(f"{OUTSIDE}: ").removesuffix(" changed while it ran")
        message = f"{step} is ready, but {what} changed while it ran, outside its write_set."
        evidence: JsonObject = attempt | {"limitations": stray}
        yield Finding(OUTSIDE, "warning", message, step, evidence)
    if state.subagent_status == "timed_out" and state.checkpoint_status != "checkpoint_ready":
        message = f"{step} timed out (attempt {state.attempt})."
        evidence = attempt | {"timeout_ms": state.timeout_ms}
        yield Finding("timed_out", "warning", message, step, evidence, first)
    if state.subagent_status == "detached":
        message = f"A process or thread of {step} could not be stopped or reached; it may still be running."
        yield Finding("detached", "warning", message, step, attempt, first)
    if state.checkpoint_status == "partial":
        message = f"{step} is partial; its results are kept."
        ended = state.ended
        artifacts = [] if ended is None else [file["path"] for file in ended.get("artifacts") or []]
        evidence = attempt | {"artifacts": artifacts[:_LISTED]} | rest_of(artifacts, _LISTED)
        yield Finding("partial_preserved", "warning", message, step, evidence, first)
    elif state.awaits_human and not state.open_requests:
        question = "" if state.request is None else state.request["question"]
        message = f"{step} waits for a decision."
        yield Finding(
            "decision_open", "warning", message, step, {"question": question[:300]}, first
        )
    for permission in run.open_permissions(step):
        request = str(permission.get("request_id"))
        message = f"{step} waits for a permission: an agent asks to use `{str(permission.get('tool'))[:80]}`."
        call: JsonObject = {"request_id": request} | attempt
        call |= {"tool": permission.get("tool"), "args": permission.get("args")}
        approve = offer("approve_request", step, f"%pixir approve {request}")
        yield Finding("permission_open", "warning", message, step, call, approve)
    is_under_way = state.stage in {"scheduled", "running", "ended"}
    is_over = not (context.is_held or _is_damaged(context))
    if is_under_way and is_over and run.finished is None:
        message = f"{step} was running when its process died; its side effects may be incomplete or duplicated."
        yield Finding("in_flight", "warning", message, step, attempt, _resume(run, context))
    if step in context.untrusted:
        message = f"The value of {step} is not signed by this user; a resume computes it again."
        yield Finding("value_not_trusted", "warning", message, step, attempt, again)


def _lost_blob(run: RunState, lost: LostBlob, context: DiagnosisInput) -> Finding:
    state = run.steps.get(lost.step or "")
    stands_on_it = state is not None and lost.attempt in {None, state.attempt}
    how = "is missing" if lost.code == "blob_missing" else "does not match its digest"
    whose = f"of {lost.step}, attempt {lost.attempt}," if lost.step else "of the run"
    evidence: JsonObject = {"digest": lost.digest, "attempt": lost.attempt}
    if run.forked is not None:
        evidence["forked_from"] = run.forked.get("run_id")  # a copy may still lie there
    may_rerun = stands_on_it and lost.step and not context.is_held and not _is_damaged(context)
    return Finding(
        lost.code,
        "blocked" if stands_on_it else "warning",
        f"A blob {whose} {how}: {lost.digest[:15]}….",
        lost.step,
        evidence,
        _again(run, str(lost.step)) if may_rerun else None,
    )


def _lacks_evidence(state: StepState) -> bool:
    if state.decision is not None:
        return False
    return state.ended is None or state.ended.get("status") != "completed"


def _is_damaged(context: DiagnosisInput) -> bool:
    return context.damage is not None and context.damage.code != "torn_tail"


def _resume(run: RunState, context: DiagnosisInput) -> NextAction | None:
    if _is_damaged(context) or context.is_held:
        return None
    return offer("resume_run", None, f"%pixir resume {run.run_id}")


def _again(run: RunState, step: str) -> NextAction:
    return offer("rerun_step", step, f"%pixir resume {run.run_id} --from {step}")
