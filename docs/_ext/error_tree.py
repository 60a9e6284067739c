"""The tree of error classes, drawn from the classes."""

from __future__ import annotations

from collections.abc import Iterator

from pixirnb.errors import PixirnbError


def page() -> str:
    """The drawing, as a Markdown block."""
    return "\n".join(["```text", PixirnbError.__name__, *_branches(PixirnbError, ""), "```"])


def _branches(cls: type[PixirnbError], trunk: str) -> Iterator[str]:
    children = [child for child in cls.__subclasses__() if child.__module__ == cls.__module__]
    for child in children:
        is_last = child is children[-1]
        yield f"{trunk}{'└── ' if is_last else '├── '}{child.__name__}"
        yield from _branches(child, trunk + ("    " if is_last else "│   "))
