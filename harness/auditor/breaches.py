"""What an audit is told and what it tells: sightings in, breaches out, and the rules in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Breach:
    """One promise that a run did not keep."""

    rule: str
    """Name of the Rule."""
    seq: int | None
    """The event that shows it; None where no single one does."""
    step: str | None
    message: str


CUT: Final = "cut"
"""Detail of a `died` that stands for all that is not known any more: the log was cut there, or a fork begins there."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a witness outside the log saw. Sightings are handed over in the order in which they were made."""

    what: str
    """`began` and `ended`: a runner really performed step.attempt · `returned`: a detached thread is gone · `wished`: the
    operator asked (`detail`: cancel, drain, interrupt, cancel_step) · `merging`: a person asked for a merge (`detail`: the
    request) · `answered`: a request (`detail`) has its reply · `forged`: a request (`detail`) was left by a step's process, or
    by who did not prove that it is none · `died`: the owner · `acquired`: a process (`detail`) took it up · `lost`: its owner
    lost the lock · `wrote`: a process (`detail`) wrote a group."""
    durable: int
    """How many events were on disk at that moment."""
    at: float
    """Monotonic seconds."""
    step: str | None = None
    attempt: int | None = None
    detail: str = ""


Finding = tuple[int | None, str | None, str]
"""Sequence number, step and sentence of a breach."""
