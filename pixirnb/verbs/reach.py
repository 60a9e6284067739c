"""Commands that reach their run from the current folder: with `--state` where a run lies in another state folder."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from pixirnb.errors import StateUnusable
from pixirnb.store.state_folder import STATE_NAME, find_state
from pixirnb.views.basics.status_marks import Mark
from pixirnb.views.blocks.model import Code, PatchLines, Preformatted, Quotation

_COMMAND: Final = re.compile(r"(?:pixirnb|%pixir) [a-z]+ (r-\d{8}-\d{6}-\w+)[^\s`,;]*")
_TEXTS: Final = frozenset({"cell", "command", "copy", "fix", "message"})
"""Members of documents that pixirnb writes for a person."""


class Reach:
    """The state folders that commands may have to name."""

    def __init__(self, states: Callable[[], Iterable[Path]]) -> None:
        self._states = states

    def text(self, text: str) -> str:
        """Return a text with commands that find their runs."""
        return _COMMAND.sub(self._with_state, text) if self._elsewhere else text

    def document(self, node: Any) -> Any:
        """Return JSON with commands that find their runs."""
        if self._elsewhere and isinstance(node, Mapping):
            return {
                key: self.text(value)
                if key in _TEXTS and isinstance(value, str)
                else self.document(value)
                for key, value in node.items()
            }
        return [*map(self.document, node)] if isinstance(node, list) else node

    def blocks(self, node: Any) -> Any:
        """Return blocks with commands that find their runs. What programs and agents printed stays."""
        if not self._elsewhere:
            return node
        match node:
            case Preformatted() | Quotation() | PatchLines() | Mark():
                return node
            case Code(value, limit):
                text = self.text(str(value))
                return Code(text, limit + len(text)) if text != str(value) else node
            case str():
                return self.text(node)
            case list() | tuple():
                return type(node)(map(self.blocks, node))
            case Struct():
                return replace(
                    node, **{name: self.blocks(each) for name, each in asdict(node).items()}
                )
            case _:
                return node

    @cached_property
    def _elsewhere(self) -> Sequence[Path]:
        """The state folders other than that of the current folder."""
        return [each for each in self._states() if each != self._here]

    @cached_property
    def _here(self) -> Path | None:
        """The state folder of the current folder; None if that cannot be used."""
        try:
            return find_state(Path.cwd())
        except (StateUnusable, OSError):
            return None

    def _with_state(self, match: re.Match[str]) -> str:
        """Return a command with `--state PATH`, or as it is where its run is found without, or not at all."""
        if self._here is not None and _is_folder(self._here / "runs" / match[1]):
            return match[0]
        states = (each for each in self._elsewhere if _is_folder(each / "runs" / match[1]))
        state = next(states, None)
        if state is None:
            return match[0]
        try:
            path = min(os.path.relpath(state), str(state), key=len)
        except FileNotFoundError:  # the current folder was deleted
            path = str(state)
        # The parser would read what begins with a dash as an option.
        return f"{match[0]} --state {shlex.quote(f'./{path}' if path.startswith('-') else path)}"


def states_named(words: Iterable[str]) -> list[Path]:
    """Return the state folders that the words of a line name or lie below."""
    try:
        named = [
            Path(os.path.abspath(os.path.expanduser(each)))  # noqa: PTH100, PTH111 - a link stays a link
            for word in words
            for each in (word, word.partition("=")[2])
        ]
    except OSError:  # the current folder was deleted: relative words name nothing
        return []
    folders = [folder for each in named for folder in (each, *each.parents)]
    states = dict.fromkeys(each for folder in folders for each in (folder, folder / STATE_NAME))
    return [each for each in states if _is_folder(each / "runs")]


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - a word of any length is no error
