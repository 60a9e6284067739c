"""A call whose permission was asked for and not given did not act: its result says so, to people and to its provider."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.sessions.events import Pair
from pixirnb.sessions.provider_input import provider_bytes, replay
from pixirnb.sessions.state import fold_session
from pixirnb.sessions.unclean_end import closing, orphan_results

USER: Pair = ("user_message", {"text": "Mend it.", "origin": "prompt"})
CALL: Pair = ("tool_call", {"call_id": "c1", "name": "edit", "args": {"path": "a.py"}})
ASKED: Pair = (
    "permission_requested",
    {"request_id": "p1", "call_id": "c1", "tool": "edit", "args": {}},
)


def decided(verdict: str) -> Pair:
    return ("permission_decided", {"request_id": "p1", "verdict": verdict, "by": "ada", "note": ""})


def closed(*events: Pair) -> dict[str, Any]:
    """The error of the one call that has no result."""
    ((_, result),) = orphan_results(fold_session([USER, CALL, *events]), "interrupted")
    error = result["error"]
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize(
    "events", [(ASKED,), (ASKED, decided("deny")), (ASKED, decided("unattended"))], ids=str
)
def test_a_call_that_was_never_allowed_did_not_act(events: tuple[Pair, ...]) -> None:
    error = closed(*events)
    assert error["message"] == "`edit` was not approved and did not run."
    assert error["details"]["did_act"] is False
    log = [USER, CALL, *events]
    done = [*log, *orphan_results(fold_session(log), "interrupted")]
    assert (fold_session(done).orphans, fold_session(done).unacted) == (1, 1)


@pytest.mark.parametrize("events", [(), (ASKED, decided("allow"))], ids=str)
def test_a_call_that_was_allowed_or_needed_no_leave_may_have_acted(
    events: tuple[Pair, ...],
) -> None:
    error = closed(*events)
    assert "did_act" not in error["details"]
    log = [USER, CALL, *events]
    done = [*log, *orphan_results(fold_session(log), "interrupted")]
    assert (fold_session(done).orphans, fold_session(done).unacted) == (1, 0)


def test_a_call_that_still_waits_is_known_to_whoever_waits_for_it() -> None:
    state = fold_session([USER, CALL])
    told = closing(
        state,
        status="timed_out",
        error_kind="timeout",
        message="too long",
        reason="timed_out",
        barred=frozenset({"c1"}),
    )
    assert told[0][1]["error"]["details"]["did_act"] is False
    assert fold_session([USER, CALL, *told]).unacted == 1


def test_an_id_that_is_used_again_in_another_turn_is_another_call() -> None:
    log = [USER, CALL, ASKED, decided("deny"), *orphan_results(fold_session([USER, CALL]), "x")]
    again = [*log, USER, CALL]
    ((_, result),) = orphan_results(fold_session(again), "interrupted")
    assert "did_act" not in result["error"]["details"]


def test_what_a_provider_is_sent_hangs_on_a_result_and_not_on_who_was_asked() -> None:
    plain, asked = [USER, CALL], [USER, CALL, ASKED, decided("deny")]
    assert provider_bytes(replay(plain)) == provider_bytes(replay(asked))
    ((_, refused),) = orphan_results(fold_session(asked), "interrupted")
    ((_, lost),) = orphan_results(fold_session(plain), "interrupted")
    assert refused["output"] == "`edit` was not approved and did not run."
    assert "may or may not have had an effect" in lost["output"]
    assert b"did not run" in provider_bytes(replay([*asked, ("tool_result", refused)]))
    assert provider_bytes(replay([*plain, ("tool_result", lost)])) == provider_bytes(replay(plain))
