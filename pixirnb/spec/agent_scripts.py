"""The actions of a scripted agent, attempt by attempt: its messages, writes, reports and failures.

A script is data, so the same text tells the same story in a test, a tutorial and a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.durations import parse_duration
from pixirnb.spec.fields import json_value, mistake, shown
from pixirnb.spec.known_words import one_of


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
_EXAMPLES: Final = {
    "say": "say: hello",
    "sleep": "sleep: 2s",
    "write": "write: FILE",
    "delete": "delete: FILE",
    "fail": "fail: timeout",
    "tool": "tool: read",
    "report": "report: {summary: done}",
    "hang": "hang: true",
    "crash": "crash: 9",
    "exit": "exit: 3",
    "marker": "marker: partial",
}
_KINDS: Final = """
    provider_key_missing model_unknown provider_denied provider_permanent provider_unreachable provider_transient
    provider_stream_cut provider_malformed context_overflow output_limit turn_limit permission_required permission_denied
    agent_missing_binary agent_command_unknown agent_command_incomplete agent_mode_missing agent_mode_left agent_silent
    agent_cancelled agent_failed protocol_error protocol_mismatch auth_required refused agents_file_invalid extra_missing
    exit crash timeout exception lost supervisor_lost spawn_failed verification output_invalid cancelled
"""
ERROR_KINDS: Final = frozenset(_KINDS.split())
"""Kinds of errors that pixirnb itself gives to the attempts of agents, or retries."""
REPORT_KEYS: Final = frozenset({"checkpoint_status", "summary", "output", "limitations", "seams"})


def check_script(value: object) -> object:
    """Return the script as plain lists and dicts. Raises the error of one that is no mapping."""
    value = json_value(value)
    if not isinstance(value, Mapping):
        raise mistake(
            "script_action",
            "`script` must map step ids to attempts",
            "write `STEP: [[{say: hello}]]`",
        )
    return {str(step): attempts for step, attempts in value.items()}


def check_attempts(value: object) -> object:
    """Return the attempts of one step. Raises the error of anything but lists of actions."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(attempt, list | tuple) for attempt in value
    ):
        raise mistake(
            "script_action",
            "the script of a step must be a list with one list of actions per attempt",
            "write `[[{say: hello}]]`",
        )
    return value


def check_action(action: object) -> dict[str, Any]:
    """Return one action. Raises its error."""
    if not isinstance(action, Mapping):
        raise mistake(
            "script_action",
            f"expected an action, got {shown(action)}",
            "write a mapping such as `{say: hello}`",
        )
    kinds = [key for key in ACTIONS if key in action]
    if len(kinds) != 1:
        names = ", ".join(f"`{key!s:.40}`" for key in list(action)[:3])
        unknown = names or "none"
        written = next(iter(action), "")
        every = f"use {one_of(ACTIONS)}"
        raise mistake(
            "script_action",
            f"expected exactly one action, found {' and '.join(f'`{kind}`' for kind in kinds) or unknown}",
            every if kinds else did_you_mean(str(written)[:80], ACTIONS, otherwise=every),
        )
    accepts, allowed = ACTIONS[kinds[0]]
    if not accepts(action[kinds[0]]):
        raise mistake(
            "script_action",
            f"invalid value {shown(action[kinds[0]])} for `{kinds[0]}`",
            f"write `{_EXAMPLES[kinds[0]]}`",
        )
    for key, value in action.items():
        if key == kinds[0]:
            continue
        if key not in allowed or not allowed[key](value):
            raise mistake(
                "script_action",
                f"invalid key or value `{key}: {shown(value)}` in a `{kinds[0]}` action",
                f"use {one_of(allowed)}" if allowed else f"remove `{key}`",
            )
    if kinds[0] == "report" and (odd := set(action["report"]) - REPORT_KEYS):
        raise mistake(
            "script_action",
            f"unknown key `{min(map(str, odd))}` in a report",
            f"use {one_of(sorted(REPORT_KEYS))}",
        )
    return dict(action)


Script = dict[
    str,
    Annotated[
        list[list[Annotated[dict[str, Any], BeforeValidator(check_action)]]],
        BeforeValidator(check_attempts),
    ],
]
"""Step id, or `*`, to one list of actions per attempt."""
