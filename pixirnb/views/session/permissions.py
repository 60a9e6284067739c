"""Permission requests of agents: for a panel exactly what it is, what was answered and what each button would say; for a
terminal one line, and the call as a diff or a command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.history.agent_events import SubagentEvent
from pixirnb.history.permission_state import PermissionRequest
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import PageObject
from pixirnb.machine.outcome_documents import OpenRequest
from pixirnb.views.basics.sanitize import line, plain, plural, spell_out
from pixirnb.views.basics.show_value import shown as shown_value
from pixirnb.views.basics.tool_call import tool_use
from pixirnb.views.blocks.model import Block, Code, LineKind, PatchLines, Section

_OPEN: Final = 10
_ANSWERED: Final = 10
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


def permission_documents(run: RunState, step_id: str, *, is_past: bool) -> list[PageObject]:
    """The requests of a step: those that wait for a person, oldest first, then the last that were answered, newest first.

    `is_past`: nothing can be answered any more at that moment, or now.
    """
    open_ids = (run.steps.get(step_id) or StepState()).open_requests
    waiting = [run.permissions[each] for each in open_ids if each in run.permissions]
    answered = [
        request
        for request in reversed(run.permissions.values())
        if request["step"] == step_id and request["verdict"] is not None
    ]
    shown = [*waiting[:_OPEN], *answered[:_ANSWERED]]
    return [_document(request, is_past=is_past) for request in shown]


def request_line(data: SubagentEvent | PermissionRequest) -> str:
    """`◇ edit asks to use write src/a.py → pixirnb approve RUN/edit.1.1, or deny`, from data of a request's event. Total."""
    step, request = line(data.get("step") or "", 64), line(data.get("request_id") or "", 200)
    return f"◇ {step} asks to use {use_phrase(data)} → pixirnb approve {request}, or deny"


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


def _document(data: PermissionRequest, *, is_past: bool) -> PageObject:
    request, is_open = line(data.get("request_id") or "", 200), data["verdict"] is None
    can_answer = is_open and not is_past
    return {
        "request": request,
        "attempt": data["attempt"],
        **tool_use(data.get("tool") or "tool", data.get("args")),
        "why": plain(data.get("why") or "", 1_000),
        "is_open": is_open,
        "verdict": None if is_open else line(data["verdict"], 20),
        "by": line(data.get("by") or "", 80),
        "note": plain(data.get("note") or "", 4_096),
        "wishes": {"allow": _word("approve", request), "deny": _word("deny", request)}
        if can_answer
        else None,
    }


def _word(verb: str, request: str) -> dict[str, str]:
    return {"do": verb, "request": request}
