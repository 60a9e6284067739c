"""What an attempt's end is worth: every row of the outcome table."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.testing.generators.histories import Rehearsal, plan_of

READY = {"checkpoint_status": "checkpoint_ready"}
FAILED = {"checkpoint_status": "failed", "summary": "Cannot."}
ASKING = {"checkpoint_status": "needs_orchestrator", "summary": "Old or new?"}
FILES = [{"path": "a", "blob": "b2:x", "bytes": 1}]
BAD_OUTPUT = {
    "schema_id": "s",
    "provenance": "tool_result",
    "validation": {"passed": False, "errors": ["no"]},
}


def ended(kind: str, status: str = "completed", *, readiness: str = "strict", **how: Any) -> Any:
    """The outcome of a run of one step of a kind that ended so, and of its dependent."""
    written = {
        "shell": {"run": "x"},
        "python": {"call": "m:f"},
        "agent": {"task": "x", "agent": "w"},
    }
    workflow = {
        "name": "t",
        "readiness": readiness,
        "agents": {"w": {}},
        "steps": [{"id": "a", **written[kind]}, {"id": "b", "run": "x", "depends_on": ["a"]}],
    }
    return Rehearsal(plan_of(workflow)).begin().end("a", status, **how)


@pytest.mark.parametrize(
    ("kind", "how", "status", "error"),
    [
        ("shell", {}, "checkpoint_ready", None),
        ("python", {"checks": [True]}, "checkpoint_ready", None),
        ("shell", {"status": "failed", "error": "exit"}, "failed", "exit"),
        ("python", {"status": "failed", "error": "exception"}, "failed", "exception"),
        ("shell", {"status": "failed", "error": "crash", "artifacts": FILES}, "partial", "crash"),
        ("shell", {"status": "timed_out", "artifacts": FILES}, "partial", "timeout"),
        ("agent", {"status": "failed", "error": "lost", "report": READY}, "partial", "lost"),
        ("agent", {"status": "interrupted", "report": READY}, "partial", "interrupted"),
        ("python", {"status": "detached"}, "failed", "detached"),
        ("shell", {"status": "cancelled"}, "failed", "cancelled"),
        ("shell", {"checks": [True, False]}, "failed", "verification"),
        ("agent", {"checks": [False], "report": READY}, "partial", "verification"),
        ("python", {"payload": BAD_OUTPUT}, "failed", "output_invalid"),
        ("agent", {"payload": BAD_OUTPUT, "report": READY}, "partial", "output_invalid"),
        ("agent", {}, "partial", "readiness_not_declared"),
        ("agent", {"checks": [True]}, "checkpoint_ready", None),
        ("agent", {"report": READY}, "checkpoint_ready", None),
        ("agent", {"status": "failed", "error": "turn_limit"}, "partial", "turn_limit"),
        (
            "agent",
            {"report": {"checkpoint_status": "partial"}},
            "partial",
            "agent_reported_partial",
        ),
        (
            "agent",
            {"report": {"checkpoint_status": "needs_orchestrator"}},
            "needs_orchestrator",
            "agent_undecided",
        ),
        *(
            ("agent", {"report": ASKING, **judged}, "needs_orchestrator", "agent_undecided")
            for judged in ({"checks": [False]}, {"payload": BAD_OUTPUT})
        ),
        *(
            ("agent", {"report": FAILED, **judged}, "failed", "agent_reported_failure")
            for judged in ({}, {"checks": [False]}, {"payload": BAD_OUTPUT})
        ),
        ("agent", {"report": {"checkpoint_status": "great"}}, "partial", "readiness_not_declared"),
    ],
)
def test_the_outcome_table(kind: str, how: dict[str, Any], status: str, error: str | None) -> None:
    play = ended(kind, **how)
    step = play.outcome().step("a")
    assert step.checkpoint_status == status
    assert (step.error and step.error["kind"]) == error
    assert (play.running == ["b"]) == (status == "checkpoint_ready")
    assert play.state("a").subagent_status == how.get("status", "completed")


@pytest.mark.parametrize("status", ["needs_orchestrator", "failed", "partial"])
def test_what_an_agent_gives_as_its_reason_is_quoted_bounded_and_harmless(status: str) -> None:
    said = "Which “key”\x1b[31m?\nOld\u202e or new. " + "y" * 9_000
    error = (
        ended("agent", report={"checkpoint_status": status, "summary": said})
        .outcome()
        .step("a")
        .error
    )
    assert ": “Which 'key' [31m? Old or new. yyy" in error["message"]
    assert error["message"].endswith("y…”")
    assert len(error["message"]) < 500
    assert error["message"].isprintable()


def test_lenient_readiness_lets_a_clean_end_count_and_says_so() -> None:
    play = ended("agent", readiness="lenient")
    assert play.running == ["b"]
    assert play.outcome().step("a").checkpoint["known_limitations"] == ["readiness_not_declared"]


def test_lenient_readiness_forgives_neither_checks_nor_deaths() -> None:
    assert ended("agent", readiness="lenient", checks=[False]).statuses()["a"] == "partial"
    assert ended("agent", "failed", readiness="lenient", error="lost").statuses()["a"] == "failed"


@pytest.mark.parametrize(
    ("said", "kept"), [(["a", "b"], ["a", "b"]), ("just one", ["just one"]), (None, [])]
)
def test_limitations_are_kept_however_an_agent_writes_them(said: Any, kept: list[str]) -> None:
    report = {**READY, "limitations": said}
    assert ended("agent", report=report).state("a").limitations == kept
    invalid = ended("agent", report=report, payload=BAD_OUTPUT)
    assert invalid.state("a").limitations == kept
