"""The actions of a scripted agent, attempt by attempt: its messages, writes, reports and failures.

A script is data, so the same text tells the same story in a test, a tutorial and a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.durations import parse_duration
from pixirnb.spec.fields import json_value, mistake, shown


def _text(value: object) -> bool:
    return isinstance(value, str)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _duration(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        parse_duration(value, allow_zero=True)
    except ValueError:
        return False
    return True


def _mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _any(value: object) -> bool:  # noqa: ARG001 - a predicate of the table below that accepts all
    return True


ACTIONS: Final[dict[str, tuple[Callable[[object], bool], dict[str, Callable[[object], bool]]]]] = {
    "say": (_text, {}),
    "sleep": (_duration, {}),
    "write": (_text, {"text": _text}),
    "delete": (_text, {}),
    "fail": (_text, {"message": _text}),
    "tool": (_text, {"args": _mapping, "result": _any}),
    "report": (_mapping, {}),
    "hang": (lambda value: value is True, {}),
    "crash": (_whole, {}),
    "exit": (_whole, {}),
    "marker": (_text, {}),
}
"""Action key to the type of its value, and the keys allowed next to it."""
REPORT_KEYS: Final = frozenset({"checkpoint_status", "summary", "output", "limitations", "seams"})


def check_script(value: object) -> dict[str, list[list[dict[str, Any]]]]:
    """Return the script as plain lists and dicts. Raises the error of the first invalid action."""
    value = json_value(value)
    if not isinstance(value, Mapping):
        raise mistake(
            "script_action", "a script maps step ids to attempts", "write `step: [[action, ...]]`"
        )
    return {str(step): _attempts(str(step), attempts) for step, attempts in value.items()}


def _attempts(step: str, attempts: object) -> list[list[dict[str, Any]]]:
    if not isinstance(attempts, list | tuple) or not all(
        isinstance(attempt, list | tuple) for attempt in attempts
    ):
        raise mistake(
            "script_action",
            f"the script of `{step}` is not a list with one list of actions per attempt",
            "write `[[action, ...], [action, ...]]`",
        )
    return [
        [_action(f"{step}[{number}][{index}]", action) for index, action in enumerate(attempt)]
        for number, attempt in enumerate(attempts)
    ]


def _action(where: str, action: object) -> dict[str, Any]:
    if not isinstance(action, Mapping):
        raise mistake(
            "script_action", f"{where} is not an action", "write one `key: value` mapping"
        )
    kinds = [key for key in ACTIONS if key in action]
    if len(kinds) != 1:
        names = ", ".join(f"`{key!s:.40}`" for key in list(action)[:3])
        unknown = f"no action{f', only {names}' if names else ''}"
        written = next(iter(action), "")
        every = "use one of " + ", ".join(ACTIONS)
        raise mistake(
            "script_action",
            f"{where} has {' and '.join(kinds) or unknown}, not exactly one",
            every if kinds else did_you_mean(str(written)[:80], ACTIONS, otherwise=every),
        )
    accepts, allowed = ACTIONS[kinds[0]]
    if not accepts(action[kinds[0]]):
        raise mistake(
            "script_action",
            f"{where}: {shown(action[kinds[0]])} is no value for `{kinds[0]}`",
            "see the reference of scripted agents",
        )
    for key, value in action.items():
        if key == kinds[0]:
            continue
        if key not in allowed or not allowed[key](value):
            raise mistake(
                "script_action",
                f"{where}: `{key}` cannot stand beside `{kinds[0]}` with {shown(value)}",
                f"allowed beside it: {', '.join(allowed) or 'nothing'}",
            )
    if kinds[0] == "report" and (odd := set(action["report"]) - REPORT_KEYS):
        raise mistake(
            "script_action",
            f"{where}: a report has no `{min(map(str, odd))}`",
            "use " + ", ".join(sorted(REPORT_KEYS)),
        )
    return dict(action)
