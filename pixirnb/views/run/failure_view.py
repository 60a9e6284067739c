"""Why a step failed, from `error.details` of an outcome: checks, the author's frames, the end of what it printed, a hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.json_types import JsonMapping
from pixirnb.machine.failure_evidence import check_phrase
from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.views.basics.ansi import render_ansi
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import Mark
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Paragraph,
    Preformatted,
    Quotation,
    Section,
    Status,
    Table,
)

PASSED: Final = Mark("checkpoint_ready", "passed", "✓", "ready")
NOT_PASSED: Final = Mark("failed", "failed", "✗", "bad")
_STEPS: Final = 6
_LINES: Final = 20
_TAIL: Final = 4_000
"""Bytes from which on a tail may be the end of a longer output."""
_CHECKS: Final = 20
_OUTPUT: Final = 4_000_000
"""Characters of the output of one step that are shown."""
_ROWS: Final = 1_000
_POSITION: Final = 60
"""Characters of a frame's file and line."""


def failures(steps: Sequence[StepDocument], logs: str) -> list[Block]:
    """Return the evidence of the first failed steps that have any, a section each. `logs`: the command that shows an output."""
    shown: list[Block] = []
    for step in steps:
        name = line(step.get("step_id"), 64)
        blocks = failure_blocks(step.get("error"), f"{logs} {name}")
        if blocks and len(shown) < _STEPS:
            shown.append(Section(Code(name, title=step.get("title") or ""), blocks))
    return shown


def failure_blocks(
    error: JsonMapping | None, logs: str = "", *, has_checks: bool = True
) -> list[Block]:
    """Return the evidence in an error: nothing that its message says already."""
    details = None if error is None else error.get("details")
    if not isinstance(details, Mapping):
        return []
    checks = check_table(details.get("checks")) if has_checks else []
    blocks = [*checks, *_frames(details), *_output(details, logs)]
    if hint := details.get("hint"):
        blocks.append(Paragraph(("hint:", line(hint, 400))))
    return blocks


def output_blocks(document: JsonMapping) -> list[Block]:
    """Return the whole output of steps: of one as it stands, of several a section each."""
    outputs = document["outputs"]
    texts = [(each["step"], render_ansi(each["text"]).text.rstrip("\n")) for each in outputs]
    if len(texts) == 1:
        return [Preformatted(texts[0][1], _OUTPUT)] if texts[0][1] else []
    return [Section(Code(step, 64), [Quotation(text, rows=_ROWS)]) for step, text in texts if text]


def check_table(findings: Any) -> list[Block]:
    """Return the table of findings: the result of each check, what it expected and what it saw."""
    if not isinstance(findings, list) or not findings:
        return []
    rows = [
        (
            Status(PASSED if each.get("passed") is True else NOT_PASSED),
            Code(check_phrase(each["check"]), 200),
            line(each.get("expected"), 80),
            line(each.get("seen"), 300),
        )
        for each in findings[:_CHECKS]
        if isinstance(each, Mapping) and isinstance(each.get("check"), dict)
    ]
    heads = ("", "check", "expected", "seen")
    return [Table(heads, rows, count=len(findings), limit=_CHECKS)]


def _frames(details: JsonMapping) -> list[Block]:
    frames = details.get("frames")
    if not isinstance(frames, list) or not frames:
        return []
    rows = [
        (
            Code(_position(f"{frame.get('file')}:{frame.get('line')}")),
            f"in {line(frame.get('function'), 80)}",
            Code(line(frame.get("code"), 200)),
        )
        for frame in frames
        if isinstance(frame, Mapping)
    ]
    return [Table(("", "", ""), rows)]


def _position(text: str) -> str:
    """Return a file and line that fit a column: of a long path the end, which tells files apart."""
    return text if len(text) <= _POSITION else f"…{text[1 - _POSITION :]}"


def _output(details: JsonMapping, logs: str) -> list[Block]:
    tail = details.get("output_tail")
    if not isinstance(tail, str):
        return []
    lines = render_ansi(tail).text.rstrip().splitlines()
    if not lines:
        return []
    is_cut = len(lines) > _LINES or len(tail.encode("utf-8", "replace")) >= _TAIL
    all_of_it = [Paragraph(("full output:", Code(logs, 200)), "mute")] if is_cut and logs else []
    return [Quotation("\n".join(lines[-_LINES:]), rows=_LINES), *all_of_it]
