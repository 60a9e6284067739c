"""The widget of a run: synced traits for the browser to draw.

    look, scene      constant: words and shapes; where each step stands
    tape             the history as numbers; grown in place, so that a late view reads it whole
    past             scene and tape of the acts before the workflow was edited
    head, pulse      how the run stands; signs of life of what runs now

What it means is in docs/adr/0012-the-live-view.md; the messages are in docs/internals/live-view.md.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets
from ipywidgets import Layout

from pixirnb.notebook.live.page_code import browser_code, style_sheet


class RunWidget(anywidget.AnyWidget):
    """One run in the browser. Everything is drawn from these traits; nothing is set by the browser."""

    look = traitlets.Dict().tag(sync=True)
    scene = traitlets.Dict().tag(sync=True)
    tape = traitlets.Any().tag(sync=True)
    past = traitlets.Any().tag(sync=True)
    head = traitlets.Dict().tag(sync=True)
    pulse = traitlets.Dict().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        self._esm = browser_code()
        self._css = style_sheet()
        super().__init__(
            layout=Layout(width="100%"), **state
        )  # outputs shrink what they hold otherwise
        self._hear_while_busy()

    def _hear_while_busy(self) -> None:
        # ipykernel answers a comm where its last message came from: the main shell, which may be busy. The browser
        # asked on a subshell, and is heard there at once. The attribute is private: without it cells have to be awaited.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = lambda _data, subshell: subshell  # noqa: SLF001 - see above

    def close(self) -> None:
        """Take it off the page; its layout is a widget of its own, and goes too."""
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()
