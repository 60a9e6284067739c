"""A call of a tool, made or asked for, in a few words: what tells most of its arguments comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pixirnb.json_types import JsonObject
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.show_value import shown

_ARGUMENT: Final = 4_000
_ARGUMENTS: Final = 24
_ABOUT: Final = 160
_LINE: Final = 60
_TELLING: Final = (
    *("command", "path", "file_path", "file", "paths", "pattern", "query", "url", "name", "title"),
)
"""Arguments that tell best what a call is about, in this order."""


def tool_use(tool: Any, args: Any) -> JsonObject:
    """Return the purpose of a tool call: `{name, about, given: [{name, text, cut}], given_cut}`."""
    pairs = [("", args)] if args is not None else []
    if isinstance(args, Mapping):
        # What tells most comes first: a log keeps keys sorted, so the agent's own order is gone.
        order = {name: position for position, name in enumerate(_TELLING)}
        pairs = sorted(args.items(), key=lambda pair: order.get(pair[0], len(order)))
    given = [_argument(name, value) for name, value in pairs[:_ARGUMENTS]]
    return {
        "name": line(tool, 80),
        "about": _about(args),
        "given": given,
        "given_cut": len(pairs) - len(given),
    }


def _argument(name: Any, value: Any) -> JsonObject:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]  # one path, mostly
    text = value if isinstance(value, str) else shown(value, limit=2 * _ARGUMENT)
    if not isinstance(value, str) and len(text) > _LINE:
        text = shown(value, indent=2, limit=2 * _ARGUMENT)
    return {
        "name": line(name, 60),
        "text": plain(text, _ARGUMENT),
        "cut": max(0, len(text) - _ARGUMENT),
    }


def _about(args: Any) -> str:
    """Return the one line that tells a call apart: a command, a path, or its first text."""
    if isinstance(args, str):
        return line(args, _ABOUT)
    if not isinstance(args, Mapping):
        return "" if args is None else line(shown(args), _ABOUT)
    telling = [args[name] for name in _TELLING if name in args] or list(args.values())
    for value in telling:
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return line(" ".join(value), _ABOUT)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return line(value, _ABOUT)
    return ""
