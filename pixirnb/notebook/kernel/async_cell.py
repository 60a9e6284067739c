"""Makes a cell that waits an awaited one, so that its kernel stays responsive and an interrupt is heard.

    get_ipython().run_cell_magic('workflow', '--wait', '…')   becomes
    await get_ipython().run_cell_magic('workflow', '--wait --awaited', '…')

IPython calls `await_waiting` on every cell after its own transformations; whatever is not such a call stays as it is, and so
does a cell within a cell (below `%%time` or `%%capture`): IPython runs those where nothing can be awaited.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Final

AWAITED: Final = "--awaited"
"""Tells the magic that its result is awaited; without it, it blocks."""

_IPYTHON: Final = "IPython.core.interactiveshell"
_WAITING: Final = {
    ("run_cell_magic", "workflow"): "--wait",
    ("run_line_magic", "pixir"): "--wait",
    ("run_line_magic", "pixirnb"): "--wait",
    ("run_cell_magic", "step"): "--try",
}
"""The magics that can wait, and the word that makes them."""


def await_waiting(lines: list[str]) -> list[str]:
    """Return the cell's lines, with `await` before each magic that waits."""
    text = "".join(lines)
    if "get_ipython().run_" not in text or not any(word in text for word in _WAITING.values()):
        return lines
    if _is_within_a_cell():
        return lines
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return lines  # for Python to complain about, in its own words
    rows = [row.encode() for row in text.splitlines(keepends=True)]
    # From the right, so that what is left to change keeps its place.
    for call, options in sorted(
        _calls(tree), key=lambda pair: (pair[0].lineno, pair[0].col_offset), reverse=True
    ):
        row = rows[call.lineno - 1]
        argument = repr(f"{options.value!s} {AWAITED}").encode()
        start, end = options.col_offset, options.end_col_offset
        row = row[:start] + argument + row[end:]
        rows[call.lineno - 1] = row[: call.col_offset] + b"await " + row[call.col_offset :]
    return [row.decode() for row in rows]


def _is_within_a_cell() -> bool:
    """Return whether the calling stack runs a cell. IPython keeps no record of that: its frames show it."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "run_code" and frame.f_globals.get("__name__") == _IPYTHON:
            return True
        frame = frame.f_back
    return False


def _calls(node: ast.AST) -> Iterator[tuple[ast.Call, ast.Constant]]:
    """Return the calls that wait, where `await` may stand: not in a plain function."""
    if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
        return
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=runner),
            args=[ast.Constant(value=magic), ast.Constant(value=str(text)) as options, *_],
        ) if _WAITING.get((runner, str(magic))) in text.split():
            yield node, options
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _calls(child)
