"""One finding of a diagnosis: what speaks against a run, with its evidence and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pixirnb.machine.next_actions import Action

Severity = Literal["warning", "blocked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that speaks against a run."""

    code: str
    severity: Severity
    message: str
    step: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    next_action: dict[str, Any] | None = None
    """`{action, step, cell}`, as in an outcome; None where there is nothing to run."""

    def document(self) -> dict[str, Any]:
        """The JSON of the reference."""
        return {name: getattr(self, name) for name in self.__slots__}


def offer(name: Action, step: str | None, cell: str) -> dict[str, Any]:
    """What can be done next, as in an outcome."""
    return {"action": name, "step": step, "cell": cell}


def rest_of(entries: Sequence[object] | Mapping[str, object], listed: int) -> dict[str, Any]:
    """How many entries of a list are not shown, where some are not."""
    return {"and_more": len(entries) - listed} if len(entries) > listed else {}
