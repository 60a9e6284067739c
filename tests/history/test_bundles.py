"""The Checkpoint Bundle: what a step made, how that is known, and who may build on it."""

from __future__ import annotations

from typing import Any

from pixirnb.history.bundles import bundle, describe_output, stored_output
from pixirnb.testing.generators.histories import Rehearsal, plan_of

ONE = plan_of({"name": "t", "steps": [{"id": "a", "run": "x"}]})
FILES = [{"path": "dist/a", "blob": "b2:x", "bytes": 3}]


def left(status: str = "completed", **how: Any) -> Rehearsal:
    return Rehearsal(ONE).begin().end("a", status, **how)


def test_a_ready_step_shows_its_evidence() -> None:
    play = left(value=3, checks=[True], artifacts=FILES)
    found = bundle("a", play.state("a"))
    assert found == {
        "version": 1,
        "step_id": "a",
        "produced": {"kind": "value", "value": 3, "artifacts": FILES, "format": "json"},
        "verification": [{"check": {"n": 0}, "passed": True, "evidence": {}}],
        "known_limitations": [],
        "dependent_safe": True,
        "source": {"agent_id": None, "session_id": None, "attempt": 1},
        "payload": None,
        "changes": {"patch": None, "files": []},
        "artifacts": FILES,
    }


def test_a_partial_step_has_a_bundle_nobody_may_build_on_and_a_failed_one_has_none() -> None:
    found = bundle("a", left("failed", artifacts=FILES).state("a"))
    assert found is not None
    assert not found["dependent_safe"]
    assert found["produced"]["kind"] == "files"
    assert bundle("a", left("failed").state("a")) is None
    assert bundle("a", Rehearsal(ONE).begin().state("a")) is None


def test_a_large_value_is_named_and_not_copied() -> None:
    stored = {"format": "pickle", "blob": "b2:y", "bytes": 9, "type": "m.C", "signature": "s"}
    made = describe_output(left(output=stored).state("a"))
    assert made == {
        "kind": "value",
        "value": None,
        "artifacts": [],
        "blob": "b2:y",
        "bytes": 9,
        "type": "m.C",
        "format": "pickle",
    }


def test_a_declared_output_carries_how_it_was_judged() -> None:
    record = {"schema_id": "s", "provenance": "tool_result", "validation": {"passed": True}}
    found = bundle("a", left(value={"n": 1}, payload=record).state("a"))
    assert found is not None
    assert found["payload"] == {**record, "value": {"n": 1}}


def test_an_answer_is_a_payload_of_its_own() -> None:
    asks = plan_of({"name": "t", "steps": [{"id": "q", "ask": {"question": "?"}, "timeout": "9s"}]})
    play = Rehearsal(asks).begin()
    assert bundle("q", play.state("q")) is None
    play.decide("q", value="now")
    found = bundle("q", play.state("q"))
    assert found is not None
    assert found["payload"] is not None
    assert found["payload"]["provenance"] == "event_fold"
    assert (found["payload"]["value"], found["produced"]["value"]) == ("now", "now")


def test_a_step_that_left_nothing_has_no_output() -> None:
    assert stored_output(left("failed").state("a")) == {"format": "none"}
