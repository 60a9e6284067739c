"""Differences of an edited workflow from the pinned one, a sentence for each step: shown before a resume runs anything."""

from __future__ import annotations

from typing import Any

from pixirnb.spec.expressions.conditions import is_same
from pixirnb.spec.workflow import Workflow

_FINGERPRINTED = frozenset(
    {
        "run",
        "call",
        "with",
        "task",
        "ask",
        "merge",
        "agent",
        "cwd",
        "env",
        "output",
        "verify",
        "artifacts",
        "workspace",
    }
)
"""Keys that make a step another step; any other key may change without repeating the step."""


def edit_lines(pinned: Workflow, edited: Workflow) -> tuple[str, ...]:
    """Sentences, in the order of the edited workflow; empty where both say the same."""
    before = {step["id"]: step for step in pinned.canonical()["steps"]}
    after = {step["id"]: step for step in edited.canonical()["steps"]}
    lines = [line for name, step in after.items() if (line := _line(name, before.get(name), step))]
    lines += [
        f"{name} was removed from the workflow; its events stay in the log."
        for name in before
        if name not in after
    ]
    return (*lines, *_workflow_sentences(pinned, edited))


def _line(name: str, before: dict[str, Any] | None, after: dict[str, Any]) -> str:
    if before is None:
        return f"{name} is new."
    keys = sorted(key for key in {*before, *after} if not is_same(before.get(key), after.get(key)))
    if not keys:
        return ""
    harmless = not _FINGERPRINTED.intersection(keys) and "depends_on" not in keys
    tail = "; no step reruns for that" if harmless else ""
    return f"{name}: {', '.join(keys)} changed{tail}."


def _workflow_sentences(pinned: Workflow, edited: Workflow) -> tuple[str, ...]:
    before, after = pinned.canonical(), edited.canonical()
    keys = sorted(
        key for key in {*before, *after} - {"steps"} if not is_same(before.get(key), after.get(key))
    )
    return (f"Workflow: {', '.join(keys)} changed.",) if keys else ()
