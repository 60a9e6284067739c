"""The views for a notebook: self-contained HTML cards of plain documents, the same for a live, a finished and an opened run.

`plan_html outcome_html resume_html runs_html error_html bundle_html value_html`. No script, no link, no id,
nothing from run data in an attribute. Nothing but a run's status `completed` is painted as success.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pixirnb.errors import ErrorBody, ErrorDocument
from pixirnb.history.bundles import CheckpointBundle, Produced, no_changes
from pixirnb.history.file_state import Obligation
from pixirnb.json_types import JsonMapping
from pixirnb.machine.outcome import RunDocument, StepDocument
from pixirnb.planning.delegations import Delegation
from pixirnb.planning.report import PlanDocument
from pixirnb.views.basics import html_cards
from pixirnb.views.basics.durations import moment, span
from pixirnb.views.basics.html_cards import (
    ROWS,
    card,
    chips,
    disclosure,
    problems,
    scroll,
    status,
    table,
    top,
)
from pixirnb.views.basics.icons import icon
from pixirnb.views.basics.markup import block, code, prose, text, whole
from pixirnb.views.basics.phrases import STOOD, clashing, place_phrase, reason_phrase, why
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.show_value import rows_of, shown
from pixirnb.views.basics.status_marks import (
    PLANNED,
    REFUSED,
    Mark,
    at_rest,
    count_mark,
    in_view,
    run_mark,
    step_mark,
    tally,
)
from pixirnb.views.files.changes import changes_phrase, count_of, files_of, stat_row
from pixirnb.views.files.seams import open_first, seam_phrase
from pixirnb.views.picture.drawing import Edges
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.delegations import delegations_html
from pixirnb.views.run.isolation_overview import Copies, copies_html
from pixirnb.views.run.resume_preview import forecast, sentence

_SMALL = 8
"""Steps up to which a table of all of them stands open."""


def plan_html(
    document: PlanDocument,
    edges: Edges = (),
    *,
    kinds: Mapping[str, str] | None = None,
    delegations: Sequence[Delegation] = (),
    prompts: Mapping[str, str] | None = None,
    copies: Copies | None = None,
) -> str:
    """A `PlanReport.document()`: its waves as a picture, who does what, what conflicts, what to mend."""
    errors = document.get("errors") or []
    if not document.get("ok") or errors:
        return card(
            top(REFUSED, document.get("workflow") or "workflow"),
            f"<p>Nothing ran. {plural(len(errors), 'mistake')} to mend:</p>",
            problems("Mistakes", errors, REFUSED),
            problems("Warnings", document.get("warnings") or []),
        )
    conflicts = [
        [
            " and ".join(code(step, 80) for step in entry.get("steps", [])),
            text(str(entry.get("rule", "")).replace("_", "/"), 40),
            ", ".join(code(path, 120) for path in entry.get("paths", [])[:3]),
        ]
        for entry in document.get("conflicts") or []
    ]
    serialized = [
        f"{code(entry.get('step'), 80)} after {code(entry.get('after'), 80)}"
        for entry in (document.get("serialized") or [])[:6]
    ]
    count = document.get("conflict_count") or len(conflicts)
    return card(
        top(Mark("planned", "plan", "○", "idle"), document.get("workflow") or "workflow"),
        f"<p>{text(_plan_sentence(document))}</p>",
        scroll(picture(document, None, edges, kinds=kinds, isolated=(copies or Copies()).isolated)),
        delegations_html(delegations, prompts or {}),
        copies_html(copies or Copies(), document),
        f'<p class="pixirnb-mute">Kept apart: {", ".join(serialized)}</p>' if serialized else "",
        disclosure(plural(count, "conflict"), table(["steps", "rule", "paths"], conflicts)),
        problems("Warnings", document.get("warnings") or []),
    )


def outcome_html(
    document: RunDocument,
    edges: Edges = (),
    *,
    plan: PlanDocument | None = None,
) -> str:
    """A `RunOutcome.document()`, live or ended. `plan` adds phases and steps that have not spoken."""
    document = at_rest(document)
    mark = run_mark(document.get("status"))
    steps: Sequence[StepDocument] = document.get("steps") or []
    counts = tally(step_mark(step) for step in steps)
    reasons = [reason_phrase(reason) for reason in document.get("reasons") or []]
    trouble = in_view(steps)
    is_small = len(steps) <= _SMALL
    everything = "" if not steps else _steps_table(steps)
    return card(
        top(
            mark,
            document.get("workflow") or "workflow",
            run_id=document.get("run_id"),
            right=span(document.get("elapsed_ms")),
        ),
        f"<p>{text(document.get('summary') or '', 600)}</p>",
        _stood(document.get("run_id")) if mark.key == "running" else "",
        "" if is_small else _reasons(reasons),
        html_cards.bar(counts),
        chips(counts),
        scroll(picture(plan, document, edges)),
        everything if is_small else _steps_table(trouble),
        "" if is_small else disclosure(f"All {plural(len(steps), 'step')}", everything),
        _seams(document.get("seam_obligations") or []),
        html_cards.actions(document.get("next_actions") or [], clashing(document)),
        problems("Warnings", document.get("warnings") or []),
    )


def resume_html(document: JsonMapping) -> str:
    """A resume's dry run: what is kept, what runs for certain, what runs only if a result before it differs."""
    steps = document.get("steps") or []
    groups = forecast(steps)
    counts = [(mark, sum(row.count for row in rows)) for mark, rows in groups]
    rows = []
    for mark, found in groups:
        for place, row in enumerate(found):
            because = ", ".join(map(whole, row.because))
            left = row.count - len(row.steps)
            named = [*map(whole, row.steps), *[f"and {left:,} more"] * (left > 0)]
            rows.append(
                [
                    "" if place else status(mark),
                    f"{row.count:,}",
                    f'<span class="pixirnb-nowrap">{text(row.why)}</span> {because}'.strip(),
                    " ".join(named),
                ]
            )
    return card(
        top(
            Mark("planned", "resume, dry run", "○", "idle"),
            plural(len(steps), "step"),
            run_id=document.get("run_id"),
        ),
        f"<p>{text(sentence(groups))}</p>",
        html_cards.bar(counts),
        table(["action", "", "why", "steps"], rows, numeric=frozenset({1})),
    )


def runs_html(document: JsonMapping) -> str:
    """The runs of a state folder, newest first."""
    runs = document.get("runs") or []
    if not runs:
        return card('<p class="pixirnb-mute">No runs yet.</p>')
    rows = [
        [
            status(run_mark(run.get("status"))),
            code(run.get("run_id"), 60),
            text(run.get("workflow") or "", 80),
            _counts(run.get("counts") or {}, run.get("status")),
            text(moment(run.get("started_at"))),
            text(moment(run.get("ended_at"))),
        ]
        for run in runs
    ]
    return card(table(["status", "run", "workflow", "steps", "started", "ended"], rows))


def error_html(document: ErrorDocument) -> str:
    """An error document: what did not happen, and what to do."""
    error = document.get("error") or {}
    where = place_phrase(error)
    return card(
        top(Mark("failed", error.get("code") or "error", "✗", "bad"), where),
        f"<p>{block(error.get('message') or '', 2_000)}</p>",
        f"<p>→ {text(error['fix'], 600)}</p>" if error.get("fix") else "",
        problems("Mistakes", _told(error, "errors"), REFUSED),
        problems("Warnings", _told(error, "warnings")),
    )


def _told(error: ErrorBody, key: str) -> list[JsonMapping]:
    """What the details of an error list under a key: mistakes of a workflow, or warnings beside them."""
    listed = (error.get("details") or {}).get(key)
    return [entry for entry in listed or [] if isinstance(entry, Mapping)]


def bundle_html(document: CheckpointBundle, reason: str = "") -> str:
    """A Checkpoint Bundle: what a step produced, what shows that it is right, what it is not.

    `reason`: why it is not safe to build on, where it is not.
    """
    safe = document.get("dependent_safe") is True
    mark = (
        count_mark("checkpoint_ready")
        if safe
        else Mark("partial", "not safe to build on", "◐", "half")
    )
    source, produced = document.get("source") or {}, document.get("produced") or {}
    by = [f"attempt {source.get('attempt')}"] if source.get("attempt") else []
    if source.get("agent_id"):
        by.append(f"agent {source['agent_id']}")
    checks = [
        [
            status(
                Mark("checkpoint_ready", "passed", "✓", "ready")
                if check.get("passed") is True
                else Mark("failed", "not passed", "✗", "bad")
            ),
            code(shown(check.get("check"))),
            text(shown(check.get("evidence")), 600),
        ]
        for check in document.get("verification") or []
    ]
    files = [
        [code(entry.get("path"), 200), text(f"{entry.get('bytes', 0):,} bytes", 40)]
        for entry in document.get("artifacts") or []
    ]
    limits = "".join(
        f"<li>{text(entry, 600)}</li>" for entry in document.get("known_limitations") or []
    )
    changed = document.get("changes") or no_changes()
    listed = files_of(changed)
    return card(
        top(mark, document.get("step_id") or "step", right=text(", ".join(by), 80)),
        f"<p>{prose(reason, 600)}</p>" if reason and not safe else "",
        _value(produced.get("value"))
        if produced.get("value") is not None
        else _elsewhere(produced),
        f"<h4>Checks</h4>{table(['', 'check', 'saw'], checks)}" if checks else "",
        f"<h4>Known limitations</h4><ul>{limits}</ul>" if limits else "",
        f"<h4>Artifacts</h4>{table(['path', 'size'], files)}" if files else "",
        f"<h4>Changed: {text(changes_phrase(changed))}</h4>"
        + table(["", "", "", ""], [[text(cell, 220) for cell in stat_row(f)] for f in listed])
        if count_of(changed)
        else "",
    )


def step_html(document: StepDocument, sentences: Sequence[str] = ()) -> str:
    """A step that left no bundle: how it stands, and `sentences` that say why, or the one reason where there are none."""
    attempt, took = document.get("attempt") or 0, span(document.get("elapsed_ms"))
    aside = [f"attempt {attempt}"] if attempt else []
    told = [words for words in (sentences or [why(document)]) if words]
    return card(
        top(
            step_mark(document),
            document.get("step_id") or "step",
            right=text(" · ".join([*aside, took] if took else aside)),
        ),
        *(f"<p>{prose(words)}</p>" for words in told),
    )


def value_html(value: object) -> str:
    """A value made of JSON: rows of a table where it is one, else text. Runs no code of the value's own."""
    return card(_value(value))


def _value(value: object) -> str:
    found = rows_of(value)
    if found is not None:
        heads, rows = found
        return table(heads, [[text(shown(cell), 200) for cell in row] for row in rows])
    return f"<pre>{block(shown(value, indent=2))}</pre>"


def _elsewhere(produced: Produced) -> str:
    if not produced.get("blob"):
        return ""
    form = produced.get("type") or produced.get("format") or "text"
    size = produced.get("bytes")
    many = f", {size:,} bytes" if isinstance(size, int) else ""
    return f'<p class="pixirnb-mute">{text(form, 80)}{many}, stored beside the log</p>'


def _steps_table(steps: Sequence[StepDocument]) -> str:
    rows = []
    for step in steps[:ROWS]:
        attempt = step.get("attempt") or 0
        rows.append(
            [
                code(step["step_id"], 80),
                status(step_mark(step)),
                f"{attempt}" if attempt else "",
                span(step.get("elapsed_ms")),
                text(why(step)),
            ]
        )
    heads = ["step", "status", "try", "elapsed", "why"]
    return table(heads, rows, numeric=frozenset({2, 3}), count=len(steps))


def _stood(run_id: object) -> str:
    cell = code(f"%pixir show {run_id or 'RUN'}", 80)
    return f'<p class="pixirnb-mute">{text(STOOD)} {cell}</p>'


def _reasons(reasons: Sequence[str]) -> str:
    if not reasons:
        return ""
    more = f", and {len(reasons) - 6:,} more" if len(reasons) > 6 else ""
    return f"<p>{text('; '.join(reasons[:6]) + more, 600)}.</p>"


def _seams(seams: Sequence[Obligation]) -> str:
    rows = [
        [code(seam.get("id"), 60), text(seam.get("state") or "", 40), text(seam_phrase(seam), 400)]
        for seam in open_first(seams)
    ]
    return f"<h4>Seams</h4>{table(['seam', 'state', 'between, and why'], rows)}" if rows else ""


def _counts(counts: Mapping[str, int], run_status: Any) -> str:
    marked = ((count_mark(name, run_status=run_status), count) for name, count in counts.items())
    return " ".join(
        f'<span class="pixirnb-nowrap pixirnb-{mark.tone}">{icon(mark, 12)} {text(count, 12)}</span>'
        for mark, count in marked
    )


def _plan_sentence(document: PlanDocument) -> str:
    waves = document.get("waves") or []
    parts = [
        f"{plural(sum(len(wave) for wave in waves), 'step')} in {plural(len(waves), 'wave')}",
        f"at most {document.get('peak_concurrency') or 1} at once",
    ]
    path = document.get("critical_path") or []
    if path:
        parts.append(f"longest chain {len(path):,}")
    minutes = document.get("agent_minutes")
    if isinstance(minutes, int | float) and minutes:
        parts.append(f"up to {minutes:,.0f} agent minutes")
    return ", ".join(parts) + f". {PLANNED.word.capitalize()}, nothing has run."
