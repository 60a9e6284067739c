"""The words of a magic's line: split as a shell would, notebook values put in, options that mean waiting taken out.

`{run.id}` and `$name` stand for values of the notebook; a boolean, None, a list or a dict that is a whole value becomes JSON.
One that is a whole value and has none is refused; `$$name` and `{{name}}` stand for the text. A word that is JSON, as in
`--input names='["a"]'`, is left alone.
"""

from __future__ import annotations

import json
import keyword
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from IPython.core.error import UsageError
from IPython.utils.text import DollarFormatter
from msgspec import Struct

from pixirnb.json_types import JsonMapping
from pixirnb.notebook.kernel.async_cell import AWAITED
from pixirnb.operations.run_filter import status_fix

STATUSES: Final = (
    "completed",
    "partial",
    "failed",
    "timed_out",
    "interrupted",
    "needs_orchestrator",
)
"""How a run can end."""
WAITING_VERBS: Final = ("run", "resume", "fork", "decide")
"""Verbs that set a run going, and so can be waited for."""
WAIT_OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "--wait": ("", "Block until the run finishes."),
    "--expect": ("STATUS[,…]", "With --wait: also accept these final statuses."),
    "--as": ("VAR", "Assign the run to a variable."),
}
"""Options of these verbs in a cell: what follows each, and what it does."""
_WHOLE: Final = re.compile(r"((?:[^${}=]*=)*)(\$[A-Za-z_]\w*|\{[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\})")
"""A word whose value is one reference: `$flag`, `flag=$flag`, `--value={run.id}`."""


class WaitOptions(Struct, frozen=True):
    """Options of a cell that may wait for its run."""

    is_waiting: bool = False
    is_awaited: bool = False
    expect: tuple[str, ...] = ()
    """Statuses other than `completed` that are no error."""
    variable: str | None = None
    """Name to bind the run to."""

    def __post_init__(self) -> None:
        name = self.variable
        if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
            raise UsageError(f"--as: {name!r} is not a valid Python variable name")
        if self.expect and not self.is_waiting:
            raise UsageError("--expect requires --wait")
        for status in self.expect:
            if status not in STATUSES:
                raise UsageError(
                    f"--expect: unknown status `{status}`; " + status_fix(status, STATUSES)
                )


def words(line: str, namespace: JsonMapping) -> list[str]:
    """Return the line's words, expanded. Raises UsageError for a quote that is not closed, and a whole value that has none."""
    return [_expanded(word, namespace) for word in plain_words(line)]


def plain_words(line: str) -> list[str]:
    """Return the line's words as they stand, braces and all. Raises UsageError for a quote that is not closed."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{error}: {line}") from error


def statuses(text: str | None) -> tuple[str, ...]:
    """Return `partial,failed` as a tuple."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def take_wait_options(tokens: Sequence[str]) -> tuple[WaitOptions, list[str]]:
    """Return the options of a `%pixir` line about waiting, and the words that are left for the verb."""
    rest: list[str] = []
    flags: set[str] = set()
    given: dict[str, str] = {}
    remaining = iter(tokens)
    for token in remaining:
        name, equals, value = token.partition("=")
        if token in {"--wait", AWAITED}:
            flags.add(token)
        elif name in {"--expect", "--as"}:
            option_value = value if equals else next(remaining, None)
            if option_value is None:
                raise UsageError(f"{name} needs a value")
            given[name] = option_value
        else:
            rest.append(token)
    options = WaitOptions(
        "--wait" in flags, AWAITED in flags, statuses(given.get("--expect")), given.get("--as")
    )
    verb = rest[0] if rest else ""
    if verb not in WAITING_VERBS and (flags or given):
        option = min({*flags - {AWAITED}, *given})
        raise UsageError(f"{option} is only supported by {', '.join(WAITING_VERBS)}")
    return options, rest


def _expanded(word: str, namespace: JsonMapping) -> str:
    if not ("{" in word or "$" in word) or _is_json(word) or _is_json(word.partition("=")[2]):
        return word
    whole = _WHOLE.fullmatch(word)
    try:
        if whole is not None:
            value, _ = DollarFormatter().get_field(whole[2].strip("${}"), (), namespace)
            if value is None or isinstance(value, bool | list | dict):
                return whole[1] + json.dumps(value, ensure_ascii=False, default=str)
        return str(DollarFormatter().vformat(word, (), namespace))
    except Exception as error:  # text that cannot be expanded is taken as it is, as in every magic
        if whole is None:
            return word
        name = whole[2].strip("${}").partition(".")[0]
        wrong = f"cannot be read from variable `{name}`"
        if name not in namespace:
            wrong = f"variable `{name}` is not defined"
        raise UsageError(f"{whole[2]}: {wrong}") from error


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
