"""§8 of the contract, for isolated steps: what they begin from, what they leave, and that they keep to what they claimed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic_core import from_json

from harness.auditor.breaches import Finding
from harness.auditor.facts import Attempt, Course, Fact
from harness.auditor.globs import covers
from harness.auditor.ledger import MINE, changed_roots
from harness.auditor.readings import StepReading
from harness.auditor.record import Record, mergeable_at
from harness.auditor.standing import CONFLICT
from harness.auditor.verdict_rules import OUTSIDE
from pixirnb.spec.steps import MergeStep

LISTED: Final = 200
"""Changes that an event lists."""
UNCHECKED: Final = "writes_not_checked"
"""Begins the limitation of a shared step beside whose claims nobody could look."""
_WORKING: Final = frozenset({"shell", "python", "agent"})
_NO_FILES: Final = frozenset(
    {
        "snapshot_limit", "snapshot_unreadable", "repository_broken", "tree_missing", "git_missing",
        "tree_store_unusable", "internal_error", "isolation_unusable", "output_not_kept", CONFLICT,
    }
)  # fmt: skip
"""Failures of what would have kept its files: there may be nothing to tell."""


def _captures(record: Record) -> Iterator[tuple[Course, Fact, StepReading]]:
    for course, fact in record.of("workspace_captured"):
        step = course.reading.steps.get(fact.data["step"])
        if step is not None:
            yield course, fact, step


def _between(record: Record, attempt: Attempt, kind: str) -> list[Fact]:
    """Events of a kind that an attempt has while it is under way."""
    return [
        fact
        for fact in record.facts[attempt.place : attempt.over]
        if fact.kind == kind
        and fact.step == attempt.step
        and fact.data.get("attempt") == attempt.number
    ]


def work_is_captured(record: Record) -> Iterator[Finding]:
    """An attempt with folders of its own tells once, before its end, what it left in them; one in the user's files does not."""
    told: set[int] = set()
    for attempt in record.attempts:
        step = attempt.course.reading.steps.get(attempt.step)
        if step is None or attempt.is_ask:
            continue
        captures = _between(record, attempt, "workspace_captured")
        told.update(fact.place for fact in captures)
        has_folders = step.workspace == "isolated" and step.kind in _WORKING
        if captures and not has_folders:
            yield captures[0].seq, step.id, "It has no folders of its own, and told what it left."
        elif len(captures) > 1:
            yield captures[1].seq, step.id, "What it left is told twice."
        elif has_folders and not captures and attempt.ended is not None:
            status, error = attempt.ended.data["status"], attempt.ended.data["error"] or {}
            has_begun = bool(_between(record, attempt, "attempt_started"))
            if has_begun and status != "detached" and error.get("kind") not in _NO_FILES:
                yield attempt.ended.seq, step.id, "It ended, and nothing tells what it left."
    for _, fact, step in _captures(record):
        if fact.place not in told:
            yield fact.seq, step.id, "What an attempt left is told while it was not under way."


def begins_from_all(record: Record) -> Iterator[Finding]:
    """An isolated step begins from the changes of every ready step before it that are not merged back, and from no others."""
    for course, fact, step in _captures(record):
        attempt = next((a for a in record.attempts if _is_of(a, fact)), None)
        if attempt is None:
            continue
        before = course.reading.reach(step.id, "depends_on") - {step.id}
        then = mergeable_at(record, course, attempt.place, before)
        now = mergeable_at(record, course, fact.place, before)
        given, said = {root["root"] for root in fact.data["roots"]}, fact.data["built_on"]
        for name in then:
            captured = record.standing(name, attempt.place).captured or {"roots": []}
            is_here = bool(changed_roots(captured) & given)
            if name in now and is_here and name not in said:
                yield fact.seq, step.id, f"It began without the changes of `{name}`."
        for name in said:
            if name not in {*then, *now}:
                yield fact.seq, step.id, f"It began with changes of `{name}`, which are not due."
        for place, name in enumerate(said):
            below = course.reading.reach(name, "depends_on") - {name}
            if below & set(said[place + 1 :]):
                yield fact.seq, step.id, f"`{name}` was merged before what it builds on."


def _is_of(attempt: Attempt, fact: Fact) -> bool:
    if (attempt.step, attempt.number) != (fact.data["step"], fact.data["attempt"]):
        return False
    return not attempt.is_ask and attempt.place < fact.place <= attempt.over


def changes_agree(record: Record) -> Iterator[Finding]:
    """What is told of changes agrees with the trees it is told of: nothing changed where they are equal, each file once."""
    for _, fact in record.of("workspace_captured", "merge_applied"):
        is_capture = fact.kind == "workspace_captured"
        first, last = ("base", "left") if is_capture else ("before", "after")
        roots = fact.data["roots"]
        has_changed = any(root[first] != root[last] for root in roots)
        wrong = _wrong_changes(fact.data["changes"], has_changed=has_changed)
        names = [root["root"] for root in roots]
        if wrong is None and len(set(names)) != len(names):
            wrong = "A root is told of twice."
        is_on_its_own = is_capture and not fact.data["built_on"]
        if wrong is None and is_on_its_own and any(r["seen"] != r["base"] for r in roots):
            wrong = "It builds on nobody's changes, and was given other files than the user's."
        if wrong is not None:
            yield fact.seq, fact.step, wrong


def _wrong_changes(changes: dict[str, Any], *, has_changed: bool) -> str | None:
    paths, count = [file["path"] for file in changes["files"]], changes["count"]
    if has_changed != (count > 0):
        return (
            f"It tells of {count} changes, and its trees {'differ' if has_changed else 'do not'}."
        )
    if len(paths) != min(count, LISTED) or len(set(paths)) != len(paths):
        return f"It lists {len(set(paths))} of {count} files."
    if (changes["patch"] is not None) != (count > 0):
        return f"It tells of {count} changes, and its patch is {changes['patch']}."
    if (changes["more"] is not None) != (count > LISTED):
        return f"It tells of {count} changes, and its whole list is {changes['more']}."
    return None


def paths_of(record: Record, captured: dict[str, Any]) -> set[str] | None:
    """Every file that an attempt changed; None where the whole list is not at hand."""
    changes = captured["changes"]
    if changes["count"] <= len(changes["files"]):
        return {file["path"] for file in changes["files"]}
    found = None if changes["more"] is None else record.read_blob(changes["more"])
    try:
        return None if found is None else {file["path"] for file in from_json(found)}
    except (ValueError, TypeError, KeyError):
        return None


def outside_is_told(record: Record) -> Iterator[Finding]:
    """What an isolated attempt changed beside its write_set is told, exactly."""
    for _, fact, step in _captures(record):
        paths = paths_of(record, fact.data)
        if paths is None:
            continue
        due = {p for p in paths if not any(covers(glob, p) for glob in step.claims.writes)}
        if not (step.claims.writes or step.says_what_it_writes):
            due = set()  # it says nothing, and is held to nothing
        outside = fact.data.get("outside") or {"paths": [], "count": 0}
        said, count = set(outside["paths"]), outside["count"]
        if count != len(due) or not said <= due or len(said) != min(100, len(due)):
            yield fact.seq, step.id, f"Beside its write_set it changed {sorted(due)}, not {said}."


def beside_is_nobodys(record: Record) -> Iterator[Finding]:
    """What changed beside a shared step's claims is told only of steps that say what they write, and where nobody claims it."""
    for attempt in record.attempts:
        outside = None if attempt.ended is None else attempt.ended.data.get("outside")
        step = attempt.course.reading.steps.get(attempt.step)
        if not outside or attempt.ended is None or step is None:
            continue
        if step.workspace == "isolated" or not (step.says_what_it_writes):
            yield attempt.ended.seq, step.id, "It claims no files, and some are told to be beside."
            continue
        if wrong := _wrong_beside(outside):
            yield attempt.ended.seq, step.id, wrong
        claims = [*step.claims.writes, *_claims_beside(record, attempt)]
        for path in outside["paths"]:
            if any(covers(glob, path) for glob in claims):
                yield attempt.ended.seq, step.id, f"`{path}` is claimed, and told to be beside."


def _wrong_beside(outside: dict[str, Any]) -> str | None:
    """Either files are named, or one line says why nobody looked."""
    why, is_told = outside.get("unchecked"), bool(outside["paths"]) and outside["count"] > 0
    if why is None:
        return None if is_told else "It tells of files beside its claims, and names none."
    if is_told or outside["paths"] or outside["count"]:
        return "Nobody looked beside its claims, and files are named."
    is_one_line = isinstance(why, str) and bool(why.strip()) and why.isprintable()
    return None if is_one_line else f"Why nobody looked beside its claims is no line: {why!r}."


def _claims_beside(record: Record, attempt: Attempt) -> Iterator[str]:
    """What was claimed in the user's files while an attempt was under way."""
    for other in record.attempts:
        step = other.course.reading.steps.get(other.step)
        if other is attempt or other.is_ask or step is None or step.workspace == "isolated":
            continue
        if not _was_over(record, other, attempt) and not _was_over(record, attempt, other):
            yield from step.claims.writes


def _was_over(record: Record, first: Attempt, second: Attempt) -> bool:
    """Whether an attempt was over when another began: its end may wait for the group that schedules the other."""
    if first.over <= second.place:
        return True
    if first.ended is None:
        return False
    begun = (
        fact.time
        for fact in record.facts[second.place : second.over]
        if fact.kind == "attempt_started"
        and (fact.step, fact.data["attempt"]) == (second.step, second.number)
    )
    if (time := next(begun, None)) is not None:
        return first.ended.time <= time
    # The engine itself is who merges, from when the group that schedules it is on disk.
    begin = record.group_start(first.over)
    step = second.course.reading.steps.get(second.step)
    is_merge = step is not None and isinstance(step.step, MergeStep)
    return is_merge and begin > 0 and record.group_start(begin - 1) <= second.place


def files_limit(record: Record) -> Iterator[Finding]:
    """What a step touched beside its claims, or why nobody looked, and what it made that goes nowhere limit it."""
    for _, fact in record.of("checkpoint_decided"):
        stood = record.standing(fact.data["step"], fact.place)
        if fact.data.get("reused") or stood.stage not in {"ended", "settled"}:
            continue
        ended, told = stood.ended or {}, fact.data["limitations"]
        outside, due = ended.get("outside") or {}, []
        why = outside.get("unchecked")
        if outside and why is None:
            due.append(OUTSIDE)
        captured = stood.captured or {}
        if captured.get("left_behind"):
            due.append("files_left_behind")
        if captured.get("changes", {}).get("leads_out"):
            due.append("link_leads_out")
        for name in due:
            if not any(limit.startswith(name) for limit in told):
                yield fact.seq, fact.step, f"No limitation tells of {name}."
        unlooked = [*_own_words(ended), *([] if why is None else [f"{UNCHECKED}: {why}"])]
        said = [limit for limit in told if limit.startswith(UNCHECKED)]
        if said != unlooked:
            yield fact.seq, fact.step, f"Its limitations say {said}, not {unlooked}."


def _own_words(ended: dict[str, Any]) -> list[str]:
    """Limitations that an agent wrote itself in the words of ours: they may be any text."""
    own = (ended.get("report") or {}).get("limitations") or []
    texts = [str(text) for text in (own if isinstance(own, list) else [own])]
    return [text for text in texts if text.startswith(UNCHECKED)]


def clash_starts_nothing(record: Record) -> Iterator[Finding]:
    """A step whose files clash ends as that before anything of it began; no other ends so."""
    clashes = {
        (fact.data["step"], fact.data["attempt"]): fact
        for _, fact in record.ledger.conflicts
        if fact.data["step"] is not None
    }
    for attempt in record.attempts:
        clash = clashes.pop((attempt.step, attempt.number), None)
        kind = None if attempt.ended is None else (attempt.ended.data["error"] or {}).get("kind")
        seq = None if attempt.ended is None else attempt.ended.seq
        if clash is None:
            if kind == CONFLICT:
                yield seq, attempt.step, "It ended over a conflict, and none is told."
        elif not attempt.place < clash.place <= attempt.over:
            yield clash.seq, attempt.step, "A conflict of an attempt that was not under way."
        elif attempt.ended is not None and kind != CONFLICT and not _is_stopped(attempt):
            yield seq, attempt.step, f"Its files clash, and it ended as {kind}."
        elif _between(record, attempt, "attempt_started"):
            yield clash.seq, attempt.step, "Its files clash, and it began."
        elif not set(clash.data["between"]) - {MINE} <= set(clash.data["steps"]):
            yield clash.seq, attempt.step, "It clashes with what was not to be merged."


def _is_stopped(attempt: Attempt) -> bool:
    ended = attempt.ended
    return ended is not None and ended.data["status"] in {"interrupted", "cancelled", "timed_out"}
