"""Targets of a run: the steps that a person names, and what they leave out."""

from __future__ import annotations

from collections.abc import Sequence

from pixirnb.errors import InvalidArguments
from pixirnb.spec.steps import Step


def not_selected(steps: Sequence[Step], targets: Sequence[str]) -> list[str]:
    """Return the steps that neither are targets nor are needed by one; none without targets.

    Raises InvalidArguments (`unknown_step`).
    """
    if isinstance(targets, str):
        raise InvalidArguments(
            f"targets must be a list, got {targets!r:.80}", fix=f"write targets=[{targets!r:.80}]"
        )
    known = {step.id: step for step in steps}
    for target in targets:
        if target not in known:
            raise InvalidArguments(
                f"unknown step `{target}`",
                fix=f"use one of: {', '.join(list(known)[:6])}",
                code="unknown_step",
            )
    needed: set[str] = set()
    pending = list(targets)
    while pending:
        name = pending.pop()
        if name in known and name not in needed:
            needed.add(name)
            pending.extend(known[name].depends_on)
    return [name for name in known if name not in needed] if targets else []
