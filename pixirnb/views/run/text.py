"""The views for terminals, pipes and `text/plain`: the same documents, the same order, the same words as the HTML.

`plan_text outcome_text resume_text runs_text error_text bundle_text value_text explain_text progress_line`. Unicode symbols, no
escape sequences; nothing but a run's status `completed` reads as success.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.errors import ErrorDocument
from pixirnb.history.bundles import CheckpointBundle, no_changes
from pixirnb.json_types import JsonMapping
from pixirnb.machine.outcome import RunDocument, StepDocument
from pixirnb.planning.delegations import Delegation
from pixirnb.planning.report import PlanDocument
from pixirnb.views.basics.durations import moment, span
from pixirnb.views.basics.phrases import (
    STOOD,
    action_phrase,
    clashing,
    place_phrase,
    reason_phrase,
    why,
)
from pixirnb.views.basics.sanitize import line, plain, plural
from pixirnb.views.basics.show_value import shown
from pixirnb.views.basics.status_marks import (
    QUIET,
    Mark,
    at_rest,
    count_mark,
    in_view,
    run_mark,
    step_mark,
    tally,
)
from pixirnb.views.basics.text_table import fill_lines, table, width
from pixirnb.views.files.changes import changes_phrase, count_of, files_of, stat_row
from pixirnb.views.files.seams import open_first, seam_phrase
from pixirnb.views.run.delegations import delegation_lines
from pixirnb.views.run.isolation_overview import Copies, copies_lines
from pixirnb.views.run.resume_preview import forecast, sentence

PROMPT_LIMIT: Final = 200_000
"""Characters of a prompt that are shown."""
_SMALL = 30
"""Steps up to which all of them are listed."""
_ACTIONS = 8
_SEAMS = 20
_WIDTH = 80
"""Columns that a reason and the names of its steps share before they go on below."""


def plan_text(
    document: PlanDocument,
    delegations: Sequence[Delegation] = (),
    copies: Copies | None = None,
) -> str:
    """A `PlanReport.document()`: waves, who does what, what is kept apart, what to mend."""
    name = line(document.get("workflow") or "workflow", 80)
    errors = document.get("errors") or []
    if not document.get("ok") or errors:
        lines = [
            f"✗ not valid · {name}",
            f"  Nothing ran. {plural(len(errors), 'mistake')} to mend:",
        ]
        lines += _problems(errors, "✗")
    else:
        waves = document.get("waves") or []
        steps = sum(len(wave) for wave in waves)
        lines = [
            f"○ plan · {name}",
            f"  {plural(steps, 'step')} in {plural(len(waves), 'wave')}, "
            f"at most {document.get('peak_concurrency') or 1} at once. Nothing has run.",
            "",
        ]
        lines += table(
            ["wave", "steps"],
            [[str(place), _listed(wave, 12)] for place, wave in enumerate(waves, 1)],
            numeric=frozenset({0}),
        )
        if delegations:
            lines += ["", *delegation_lines(delegations)]
        apart = copies_lines(copies or Copies(), document)
        lines += ["", *apart] if apart else []
        kept = document.get("serialized") or []
        if kept:
            pairs = [f"{line(p.get('step'), 64)} after {line(p.get('after'), 64)}" for p in kept]
            lines += ["", f"  kept apart: {_listed(pairs, 6)}"]
    return _text(lines, document.get("warnings"))


def outcome_text(document: RunDocument, *, command: str = "%pixir") -> str:
    """A `RunOutcome.document()`: status first, then the steps that matter, then what to do.

    `command` is how the reader calls the verbs.
    """
    document = at_rest(document)
    mark = run_mark(document.get("status"))
    head = [mark.symbol + " " + mark.word, line(document.get("workflow") or "workflow", 80)]
    head += [line(document.get("run_id") or "", 60), span(document.get("elapsed_ms"))]
    lines = [" · ".join(part for part in head if part)]
    if document.get("summary"):
        lines.append("  " + line(document["summary"], 600))
    if mark.key == "running":
        lines.append(f"  {STOOD} {command} show {line(document.get('run_id') or 'RUN', 60)}")
    reasons = [reason_phrase(reason) for reason in document.get("reasons") or []]
    if reasons:
        lines.append(f"  {_listed(reasons, 6, '; ')}.")
    steps: Sequence[StepDocument] = document.get("steps") or []
    listed = steps
    if len(steps) > _SMALL:
        listed = in_view(steps)
    if listed:
        lines += ["", *steps_lines(listed)]
    if len(listed) < len(steps):
        rest = tally(
            step_mark(s) for s in steps if step_mark(s).key in {"checkpoint_ready", "queued"}
        )
        lines.append("  and " + ", ".join(f"{count:,} {mark.word}" for mark, count in rest))
    seams = open_first(document.get("seam_obligations") or [])
    for seam in seams[:_SEAMS]:
        state = line(seam.get("state"), 20)
        lines.append(f"  seam {line(seam.get('id'), 40)} ({state}): {line(seam_phrase(seam), 400)}")
    if len(seams) > _SEAMS:
        lines.append(f"  and {plural(len(seams) - _SEAMS, 'seam')} more")
    actions = document.get("next_actions") or []
    if actions:
        lines += ["", "  next"]
        stuck = clashing(document)
        cells = [
            [line(a.get("cell") or "", 200), action_phrase(a, stuck)] for a in actions[:_ACTIONS]
        ]
        lines += table(["", ""], cells, indent="    ", widest=200)
        if len(actions) > _ACTIONS:
            lines.append(f"    and {len(actions) - _ACTIONS:,} more")
    return _text(lines, document.get("warnings"))


def steps_lines(steps: Sequence[StepDocument]) -> list[str]:
    """A table of step outcomes."""
    rows = []
    for step in steps:
        mark, attempt = step_mark(step), step.get("attempt")
        rows.append(
            [
                f"{mark.symbol} {line(step.get('step_id'), 64)}",
                mark.word,
                str(attempt) if attempt else "",
                span(step.get("elapsed_ms")),
                why(step),
            ]
        )
    # As wide as any span, always: a slower run must not move the columns of a recorded notebook.
    heads = ["step", "status", "try", f"{'elapsed':>10}", "why"]
    return table(heads, rows, numeric=frozenset({2, 3}), widest=66)


def resume_text(document: JsonMapping) -> str:
    """A resume's dry run: what is kept, what runs for certain, what runs only if a result before it differs."""
    steps = document.get("steps") or []
    groups = forecast(steps)
    rows: list[list[str]] = []
    told = {row: f"{row.why} {_listed(row.because, 6)}" for _, found in groups for row in found}
    room = _WIDTH - max((width(why) for why in told.values()), default=0)
    for mark, found in groups:
        for place, row in enumerate(found):
            action = "" if place else f"{mark.symbol} {mark.word}"
            left = [f"and {row.count - len(row.steps):,} more"] * (row.count > len(row.steps))
            named = fill_lines([*row.steps, *left], max(room, 40))
            rows.append([action, f"{row.count:,}", told[row], named[0]])
            rows += [["", "", "", more] for more in named[1:]]
    head = f"○ resume, dry run · {line(document.get('run_id') or '', 60)} · {plural(len(steps), 'step')}"
    shown = table(["action", "", "why", "steps"], rows, numeric=frozenset({1}), widest=66)
    return _text([head, f"  {sentence(groups)}", "", *shown])


def runs_text(document: JsonMapping) -> str:
    """The runs of a state folder, newest first."""
    runs = document.get("runs") or []
    if not runs:
        return "No runs yet."
    rows = []
    for run in runs:
        mark = run_mark(run.get("status"))
        counts = run.get("counts") or {}
        told = ", ".join(
            f"{line(n, 12)} {count_mark(name, run_status=run.get('status')).word}"
            for name, n in counts.items()
        )
        rows.append(
            [
                f"{mark.symbol} {mark.word}",
                line(run.get("run_id"), 60),
                line(run.get("workflow"), 64),
                moment(run.get("started_at")),
                told,
            ]
        )
    return "\n".join(
        table(["status", "run", "workflow", "started", "steps"], rows, indent="", widest=66)
    )


def error_text(document: ErrorDocument) -> str:
    """An error document: what did not happen, then what to do; a line each, and one for each mistake in a spec."""
    error = document.get("error") or {}
    place = place_phrase(error)
    head = f"{line(error.get('code') or 'error', 60)}: {line(error.get('message') or '', 600)}"
    lines = [head + (f" ({place})" if place else "")]
    for key, symbol in (("errors", "✗"), ("warnings", "!")):
        listed = (error.get("details") or {}).get(key)
        told = listed if isinstance(listed, list) else []
        lines += _problems([entry for entry in told if isinstance(entry, Mapping)], symbol)
    if error.get("fix"):
        lines.append(f"→ {line(error['fix'], 600)}")
    return "\n".join(lines)


def bundle_text(document: CheckpointBundle, reason: str = "") -> str:
    """A Checkpoint Bundle; `reason`: why it is not safe to build on, where it is not."""
    safe = document.get("dependent_safe") is True
    source, produced = document.get("source") or {}, document.get("produced") or {}
    by = [f"attempt {source['attempt']}"] if isinstance(source.get("attempt"), int) else []
    if source.get("agent_id"):
        by.append(f"agent {line(source['agent_id'], 64)}")
    state = "✓ ready" if safe else "◐ not safe to build on"
    lines = [" · ".join([state, line(document.get("step_id") or "step", 64), *by])]
    if reason and not safe:
        lines.append(f"  {line(reason, 600)}")
    if produced.get("value") not in (None, ""):
        lines += ["", *("  " + row for row in shown(produced["value"], indent=2).split("\n"))]
    elif produced.get("blob"):
        lines.append(
            "  stored beside the log: " + line(produced.get("type") or produced.get("format"), 80)
        )
    checks = document.get("verification") or []
    if checks:
        lines += ["", "  checks"]
    for check in checks:
        verdict = "✓ passed" if check.get("passed") is True else "✗ not passed"
        saw = line(shown(check.get("evidence")), 300)
        lines.append(f"    {verdict}  {line(shown(check.get('check')), 200)}  saw {saw}")
    lines += [
        f"  limitation: {line(entry, 600)}" for entry in document.get("known_limitations") or []
    ]
    changed = document.get("changes") or no_changes()
    if count_of(changed):
        lines += ["", f"  changed: {changes_phrase(changed)}"]
        lines += table(
            ["", "", "", ""], [stat_row(f) for f in files_of(changed)], indent="    ", widest=120
        )
    for entry in document.get("artifacts") or []:
        lines.append(f"  artifact: {line(entry.get('path'), 200)} ({entry.get('bytes', 0)} bytes)")
    return _text(lines)


def value_text(value: object) -> str:
    """A value made of JSON."""
    return shown(value, indent=2)


def explain_text(sentences: Sequence[str]) -> str:
    """What `explain` found, a sentence a line."""
    return "\n".join(line(sentence, 600) for sentence in sentences)


def progress_line(document: RunDocument, room: int | None = None) -> str:
    """Where a run stands on one line: status, ready of all, what runs now, what went wrong, elapsed.

    `room`: at most so many characters. The run's id is left out first, then the names of what runs, then the end is cut.
    """
    mark = run_mark(document.get("status"))
    steps: Sequence[StepDocument] = document.get("steps") or []
    looks: list[tuple[Mark, str]] = [
        (step_mark(step), line(step.get("step_id"), 64)) for step in steps
    ]
    ready = sum(mark.key == "checkpoint_ready" for mark, _ in looks)
    running = [step for mark, step in looks if mark.tone == "live"]
    stands = f"{mark.symbol} {mark.word}"
    done = f"{ready:,} of {len(steps):,} ready"
    runs = f"running {_listed(running, 4)}" if running else ""
    settled = (mark for mark, _ in looks if mark.tone != "live" and mark.key not in QUIET)
    rest = [*(f"{count:,} {mark.word}" for mark, count in tally(settled))]
    rest.append(span(document.get("elapsed_ms")))
    told = _joined(stands, line(document.get("run_id") or "", 60), done, runs, *rest)
    if room is None or len(told) <= room:
        return told
    told = _joined(stands, done, runs, *rest)
    if len(told) > room:
        told = _joined(stands, done, f"{len(running):,} running" if running else "", *rest)
    return line(told, room)


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _listed(entries: Sequence[object], limit: int, between: str = ", ") -> str:
    told = between.join(line(entry, 80) for entry in entries[:limit])
    return f"{told}{between}and {len(entries) - limit:,} more" if len(entries) > limit else told


def _problems(entries: Sequence[Mapping[str, object]], symbol: str) -> list[str]:
    lines = []
    for entry in entries[:50]:
        place = place_phrase(entry)
        fix = f" → {line(entry['fix'], 300)}" if entry.get("fix") else ""
        message = line(entry.get("message") or "", 600)
        code = line(entry.get("code") or "", 60)
        lines.append(f"  {symbol} {place + ': ' if place else ''}{message}{fix} [{code}]")
    if len(entries) > 50:
        lines.append(f"  and {len(entries) - 50:,} more")
    return lines


def _text(lines: list[str], warnings: Any = None) -> str:
    if warnings:
        lines = [*lines, "", *_problems(warnings, "!")]
    return plain("\n".join(lines), 60_000)
