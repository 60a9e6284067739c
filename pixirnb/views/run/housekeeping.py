"""The answers of `doctor`, `prune`, `export` and `smoke`, for terminals and notebooks.

The documents are those of the JSON reference. A diagnosis is of one run, or of many (`runs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from pixirnb.machine.findings import DiagnosisDocument
from pixirnb.views.basics.phrases import action_phrase, mark_placeholders
from pixirnb.views.basics.sanitize import line, plural
from pixirnb.views.basics.show_value import shown
from pixirnb.views.basics.status_marks import Mark, run_mark
from pixirnb.views.basics.times import moment
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Heading,
    Items,
    Paragraph,
    Problems,
    Section,
    Status,
    Table,
)


def smoke_blocks(document: Mapping[str, Any]) -> list[Block]:
    """Return a section for each scenario, with a line for each proof; what failed says what to do."""
    is_dry = document.get("dry_run") is True
    head = f"smoke, {line(document.get('mode'), 20)}"
    evidence = document.get("evidence")
    return [
        Paragraph(head + (", dry run: nothing was run or written" if is_dry else "")),
        *(_scenario(entry, is_dry=is_dry) for entry in document.get("scenarios") or []),
        Paragraph(f"evidence: {line(evidence, 400)}" if evidence else "", is_apart=True),
    ]


def _scenario(entry: Mapping[str, Any], *, is_dry: bool) -> Section:
    mark = "✓" if entry.get("ok") is True else "✗"
    name = f"{mark} {line(entry.get('scenario'), 40)}: {line(entry.get('status'), 40)}"
    proofs = [_proof(check, is_dry=is_dry) for check in entry.get("checks") or []]
    rest = []
    if error := entry.get("error"):
        rest = [f"{error.get('code')}: {error.get('message')}", f"→ {error.get('fix')}"]
    rest += [f"log: {line(entry['log'], 400)}"] if entry.get("log") else []
    run_id = (Code(entry["run_id"], 60),) if entry.get("run_id") else ()
    return Section((name, *run_id), list(map(Paragraph, [*proofs, *rest])))


def _proof(check: Mapping[str, Any], *, is_dry: bool) -> str:
    # Of what was only planned nothing is proven.
    word = "planned" if is_dry else "proven"
    verdict = word if check.get("passed") is True else f"NOT {word}"
    seen = check.get("evidence")
    evidence = line(shown(seen, limit=400), 160) if seen or not is_dry else ""
    return f"{line(check.get('check'), 40)}: {verdict}  {evidence}".rstrip()


_STATUS: Final = {
    "ready": Mark("planned", "no problems found", "○", "idle"),
    "ready_with_warnings": Mark("partial", "warnings", "!", "half"),
    "blocked": Mark("failed", "blocked", "✗", "bad"),
}
_SEVERITY: Final = {
    "warning": Mark("partial", "warning", "!", "half"),
    "blocked": Mark("failed", "blocked", "✗", "bad"),
}
_SIZES: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


class PrunedRun(TypedDict):
    """A run that goes, or has gone."""

    run_id: str
    workflow: str | None
    status: str
    ended_at: str | None
    bytes: int


class PruneFailure(TypedDict):
    """A run that could not go, and why."""

    run_id: str
    code: str
    message: str


class PruneDocument(TypedDict):
    """Answer of `prune`."""

    preview: bool
    runs: list[PrunedRun]
    kept: int
    bytes: int
    failed: list[PruneFailure]


class ExportDocument(TypedDict):
    """Answer of `export`."""

    run_id: str
    path: str
    bytes: int
    files: int


def diagnosis_blocks(document: DiagnosisDocument) -> list[Block]:
    """Return what was found, each with what to do; of many runs, those with findings alone."""
    runs = document.get("runs")
    if runs is None:
        return _diagnosed(document)
    if not runs:
        return [Paragraph("No runs yet.", "mute")]
    loud = [run for run in runs if run.get("findings")]
    blocks = [
        block
        for run in loud
        for block in (Section("", _diagnosed(run)), Paragraph("", is_apart=True))
    ]
    parts = [f"{plural(len(runs), 'run')} checked"]
    for word, status in (("blocked", "blocked"), ("with warnings", "ready_with_warnings")):
        if count := sum(run.get("status") == status for run in runs):
            parts.append(f"{count:,} {word}")
    summary = ", ".join(parts if len(parts) > 1 else [*parts, "no problems found"])
    return [*blocks, Paragraph(f"{summary}.", "mute")]


def prune_blocks(document: PruneDocument) -> list[Block]:
    """Return what would go, or has gone."""
    rows = [
        (
            Status(run_mark(run.get("status"))),
            Code(run.get("run_id"), 60),
            run.get("workflow") or "",
            moment(run.get("ended_at")),
            size(run.get("bytes")),
        )
        for run in document.get("runs") or []
    ]
    heads = ("status", "run", "workflow", "ended", "size")
    failed = [f"! {entry.get('message')}" for entry in document.get("failed") or []]
    return [
        Paragraph(_pruned(document)),
        *([Table(heads, rows, numeric=frozenset({4}))] if rows else []),
        Items(failed),
    ]


def export_sentence(document: ExportDocument) -> str:
    """Return where an export lies."""
    many = plural(document.get("files") or 0, "file")
    where = line(document.get("path"), 400)
    return f"{line(document.get('run_id'), 60)}: {many}, {size(document.get('bytes'))} in {where}"


def size(count: Any) -> str:
    """Return bytes for people; empty where there are none to tell."""
    if not isinstance(count, int) or count < 0:
        return ""
    unit, rest = 0, float(count)
    while rest >= 1024 and unit < len(_SIZES) - 1:
        unit, rest = unit + 1, rest / 1024
    return f"{count:,} bytes" if unit == 0 else f"{rest:.1f} {_SIZES[unit]}"


def _pruned(document: PruneDocument) -> str:
    count, kept = len(document.get("runs") or []), document.get("kept") or 0
    freed = size(document.get("bytes"))
    if document.get("preview"):
        if not count:
            return f"Nothing to delete; {plural(kept, 'run')} kept."
        return f"{plural(count, 'run')} would be deleted ({freed}), {kept:,} kept; add --yes to delete them."
    return f"{plural(count, 'run')} removed ({freed}), {kept:,} kept."


def _diagnosed(document: DiagnosisDocument) -> list[Block]:
    blocks: list[Block] = [Heading(_look(document.get("status")), run_id=document.get("run_id"))]
    offered: list[tuple[str, Code]] = []
    for finding in document.get("findings") or []:
        mark = _SEVERITY["blocked" if finding.get("severity") == "blocked" else "warning"]
        problem = {"message": finding.get("message"), "code": finding.get("code")}
        blocks.append(Problems("", [problem], mark, is_apart=False))
        action = finding.get("next_action")
        if (
            action
            and (row := (f"{action_phrase(action)}:", Code(mark_placeholders(action["cell"]), 200)))
            not in offered
        ):
            offered.append(row)  # of two steps with one command, each says what it is for
            blocks.append(Section("", [Paragraph(row)]))
    return blocks


def _look(status: Any) -> Mark:
    known = _STATUS.get(status) if isinstance(status, str) else None
    return known or Mark("unknown", line(status, 40) or "unknown", "?", "idle")
