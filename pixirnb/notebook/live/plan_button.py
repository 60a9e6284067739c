"""A plan with a button: a click starts the run that was planned, and its live view comes up in the place of the plan.

    output of a plan: card, widget ──click──▶ run ──▶ card shows its picture, widget its live view

The widget is that of the run from then on, so it does not matter whether the page was loaded again in between. No click starts
a second run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from IPython.display import DisplayHandle, display

from pixirnb.errors import InvalidArguments
from pixirnb.json_types import JsonMapping, JsonObject, PageObject
from pixirnb.notebook.live.live_view import WIDGET_VIEW, kept
from pixirnb.notebook.live.message_handlers import reply
from pixirnb.operations.run import Run

if TYPE_CHECKING:  # imported when a plan is first shown: Jupyter's widgets take a while
    from pixirnb.notebook.live.widget import RunWidget


class Offer(Protocol):
    """A run that was planned."""

    @property
    def command(self) -> str:
        """Line of a cell that starts it; inputs without a value are left for a person to fill in."""

    def document(self) -> PageObject:
        """Return what the page shows of it: `{workflow, steps, missing}`."""

    def start(self, until: str | None) -> Run:
        """Start it; with `until`, only that step and the steps that it needs."""


class PlanButton:
    """The button of one plan in one output."""

    def __init__(self, offer: Offer, began: Callable[[PlanButton, Run], None]) -> None:
        """`began`: called with the run that a click has started, on a thread of its own."""
        from pixirnb.notebook.live.widget import RunWidget

        self._offer = offer
        self._began = began
        self._lock = threading.Lock()
        self._run: Run | None = None
        """Run that it has started."""
        self.card: DisplayHandle | None = None
        self.widget: RunWidget = RunWidget(plan={**offer.document(), "command": offer.command})
        self.widget.on_msg(self._on_message)

    def show(self, card: Mapping[str, str]) -> None:
        """Show the plan's card in the current cell, and the button below it."""
        self.card = display(kept({**card}), raw=True, display_id=True)
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        display({WIDGET_VIEW: view, "text/plain": ""}, raw=True)

    def close(self) -> None:
        """Take the button off the page, unless it has become the view of a run."""
        if self._run is None:
            self.widget.close()

    def _on_message(self, _widget: object, message: Any, _buffers: object) -> None:
        # On the kernel's main thread or on a subshell's: neither may wait.
        if isinstance(message, Mapping) and "do" in message:
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()

    def _answer(self, message: JsonMapping) -> None:
        with self._lock:
            if self._run is None:
                self.widget.send(reply(message, self._started))

    def _started(self, message: JsonMapping) -> JsonObject:
        until = message.get("until")
        if message["do"] != "run" or not isinstance(until, str | None):
            raise InvalidArguments(
                "the view sent an invalid message: it is not a run",
                fix="run the cell again: page and kernel may have different versions",
                code="message_unreadable",
            )
        self._run = run = self._offer.start(until)
        self.widget.on_msg(self._on_message, remove=True)
        self._began(self, run)
        return {"run_id": run.id}
