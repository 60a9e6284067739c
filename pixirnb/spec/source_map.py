"""Positions in the author's text: from a path of the spec to a line, computed on demand.

Recording a line for every key would double the time to read a large workflow; nearly all are read without a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from pixirnb.errors import Problem

PathParts = tuple[str | int, ...]


class SourceMap(Struct, eq=False):
    """Lines of a text. All SourceMaps are equal: the position of a workflow in a text is no part of its content."""

    text: str | None = None
    source: str | None = None
    """Name of the text for people: a file's path, a cell."""
    finder: Callable[[str], dict[PathParts, int]] | None = None
    """Function that reads the lines of every key and item of a text."""
    moved: Mapping[PathParts, PathParts] = field(default_factory=dict)
    """Path of a key here to its path in the text, if the text is in another format or its steps are a mapping."""
    is_native: bool = True
    """True if the keys below a moved path are in the text under their own names."""
    notes: tuple[Problem, ...] = ()
    """Notes of a reader of another format, apart from mistakes: warnings of the plan."""
    _lines: dict[PathParts, int] | None = None

    def written(self, parts: PathParts) -> PathParts:
        """Return the path of `parts` in the author's text: unchanged unless it is moved."""
        for end in range(len(parts), 0, -1) if self.moved else ():
            home = self.moved.get(parts[:end])
            if home is not None:
                # Another format has other keys; places in a list are the same in both.
                rest = parts[end:]
                is_there = self.is_native or all(isinstance(part, int) for part in rest)
                return (*home, *rest) if is_there else home
        return parts

    def line(self, parts: PathParts) -> int | None:
        """Return the 1-based line of the key or item at `parts`, or of the nearest enclosing one."""
        if self.text is None or self.finder is None:
            return None
        parts = self.written(parts)
        if self._lines is None:
            self._lines = self.finder(self.text)
            self._lines.setdefault((), min(self._lines.values(), default=1))
        while parts and parts not in self._lines:
            parts = parts[:-1]
        return self._lines.get(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceMap)

    def __hash__(self) -> int:
        return 0


def path_text(parts: PathParts) -> str:
    """Return the path as people read it: `steps[2].depends_on[0]`."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
