"""Placeholders of the commands that a person sees: `--spec <FILE>`, `--value <now|later>`. A shell refuses them as they are."""

from __future__ import annotations

import json
import shlex
from typing import Final

_NAMED: Final = (" --spec FILE", " --note WHY", " --value ANSWER")


def mark_placeholders(command: str) -> str:
    """Return the cell or the command of a next action with its placeholder in angle brackets. JSON has it without."""
    if command.endswith(_NAMED):
        head, _, name = command.rpartition(" ")
        return f"{head} <{name}>"
    head, option, given = command.partition(" --value ")
    value = shlex.split(given)[0] if "|" in given else ""
    return f"{head}{option}<{value}>" if value and not _is_json(value) else command


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
