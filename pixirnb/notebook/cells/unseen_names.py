"""Names that pinned source uses and will not see when it runs: it sees its arguments, its own imports and the builtins."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator
from typing import Final

_SEEN_EVERYWHERE: Final = frozenset(dir(builtins)) - {"display", "get_ipython"}
"""The kernel adds two names to the builtins while a cell runs; a step must not count on them."""


def unseen_names(source: str) -> Iterator[tuple[str, int]]:
    """Yield each name once, with its first line in the source. `source` is a function, and parses."""
    tables = [symtable.symtable(source, "<step>", "exec")]
    used: set[str] = set()
    made: set[str] = set()
    for table in tables:
        tables += table.get_children()
        for symbol in table.get_symbols():
            is_made = symbol.is_assigned() or symbol.is_imported()
            if table.get_type() == "module" or symbol.is_global():
                (made if is_made else used).add(symbol.get_name())
    unseen = used - made - _SEEN_EVERYWHERE
    names = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
    for node in sorted(names, key=lambda node: (node.lineno, node.col_offset)):
        if node.id in unseen:
            unseen.discard(node.id)
            yield node.id, node.lineno
