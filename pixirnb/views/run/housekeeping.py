"""The answers of `doctor`, `prune` and `export`, for terminals and notebooks.

`diagnosis_text diagnosis_html prune_text prune_html export_text`: of the documents in the JSON reference. A diagnosis is of one
run, or of many (`runs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.machine.findings import DiagnosisDocument, FindingDocument
from pixirnb.views.basics import html_cards
from pixirnb.views.basics.durations import moment
from pixirnb.views.basics.markup import code, text
from pixirnb.views.basics.phrases import action_phrase
from pixirnb.views.basics.sanitize import line, plain, plural
from pixirnb.views.basics.status_marks import Mark, run_mark
from pixirnb.views.basics.text_table import table

_STATUS: Final = {
    "ready": Mark("planned", "nothing to tell", "=", "idle"),
    "ready_with_warnings": Mark("partial", "warnings", "!", "half"),
    "blocked": Mark("failed", "blocked", "✗", "bad"),
}
_SEVERITY: Final = {
    "warning": Mark("partial", "warning", "!", "half"),
    "blocked": Mark("failed", "blocked", "✗", "bad"),
}
_SIZES: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


def diagnosis_text(document: DiagnosisDocument) -> str:
    """What was found, each with what to do; of many runs, those with findings alone."""
    runs = document.get("runs")
    if runs is None:
        return plain("\n".join(_diagnosed(document)), 60_000)
    if not runs:
        return "No runs yet."
    loud = [run for run in runs if run.get("findings")]
    lines = [row for run in loud for row in (*_diagnosed(run), "")]
    quiet = len(runs) - len(loud)
    lines.append(f"{plural(quiet, 'run')} of {len(runs):,} without a finding")
    return plain("\n".join(lines), 60_000)


def diagnosis_html(document: DiagnosisDocument) -> str:
    """The same as cards: one for a run, one table for many."""
    runs = document.get("runs")
    entries: Sequence[DiagnosisDocument] = [document] if runs is None else runs
    rows = []
    for run in entries:
        for finding in run.get("findings") or []:
            action = finding["next_action"]
            cell = code(action["cell"], 200) if action else ""
            row = [html_cards.status(_severity(finding)), text(finding.get("message"), 600), cell]
            rows.append([code(run.get("run_id"), 60), *row] if runs is not None else row)
    heads = ["", "found", "what to do"]
    name = document.get("run_id") or plural(len(entries), "run")
    return html_cards.card(
        html_cards.top(_look(document.get("status")), name),
        html_cards.table(["run", *heads] if runs is not None else heads, rows),
        "" if rows else '<p class="pixirnb-mute">Nothing speaks against it.</p>',
    )


def prune_text(document: Mapping[str, Any]) -> str:
    """What would go, or has gone."""
    runs = document.get("runs") or []
    rows = [
        [
            f"{run_mark(run.get('status')).symbol} {run_mark(run.get('status')).word}",
            line(run.get("run_id"), 60),
            line(run.get("workflow") or "", 64),
            moment(run.get("ended_at")),
            size(run.get("bytes")),
        ]
        for run in runs
    ]
    lines = [_pruned(document)]
    if rows:
        heads = ["status", "run", "workflow", "ended", "size"]
        lines += ["", *table(heads, rows, numeric=frozenset({4}), widest=66)]
    lines += [f"  ! {line(entry.get('message'), 900)}" for entry in document.get("failed") or []]
    return plain("\n".join(lines), 60_000)


def prune_html(document: Mapping[str, Any]) -> str:
    """The same for a notebook."""
    rows = [
        [
            html_cards.status(run_mark(run.get("status"))),
            code(run.get("run_id"), 60),
            text(run.get("workflow") or "", 80),
            text(moment(run.get("ended_at"))),
            text(size(run.get("bytes"))),
        ]
        for run in document.get("runs") or []
    ]
    heads = ["status", "run", "workflow", "ended", "size"]
    failed = "".join(
        f"<li>{text(entry.get('message'), 900)}</li>" for entry in document.get("failed") or []
    )
    return html_cards.card(
        f"<p>{text(_pruned(document), 300)}</p>",
        html_cards.table(heads, rows, numeric=frozenset({4})),
        f"<ul>{failed}</ul>" if failed else "",
    )


def export_text(document: Mapping[str, Any]) -> str:
    """Where an export lies."""
    many = plural(document.get("files") or 0, "file")
    where = line(document.get("path"), 400)
    return f"{line(document.get('run_id'), 60)}: {many}, {size(document.get('bytes'))} in {where}"


def size(count: Any) -> str:
    """Bytes for people; empty where there are none to tell."""
    if not isinstance(count, int) or count < 0:
        return ""
    place, rest = 0, float(count)
    while rest >= 1024 and place < len(_SIZES) - 1:
        place, rest = place + 1, rest / 1024
    return f"{count:,} bytes" if place == 0 else f"{rest:.1f} {_SIZES[place]}"


def _pruned(document: Mapping[str, Any]) -> str:
    count, kept = len(document.get("runs") or []), document.get("kept") or 0
    freed = size(document.get("bytes"))
    if document.get("preview"):
        if not count:
            return f"Nothing would go; {plural(kept, 'run')} would stay."
        return f"{plural(count, 'run')} would go ({freed}), {kept:,} would stay; add --yes to remove them."
    return f"{plural(count, 'run')} removed ({freed}), {kept:,} kept."


def _diagnosed(document: DiagnosisDocument) -> list[str]:
    mark = _look(document.get("status"))
    lines = [f"{mark.symbol} {mark.word} · {line(document.get('run_id'), 60)}"]
    for finding in document.get("findings") or []:
        look = _severity(finding)
        told = line(finding.get("message"), 600)
        lines.append(f"  {look.symbol} {told} [{line(finding.get('code'), 60)}]")
        action = finding.get("next_action")
        if action:
            lines.append(f"      {line(action.get('cell'), 200)}  {action_phrase(action)}")
    return lines


def _look(status: Any) -> Mark:
    known = _STATUS.get(status) if isinstance(status, str) else None
    return known or Mark("unknown", line(status, 40) or "unknown", "?", "idle")


def _severity(finding: FindingDocument) -> Mark:
    return _SEVERITY["blocked" if finding.get("severity") == "blocked" else "warning"]
