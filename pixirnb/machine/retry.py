"""Retries: whether an attempt is made again, when, and with which time-out. Source: contract.md §5.

Jitter is the only randomness in the pure floors: it is drawn from run, step and attempt, so that the same history always
plans the same delay.
"""

from __future__ import annotations

import hashlib
from typing import Final

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import ErrorData
from pixirnb.machine.instructions import Snapshot
from pixirnb.machine.readiness import Verdict
from pixirnb.planning.plan import PlannedStep
from pixirnb.planning.resolved_step import STANDARD_TIMEOUT_MS
from pixirnb.spec.durations import LONGEST_MS

_CLASSES: Final[dict[str, str]] = {
    "timeout": "timeout",
    "context_overflow": "context_overflow",
    "verification": "verification",
    "output_invalid": "verification",
    "crash": "crash",
    "lost": "crash",
    "supervisor_lost": "crash",
    "worker_lost": "crash",
    "spawn_failed": "crash",
    "exit": "exit",
    "exception": "exit",
    "provider_transient": "provider_transient",
    "provider_unreachable": "provider_transient",
    "provider_stream_cut": "provider_transient",
    "provider_malformed": "provider_transient",
    "provider_permanent": "provider_permanent",
    "provider_denied": "provider_permanent",
    "provider_key_missing": "provider_permanent",
    "model_unknown": "provider_permanent",
    "auth_required": "provider_permanent",
    "agent_failed": "exit",
    "agent_silent": "crash",
    "protocol_error": "crash",
    "cancelled": "cancelled",
}


def plan_retry(snapshot: Snapshot, index: int, verdict: Verdict) -> EventDraft | None:
    """Return the retry of a step whose attempt has ended; None where it is not made again."""
    step, state = snapshot.plan.steps[index], snapshot.board.state(index)
    if verdict.status not in {"failed", "partial"} or verdict.error is None:
        return None
    if step.kind == "decision":
        return None  # a question is asked once a course; asking again is a resume
    if state.ended is not None and state.ended["status"] in {"interrupted", "detached"}:
        return None
    if snapshot.is_stopping or index in snapshot.board.cancelled:
        return None
    kind = retry_class(verdict.error["kind"])
    attempts = state.attempt - state.tried_before
    if kind not in step.retry.classes or attempts >= step.retry.max_attempts:
        return None
    if attempts < 1:
        return None  # an earlier course ended it: to try again is a resume, which has said what it does with this step
    attempt = state.attempt + 1
    delay = delay_ms(step, run_id=snapshot.board.run.run_id, attempt=attempt, retries=attempts)
    return _planned(step, attempt, delay, attempts, kind, verdict.error)


def plan_rerun(snapshot: Snapshot, index: int, why: str) -> EventDraft:
    """Return a retry that a person's decision brings about, without counting an attempt."""
    step, state = snapshot.plan.steps[index], snapshot.board.state(index)
    attempts = max(0, state.attempt - state.tried_before - 1)
    assert state.error is not None  # it is what the decision is about
    return _planned(step, state.attempt + 1, 0, attempts, why, state.error)


def _planned(  # noqa: PLR0917 - the event has as many parts
    step: PlannedStep, attempt: int, delay: int, retries: int, kind: str, error: ErrorData
) -> EventDraft:
    return EventDraft(
        "retry_planned",
        {
            "step": step.id,
            "attempt": attempt,
            "delay_ms": delay,
            "timeout_ms": timeout_ms(step, retries=retries),
            "retry_class": kind,
            "error": error,
        },
    )


def retry_class(error_kind: str) -> str | None:
    """Return the retry class of an error kind; None where no retry can help (a missing function, an undeclared readiness)."""
    return _CLASSES.get(error_kind)


def delay_ms(step: PlannedStep, *, run_id: str, attempt: int, retries: int) -> int:
    """Return the milliseconds before `attempt`, the `retries`-th retry of this course (1 for the first)."""
    policy = step.retry
    bare = _grown(policy.delay, policy.backoff, retries - 1, policy.max_delay)
    spread = policy.jitter * (2 * _fraction(run_id, step.id, attempt) - 1)
    return round(min(max(bare * (1 + spread), 0), policy.max_delay))


def timeout_ms(step: PlannedStep, *, retries: int) -> int | None:
    """Return the time-out of an attempt after `retries` retries, grown by `timeout_scale` and capped."""
    base = step.timeout_ms
    if base is None or retries == 0:
        return base
    ceiling = LONGEST_MS if step.spec.allow_long_timeout else max(STANDARD_TIMEOUT_MS, base)
    return round(_grown(base, step.retry.timeout_scale, retries, ceiling))


def _grown(base: float, factor: float, times: int, ceiling: float) -> float:
    """Return `base * factor ** times`, at most `ceiling`; a power too large for a float is the ceiling too."""
    try:
        return min(base * factor**times, ceiling)
    except OverflowError:
        return ceiling


def _fraction(run_id: str, step: str, attempt: int) -> float:
    """Return a number in [0, 1) that looks random and is equal in every replay."""
    seed = hashlib.blake2b(f"{run_id}/{step}/{attempt}".encode(), digest_size=8).digest()
    return int.from_bytes(seed, "big") / 2**64
