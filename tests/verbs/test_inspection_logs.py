"""What failing steps printed last stands below the run, and `logs` prints all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verbs.command import command, written

FLOW = """
name: loud
agents:
  coder: {runner: cli, command: [sh, -c, 'echo thinking; printf "no key\\033[2J\\n" >&2; exit 3']}
steps:
  - {id: build, run: "echo working; sleep 0.2; echo 'cannot find it' >&2; exit 2"}
  - {id: code, task: Do it., agent: coder}
  - {id: mute, run: "exit 1"}
  - {id: fine, run: "echo all is well"}
"""


@pytest.fixture
def run_id(tmp_path: Path) -> str:
    return str(command("run", written(tmp_path, FLOW), "--json").document()["run_id"])


def test_a_run_and_a_step_show_what_was_printed_last(run_id: str) -> None:
    for words in (["show", run_id], ["show", run_id, "build"]):
        shown = command(*words).out
        assert "│ working" in shown
        assert "│ cannot find it" in shown
        assert "\x1b" not in shown
        assert "│ all is well" not in shown


def test_the_output_of_one_step_is_printed_as_it_stands(run_id: str) -> None:
    assert command("logs", run_id, "build").out == "working\ncannot find it\n"
    assert command("logs", run_id, "build", "-f").out == "working\ncannot find it\n"
    assert command("logs", run_id, "mute").out.strip() == ""
    [output] = command("logs", run_id, "fine", "--json").document()["outputs"]
    assert (output["step"], output["attempt"], output["text"]) == ("fine", 1, "all is well\n")
    assert Path(output["path"]).read_text() == "all is well\n"


def test_the_output_of_an_earlier_attempt_is_printed(run_id: str) -> None:
    command("resume", run_id)
    first = command("logs", run_id, "build", "--attempt", "1", "--json").document()
    assert first["outputs"][0]["path"].endswith("build.1.log")
    last = command("logs", run_id, "build", "--json").document()
    assert (last["outputs"][0]["attempt"], last["outputs"][0]["text"]) == (
        2,
        "working\ncannot find it\n",
    )


def test_the_output_of_all_steps_is_printed_step_by_step(run_id: str) -> None:
    shown = command("logs").out
    assert shown.index("build\n  │ working") < shown.index("fine\n  │ all is well")
    assert "mute" not in shown


def test_a_step_that_an_edited_resume_removed_is_no_hindrance(run_id: str) -> None:
    renamed = written(Path.cwd(), FLOW.replace("id: fine", "id: good"), "edited.yaml")
    command("resume", run_id, "--spec", renamed)
    shown = command("logs", run_id)
    assert (shown.code, shown.err) == (0, "")
    assert "good\n  │ all is well" in shown.out
    assert "fine" not in shown.out
    printed = [each["step"] for each in command("logs", run_id, "--json").document()["outputs"]]
    assert printed == ["build", "code", "good"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["nope"], "unknown_step"),
        (["build", "--attempt", "7"], "unknown_attempt"),
        (["-f"], "invalid_args"),
        (["--attempt", "1"], "invalid_args"),
    ],
)
def test_what_cannot_be_printed_is_refused(run_id: str, words: list[str], code: str) -> None:
    said = command("logs", run_id, *words)
    assert said.code != 0
    assert f"[{code}]" in said.err


def test_logs_that_are_gone_are_no_hindrance(run_id: str) -> None:
    for log in Path(".pixirnb/runs", run_id, "output").iterdir():
        log.unlink()
    assert command("show", run_id).code == 0
    assert command("logs", run_id).out.strip() == ""


def test_an_output_of_which_the_end_is_shown_says_where_the_rest_is(tmp_path: Path) -> None:
    flow = "name: flood\nsteps: [{id: a, run: 'seq 3000; exit 1'}]\n"
    found = command("run", written(tmp_path, flow), "--json").document()
    shown = command("show").out
    assert "│ 3000" in shown
    assert f"full output: pixirnb logs {found['run_id']} a" in shown
    assert command("logs", "-", "a").out.startswith("1\n2\n3\n")
