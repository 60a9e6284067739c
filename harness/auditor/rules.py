"""A rule of the audit: a promise of the contract, and how to find where it was broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from harness.auditor.breaches import Finding
from harness.auditor.record import Record

Section = Literal["1", "2", "3", "4", "5", "6", "7", "8", "operator"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise, and how to find where it was broken."""

    name: str
    sentence: str
    section: Section
    """Of the contract; `operator` for what is promised to whoever stops a run."""
    find: Callable[[Record], Iterator[Finding]]
