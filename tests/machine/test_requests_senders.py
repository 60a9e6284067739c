"""Who asks decides what is granted: a person anything, a step nothing that is a person's word, a file alone next to nothing."""

from __future__ import annotations

from typing import get_args

import pytest

from pixirnb.errors import PixirnbError
from pixirnb.machine.requests import Request, Sender, grant
from pixirnb.testing.generators.histories import Rehearsal, plan_of

SAID: dict[str, dict[str, object]] = {
    "approve": {"request_id": "r/a.1.1"},
    "deny": {"request_id": "r/a.1.1"},
    "decide": {"step": "gate", "verdict": "accept"},
    "merge": {"undo": False},
    "cancel": {"how": "cancel"},
    "checkpoint": {"name": "here"},
}
REFUSED: dict[Sender, dict[str, str]] = {
    "person": {},
    "other_step": dict.fromkeys(("approve", "deny", "decide", "merge"), "approval_by_agent"),
    "own_step": {
        **dict.fromkeys(("approve", "deny", "decide", "merge"), "approval_by_agent"),
        "cancel": "cancel_by_step",
    },
    "unproven": dict.fromkeys(("approve", "deny", "decide", "merge", "cancel"), "sender_unproven"),
}
OF_SENDERS = {"approval_by_agent", "cancel_by_step", "sender_unproven"}


def asked(verb: str, sender: Sender) -> str:
    """The code with which it is refused; empty where it is granted, or refused for another reason than its sender."""
    steps = [{"id": "gate", "ask": {"question": "Go?"}}, {"id": "slow", "run": "x"}]
    play = Rehearsal(plan_of({"name": "t", "steps": steps})).begin()
    try:
        grant(
            Request("0" * 16, verb, dict(SAID[verb]), "ada", sender=sender),
            play.plan,
            play.board.run,
        )
    except PixirnbError as error:
        return error.code if error.code in OF_SENDERS else ""
    return ""


@pytest.mark.parametrize("sender", get_args(Sender))
@pytest.mark.parametrize("verb", SAID)
def test_what_is_asked_is_granted_or_refused_by_who_asks(verb: str, sender: Sender) -> None:
    assert asked(verb, sender) == REFUSED[sender].get(verb, "")


@pytest.mark.parametrize(("sender", "told"), [("person", None), ("unproven", "unproven")])
def test_a_checkpoint_names_a_sender_who_proved_nothing(sender: Sender, told: str | None) -> None:
    play = Rehearsal(plan_of({"name": "t", "steps": [{"id": "slow", "run": "x"}]})).begin()
    request = Request("0" * 16, "checkpoint", {"name": "here"}, "ada", sender=sender)
    [saved] = grant(request, play.plan, play.board.run).drafts
    assert saved.data.get("sender") == told
