"""Content of a magic's line, derived from its parser: options, flags and words in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct

from pixirnb.notebook.completion.context import Candidate
from pixirnb.notebook.kernel.line_args import WAIT_OPTIONS, WAITING_VERBS
from pixirnb.notebook.pixir_verbs import build_verbs

MANY: Final = "steps"
"""The positional word that may be said again and again: it comes last."""


class Option(Struct, frozen=True):
    """One option of a line."""

    names: tuple[str, ...]
    about: str
    is_flag: bool
    is_repeatable: bool


class MagicCommand(Struct, frozen=True):
    """A magic, or a verb of one."""

    words: tuple[str, ...]
    """Kinds of its positional words, in order: `run`, `step`, …"""
    options: tuple[Option, ...]
    about: str = ""

    def option(self, name: str) -> Option | None:
        """Return the option of that spelling."""
        return next((option for option in self.options if name in option.names), None)

    def left(self, written: Iterable[str]) -> list[Candidate]:
        """Return the options that may still be written."""
        written = set(written)
        return [
            Candidate(option.names[0], option.about)
            for option in self.options
            if option.is_repeatable or not written & set(option.names)
        ]


_WAIT: Final = tuple(
    Option((name,), about, not value, False) for name, (value, about) in WAIT_OPTIONS.items()
)


def magic(decorators: Iterable[Any]) -> MagicCommand:
    """Return the command that IPython's `@argument(…)` decorators of a magic declare; the last of them is the first written."""
    words: list[str] = []
    options: list[Option] = []
    for each in reversed([*decorators]):
        names, keywords = getattr(each, "args", ()), getattr(each, "kwds", {})
        about = keywords.get("help")
        if not names or not isinstance(about, str) or about.startswith("=="):
            continue  # no argument at all, or one that is not for people
        if not names[0].startswith("-"):
            words.append(names[0])
            continue
        action = keywords.get("action", "")
        is_flag = str(action).startswith("store_")
        options.append(Option(names, about.replace("%%", "%"), is_flag, action == "append"))
    return MagicCommand(tuple(words), tuple(options))


@cache
def verbs() -> Mapping[str, MagicCommand]:
    """Return the verbs of `%pixir`, from the grammar they are parsed by."""
    app = build_verbs()
    names = [name for name in app if not name.startswith("-")]
    first = {id(app[name]): name for name in reversed(names)}  # a verb may have another name
    return {name: _verb(name, app[name]) for name in names if name in first.values()}


def _verb(name: str, app: Any) -> MagicCommand:
    words: list[str] = []
    options: list[Option] = []
    for argument in app.assemble_argument_collection(parse_docstring=True):
        if not argument.show:
            continue
        about = " ".join(str(argument.parameter.help or "").split())
        if "POSITIONAL" in str(argument.field_info.kind):
            is_many = "VAR" in str(argument.field_info.kind)
            words.append(MANY if is_many else argument.name.lower())
        else:
            is_list = "list" in str(argument.hint)
            options.append(Option((argument.name,), about, argument.hint is bool, is_list))
    waiting = _WAIT if name in WAITING_VERBS else ()
    first = str(app.help or "").strip().partition("\n")[0]
    return MagicCommand(tuple(words), (*options, *waiting), first)
