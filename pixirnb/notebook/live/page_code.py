"""The browser's part as anywidget takes it: one module, one style sheet.

`static/main.js` and the modules it imports become one text in dependency order, without their imports and exports: so
nothing has to be built, and the page fetches no file. `static/main.css` names its sheets with `@import`, in the order in
which they may override each other.
"""

from __future__ import annotations

import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

from pixirnb.views.basics.style import CARD, PALETTE, PICTURE

STATIC: Final = Path(__file__).parents[1] / "static"
_MAIN: Final = STATIC / "main.js"
_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?!default\b)", re.MULTILINE)
_SHEET: Final = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)


def modules() -> tuple[Path, ...]:
    """The modules of the page, each after those it imports. Raises `graphlib.CycleError` where two import each other."""
    imports: dict[Path, list[Path]] = {}
    pending = [_MAIN]
    while pending:
        module = pending.pop()
        if module not in imports:
            imports[module] = [
                (module.parent / path).resolve() for path in _IMPORT.findall(_text(module))
            ]
            pending += imports[module]
    return tuple(TopologicalSorter(imports).static_order())


def sheets() -> tuple[Path, ...]:
    """The style sheets of the page, in order."""
    return tuple(STATIC / path for path in _SHEET.findall(_text(STATIC / "main.css")))


@cache
def browser_code() -> str:
    """Return the code that the browser runs."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", _text(module))) for module in modules())


@cache
def style_sheet() -> str:
    """How it looks: the palette of the saved pictures, and what only the live view has."""
    return PALETTE + PICTURE + CARD + "\n".join(map(_text, sheets()))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
