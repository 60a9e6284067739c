"""Calls that agents ask to make: what an approval allows, as a diff or a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.history.agent_events import SubagentEvent
from pixirnb.history.permission_state import PermissionRequest
from pixirnb.machine.outcome_documents import OpenRequest
from pixirnb.views.basics.sanitize import line, plural, spell_out
from pixirnb.views.basics.show_value import shown as shown_value
from pixirnb.views.basics.tool_call import tool_use
from pixirnb.views.blocks.model import Block, Code, LineKind, PatchLines, Section

_OPEN: Final = 10
_LINES: Final = 60
_WIDTH: Final = 200
_PATHS: Final = frozenset({"path", "paths", "file", "file_path", "title"})
_COMMAND: Final = ("command", "cmd")
_DIFF: Final[Mapping[str, LineKind | None]] = {
    **dict.fromkeys(("old", "old_string", "old_text", "oldText"), "deleted"),
    **dict.fromkeys(("new", "new_string", "new_text", "newText", "content", "text"), "added"),
    "diff": None,
}
"""Arguments that are a change: the lines of the text before, and after; None for a diff with signs of its own."""
_SIGNS: Final[Mapping[str, LineKind]] = {"+": "added", "-": "deleted", "@": "hunk"}


def request_blocks(step: object, requests: Sequence[OpenRequest]) -> list[Block]:
    """Return the calls that a step's agent waits to be allowed, each with its change: what an approval allows."""
    return [
        Section(
            (Code(step, 64), f"asks to use {use_phrase(each)}"),
            [PatchLines(call_lines(each["args"]))],
        )
        for each in requests[:_OPEN]
    ]


def use_phrase(request: SubagentEvent | PermissionRequest | OpenRequest) -> str:
    """Return the tool of a call and what it is about: `edit src/a.py`."""
    used = tool_use(request.get("tool") or "tool", request.get("args"))
    return f"{used['name']} {line(used['about'], 120)}".rstrip()


def call_lines(args: Any) -> list[tuple[LineKind, str]]:
    """Return a call as lines: a change as a diff, a command, and every other argument but the path."""
    given = dict(args) if isinstance(args, Mapping) else {"": args}
    if isinstance(given.get("input"), Mapping) and not given.get("diff"):
        given |= given.pop("input")
    lines: list[tuple[LineKind, str]] = []
    for name, value in given.items():
        if name not in {*_DIFF, *_COMMAND, *_PATHS}:
            lines += [("both", f" {name}: {row}" if name else f" {row}") for row in _rows(value)]
    for name in _COMMAND:
        lines += [("both", f" $ {row}") for row in _rows(given.get(name))]
    for name, kind in _DIFF.items():
        sign = "" if kind is None else "-" if kind == "deleted" else "+"
        lines += [
            (kind or _SIGNS.get(row[:1], "both"), sign + row) for row in _rows(given.get(name))
        ]
    more = len(lines) - _LINES
    shown = [(kind, spell_out(text, _WIDTH)) for kind, text in lines[:_LINES]]
    return [*shown, ("remark", f"… {plural(more, 'more line')}")] if more > 0 else shown


def _rows(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = " ".join(value)
    text = value if isinstance(value, str) else shown_value(value, limit=_WIDTH)
    return text.removesuffix("\n").split("\n")
