"""The verdict on an attempt: whether what it left is safe to build on. Readiness fails closed. Source: contract.md §4.

Shell and python steps earn it by a clean end and passing checks; an agent must say so in a structured report, or pass a check
that the author declared. Nothing else counts: not an exit code of an agent, not text that looks confident.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct, field

from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.events import AttemptEnded, CheckpointStatus, CheckResult, ErrorData
from pixirnb.history.file_events import (
    CHECKED_LEFT,
    CONFLICT,
    LEADS_OUT,
    OUTSIDE,
    UNCHECKED,
    WorkspaceCaptured,
    list_paths,
)
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonObject
from pixirnb.machine.failure_evidence import SILENT, UNREPORTED, check_phrase, finding
from pixirnb.machine.items import NOT_READY
from pixirnb.machine.next_actions import UNDECIDED
from pixirnb.planning.plan import PlannedStep
from pixirnb.wording import NOT_JSON, cut, join_names, on_one_line

_CAPS: Final = frozenset({"turn_limit", "iteration_limit", "output_limit"})
_UNDECIDED: Final = "the agent needs a decision"
BEFORE_QUESTION: Final = f"{_UNDECIDED}: "
"""Words before an agent's question."""
_DECLARED: Final[dict[str, tuple[CheckpointStatus, str, str]]] = {
    "needs_orchestrator": (
        "needs_orchestrator",
        UNDECIDED,
        _UNDECIDED,
    ),
    "failed": ("failed", "agent_reported_failure", "the agent reported a failure"),
    "partial": ("partial", "agent_reported_partial", "the agent reported partial work"),
}
"""Reports of an agent that are not `checkpoint_ready`: the status, the kind of error, and our words before the agent's own."""
_QUOTED: Final = 400
"""Characters of an agent's summary that are quoted in an error and in the question to a person."""


class Verdict(Struct, frozen=True):
    """The judgement on an attempt: its status, error and limitations."""

    status: CheckpointStatus
    error: ErrorData | None = None
    limitations: list[str] = field(default_factory=list)


def judge(step: PlannedStep, state: StepState, *, is_lenient: bool) -> Verdict:
    """Return the verdict on the ended attempt in `state.ended` and its checks."""
    ended = state.ended
    if ended is None:
        return Verdict("failed", _error("failed"))
    report = ended.get("report")
    limitations = [
        *_texts((report or {}).get("limitations")),
        *_process_limitations(ended),
        *_time_limitations(ended, state.timeout_ms),
        *_output_limitations(ended),
        *_file_limitations(ended, state.captured, state.checks),
    ]
    error = ended["error"]
    if error is not None and error["kind"] in {PERMISSION_REQUIRED, CONFLICT}:
        return Verdict("needs_orchestrator", error, limitations)
    if ended["status"] != "completed":
        left_something = report is not None or bool(ended.get("artifacts"))
        capped = error is not None and (error["kind"] in _CAPS or has_some_items(error))
        status: CheckpointStatus = "partial" if left_something or capped else "failed"
        return Verdict(status, error or _error(ended["status"]), limitations)
    is_agent = step.kind == "agent"
    fallen: CheckpointStatus = "partial" if is_agent else "failed"
    if is_agent and has_no_result(report):
        return _judge_agent(report, limitations, has_checks=False, is_lenient=False)
    broken = [check for check in state.checks if not check["passed"]]
    if broken:
        return Verdict(fallen, _check_error(state.checks, broken), limitations)
    payload = ended.get("payload")
    if payload is not None and not payload["validation"]["passed"]:
        why = "; ".join(payload["validation"].get("errors", [])) or "no details"
        is_reported = why in {SILENT, UNREPORTED} or why.endswith(NOT_JSON)
        message = why if is_reported else f"output does not match its schema: {why}"
        error = _error("output_invalid", message)
        return Verdict(fallen, error, limitations)
    if not is_agent:
        return _within(state, Verdict("checkpoint_ready", None, limitations))
    verdict = _judge_agent(
        report, limitations, has_checks=bool(state.checks), is_lenient=is_lenient
    )
    agent, name = step.agent, getattr(step.spec, "agent", "")
    is_undeclared = verdict.error is not None and report is None
    if is_undeclared and agent is not None and agent.is_silent_in(step.id):
        why = f"the script of `{name}` has nothing for step `{step.id}`"
        return Verdict("partial", _error("readiness_not_declared", why), limitations)
    return _within(state, verdict)


def has_some_items(error: ErrorData) -> bool:
    """Return whether too few items of a step are ready, but some are."""
    return error["kind"] == NOT_READY and bool(error["details"].get("ready"))


def has_no_result(report: JsonObject | None) -> bool:
    """Return whether an agent reports that it asks or has failed: there is nothing that a check could judge."""
    declared = None if report is None else report.get("checkpoint_status")
    return declared in ("needs_orchestrator", "failed")  # no set: a list can be declared


def _within(state: StepState, verdict: Verdict) -> Verdict:
    """Return the verdict, with a question to a person where an isolated step changed files that it had not claimed."""
    outside = None if state.captured is None else state.captured.get("outside")
    if verdict.status != "checkpoint_ready" or not outside:
        return verdict
    message = f"changed files outside its write_set: {list_paths(outside)}"
    error: ErrorData = {"kind": OUTSIDE, "message": message, "details": {**outside}}
    return Verdict("needs_orchestrator", error, verdict.limitations)


def _process_limitations(ended: AttemptEnded) -> list[str]:
    """Return limitations on its processes: those that could not be ended."""
    survivors = ended.get("survivors")
    if survivors is None:
        return []
    pids = f"pid {join_names(survivors, 5, str)}" if survivors else "its processes may still run"
    return [f"processes_left: could not end all processes of the step: {pids}"]


def _time_limitations(ended: AttemptEnded, timeout_ms: int | None) -> list[str]:
    """Return limitations on its time: a thread that holds the interpreter cannot be ended."""
    overdue_ms = ended.get("overdue_ms")
    if overdue_ms is None:
        return []
    limit = f"{(timeout_ms or 0) / 1000:g} s"
    return [
        f"time_out_missed: ran for {overdue_ms / 1000:.1f} s; it could not be stopped at its timeout of {limit}"
    ]


def _output_limitations(ended: AttemptEnded) -> list[str]:
    """Return limitations on its printed output: which parts are missing, and where the whole lies."""
    limits: list[str] = []
    output, log = ended.get("output"), ended.get("output_log")
    printed = None if output is None else output.get("printed")
    kept = None if output is None else output.get("bytes")
    if printed is not None and kept is not None and printed > kept:
        limits.append(f"output_cut: kept the first {kept} of {printed} printed bytes")
    elif printed is not None:
        limits.append(
            f"output_too_large: the output of {printed} bytes is only in output_path, not in output"
        )
    if log is not None and log["truncated"]:
        limits.append(
            f"output_log_cut: {log['path']} has only the beginning and the end of {log['bytes']} printed bytes"
        )
    return limits


def _file_limitations(
    ended: AttemptEnded, captured: WorkspaceCaptured | None, checks: list[CheckResult]
) -> list[str]:
    """Return limitations on files: changes without a claim, missing artifacts, links that lead out, files left behind."""
    limits: list[str] = []
    outside = ended.get("outside")
    if outside and outside.get("unchecked"):
        limits.append(f"{UNCHECKED}: {outside['unchecked']}")
    elif outside:
        limits.append(f"{OUTSIDE}: {list_paths(outside)} changed while it ran")
    if missing := ended.get("missing"):
        names = join_names(missing, 5, "`{}`".format)
        limits.append(f"items_missing: {len(missing):,} without a value (null): {names}")
    if unmatched := ended.get("unmatched"):
        limits.append(
            f"artifact_missing: {join_names(unmatched, 5, '`{}`'.format)} matched no file"
        )
    if captured is None:
        return limits
    if links := captured["changes"].get("leads_out"):
        limits.append(f"{LEADS_OUT}: {list_paths(links)}")
    left = captured.get("left_behind")
    if left:
        limits.append(
            f"files_left_behind: {list_paths(left)} (ignored, secret or not a regular file; not part of its changes)"
        )
        seen = {
            path
            for check in checks
            if check["passed"]
            for path in check["evidence"].get("files") or ()
        }
        if relied := [path for path in left["paths"] if path in seen]:
            limits.append(
                f"{CHECKED_LEFT}: a check passed on {join_names(relied, 3, '`{}`'.format)}, which is not part of its "
                "changes; add it to `write_set`"
            )
    return limits


def _judge_agent(
    report: JsonObject | None, limitations: list[str], *, has_checks: bool, is_lenient: bool
) -> Verdict:
    declared = None if report is None else report.get("checkpoint_status")
    if declared == "checkpoint_ready":
        return Verdict("checkpoint_ready", None, limitations)
    if isinstance(declared, str) and declared in _DECLARED:
        status, kind, limits = _DECLARED[declared]
        text = _quoted((report or {}).get("summary"))
        error = _error(kind, f"{limits}: {text}" if text else limits)
        return Verdict(status, error, limitations)
    if declared is not None:
        why = f"the agent declared `{str(declared)[:80]}`, which is not a checkpoint status"
        return Verdict("partial", _error("readiness_not_declared", why), limitations)
    if has_checks:
        return Verdict("checkpoint_ready", None, limitations)
    if is_lenient:
        return Verdict("checkpoint_ready", None, [*limitations, "readiness_not_declared"])
    why = "the agent did not declare a checkpoint status, and the step has no check"
    return Verdict("partial", _error("readiness_not_declared", why), limitations)


def _quoted(text: Any) -> str:
    """Return an agent's own words as one line, bounded, in quotation marks: the reader sees that they are not ours."""
    if not isinstance(text, str):
        return ""
    limits = on_one_line(text[: 4 * _QUOTED]).replace("“", "'").replace("”", "'")
    return f"“{cut(limits, _QUOTED)}”" if limits else ""


def _texts(text: Any) -> list[str]:
    """Return limitations as an agent wrote them: a list, or one text."""
    if isinstance(text, list):
        return [str(item) for item in text]
    return [str(text)] if text else []


def _check_error(checks: list[CheckResult], broken: list[CheckResult]) -> ErrorData:
    first = finding(broken[0])
    message = f"check failed: `{check_phrase(first['check'])}`"
    message += f": {first['seen']}" if first["seen"] else ""
    if len(broken) > 1:
        names = ", ".join(f"`{check_phrase(check['check'])}`" for check in broken)
        message = f"{len(broken)} of {len(checks)} checks failed: {names}"
    return _error("verification", message[:2000])


def _error(kind: str, message: str = "") -> ErrorData:
    return {"kind": kind, "message": message or f"the attempt ended as {kind}.", "details": {}}
