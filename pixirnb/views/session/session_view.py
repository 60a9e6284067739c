"""`SessionView`: the child session of one attempt of an agent, to read in a cell, whichever process writes it, over or not.

It holds no truth: every question reads the session's log again, which executes nothing and needs no lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from msgspec import Struct

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.machine.outcome_documents import NextAction, OpenRequest
from pixirnb.protocols.ports import Damage, LogContents
from pixirnb.sessions.events import TurnState
from pixirnb.sessions.provider_input import Item, replay
from pixirnb.sessions.state import fold_session
from pixirnb.views.basics.phrases import action_phrase, mark_placeholders
from pixirnb.views.basics.sanitize import line
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.model import Block, Code, Paragraph, Preformatted, Table, next_blocks
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.event_lines import event_line
from pixirnb.views.run.permission_calls import request_blocks, use_phrase
from pixirnb.views.run.run_rows import Listing
from pixirnb.views.session.conversation import (
    Conversation,
    conversation,
    conversation_blocks,
    step_word,
    turn_mark,
)

_HEADS = ("session", "agent", "turn", "step", "events", "tokens in", "out")
_NUMERIC = frozenset({4, 5, 6})


class DamageDocument(TypedDict):
    """Damage of a log."""

    code: str
    line: int
    message: str


class EventDocument(TypedDict):
    """An event of a log."""

    seq: int
    at: str
    kind: str
    data: JsonObject


class SessionDocument(TypedDict):
    """The JSON of a `SessionView`, as `pixirnb show RUN --session … --json` prints it."""

    run_id: str
    session_id: str
    step: str
    attempt: int
    turn: TurnState
    checkpoint_status: str | None
    open_requests: list[OpenRequest]
    next_actions: list[NextAction]
    is_live: bool
    events: list[EventDocument]
    damage: DamageDocument | None


class Standing(Struct, frozen=True):
    """State of a session's attempt in the log of the run."""

    checkpoint_status: str | None = None
    """Checkpoint status of its step; None while that is open, and if another attempt followed."""
    open_requests: tuple[OpenRequest, ...] = ()
    """Open permission requests of its agent."""
    next_actions: tuple[NextAction, ...] = ()
    """Next actions of a person for its step."""


class SessionEvents(Listing[Event]):
    """The events of a session."""

    def _blocks(self) -> list[Block]:
        return [Preformatted("\n".join(event_line(event) for event in self))]


class SessionView:
    """The session of one attempt: what was said, called and asked, and how it ended."""

    def __init__(
        self,
        run_id: str,
        session_id: str,
        read: Callable[[], LogContents],
        is_open: Callable[[], bool],
        standing: Callable[[], Standing],
    ) -> None:
        """`read` reads its log; `is_open` says whether a process still writes it, `standing` what its run says of it."""
        step, _, attempt = session_id.rpartition(".")
        self.run_id = run_id
        self.session_id = session_id
        self.step = step
        self.attempt = int(attempt)
        self._read = read
        self._is_open = is_open
        self._standing = standing

    @property
    def state(self) -> TurnState:
        """Return the state of its last turn: `running completed partial_failed failed interrupted timed_out`.

        `completed`: the turn has ended by itself; whether its result is usable is in `checkpoint_status`.
        """
        return fold_session(self._read().events).turn

    @property
    def checkpoint_status(self) -> str | None:
        """The step's checkpoint status by this attempt; None while that is open, and if another attempt followed."""
        return self._standing().checkpoint_status

    @property
    def is_live(self) -> bool:
        """True if its attempt is under way."""
        return self._is_open()

    @property
    def damage(self) -> Damage | None:
        """Damage of its log; None for a sound one."""
        return self._read().damage

    @property
    def conversation(self) -> Conversation:
        """It as data: `session_id step attempt agent runner model turn checkpoint_status is_live turns entries left_out usage
        waits_for`.
        """
        # Whether it is open is asked first: what is written until then is read.
        is_live, stands = self._is_open(), self._standing().checkpoint_status
        return conversation(self._read().events, is_live=is_live, checkpoint_status=stands)

    def events(self) -> SessionEvents:
        """Return every event of its log, in order: a list."""
        return SessionEvents(self._read().events)

    def replay(self, *, model: str | None = None) -> list[Item]:
        """Return the input of a provider for a continuation now, in a form of no provider.

        Audit events, partial text among them, are no part of it. `model`: who would read it; reasoning of another is left out.
        """
        return replay(self._read().events, model=model)

    def document(self) -> SessionDocument:
        """Return it as JSON."""
        reading, standing = self._read(), self._standing()
        damage = reading.damage
        return {
            "run_id": self.run_id,
            "session_id": self.session_id,
            "step": self.step,
            "attempt": self.attempt,
            "turn": fold_session(reading.events).turn,
            "checkpoint_status": standing.checkpoint_status,
            "open_requests": list(standing.open_requests),
            "next_actions": list(standing.next_actions),
            "is_live": self._is_open(),
            "events": [
                {"seq": event.seq, "at": event.at, "kind": event.kind, "data": event.data}
                for event in reading.events
            ],
            "damage": None
            if damage is None
            else {"code": damage.code, "line": damage.line, "message": damage.message},
        }

    def row(self) -> tuple[str, ...]:
        """Return the row of a session in a list."""
        dialogue = self.conversation
        usage = dialogue["usage"] or {}
        who = ", ".join(
            str(dialogue[name]) for name in ("agent", "runner", "model") if dialogue[name]
        )
        counts = [f"{usage[f'{way}_tokens']:,}" if usage else "" for way in ("input", "output")]
        stands = dialogue["checkpoint_status"]
        word = turn_mark(
            dialogue["turn"], is_live=dialogue["is_live"], checkpoint_status=stands
        ).word
        events = f"{len(self._read().events):,}"
        return (self.session_id, who, word, step_word(stands), events, *counts)

    def __repr__(self) -> str:
        return draw_text(session_blocks(self.document()))

    def _repr_html_(self) -> str:
        return draw_html(session_blocks(self.document()))


class Sessions(Listing[SessionView]):
    """The sessions of a run, in the order of its steps."""

    def _blocks(self) -> list[Block]:
        if not self:
            return [Paragraph("No step of this run has an agent session yet.")]
        return [Table(_HEADS, [session.row() for session in self], numeric=_NUMERIC, widest=40)]


def session_blocks(document: SessionDocument, *, command: str = "%pixir") -> list[Block]:
    """Return a `SessionView.document()`. `command` is how the reader calls the verbs."""
    steps = [(Code(cell, 300), words) for cell, words in next_steps(document, command=command)]
    damage = document["damage"]
    damage_note = f"! The session log is damaged: {damage['message']}" if damage else ""
    return [
        *conversation_blocks(
            conversation(
                [Event(**event) for event in document["events"]],
                is_live=document["is_live"],
                checkpoint_status=document["checkpoint_status"],
            )
        ),
        *request_blocks(document["step"], document["open_requests"] if steps else []),
        *next_blocks(steps),
        Paragraph(damage_note, "bad"),
    ]


def next_steps(document: SessionDocument, *, command: str) -> list[tuple[str, str]]:
    """Return `(command, what it does)` each, of a `SessionView.document()`. `command` is how the reader calls the verbs."""
    requests = {each["request_id"]: each for each in document["open_requests"]}
    commands = []
    for action in document["next_actions"]:
        cell = action["cell"]
        request = requests.get(cell.rpartition(" ")[2])
        words = (
            action_phrase(action) if request is None else f"allow {use_phrase(request)}; or `deny`"
        )
        commands.append((line(mark_placeholders(cell).replace("%pixir", command, 1), 300), words))
    return commands
