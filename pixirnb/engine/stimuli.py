"""What reaches the loop of a run: facts, wishes, requests, each with where its answer goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pixirnb.history.events import Draft
from pixirnb.machine.board import Board
from pixirnb.machine.requests import Request

Reply = Callable[[dict[str, Any] | None], None]
"""Told `{"ok": true}`, an error's document, or None when the course ended before the request was heard."""


@dataclass(frozen=True, slots=True)
class Stimulus:
    """Something that happened: facts to record, or a wish of the operator to be noted."""

    facts: tuple[Draft, ...] = ()
    note: Callable[[Board], None] | None = None
    request: Request | None = None
    """What a person asks: granted or refused in the turn it is heard in, and answered once that is on disk."""
    reply: Reply | None = None
    """Where the answer goes; None: to the inbox."""
    said: dict[str, Any] | None = None
    """The answer, where the request has been carried out: given once the facts are on disk."""


def unheard(stimulus: Stimulus) -> None:
    """Tell whoever waits that the course ended before this was heard."""
    if stimulus.reply is not None:
        stimulus.reply(None)
