"""A question of a run that goes on: how to answer it is printed at once, and shown by every look at the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb import api
from tests.verbs.command import command, written

FLOW = """name: waits
steps:
  - {id: gate, ask: {question: "Ship?", choices: [now, later]}}
  - {id: other, run: "until test -e go; do sleep 0.05; done", posture: read_only}
"""


@pytest.mark.parametrize("options", [(), ("--tail",), ("--json",)])
def test_a_question_is_printed_with_its_command_while_other_steps_run(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    flow = written(tmp_path, FLOW.replace("until test -e go; do sleep 0.05; done", "sleep 1"))
    said = command("run", flow, *options)
    (run,) = api.runs()
    decide = f"pixirnb decide {run['run_id']} gate accept --value <now|later>"
    assert f"◆ gate: needs a decision: Ship? → {decide}, or reject\n" in said.err
    assert said.code == 4


def test_no_choice_of_a_question_controls_the_terminal(tmp_path: Path) -> None:
    hostile = FLOW.replace("[now, later]", r'["\e]0;owned\a\e[31mnow", "\u202Elater"]')
    said = command(
        "run",
        written(tmp_path, hostile.replace("until test -e go; do sleep 0.05; done", "sleep 1")),
    )
    assert "◆ gate: needs a decision: Ship? → " in said.err
    assert not {"\x1b", "\x07", "\u202e"} & set(said.err + said.out)


ASKING = """name: asking
agents:
  w: {permission_mode: ask, script: {"*": [[{write: a.txt, text: x}]]}}
steps:
  - {id: fx, task: Write., agent: w, write_set: a.txt}
  - {id: other, run: sleep 1, posture: read_only}
"""


def test_a_request_for_a_permission_is_printed_with_approve_and_not_with_decide(
    tmp_path: Path,
) -> None:
    said = command("run", written(tmp_path, ASKING))
    request = f"{api.runs()[0]['run_id']}/fx.1.1"
    assert f"◇ fx asks to use write a.txt → pixirnb approve {request}, or deny\n" in said.err
    assert "decide" not in said.err


def test_a_request_with_which_a_run_ends_is_printed_like_any_other(tmp_path: Path) -> None:
    flow = written(tmp_path, "\n".join(ASKING.splitlines()[:-1]))
    asks = "◇ fx asks to use write a.txt → pixirnb approve "
    assert asks in command("run", flow).err
    assert asks not in command("run", flow, "-q").err


def test_a_resume_that_leaves_rejected_steps_says_that_it_runs_none(tmp_path: Path) -> None:
    command("run", written(tmp_path, "{name: no, steps: [{id: gate, ask: {question: 'Ship?'}}]}"))
    command("decide", "@last", "gate", "reject", "--note", "no")
    told = "1 rejected; use --from STEP."
    dry = command("resume", "@last", "--dry-run")
    assert f"Dry run: no step runs: {told}" in dry.out
    assert "✗ stay rejected  1  use --from STEP  gate" in dry.out
    assert "reuse" not in dry.out
    run = api.open_run("@last")
    assert run.outcome.warnings == []
    resumed = command("resume", "@last").out
    assert f"the resume ran no step: 1 rejected; use `resume {run.id} --from STEP`" in resumed
    assert run.resume().wait().warnings[0]["code"] == "rejected_not_rerun"
    assert "ran no step" not in command("resume", "@last", "--from", "gate").out


def test_a_run_that_goes_on_is_said_to_be_resumed_and_not_to_start(tmp_path: Path) -> None:
    flow = written(tmp_path, "{name: x, steps: [{id: gate, ask: {question: 'Ship?'}}]}")
    assert command("run", flow).err.startswith("Started r-")
    assert command("decide", "@last", "gate", "accept").err.startswith("Resumed r-")
    assert command("resume", "@last", "--from", "gate").err.startswith("Resumed r-")


def test_a_run_that_ends_with_its_question_tells_ci_how_to_answer_it(tmp_path: Path) -> None:
    flow = written(tmp_path, "{name: ci, steps: [{id: gate, ask: {question: 'Ship?'}}]}")
    said = command("run", flow, "--format", "github")
    decide = f"pixirnb decide {api.runs()[0]['run_id']} gate accept"
    assert f"◆ gate: needs a decision: Ship? → {decide}, or reject\n" in said.err
    annotation, _ = said.out.splitlines()
    assert annotation == f"::error file=flow.yaml,line=1,title=ci · gate::Ship?%0A→ {decide}"
    assert command("run", flow, "--format", "github", "-q").err == ""


def test_a_quiet_run_prints_its_last_line_alone(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW.replace("until test -e go; do sleep 0.05; done", "sleep 1"))
    said = command("run", flow, "-q")
    assert (said.err, len(said.out.splitlines())) == ("", 1)


def test_a_look_at_a_live_run_shows_how_to_answer_its_question(tmp_path: Path) -> None:
    run = api.start(written(tmp_path, FLOW))
    try:
        while not run.state.step("gate").awaits_human:
            run.wait(0.1)
        shown = command("show", run.id)
        assert f"pixirnb decide {run.id} gate accept --value <now|later>" in shown.out
        (gate, _) = command("show", run.id, "--json").document()["steps"]
        assert [each["action"] for each in gate["next_actions"]] == ["decide_step"]
    finally:
        Path("go").touch()
        run.wait(30)
