"""A run in the page: a widget kept true while the run moves, next to a picture that the saved file keeps.

    engine's thread ──news──▶ queue ──▶ ticks, soon after an event, ten a second at most ──▶ widget
    browser ──▶ questions and wishes ──▶ a worker ──▶ answers

One view a run, however often it is shown. The engine never waits for it; nothing here decides anything.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from IPython.display import DisplayHandle, display
from msgspec import Struct

from pixirnb.engine.broadcast import Live, News
from pixirnb.errors import PixirnbError
from pixirnb.history.events import Event
from pixirnb.history.run_state import fold
from pixirnb.json_types import JsonMapping, PageObject
from pixirnb.machine.outcome import outcome as settled
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.live.event_source import Source, driver
from pixirnb.notebook.live.heartbeats import Heartbeats, now_ms
from pixirnb.notebook.live.message_handlers import MessageHandlers
from pixirnb.notebook.live.session_followers import Transcripts
from pixirnb.operations.resume_plan import pinned_plan
from pixirnb.operations.run import Run
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import run_mark
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import Block, Paragraph
from pixirnb.views.live.controls import heading
from pixirnb.views.live.scene import look, scene
from pixirnb.views.live.tape import Tape
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.outcome_view import outcome_blocks

if TYPE_CHECKING:  # imported when a view is first shown: Jupyter's widgets take a while
    from pixirnb.notebook.live.widget import RunWidget

TICK_S: Final = 0.1
_GATHER_S: Final = 0.01
"""How long an event waits for the next: where a step ends, another begins."""
REST_S: Final = 1.0
"""How often a run at rest is looked at: another process may take it up again."""
_GIVES_WAY: Final = (
    ".jp-OutputArea-child:has(.pixirnb-kept)"
    ":has(+ .jp-OutputArea-child .pixirnb-window:not(.pixirnb-pinned-view,.pixirnb-plan)){display:none}"
    ".jp-OutputArea-child:has(.pixirnb-kept) + .jp-OutputArea-child > .jupyter-widgets:not(:has(*)){display:none}"
)
"""The picture gives way to the live view after it, unless that gives way to a pinned picture; where the view is gone, the
complaint about it gives way to the picture.
"""
WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"


class _Output(Struct):
    """An output that shows the run."""

    cell: str | None
    """Id of the cell it belongs to."""
    number: int | None
    """Execution count of the cell."""
    handle: DisplayHandle
    until: int | None = None
    """Sequence number of the last event before the run went on below another cell; None while this output follows the run."""
    kept: Sequence[Block] = ()
    """The picture at `until`."""


class LiveView:
    """The live view of one run. `show` may be called again: each output is another window on the same state.

    An output keeps what ran while it was the last: a resume pins those above the cell that began it.
    """

    def __init__(self, run: Run, widget: RunWidget | None = None) -> None:
        """`widget`: one that showed the run's plan and shows the run from now on; by default a new one."""
        from pixirnb.notebook.live.widget import RunWidget

        self.run = run
        self._transcripts = Transcripts()
        self._pulses = Heartbeats()
        self._outputs: list[_Output] = []
        """Outputs that show it, in the order in which they were shown."""
        self._lock = threading.RLock()
        self._driver = driver(run)
        """Location of its driver: `here`, `elsewhere`, or empty for none."""
        self._closed = threading.Event()
        self._stirred = threading.Event()
        """Ends the pause before the next look."""
        self._source = Source(run, self._transcripts.join, self._stirred.set)
        self._questions: queue.SimpleQueue[JsonMapping | None] = queue.SimpleQueue()
        self._inquiries = MessageHandlers(
            run, on_taken_up=self.take_up, transcripts=self._transcripts
        )
        self._tape = Tape(run.compiled())
        self._past: list[PageObject] = []
        """Its acts before the last edit of its workflow."""
        self._take(self._source.poll())
        shown = {
            "look": look(),
            "scene": self._scene(),
            "tape": self._tape.entries,
            "past": self._past,
            "head": self._head(),
            "pulse": {},
        }
        if widget is None:
            widget = RunWidget(**shown)
        else:
            widget.show_run(**shown)
        self.widget: RunWidget = widget
        self.widget.on_msg(self._on_message)
        for name, work in (("ticks", self._tick), ("answers", self._answer)):
            threading.Thread(target=work, name=f"pixirnb-view-{name}", daemon=True).start()

    # --- what a cell does ---------------------------------------------------------------------------------------

    def show(
        self, cell: str | None = None, number: int | None = None, *, began_at: str = ""
    ) -> None:
        """Show it in the current cell: `cell` is its id, `number` its execution count, `began_at` when it began (ISO 8601)."""
        with self._lock:
            owners = self.run.state.owners if self._outputs and began_at else ()
            if owners and owners[-1]["at"] >= began_at:  # none before its first event is durable
                self._pin([output for output in self._outputs if output.number != number])
            handle = display(self._picture(), raw=True, display_id=True)
            # An output of its own: a front-end that opens the file when the widget is gone would show nothing else of the two.
            view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
            display({WIDGET_VIEW: view, "text/plain": ""}, raw=True)
            if handle is not None:
                self.attach(cell, number, handle)

    def attach(self, cell: str | None, number: int | None, handle: DisplayHandle) -> None:
        """Show it in the output of a plan, whose widget this view has; `handle` is that of the plan's card."""
        with self._lock:
            self._outputs.append(_Output(cell, number, handle))
            self._save()
        self._stirred.set()

    def forget(self, cell: str) -> bool:
        """Forget the output of a cell, which is gone. Return true while others show it."""
        with self._lock:
            self._outputs = [output for output in self._outputs if output.cell != cell]
            return bool(self._outputs)

    def take_up(self, run: Run) -> None:
        """Follow a run that goes on here: it is looked at soon, and a cell that wants the same run attaches to it."""
        REGISTRY.take(run)
        self._stirred.set()

    def settle(self) -> None:
        """Bring everything up to date, the saved picture too."""
        with self._lock:
            self._refresh()

    def close(self) -> None:
        """Leave the final picture in every output and take the widget off the page."""
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            self._stirred.set()
            self._questions.put(None)
            self._source.leave()
            self._save()
            self.widget.close()

    # --- ticks --------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        sent_at = 0.0
        while not self._closed.is_set():
            if self._stirred.wait(TICK_S if self._driver else REST_S):
                # The first of several events is sent soon, those close behind it together.
                self._closed.wait(max(_GATHER_S, sent_at + TICK_S - time.monotonic()))
                sent_at = time.monotonic()
            self._stirred.clear()
            try:
                self._look()
            except PixirnbError:
                self._driver = ""  # its folder was removed: what was seen stays to be seen
            except Exception as error:  # noqa: BLE001 - a bug of ours: the view says that it stands still, and the run goes on
                self._stand_still(error)
                return

    def _look(self) -> None:
        if not self._driver and self.run.is_live_here:
            REGISTRY.take(self.run)  # continued by this process, though not from here
        with self._lock:
            if not self._closed.is_set():
                self._refresh()

    def _stand_still(self, error: Exception) -> None:
        message = (
            f"This view stopped updating ({type(error).__name__}: {error}). Run the cell again."
        )
        warning = {"text": line(message, 300), "step": None}
        head = self.widget.head
        self.widget.head = {**head, "warnings": [warning, *head["warnings"]], "live": ""}

    def _refresh(self) -> None:
        """Take what is new and tell the browser. Called with the lock held."""
        now = driver(self.run)  # before the news: at rest these are all there are
        news = self._source.poll()
        was, self._driver = self._driver, now
        grown = len(self._tape.entries)
        is_other = self._take(news)
        entries = self._tape.entries
        is_turned = is_other or any(entry[5] for entry in entries[grown:])
        if is_other:
            with self.widget.hold_sync():
                self.widget.scene, self.widget.past = self._scene(), self._past
                self.widget.tape = entries
        elif entries[grown:]:
            self.widget.send({"tape": {"from": grown, "entries": entries[grown:]}})
        pulse = self._pulses.pulse(self._tape)
        if pulse is not None:
            self.widget.pulse = pulse
        if stirred := self._transcripts.stirred():
            self.widget.send({"stirred": stirred})
        if is_turned or was != self._driver or (entries[grown:] and not self._driver):
            self.widget.head = self._head()
            if not self._driver:
                self._save()

    def _take(self, news: list[News]) -> bool:
        """Fold news in. Return True if the workflow itself changed, so that everything is to be drawn again."""
        is_other = False
        for piece in news:
            if isinstance(piece, Live):
                self._pulses.take(piece, self._tape)
                self._transcripts.on_news(piece)
                continue
            if piece.seq <= self._tape.run.seq:
                continue  # the log tells again what the loop had told
            is_other = is_other or is_edit(piece)
            if not is_other:  # else the browser's tape would grow unseen: a widget sends what differs from what it has
                self._tape.take(piece)
            if piece.kind == "run_resumed":
                self._pin(self._outputs[:-1])
        if is_other:
            events = self.run.history()
            self._tape = Tape(self.run.compiled())
            self._tape.extend(events)
            self._past = past_acts(self.run.id, events)
        return is_other

    # --- documents ----------------------------------------------------------------------------------------------

    def _scene(self) -> PageObject:
        return scene(self.run.id, self.run.compiled(), self.run.plan.document())

    def _head(self) -> PageObject:
        outcome = REGISTRY.with_cells(self.run.outcome.document())
        head = heading(outcome, live=self._driver, now_ms=now_ms(self._tape))
        return cast("PageObject", REGISTRY.reach.document(head))

    def _picture(self) -> PageObject:
        """Return the picture that the file keeps; hidden while the live view stands beneath it."""
        outcome = REGISTRY.with_cells(self.run.outcome.document())
        edges = edges_of(self.run.compiled())
        return _kept(outcome_blocks(outcome, edges, plan=self.run.plan.document()))

    def _pin(self, outputs: Sequence[_Output]) -> None:
        """Let outputs keep how the run stood before it was resumed last."""
        events = self.run.history()
        until = max((event.seq for event in events if event.kind == "run_resumed"), default=0) - 1
        for output in outputs:
            if output.until is None and until > 0:
                output.until = until
                plan, state = pinned_plan(fold(events[:until])), fold(events[:until])
                document = REGISTRY.with_cells(settled(plan, state, is_live=False).document())
                written = report(plan.workflow, Environment()).document()
                output.kept = outcome_blocks(document, edges_of(plan), plan=written)

    def _pinned(self, output: _Output) -> PageObject:
        """Return the picture of an output that the run went on below, and how it stands now."""
        later = [each for each in self._outputs if each.until is None]
        where = f" in cell [{later[0].number}]" if later and later[0].number else ""
        word = run_mark(self.run.outcome.status).word
        note = Paragraph(f"As it ended here. The run went on{where}: {word}.", "half")
        return _kept([note, *output.kept], "pixirnb-pinned")

    def _save(self) -> None:
        """Bring the pictures up to date."""
        try:
            picture = self._picture()
        except PixirnbError:
            return  # its folder was removed: the last picture stays
        for output in self._outputs:
            shown = picture if output.until is None else self._pinned(output)
            output.handle.update(shown, raw=True)

    # --- the browser's questions --------------------------------------------------------------------------------

    def _on_message(self, _widget: object, message: Any, _buffers: object) -> None:
        # On the kernel's main thread or on a subshell's: neither may wait.
        if isinstance(message, Mapping):
            self._questions.put(message)

    def _answer(self) -> None:
        while (message := self._questions.get()) is not None:
            if message.get("ask") == "tape":
                self._tell_tape(message.get("from"))
                continue
            self.widget.send(self._inquiries.answer(message))

    def _tell_tape(self, known: Any) -> None:
        with self._lock:
            entries = self._tape.entries
            start = known if type(known) is int and 0 <= known <= len(entries) else 0
            growth = {"from": start, "entries": entries[start:], "now": now_ms(self._tape)}
        self.widget.send({"tape": growth})


def _kept(blocks: Sequence[Block], kind: str = "") -> PageObject:
    return kept(mimebundle(REGISTRY.reach.blocks(blocks)), kind)


def kept(drawn: PageObject, kind: str = "") -> PageObject:
    """Return the picture of an output, as a MIME bundle that gives way to the live view after it."""
    page = f'<div class="{f"pixirnb-kept {kind}".strip()}">{drawn["text/html"]}</div>'
    return {**drawn, "text/html": f"<style>{_GIVES_WAY}</style>{page}"}


def is_edit(event: Event) -> bool:
    """Return whether the workflow is another one from this event on."""
    return event.kind == "run_resumed" and event.data.get("spec") is not None


def past_acts(run_id: str, events: Sequence[Event]) -> list[PageObject]:
    """Return the acts before the last: `{until, scene, tape}` each, `until` being how many events it ends with."""
    acts: list[PageObject] = []
    for count, event in enumerate(events):
        if count == 0 or not is_edit(event):
            continue
        plan = pinned_plan(fold(events[:count]))
        tape = Tape(plan)
        tape.extend(events[:count])
        document = report(plan.workflow, Environment()).document()
        acts.append({"until": count, "scene": scene(run_id, plan, document), "tape": tape.entries})
    return acts
