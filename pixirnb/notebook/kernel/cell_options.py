"""The options of a `%%workflow` or `%%step` line, read with the suggestions that `%pixir` gives."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, Final

from IPython.core.error import UsageError

from pixirnb.spec.did_you_mean import did_you_mean

_BODILESS: Final = re.compile(r"get_ipython\(\)\.run_cell_magic\('step', (.+), ''\)\s*")
"""A `%%step` cell without a body, after IPython's own transformations."""
_NO_VALUE: Final = re.compile(r"argument (--[\w-]+)\S*: expected one argument")


def read_options(parser: Any, magic: str, tokens: Sequence[str]) -> Namespace:
    """Return the options on a line. Raises UsageError, in one line, for what is unknown or missing.

    Args:
        parser: the parser of the magic.
        magic: `workflow` or `step`.
        tokens: the words of the line.
    """
    try:
        options, unknown = parser.parse_known_args([*tokens])
    except UsageError as error:
        match = _NO_VALUE.match(str(error))
        raise UsageError(f"{match[1]} needs a value" if match else str(error)) from None
    for word in unknown:
        name = word.partition("=")[0]
        if name.startswith("-"):
            known = [option for option in _options(parser) if option.startswith("--")]
            fix = did_you_mean(name, known, otherwise=f"see %%{magic}?")
            raise UsageError(f"unknown option `{name:.80}`; {fix}")
        named = "workflow names" if magic == "workflow" else "step ids"
        raise UsageError(f"unexpected argument `{name:.80}`; {named} cannot contain spaces")
    if magic == "step" and options.id is None:
        raise UsageError("missing argument ID; usage: %%step ID [options]")
    assert isinstance(options, Namespace)
    return options


def accept_bodiless_step(lines: list[str]) -> list[str]:
    """Return the lines of a cell. `%%step ID --remove` becomes a line magic: IPython refuses a cell magic without a body."""
    match = _BODILESS.fullmatch("".join(lines))
    return lines if match is None else [f"get_ipython().run_line_magic('step', {match[1]})\n"]


def _options(parser: Any) -> list[str]:
    """Return the options that are for people: those with a help text."""
    actions = parser._actions  # noqa: SLF001 - argparse has no other list of what it knows
    return [
        name
        for action in actions
        if action.help != "==SUPPRESS=="
        for name in action.option_strings
    ]
