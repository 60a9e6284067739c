"""A Checkpoint Bundle: what a step produced, what shows that it is right, what it is not."""

from __future__ import annotations

from typing import Final

from pixirnb.history.bundles import CheckpointBundle, Produced, no_changes
from pixirnb.machine.failure_evidence import finding
from pixirnb.views.basics.status_marks import Mark, count_mark
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Heading,
    Items,
    Paragraph,
    Section,
    Table,
    Value,
)
from pixirnb.views.files.changes import changes_phrase, count_of, files_of, stat_row
from pixirnb.views.run.failure_view import check_table

UNSAFE: Final = Mark("partial", "not usable by dependents", "◐", "half")


def bundle_blocks(document: CheckpointBundle, reason: str = "") -> list[Block]:
    """Return a Checkpoint Bundle. `reason`: why it is not safe to build on, where it is not."""
    is_safe = document.get("dependent_safe") is True
    source = document.get("source") or {}
    by = [f"attempt {source['attempt']}"] if isinstance(source.get("attempt"), int) else []
    by += [f"agent {source['agent_id']}"] if source.get("agent_id") else []
    mark = count_mark("checkpoint_ready") if is_safe else UNSAFE
    return [
        Heading(mark, document.get("step_id") or "step", aside=" · ".join(by)),
        Paragraph("" if is_safe else reason),
        *bundle_body(document),
    ]


def bundle_body(document: CheckpointBundle) -> list[Block]:
    """Return a Checkpoint Bundle without its heading, for a view that has one."""
    return [
        *_produced(document.get("produced") or {}),
        *_checks(document),
        *_limitations(document),
        *_files(document),
    ]


def _produced(produced: Produced) -> list[Block]:
    value = produced.get("value")
    if value is not None and value != "":
        return [Value(value)]
    if not produced.get("blob"):
        return []
    size = produced.get("bytes")
    form = produced.get("glance") or produced.get("type") or produced.get("format") or "text"
    many = f", {size:,} bytes" if isinstance(size, int) else ""
    return [Paragraph(f"{form}{many}, stored next to the log", "mute")]


def _checks(document: CheckpointBundle) -> list[Block]:
    findings = [
        finding(check)
        for check in document.get("verification") or []
        if isinstance(check.get("check"), dict) and isinstance(check.get("evidence"), dict)
    ]
    return [Section("checks", check_table(findings))] if findings else []


def _limitations(document: CheckpointBundle) -> list[Block]:
    limits = [str(entry) for entry in document.get("known_limitations") or []]
    return [Section("limitations", [Items(limits)])] if limits else []


def _files(document: CheckpointBundle) -> list[Block]:
    blocks: list[Block] = []
    kept = [
        (Code(entry.get("path"), 200), f"{entry.get('bytes', 0):,} bytes")
        for entry in document.get("artifacts") or []
    ]
    if kept:
        blocks.append(Section("artifacts", [Table(("path", "size"), kept)]))
    changed = document.get("changes") or no_changes()
    if count_of(changed):
        rows = [tuple(stat_row(file)) for file in files_of(changed)]
        table = Table(("", "", "", ""), rows, widest=120)
        blocks.append(Section(f"changed: {changes_phrase(changed)}", [table]))
    return blocks
