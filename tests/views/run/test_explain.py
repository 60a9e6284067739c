"""Every step can say why it ran, waits, was held, kept or run again; and every event has a sentence."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pixirnb.history.events import Event
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.resume import Selection
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan, report, require
from pixirnb.spec.loader import load_mapping
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.basics.phrases import action_phrase, why
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.picture.drawing import edges_of, kinds_of
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.event_lines import event_line
from pixirnb.views.run.explain import explain
from pixirnb.views.run.outcome_view import explain_blocks, outcome_blocks
from tests.views.view_samples import step

SPEC: Any = {
    "name": "release",
    "max_concurrency": 2,
    "steps": [
        {"id": "make", "run": "true", "write_set": ["dist/**"], "timeout": "5m"},
        {"id": "pack", "run": "true", "write_set": ["dist/**"]},
        {"id": "look", "run": "true", "depends_on": ["make"]},
        {"id": "ship", "run": "true", "depends_on": ["look", "pack"], "when": "{{ run.id }} == ''"},
    ],
}
OWNER = {"host": "here", "pid": 1, "instance": "i"}


@pytest.fixture
def plan() -> Plan:
    return compile_plan(require(load_mapping(SPEC)), Environment(), {})


def events(*facts: tuple[str, dict[str, Any]]) -> list[Event]:
    started = {
        "run_id": "r-20261121-220344-7f3akq",
        "workflow": "release",
        "spec": SPEC,
        "spec_digest": "b2:0",
        "inputs": {},
        "workspace": "/tmp/w",
        "source": None,
        "sources": {},
        "owner": OWNER,
        "pixirnb": "0.1.0",
    }
    whole = [("run_started", started), *facts]
    return [
        Event(n, "2026-11-21T22:03:44.000000Z", kind, data)
        for n, (kind, data) in enumerate(whole, 1)
    ]


def run(*facts: tuple[str, dict[str, Any]]) -> RunState:
    return fold(events(*facts))


def scheduled(step: str, attempt: int = 1) -> tuple[str, dict[str, Any]]:
    data = {
        "step": step,
        "attempt": attempt,
        "wave": 0,
        "timeout_ms": 300_000,
        "workspace": "shared",
    }
    return "step_scheduled", {**data, "fingerprint": {"static": "a", "dynamic": "b"}}


def ended(step: str, status: str = "completed", attempt: int = 1) -> tuple[str, dict[str, Any]]:
    error = (
        None
        if status == "completed"
        else {"kind": "exit", "message": "Exit code 3.", "details": {}}
    )
    data = {"step": step, "attempt": attempt, "status": status, "error": error, "elapsed_ms": 1_200}
    return "attempt_ended", {**data, "summary": "built"}


def decided(
    step: str, status: str = "checkpoint_ready", attempt: int = 1
) -> tuple[str, dict[str, Any]]:
    ready = status == "checkpoint_ready"
    return "checkpoint_decided", {
        "step": step,
        "attempt": attempt,
        "status": status,
        "subagent_status": "completed" if ready else "failed",
        "error": None if ready else {"kind": "exit", "message": "Exit code 3.", "details": {}},
        "limitations": [],
        "digest": "b2:1" if ready else None,
    }


def held(step: str, by: str) -> tuple[str, dict[str, Any]]:
    return "step_held", {"step": step, "held_by": {"kind": "dependency", "step": by}}


def ready(step: str, attempt: int = 1) -> list[tuple[str, dict[str, Any]]]:
    return [scheduled(step, attempt), ended(step, attempt=attempt), decided(step, attempt=attempt)]


def test_a_ready_step_says_by_which_attempt_and_that_others_may_build_on_it(plan: Plan) -> None:
    told = explain(plan, run(*ready("make")), "make")

    assert told[0] == "`make` is ready (attempt 1, 1.2 s); dependents can use its output."
    assert "It has no dependencies." in told
    assert "Timeout: 5 m 00 s (set on the step)." in told


def test_a_waiting_step_names_what_it_waits_for(plan: Plan) -> None:
    assert explain(plan, run(scheduled("make")), "look")[0] == "`look` waits for `make`."


def test_a_step_that_waits_for_files_names_who_has_them(plan: Plan) -> None:
    told = explain(plan, run(scheduled("make")), "pack")

    assert told[0] == "`pack` waits because it conflicts on files with `make`."


def test_a_step_that_waits_for_a_slot_says_so(plan: Plan) -> None:
    told = explain(plan, run(*ready("make"), scheduled("pack"), scheduled("ship")), "look")

    assert told[0] == "`look` waits for a free slot: 2 steps running, `max_concurrency` is 2."


def test_a_failed_step_says_why_and_whom_it_holds(plan: Plan) -> None:
    look = held("look", "make")
    state = run(scheduled("make"), ended("make", "failed"), decided("make", "failed"), look)

    assert explain(plan, state, "make")[0] == "`make` failed: Exit code 3."
    assert "Blocks: `look`." in explain(plan, state, "make")
    assert explain(plan, state, "look")[0] == "`look` was held: blocked by make."


def test_a_step_tells_what_it_depends_on_and_is_ready_from_what_is_not(plan: Plan) -> None:
    told = {
        (): "Dependencies: `look`, `pack` (not ready).",
        ("pack",): "Dependencies: `pack` (ready), `look` (not ready).",
        ("look", "pack"): "Dependencies: `look`, `pack` (ready).",
    }
    for done, sentence in told.items():
        state = run(*(fact for name in done for fact in ready(name)))
        assert sentence in explain(plan, state, "ship")


def test_a_step_held_by_its_condition_shows_the_condition(plan: Plan) -> None:
    state = run(("step_held", {"step": "ship", "held_by": {"kind": "when", "step": None}}))

    assert (
        explain(plan, state, "ship")[0]
        == "`ship` was skipped: `when` is false: {{ run.id }} == ''."
    )


def test_a_step_that_was_decided_after_it_was_asked_again_was_not_kept() -> None:
    play = Rehearsal(plan_of({"name": "t", "steps": [{"id": "q", "ask": {"question": "?"}}]}))
    first = play.begin()
    rejected = first.resume(Selection(is_decision=True), facts=[first.decision("q", "reject")])
    asked = rejected.resume(Selection(from_step="q"))
    told = asked.resume(Selection(is_decision=True), facts=[asked.decision("q")])
    sentences = explain(told.plan, told.board.run, "q")
    assert "ready" in sentences[0]
    assert not [each for each in sentences if "kept" in each.lower()]


def test_a_second_attempt_tells_of_the_first(plan: Plan) -> None:
    retry = {
        "step": "make",
        "attempt": 2,
        "delay_ms": 10_000,
        "timeout_ms": None,
        "retry_class": "exit",
        "error": {"kind": "exit", "message": "Exit code 3.", "details": {}},
    }
    waiting = run(scheduled("make"), ended("make", "failed"), ("retry_planned", retry))
    after = run(
        scheduled("make"), ended("make", "failed"), ("retry_planned", retry), *ready("make", 2)
    )

    assert (
        explain(plan, waiting, "make")[0] == "`make` waits 10.0 s for attempt 2 (retry class exit)."
    )
    assert "Attempt 1 failed: Exit code 3." in explain(plan, after, "make")


@pytest.mark.parametrize(
    ("kind", "message", "told"),
    [
        ("permission_required", "approval required: run `approve r/make.1.1`", "an approval"),
        ("agent_undecided", "the agent needs a decision: “Tabs?”", "a decision: “Tabs?”"),
        (
            "writes_outside_write_set",
            "changed files outside its write_set: a.py",
            "a decision: changed",
        ),
        ("merge_conflict", "a.py conflicts", "a decision on a merge conflict: ada decided accept"),
    ],
)
def test_an_attempt_that_waited_for_a_person_is_not_said_to_have_failed(
    plan: Plan, kind: str, message: str, told: str
) -> None:
    error = {"kind": kind, "message": message, "details": {}}
    (_, data), (_, end) = decided("make", "needs_orchestrator"), ended("make", "failed")
    facts = [
        scheduled("make"),
        ("attempt_ended", {**end, "error": error}),
        ("checkpoint_decided", {**data, "error": error}),
    ]
    if kind == "merge_conflict":
        word = {"verdict": "accept", "value": "look", "note": "", "by": "ada", "request_id": "1"}
        again = {"step": "make", "attempt": 2, "delay_ms": 0, "timeout_ms": None}
        facts += [
            ("decision_recorded", {**word, "step": "make", "attempt": 1}),
            ("retry_planned", {**again, "retry_class": kind, "error": error}),
        ]
    [sentence] = [s for s in explain(plan, run(*facts, *ready("make", 2)), "make") if "pt 1 " in s]

    assert sentence.startswith(f"Attempt 1 waited for {told}")
    assert "`approve" not in sentence


def resumed(step: str, reason: str) -> tuple[str, dict[str, Any]]:
    steps = [{"step_id": step, "action": "rerun", "reason": reason, "because": []}]
    return "run_resumed", {
        "owner": OWNER,
        "flags": {},
        "steps": steps,
        "spec_digest": "b2:0",
        "inputs": {},
    }


def again(plan: Plan, state: RunState, step: str) -> list[str]:
    return [told for told in explain(plan, state, step) if "resume" in told or "fork" in told]


def test_a_resumed_step_says_why_it_runs_again(plan: Plan) -> None:
    state = run(*ready("make"), resumed("make", "spec_changed"), scheduled("make", 2))

    assert explain(plan, state, "make")[0] == "`make` is running: attempt 2."
    assert again(plan, state, "make") == ["Rerun by the last resume (definition changed)."]


def test_a_step_without_an_earlier_attempt_is_no_rerun(plan: Plan) -> None:
    state = run(resumed("make", "spec_changed"), scheduled("make"))

    assert again(plan, state, "make") == ["Run for the first time by the last resume."]


def test_a_step_that_a_resume_kept_says_so(plan: Plan) -> None:
    kind, same = decided("make")
    kept = (kind, {**same, "reused": True})
    state = run(*ready("make"), resumed("make", "upstream_changed"), kept)

    assert again(plan, state, "make") == [
        "Kept by the last resume (dependency changed): its fingerprint is unchanged."
    ]


def test_a_fork_that_ran_a_step_again_was_no_resume(plan: Plan) -> None:
    origin = {"run_id": "r-20261121-220344-7f3akq", "checkpoint": "end", "seq": 4}
    forked = ("run_forked", origin)
    facts = [*ready("make"), forked, resumed("make", "selected"), *ready("make", 2)]

    assert again(plan, run(*facts), "make") == ["Rerun by the fork (selected)."]
    facts += [resumed("make", "selected"), *ready("make", 3)]
    assert again(plan, run(*facts), "make") == ["Rerun by the last resume (selected)."]


def test_a_step_that_a_resume_did_not_run_is_not_said_to_have_run(plan: Plan) -> None:
    skipped = ("step_held", {"step": "ship", "held_by": {"kind": "when", "step": None}})
    question = {"attempt": 1, "question": "Done?", "choices": [], "timeout_ms": None}
    asks = {**question, "step": "make", "reason": "in_flight", "fingerprint": {}}
    answer = {"verdict": "accept", "value": None, "note": "", "by": "ada", "request_id": "1"}
    dead = [scheduled("make"), resumed("make", "in_flight"), ("decision_requested", asks)]
    done = [("decision_recorded", {**answer, "step": "make", "attempt": 1}), decided("make")]

    assert again(plan, run(skipped, resumed("ship", "held"), skipped), "ship") == []
    assert again(plan, run(resumed("look", "held")), "look") == []
    assert again(plan, run(*dead), "make") == []
    assert again(plan, run(*dead, *done), "make") == []


def test_a_question_and_its_answer_are_told(plan: Plan) -> None:
    asked = {"step": "ship", "attempt": 1, "reason": "ask", "question": "Ship it?", "choices": []}
    question = ("decision_requested", {**asked, "timeout_ms": None, "fingerprint": {}})
    answer = {
        "step": "ship",
        "attempt": 1,
        "verdict": "accept",
        "value": None,
        "note": "go",
        "by": "ada",
    }
    answered = ("decision_recorded", {**answer, "request_id": "1"})

    assert "Question: Ship it?" in explain(plan, run(question), "ship")
    told = explain(plan, run(question, answered), "ship")
    assert "ada decided accept, with the note: go." in told
    assert told[0] == "The decision is recorded for `ship`. Resume the run to apply it."


def test_failed_checks_are_named(plan: Plan) -> None:
    checks = [
        {"check": {"exit_code": 0}, "passed": True, "evidence": {}},
        {"check": {"file_exists": "x"}, "passed": False, "evidence": {}},
    ]
    verified = ("verification_recorded", {"step": "make", "attempt": 1, "checks": checks})

    told = explain(
        plan, run(scheduled("make"), ended("make"), verified, decided("make", "failed")), "make"
    )

    assert "1 of 2 checks failed: `file_exists x`." in told


def test_a_step_that_is_not_in_the_plan_is_a_key_error(plan: Plan) -> None:
    with pytest.raises(KeyError):
        explain(plan, run(), "ghost")


@pytest.mark.parametrize("step", ["make", "pack", "look", "ship"])
def test_every_step_can_be_explained_at_every_moment_of_a_run(plan: Plan, step: str) -> None:
    story = events(
        *ready("make"),
        *ready("pack"),
        scheduled("look"),
        ended("look", "failed"),
        decided("look", "failed"),
    )

    for moment in range(len(story) + 1):
        told = explain(plan, fold(story[:moment]), step)

        assert told
        assert all(sentence[-1] in ".?" for sentence in told)
        assert draw_text(explain_blocks(told)).count("\n") == len(told) - 1


def test_explaining_changes_nothing(plan: Plan) -> None:
    state = run(scheduled("make"))

    explain(plan, state, "ship")

    assert list(state.steps) == ["make"]


def test_a_real_plan_is_drawn_with_its_kinds_and_edges(plan: Plan) -> None:
    document = report(plan.workflow, Environment()).document()

    svg = picture(document, None, edges_of(plan), kinds=kinds_of(plan))

    assert edges_of(plan) == [("make", "look"), ("look", "ship"), ("pack", "ship")]
    [edges] = re.findall(r'class="pixirnb-edge"[^>]* d="([^"]*)"', svg)
    assert edges.count("M") == 3
    assert svg.count(">shell</text>") == 4


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        (scheduled("make"), "○ make: attempt 1 scheduled, timeout 5 m 00 s"),
        (ended("make"), "· make: attempt 1 ended after 1.2 s: built"),
        (ended("make", "failed"), "· make: attempt 1 failed after 1.2 s: Exit code 3"),
        (decided("make"), "✓ make: ready"),
        (decided("make", "failed"), "✗ make: failed: Exit code 3"),
        (
            ("step_held", {"step": "b", "held_by": {"kind": "dependency", "step": "a"}}),
            "‖ b: not started, it depends on a",
        ),
        (
            ("step_held", {"step": "b", "held_by": {"kind": "when", "step": None}}),
            "» b: skipped (`when` is false)",
        ),
        (
            (
                "step_held",
                {"step": "b", "held_by": {"kind": "when", "step": None, "seen": "1 > 2"}},
            ),
            "» b: skipped (`when` is false: 1 > 2)",
        ),
        (
            (
                "run_finished",
                {"status": "partial", "reasons": [], "elapsed_ms": 65_000, "counts": {}},
            ),
            "◐ run partial after 1 m 05 s",
        ),
        (("kind_to_come", {"a": 1}), 'kind_to_come {"a": 1}'),
        (("step_held", {"held_by": None}), 'step_held {"held_by": null}'),
    ],
)
def test_an_event_reads_as_a_sentence(fact: tuple[str, dict[str, Any]], told: str) -> None:
    assert event_line(events(fact)[1]) == f"    2 22:03:44 UTC {told}"


def test_an_attempt_that_completed_is_not_called_ready_by_its_line() -> None:
    shown = event_line(events(ended("make"))[1])

    assert "✓" not in shown
    assert "ready" not in shown
    assert "completed" not in shown


@pytest.mark.parametrize(
    ("kind", "summary", "produced", "told"),
    [
        ("decision", "", {"kind": "value", "value": "minor"}, "minor"),
        ("decision", "", {"kind": "value", "value": None}, ""),
        ("python", "", {"kind": "value", "blob": "b2:0", "type": "pandas.DataFrame"}, "pandas.DataFrame"),
        ("python", "", {"kind": "value", "blob": "b2:0", "type": "pandas.DataFrame", "glance": "20 × 2 DataFrame"},
         "20 × 2 DataFrame"),
        ("python", "", {"kind": "value", "value": [1, 2]}, "[1, 2]"),
        ("python", "", {"kind": "value", "value": list(range(90))}, "list of 90"),
        ("shell", "built", {"kind": "text", "value": "one\nbuilt"}, "built"),
    ],
)  # fmt: skip
def test_a_ready_step_says_what_it_left_where_it_does_not_sum_itself_up(
    kind: str, summary: str, produced: Any, told: str
) -> None:
    assert (
        why(step("a", kind, summary=summary, checkpoint={"produced": produced}).document()) == told
    )


def test_a_step_that_somebody_accepted_says_who() -> None:
    said: Any = {
        "summary": "half",
        "checkpoint": {"known_limitations": ["x", "accepted_by_human (ada)"]},
    }
    assert why(said) == "accepted by ada · half"
    said["checkpoint"] = {"known_limitations": ["accepted_by_agent (a.1 of r)"]}
    assert why(said) == "accepted by agent a.1 of r · half"
    for strange in (None, 3, [3], ["accepted_by_human"]):
        poor: Any = {"summary": "half", "checkpoint": {"known_limitations": strange}}
        assert why(poor) == "half"


def ready_step(kind: str, **checkpoint: Any) -> Any:
    return {
        "step_id": "a",
        "kind": kind,
        "checkpoint_status": "checkpoint_ready",
        "summary": "done",
        "checkpoint": checkpoint,
    }


def test_a_bare_claim_of_an_agent_never_looks_like_proof() -> None:
    check = {"check": {"kind": "file_exists"}, "passed": True, "evidence": {}}
    assert why(ready_step("agent")) == "unverified · done"
    assert why(ready_step("agent", verification=[check])) == "done"
    assert why(ready_step("agent", payload={"validation": {"passed": True}})) == "done"
    assert why(ready_step("shell")) == "done"
    accepted = ["accepted_by_human (ada)"]
    assert why(ready_step("agent", known_limitations=accepted)) == "accepted by ada · done"


def test_a_ready_step_with_limitations_is_marked_in_every_overview() -> None:
    stray = "writes_outside_write_set: a.py changed while it ran"
    step = ready_step("shell", known_limitations=[stray, "output_cut: kept 3 of 9", "a draft"])
    assert why(step) == "a.py changed while it ran · 2 known limitations · done"
    run: Any = {"run_id": "r", "status": "completed", "steps": [step, ready_step("shell")]}
    shown = draw_text(outcome_blocks(run))
    assert "a is ready with known limitations; read them with %pixir show r a" in shown
    bare: Any = {**run, "steps": [ready_step("agent")]}
    assert "known limitations;" not in draw_text(outcome_blocks(bare))


def test_a_partial_step_is_accepted_as_it_is_or_run_again() -> None:
    decide: Any = {"action": "decide_step", "step": "a", "cell": "%pixir decide r a accept"}
    assert action_phrase(decide) == "accept a, or reject it"
    assert action_phrase(decide, partial=["a"]) == "accept a as it is, or reject it"
    assert action_phrase({"action": "resume_run"}, partial=["a", "b"]) == "run a, b again"


def test_what_a_resume_runs_again_is_named_in_full() -> None:
    retry: Any = {"action": "retry_failed_steps", "step": None, "cell": "%pixir resume r"}
    assert action_phrase(retry) == "rerun the failed steps"
    assert action_phrase(retry, partial=["a"]) == "rerun the failed and partial steps"
    stopped: Any = {
        "step_id": "b",
        "checkpoint_status": "failed",
        "subagent_status": "interrupted",
    }
    run: Any = {
        "run_id": "r",
        "status": "interrupted",
        "steps": [stopped],
        "partial_steps": ["a"],
        "next_actions": [retry],
    }
    shown = draw_text(outcome_blocks(run))
    assert "rerun the failed, interrupted and partial steps" in shown


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("permission_required", "permission given"),
        ("agent_undecided", "decision recorded"),
    ],
)
def test_a_step_that_was_answered_no_longer_asks_to_be(kind: str, told: str) -> None:
    step: Any = {
        "checkpoint_status": "needs_orchestrator",
        "error": {"kind": kind, "message": "`pixirnb approve r/a.1.1` allows it."},
        "next_actions": [{"action": "resume_run", "step": None, "cell": "%pixir resume r"}],
    }
    assert why(step) == f"{told}; resume the run to apply it"
    open_one: Any = {**step, "next_actions": [{"action": "approve_request"}]}
    assert "approve r/a.1.1" in why(open_one)


@pytest.mark.parametrize(("summary", "is_said"), [("ok", True), ("book", False), ("last", False)])
def test_a_summary_is_left_out_only_where_the_result_below_has_it_as_a_line(
    summary: str, is_said: bool
) -> None:
    made: Any = {"produced": {"kind": "text", "value": "book\nlast"}}
    document = step("a", summary=summary, checkpoint=made).document()
    assert (why(document, is_result_below=True) == summary) is is_said
    assert why(document) == summary
