"""The widget of a run: synced traits for the browser to draw.

    module           digest of the page's code that draws it
    plan             of a plan that was not run yet: what its button offers; then everything else is empty
    look, scene      constant: words and shapes; where each step stands
    tape             the history as numbers; grown in place, so that a late view reads it whole
    past             scene and tape of the acts before the workflow was edited
    head, pulse      how the run stands; signs of life of what runs now

What it means is in docs/adr/0012-the-live-view.md; the messages are in docs/internals/live-view.md.

The browser's part is one module and one style sheet. `static/main.js` and the modules it imports become one text in
dependency order, without their imports and exports: so nothing has to be built, and the page fetches no file.
`static/main.css` names its sheets with `@import`, in the order in which they may override each other.

They are sent once a kernel, by a widget that is shown nowhere (`PageModule`). A run's widget has a small module of its own,
`static/loader.js`, that waits for the large one: a page may restore the two, and a file keep them, in any order. Where the
large one does not come, the small one asks for it.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets
from ipywidgets import Layout

from pixirnb.views.basics.style import CARD, PALETTE, PICTURE

STATIC: Final = Path(__file__).parents[1] / "static"
MAIN: Final = STATIC / "main.js"
LOADER: Final = STATIC / "loader.js"
_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?!default\b)", re.MULTILINE)
_SHEET: Final = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)


def modules(main: Path = MAIN) -> tuple[Path, ...]:
    """Return a module and what it imports, each after its imports. Raises `graphlib.CycleError` where two import each other."""
    imports: dict[Path, list[Path]] = {}
    pending = [main]
    while pending:
        module = pending.pop()
        if module not in imports:
            imports[module] = [
                (module.parent / path).resolve() for path in _IMPORT.findall(_text(module))
            ]
            pending += imports[module]
    return tuple(TopologicalSorter(imports).static_order())


def sheets() -> tuple[Path, ...]:
    """Return the style sheets of the page, in order."""
    return tuple(STATIC / path for path in _SHEET.findall(_text(STATIC / "main.css")))


@cache
def browser_code(main: Path = MAIN) -> str:
    """Return the code that the browser runs: a module with all it imports."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", _text(module))) for module in modules(main))


@cache
def style_sheet() -> str:
    """Return the style sheet of the live view: the palette of the saved pictures, and what only the live view has."""
    return PALETTE + PICTURE + CARD + "\n".join(map(_text, sheets()))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def digest() -> str:
    """Return the digest of code and style, which tells versions apart."""
    return hashlib.sha256((browser_code() + style_sheet()).encode()).hexdigest()[:16]


class PageModule(anywidget.AnyWidget):
    """The code and the style of the page, for all widgets of runs."""

    digest = traitlets.Unicode().tag(sync=True)

    def __init__(self) -> None:
        self._esm = browser_code()
        self._css = style_sheet()
        super().__init__(digest=digest())


_SENT: Final[list[PageModule]] = []
"""The one that pages have; a list, to be filled."""


def send_page_module() -> None:
    """Send the page's code, unless pages have it."""
    if not _SENT or _SENT[0].comm is None:
        _SENT[:] = [PageModule()]


class RunWidget(anywidget.AnyWidget):
    """One run in the browser. Everything is drawn from these traits; nothing is set by the browser."""

    module = traitlets.Unicode().tag(sync=True)
    plan = traitlets.Dict().tag(sync=True)
    look = traitlets.Dict().tag(sync=True)
    scene = traitlets.Dict().tag(sync=True)
    tape = traitlets.Any().tag(sync=True)
    past = traitlets.Any().tag(sync=True)
    head = traitlets.Dict().tag(sync=True)
    pulse = traitlets.Dict().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        send_page_module()
        self._esm = browser_code(LOADER)
        # Outputs shrink what they hold otherwise.
        super().__init__(layout=Layout(width="100%"), module=digest(), **state)
        self._listen_while_busy()
        self.on_msg(self._on_message)

    def _listen_while_busy(self) -> None:
        # ipykernel answers a comm where its last message came from: the main shell, which may be busy. The browser
        # asked on a subshell, and is heard there at once. The attribute is private: without it cells have to be awaited.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = lambda _data, subshell: subshell  # noqa: SLF001 - see above

    def _on_message(self, _widget: object, message: Any, _buffers: object) -> None:
        if message == {"ask": "module"}:
            self.send({"module": browser_code(), "style": style_sheet()})

    def show_run(self, **state: Any) -> None:
        """Show a run where its plan was shown."""
        with self.hold_sync():
            for name, value in {**state, "plan": {}}.items():
                setattr(self, name, value)

    def close(self) -> None:
        """Take it off the page; its layout is a widget of its own, and goes too."""
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()
