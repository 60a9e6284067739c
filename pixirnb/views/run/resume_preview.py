"""Forecast of a resume, grouped for reading: a dry run's steps by action, and within one by the reason they share.

A list of every step in its order answers "what of step 17?"; a reader who asks "what will this cost me?" wants to see at once
what is kept, what runs for certain, and what runs only if a result before it turns out different. Each step is named once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.history.events import ResumeStep
from pixirnb.json_types import JsonMapping
from pixirnb.spec.expressions.conditions import is_same
from pixirnb.spec.workflow import Workflow
from pixirnb.views.basics.phrases import resume_phrase
from pixirnb.views.basics.sanitize import line, plural
from pixirnb.views.basics.status_marks import Mark
from pixirnb.views.basics.step_names import titles_of
from pixirnb.views.blocks.model import (
    Block,
    Chart,
    Code,
    Heading,
    Names,
    Paragraph,
    Part,
    Phrase,
    Status,
    Table,
)

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
        "for_each",
        "verify",
        "artifacts",
        "workspace",
    }
)
"""Keys that make a step another step; any other key may change without repeating the step."""


def edit_lines(pinned: Workflow, edited: Workflow) -> tuple[str, ...]:
    """Return sentences, in the order of the edited workflow; empty where both say the same."""
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


NAMES: Final = 60
"""Steps named for one reason; the rest are counted."""

REUSE: Final = Mark("checkpoint_ready", "reuse", "✓", "ready")
REJECTED: Final = Mark("failed", "stay rejected", "✗", "bad")
"""A step that a person rejected: only by its name is it run again."""
RERUN: Final = Mark("running", "run", "▸", "live")
MAYBE: Final = Mark("maybe", "run if inputs change", "▹", "live")
"""A step behind one that runs: if that leaves an equal result, this one is kept after all."""
MAY: Final = Mark("maybe", "may run", "▹", "live")
"""A step that a `when` may skip, its values not being known yet, or that an answer may keep from running."""
ASK: Final = Mark("needs_orchestrator", "ask first", "◆", "ask")
"""A step that says `rerun: ask` and died in flight: nothing of it runs before a person has said so."""
HOLD: Final = Mark("held", "hold", "‖", "idle")
HOLD_MAYBE: Final = Mark("held_maybe", "hold if inputs change", "‖", "idle")
"""A step that was left out behind one that runs: if that leaves an equal result, this one stays ready."""
SKIP: Final = Mark("skipped", "skip", "»", "idle")
_PREVIEW: Final = Mark("planned", "resume, dry run", "○", "idle")
RERUNS: Final = frozenset({RERUN, MAYBE, MAY, ASK})
"""Looks of what would not simply stay as it is."""
_ORDER: Final = (REUSE, REJECTED, RERUN, MAYBE, MAY, ASK, HOLD_MAYBE, HOLD, SKIP)
_PHRASES: Final = {
    REUSE: "reuse {count}",
    REJECTED: "keep {count} rejected",
    RERUN: "run {count}",
    MAYBE: "run {count} if their inputs change",
    MAY: "maybe run {count}",
    ASK: "ask about {count} first",
    HOLD_MAYBE: "hold {count} if their inputs change",
    HOLD: "hold {count}",
    SKIP: "skip {count}",
}
_BLOCKED: Final = "blocked by"
_ACTIONS: Final = {"reuse": REUSE, "rerun": RERUN, "hold": HOLD}


class Row(Struct, frozen=True):
    """Steps that share an action and a reason."""

    why: str
    because: tuple[str, ...]
    """Steps the reason names."""
    count: int
    steps: tuple[str, ...]
    """The first `NAMES` of them, in the order of the workflow."""


class _Open(Struct):
    count: int = 0
    steps: list[str] = field(default_factory=list)


def resume_blocks(document: JsonMapping) -> list[Block]:
    """Return a resume's dry run: what is kept, what runs for certain, what runs only if a result before it differs."""
    steps = document.get("steps") or []
    groups = forecast(steps)
    would = sentence(groups)
    titles = titles_of(document)

    def named(steps: Iterable[str]) -> list[Part]:
        return [Code(step, title=titles.get(step, "")) for step in steps]

    counts = [(mark, sum(row.count for row in rows)) for mark, rows in groups]
    rows: list[tuple[Phrase, ...]] = [
        (
            "" if index else Status(mark),
            f"{row.count:,}",
            (row.why, Names(named(row.because))),
            Names(named(row.steps), row.count - len(row.steps)),
        )
        for mark, listed in groups
        for index, row in enumerate(listed)
    ]
    return [
        Heading(_PREVIEW, "", document.get("run_id"), plural(len(steps), "step")),
        Paragraph(f"Dry run: {would[0].lower()}{would[1:]}"),
        Chart(counts, has_legend=False),
        Table(("action", "", "details", "steps"), rows, numeric=frozenset({1})),
    ]


def forecast(entries: Iterable[ResumeStep]) -> list[tuple[Mark, list[Row]]]:
    """Return the entries of a dry run's `steps`: each action that occurs, with its rows, as the workflow first reaches them."""
    groups: dict[Mark, dict[tuple[str, tuple[str, ...]], _Open]] = {}
    entries = list(entries)
    # The `when` of a step is its own: who waits for another step, and that one for nothing, waits for an answer.
    conditions = {e["step_id"] for e in entries if e.get("step_id") in (e.get("awaits") or ())}
    for entry in entries:
        mark = _mark(entry)
        awaits = entry.get("awaits") or ()
        questions = [step for step in awaits if step not in conditions]  # these come first
        named = (questions or awaits) if mark is MAY else entry.get("because")
        because = tuple(line(step, 64) for step in (named or ())[:6])
        key = (_why(mark, entry, on_answer=bool(questions)), because)
        row = groups.setdefault(mark, {}).setdefault(key, _Open())
        row.count += 1
        if len(row.steps) < NAMES:
            row.steps.append(line(entry.get("step_id"), 64))
    order = {mark: position for position, mark in enumerate(_ORDER)}
    return [
        (mark, [Row(*key, row.count, tuple(row.steps)) for key, row in rows.items()])
        for mark, rows in sorted(groups.items(), key=lambda pair: order.get(pair[0], len(order)))
    ]


def steps_to_run(entries: Iterable[ResumeStep]) -> list[str]:
    """Return the ids of the steps of a dry run that would not simply stay as they are."""
    return [entry["step_id"] for entry in entries if _mark(entry) in RERUNS]


def sentence(groups: list[tuple[Mark, list[Row]]]) -> str:
    """Return a sentence with the number of steps of each action."""
    blocked = any(mark is HOLD and row.why == _BLOCKED for mark, rows in groups for row in rows)
    if not blocked and not any(mark in RERUNS for mark, _ in groups):
        rejected = sum(row.count for mark, rows in groups if mark is REJECTED for row in rows)
        if not rejected:
            return "Everything is up to date."
        return f"No step runs: {rejected:,} rejected; use --from STEP."
    parts = [
        _PHRASES.get(mark, "do something unknown with {count}").format(
            count=f"{sum(r.count for r in rows):,}"
        )
        for mark, rows in groups
    ]
    *first, last = parts
    return f"Would {', '.join(first)}{' and ' if first else ''}{last}."


def _why(mark: Mark, entry: ResumeStep, *, on_answer: bool) -> str:
    if mark is REJECTED:
        return "use --from STEP"
    if mark is MAYBE:
        return "after"
    if mark is HOLD_MAYBE:
        return "not selected, after"
    if mark is MAY:
        return "depends on the answer to" if on_answer else "depends on `when` of"
    if mark is SKIP:
        return "after" if entry.get("because") else "`when` is false"
    if mark is HOLD and entry.get("reason") == "held":
        return _BLOCKED
    if mark is HOLD and entry.get("reason") == "waiting":
        return "no decision yet"
    reason = "new" if entry.get("new") is True else entry.get("reason")
    return resume_phrase(reason, entry.get("was"))


def _mark(entry: ResumeStep) -> Mark:
    action: object = entry.get("action")
    known = _ACTIONS.get(action) if isinstance(action, str) else None
    if known is None:
        return Mark("unknown", line(action, 20) or "unknown", "?", "idle")
    if known is REUSE and entry.get("was") == "rejected":
        return REJECTED
    if known is RERUN and entry.get("asks") is True:
        return ASK
    if known is RERUN and entry.get("reason") == "upstream_changed":
        return MAYBE
    if known is HOLD and entry.get("skipped") is True:
        return SKIP
    if known is HOLD and entry.get("reason") == "not_selected" and entry.get("because"):
        return HOLD_MAYBE
    return MAY if known is RERUN and entry.get("awaits") else known
