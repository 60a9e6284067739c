"""Arithmetic of retries: the class of an error, the delay and the time-out of the next attempt. Source: contract.md §5.

Jitter is the only randomness in the pure floors: it is drawn from run, step and attempt, so that the same history always
plans the same delay.
"""

from __future__ import annotations

import hashlib
from typing import Final

from pixirnb.planning.plan import PlannedStep

RECOMMENDED_TIMEOUT_MS: Final = 30 * 60_000
"""The longest a scaled time-out grows without `allow_long_timeout`; the standard time-out too."""

LONGEST_MS: Final = 7 * 24 * 3_600_000
"""No time-out is longer, scaled or not."""

_CLASSES: Final[dict[str, str]] = {
    "timeout": "timeout",
    "context_overflow": "context_overflow",
    "verification": "verification",
    "output_invalid": "verification",
    "crash": "crash",
    "lost": "crash",
    "supervisor_lost": "crash",
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
    ceiling = LONGEST_MS if step.spec.allow_long_timeout else max(RECOMMENDED_TIMEOUT_MS, base)
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
