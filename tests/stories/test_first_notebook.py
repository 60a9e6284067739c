"""What a first user of a notebook stumbled over: a step left out without a reason, an answer that nobody gave."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.operations.run import Run
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.wording import local_time
from tests.stories.storyline import ended, facts, shell

pytestmark = pytest.mark.story


def test_a_false_when_shows_the_values_it_was_asked_about(tmp_path: Path) -> None:
    big = shell("big", "echo big", "n", when="{{ steps.n.output }} > 3")
    run, outcome = ended(tmp_path, shell("n", "echo 5"), big)

    assert outcome.summary == "1 ready, 1 skipped."
    assert facts(run, "step_held")[0]["held_by"]["seen"] == '"5" (text) > 3'
    sentence = '`big` was skipped: `when` is false: "5" (text) > 3, from {{ steps.n.output }} > 3.'
    assert run.explain("big")[0] == sentence
    assert repr(run["big"]) == "<RunStep big: skipped>"
    assert '`when` is false: "5" (text) > 3' in draw_text(outcome_blocks(outcome.document()))


def test_a_secret_that_a_false_when_has_seen_is_in_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2hunter2")
    when = "{{ inputs.api_key }} == {{ inputs.plain }}"
    step: dict[str, Any] = shell("a", "echo a", when=when)
    inputs = {"api_key": {"type": "string"}, "plain": {"type": "string"}}
    given = {"api_key": "abcdefgh1234", "plain": "hunter2hunter2"}
    run, _ = ended(tmp_path, step, inputs=inputs, given=given)

    held = json.dumps(facts(run, "step_held"))
    assert "abcdefgh1234" not in held
    assert "hunter2hunter2" not in held
    assert "`when` is false: " in run.explain("a")[0]


def test_an_answer_that_a_later_step_uses_must_be_given(tmp_path: Path) -> None:
    greets = shell("h", "echo hi {{ steps.g.output }}", "g")
    run, outcome = ended(tmp_path, {"id": "g", "ask": "Name?"}, greets)

    assert [each["cell"] for each in outcome.next_actions] == [
        f"%pixir decide {run.id} g accept --value ANSWER"
    ]
    with pytest.raises(InvalidArguments, match="`g` needs an answer") as caught:
        run.accept("g")
    said = caught.value
    assert (said.code, said.fix) == ("not_a_choice", 'use run.accept("g", ANSWER)')
    assert run.outcome.step("g").checkpoint_status == "needs_orchestrator"
    run.accept("g", "ada").wait()
    assert run.value("h") == "hi ada"


def test_an_answer_that_no_step_uses_need_not_be_given(tmp_path: Path) -> None:
    run, outcome = ended(tmp_path, {"id": "g", "ask": "Go?"}, shell("h", "echo hi", "g"))

    assert outcome.next_actions[0]["cell"] == f"%pixir decide {run.id} g accept"
    assert run.accept("g").wait().status == "completed"


def test_the_next_command_leaves_the_choice_to_the_person(tmp_path: Path) -> None:
    question = {"id": "g", "ask": {"question": "Ship?", "choices": ["now", "not yet", 3]}}
    run, outcome = ended(tmp_path, question)

    cell = outcome.next_actions[0]["cell"]
    assert cell == f"%pixir decide {run.id} g accept --value 'now|not yet|3'"
    with pytest.raises(InvalidArguments, match="is not an answer of `g`"):
        run.accept("g", shlex.split(cell)[-1])


def failed_in_the_middle(workspace: Path) -> Run:
    """A run of a chain whose middle step failed."""
    steps = shell("a", "true"), shell("b", "exit 7", "a"), shell("c", "true", "b")
    return ended(workspace, *steps, shell("other", "true"))[0]


@pytest.mark.parametrize("resume", [api.resume, api.plan_resume])
def test_a_step_is_not_resumed_alone_where_what_it_needs_failed(
    tmp_path: Path, resume: Callable[..., Any]
) -> None:
    run = failed_in_the_middle(tmp_path)
    with pytest.raises(InvalidArguments, match="`c` needs `b`, which failed") as caught:
        resume(run.id, only="c", workspace=tmp_path)
    assert (caught.value.code, caught.value.fix) == ("dependency_not_ready", "use `--from b`")
    assert run.outcome.step("b").checkpoint_status == "failed"


def test_a_resume_up_to_a_step_behind_a_rejected_one_names_the_rejected_one(tmp_path: Path) -> None:
    run, _ = ended(
        tmp_path, {"id": "q", "ask": "Go?"}, shell("a", "true", "q"), shell("b", "true", "a")
    )
    run.reject("q").wait()
    selections: list[dict[str, Any]] = [{"until": "b"}, {"from_step": "b"}, {"only": "a"}]
    for selection in selections:
        with pytest.raises(InvalidArguments, match="needs `q`, which was rejected"):
            run.resume(**selection)


def test_a_failed_step_that_a_resume_leaves_out_still_says_that_it_failed(tmp_path: Path) -> None:
    run = failed_in_the_middle(tmp_path).resume(only="other")
    outcome = run.wait()

    assert outcome.step("b").checkpoint_status == "held"
    assert run["b"].error is not None
    assert run["b"].error.message == "exited with code 7"
    assert "not selected; failed before" in draw_text(outcome_blocks(outcome.document()))
    told = run.explain("b")
    assert told[0] == "`b` was held: not selected; failed before."
    assert "Attempt 1 failed: exited with code 7." in told


def test_a_refused_decision_says_how_the_step_stands(tmp_path: Path) -> None:
    steps = {"id": "q", "ask": "Go?"}, shell("ok", "true"), shell("bad", "false")
    run, _ = ended(tmp_path, *steps)
    told: dict[str, tuple[str, str]] = {}
    for step in ("ok", "bad"):
        with pytest.raises(InvalidArguments) as caught:
            run.accept(step)
        told[step] = (caught.value.message, caught.value.fix)
    assert told["ok"][0] == "`ok` needs no decision: it is ready"
    assert told["bad"] == (
        "`bad` needs no decision: it failed",
        f"run it again: `pixirnb resume {run.id} --from bad`",
    )


def test_a_second_decision_is_told_who_made_the_first_and_when(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, {"id": "q", "ask": "Go?"})
    run.decide("q", "accept", "yes", by="ada").wait()
    at = local_time(next(each.at for each in run.history() if each.kind == "decision_recorded"))
    with pytest.raises(InvalidArguments) as caught:
        run.accept("q", "no")
    assert caught.value.message == f'`q` was already accepted by ada at {at} with "yes"'


def test_a_run_that_has_ended_is_not_said_to_be_cancelled(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("a", "true"))
    with pytest.raises(Cannot) as caught:
        run.cancel()
    assert caught.value.message == f"{run.id} already completed; nothing to cancel"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo hello", "printed `hello`, which is not JSON; `output` requires JSON"),
        ("true", "printed nothing; `output` requires JSON"),
        (
            "echo $SERVICE_TOKEN",
            "printed `***`, which is not JSON; `output` requires JSON",
        ),
    ],
)
def test_an_output_that_is_not_json_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, message: str
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2hunter2")
    _, outcome = ended(tmp_path, shell("a", command, output={"type": "object"}))
    error = outcome.step("a").error
    assert error is not None
    assert error["message"] == message
