"""Answer of the kernel to a request for completion. Pure: its input is the text and a CompletionContext.

text, offset ──complete──▶ Completions      in our cells and on our lines, perhaps none
                       └─▶ None             everywhere else: not ours to say
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from pixirnb.notebook.completion import magic_line, yaml_body
from pixirnb.notebook.completion.commands import MagicCommand
from pixirnb.notebook.completion.context import Candidate, CompletionContext
from pixirnb.notebook.completion.outline import Outline
from pixirnb.notebook.completion.partial_yaml import sketch

MOST: Final = 500
"""So many are shown; who types on sees the others."""
_CELL: Final = re.compile(r"\s*%%(workflow|step)(?=[ \t\n]|$)")
_OTHER_CELL: Final = re.compile(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b)")
_LINE: Final = re.compile(r"[ \t]*(?:[A-Za-z_]\w*[ \t]*=[ \t]*)?%pixir(?:nb)?[ \t]+")
_SIGNS: Final = "[{\"'"


class Completions(Struct, frozen=True):
    """Ways to complete the word at the cursor."""

    typed: str
    """The end of the text before the cursor that a candidate takes the place of."""
    candidates: tuple[Candidate, ...]


def complete(
    text: str, offset: int, world: CompletionContext, magics: Mapping[str, MagicCommand]
) -> Completions | None:
    """Return completions at `offset`, in characters. `magics` are the cell magics by name. Never raises for a text."""
    offset = min(max(offset, 0), len(text))
    cell = _CELL.match(text)
    if cell is not None:
        completions = _in_cell(text, offset, cell, world, magics)
    else:
        line = text[:offset].rpartition("\n")[2]
        start = None if _OTHER_CELL.match(text) else _LINE.match(line)
        completions = None if start is None else magic_line.pixir_hints(line[start.end() :], world)
    if completions is None:
        return None
    typed, candidates = completions
    typed = text[offset - len(typed) : offset]  # as it is written, whatever it was read as
    return Completions(typed, tuple(each for each in candidates if _goes_on(each, typed))[:MOST])


def _in_cell(
    text: str,
    offset: int,
    cell: re.Match[str],
    world: CompletionContext,
    magics: Mapping[str, MagicCommand],
) -> yaml_body.Hints | None:
    magic: Literal["workflow", "step"] = "step" if cell[1] == "step" else "workflow"
    end = text.find("\n", cell.end())
    end = len(text) if end < 0 else end
    line, below = text[cell.end() : end], text[end + 1 :]
    workspace = magic_line.option_of(line, "--workspace")
    if offset <= cell.end():
        return None  # the magic's own name, which IPython completes
    if offset > end:
        if magic == "step":
            return None  # Python
        return yaml_body.hints(
            below, offset - end - 1, world if workspace is None else world.within(workspace)
        )
    command = magics.get(magic)
    if command is None:
        return None
    outline = Outline.of(sketch(below, None).value) if magic == "workflow" else None
    return magic_line.cell_hints(magic, text[cell.end() : offset], command, world, outline)


def _goes_on(candidate: Candidate, typed: str) -> bool:
    """Return whether a candidate begins with the typed text, ignoring signs that open a list, mapping or text."""
    bare = candidate.text.removeprefix("- ").lstrip(_SIGNS)
    return candidate.text.startswith(typed) or bare.startswith(typed)
