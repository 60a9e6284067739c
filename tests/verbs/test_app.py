"""Every verb answers: one JSON document on stdout and all else on stderr, and an exit code that says what came of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.verbs.command import Said, command, written

GOOD = """
name: good
inputs: {n: {type: integer, default: 3}}
steps:
  - {id: make, run: "echo {{ inputs.n }}"}
  - {id: use, run: "echo got {{ steps.make.output }}", depends_on: [make]}
"""
PARTIAL = """
name: half
steps:
  - {id: good, run: "true"}
  - {id: bad, run: "test -e fixed"}
  - {id: after, run: "true", depends_on: [bad]}
"""
ASK = """
name: ask
steps:
  - {id: gate, ask: {question: "Go?"}}
  - {id: after, run: "echo {{ steps.gate.output }}", depends_on: [gate]}
"""


def run_id(said: Said) -> str:
    """The id in an outcome's document."""
    found = said.document()["run_id"]
    assert isinstance(found, str)
    return found


def test_exit_codes_say_what_came_of_a_run(tmp_path: Path) -> None:
    table = {
        0: GOOD,
        1: PARTIAL,
        3: "name: x\nsteps: [{id: a, run: 'false'}]",
        4: ASK,
    }
    for code, text in table.items():
        said = command("run", written(tmp_path, text), "--json")
        assert said.code == code, said
        assert said.document()["ok"] == (code == 0)
    slow = "name: x\nsteps: [{id: a, run: sleep 60, timeout: 0.2}]"
    said = command("run", written(tmp_path, slow), "--json")
    assert (said.code, said.document()["status"]) == (3, "timed_out")


def test_without_json_an_outcome_is_text_on_stdout_and_the_way_there_on_stderr(
    tmp_path: Path,
) -> None:
    said = command("run", written(tmp_path, GOOD))
    assert said.code == 0
    assert "completed" in said.out
    assert "2 of 2 steps ready" in said.out
    assert "Ctrl-C" in said.err
    partial = command("run", written(tmp_path, PARTIAL))
    assert "completed" not in partial.out.splitlines()[0]
    assert "partial" in partial.out.splitlines()[0]


def test_a_plan_shows_waves_and_runs_nothing(tmp_path: Path) -> None:
    flow = written(tmp_path, GOOD.replace("echo got", "touch ran; echo got"))
    for tokens in (("plan", flow), ("run", flow, "--dry-run")):
        said = command(*tokens)
        assert said.code == 0
        assert "2 steps in 2 waves" in said.out
        assert "Nothing has run." in said.out
    document = command("plan", flow, "--json").document()
    assert document["ok"]
    assert document["waves"] == [["make"], ["use"]]
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / ".pixirnb").exists()


def test_an_input_is_typed_by_its_declaration(tmp_path: Path) -> None:
    flow = written(tmp_path, GOOD)
    said = command("run", flow, "--json", "--input", "n=41")
    assert said.document()["steps"][0]["summary"] == "41"
    for given in ("n=four", "m=1", "n"):
        wrong = command("run", flow, "--json", "--input", given)
        assert wrong.code == 2, wrong
        assert wrong.document()["error"]["fix"]
    assert len(command("runs", "--json").document()["runs"]) == 1


def test_every_verb_prints_exactly_one_document_under_json(tmp_path: Path) -> None:
    run = run_id(command("run", written(tmp_path, PARTIAL), "--json"))
    asked = run_id(command("run", written(tmp_path, ASK, "ask.yaml"), "--json"))
    (tmp_path / "fixed").touch()
    for code, tokens in (
        (0, ("plan", "flow.yaml")),
        (0, ("run", "flow.yaml", "--dry-run")),
        (0, ("runs",)),
        (0, ("show", run)),
        (0, ("show", run, "bad")),
        (0, ("log", run)),
        (0, ("log", run, "--follow")),
        (0, ("checkpoint", run, "here")),
        (0, ("resume", run, "--dry-run")),
        (0, ("resume", run, "--tail")),
        (0, ("resume", run)),
        (0, ("run", "flow.yaml", "--resume", run, "--dry-run")),
        (0, ("decide", asked, "gate", "accept", "--value", "yes")),
        (5, ("cancel", run)),
        (5, ("show", "r-20200101-000000-aaaaaa")),
        (2, ("show", run, "nobody")),
        (2, ("plan", "nowhere.yaml")),
        (2, ("frobnicate",)),
        (2, ("run", "flow.yaml", "--frobnicate")),
        (2, ("resume", run, "--only", "bad", "--from", "good")),
        (2, ("decide", asked, "gate", "accept")),
    ):
        said = command(*tokens, "--json")
        assert said.code == code, (tokens, said)
        assert json.loads(said.out) is not None
        assert "Traceback" not in said.out + said.err
        if code:
            error = said.document()["error"]
            assert error["code"]
            assert error["message"]
            assert error["fix"], tokens


def test_errors_without_json_are_one_or_two_lines_on_stderr(tmp_path: Path) -> None:
    run = run_id(command("run", written(tmp_path, GOOD), "--json"))
    for tokens in (
        ("show", "r-20200101-000000-aaaaaa"),
        ("show", "../../etc/passwd"),
        ("show", run, "nobody"),
        ("cancel", run),
        ("decide", run, "make", "accept"),
        ("decide", run, "make", "maybe"),
        ("checkpoint", run, "a b"),
        ("resume", run, "--from", "nobody"),
        ("plan", "nowhere.yaml"),
        ("plan", "."),
        ("plan", "flow.yaml", "--workspace", "nowhere"),
        ("run", "flow.yaml", "--input", "n"),
        ("frobnicate",),
        ("runs", "--limit", "many"),
    ):
        said = command(*tokens)
        assert said.code in {2, 5}, (tokens, said)
        assert said.out == "", tokens
        assert 1 <= len(said.err.splitlines()) <= 2, said.err
        assert "Traceback" not in said.err


def test_the_log_is_a_line_an_event(tmp_path: Path) -> None:
    run = run_id(command("run", written(tmp_path, GOOD), "--json"))
    document = command("log", run, "--json").document()
    assert [event["seq"] for event in document["events"]] == list(
        range(1, len(document["events"]) + 1)
    )
    assert document["damage"] is None
    assert len(command("log", run).out.splitlines()) == len(document["events"])


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    first = run_id(command("run", written(tmp_path, GOOD), "--json"))
    second = run_id(command("run", written(tmp_path, PARTIAL), "--json"))
    rows = command("runs", "--json").document()["runs"]
    assert {row["run_id"]: row["status"] for row in rows} == {
        second: "partial",
        first: "completed",
    }
    assert command("runs", "--json", "--state", tmp_path / "other").document() == {
        "schema_version": 1,
        "runs": [],
    }
    assert len(command("runs", "--json", "--limit", "1").document()["runs"]) == 1


def test_a_step_is_explained(tmp_path: Path) -> None:
    run = run_id(command("run", written(tmp_path, PARTIAL), "--json"))
    said = command("show", run, "after")
    assert said.code == 0
    assert "bad" in said.out
    document = command("show", run, "after", "--json").document()
    assert document["held_by"] == {"kind": "dependency", "step": "bad"}
    assert document["explained"]


def test_a_resume_says_what_it_reuses_and_why(tmp_path: Path) -> None:
    run = run_id(command("run", written(tmp_path, PARTIAL), "--json"))
    steps = command("resume", run, "--dry-run", "--json").document()["steps"]
    assert [(s["step_id"], s["action"], s["reason"]) for s in steps] == [
        ("good", "reuse", "ready"),
        ("bad", "rerun", "failed"),
        ("after", "rerun", "held"),
    ]
    (tmp_path / "fixed").touch()
    assert command("resume", run, "--json").code == 0
    again = command("resume", run)
    assert again.code == 0
    assert "Nothing to do" in again.out


def test_a_step_that_an_edit_added_is_new_in_the_dry_run(tmp_path: Path) -> None:
    run = run_id(command("run", written(tmp_path, PARTIAL), "--json"))
    edited = (
        PARTIAL.replace('good, run: "true"', "good, run: echo") + '  - {id: more, run: "true"}\n'
    )
    words = ("resume", run, "--dry-run", "--spec", written(tmp_path, edited, "edited.yaml"))
    table = command(*words).out.partition("details")[2].splitlines()
    shown = {row.split()[-1]: " ".join(row.split()[:-1]) for row in table if row}
    assert shown["good"].endswith("definition changed")
    assert shown["more"].endswith("1 new")
    marked = [s["step_id"] for s in command(*words, "--json").document()["steps"] if "new" in s]
    assert marked == ["more"]


def test_an_edited_workflow_continues_a_run(tmp_path: Path) -> None:
    run = run_id(command("run", written(tmp_path, PARTIAL), "--json"))
    edited = written(tmp_path, PARTIAL.replace("test -e fixed", "true"), "edited.yaml")
    said = command("run", edited, "--resume", run, "--json")
    assert said.code == 0
    assert said.document()["run_id"] == run
    assert said.document()["steps"][0]["attempt"] == 1
    other = run_id(command("run", written(tmp_path, PARTIAL), "--json"))
    assert command("resume", other, "--spec", edited, "--json").code == 0


def test_only_and_until_hold_what_they_leave_out(tmp_path: Path) -> None:
    text = "name: x\nsteps:\n" + "".join(
        f"  - {{id: {s}, run: 'echo {s} >> ran', depends_on: [{d}]}}\n"
        for s, d in (("a", ""), ("b", "a"), ("c", "b"))
    )
    run = run_id(command("run", written(tmp_path, text), "--json"))
    assert command("resume", run, "--only", "b", "--json").code == 0
    assert (tmp_path / "ran").read_text().split() == ["a", "b", "c", "b"]
    command("resume", run, "--from", "a", "--until", "b", "--json")
    assert (tmp_path / "ran").read_text().split() == ["a", "b", "c", "b", "a", "b"]


@pytest.mark.parametrize(
    ("typed", "value"), [('"so be it"', "so be it"), ("so be it", "so be it"), ("NaN", "NaN")]
)
def test_a_decision_continues_the_run(tmp_path: Path, typed: str, value: str) -> None:
    said = command("run", written(tmp_path, ASK), "--json")
    run = run_id(said)
    assert said.code == 4
    said = command("decide", run, "gate", "accept", "--value", typed, "--json")
    assert said.code == 0
    assert said.document()["steps"][1]["summary"] == value


def test_tail_in_a_pipe_prints_plain_lines(tmp_path: Path) -> None:
    flow = written(
        tmp_path,
        r"""
name: talk
steps:
  - {id: talk, run: "printf 'one\\n\\033[31mred\\033[0m\\nlast without newline'; echo oops >&2"}
""",
    )
    said = command("run", flow, "--tail")
    assert said.code == 0
    assert "[talk] one" in said.out.splitlines()
    assert "[talk] last without newline" in said.out.splitlines()
    assert "[talk] oops" in said.out.splitlines()
    assert "\x1b" not in said.out + said.err
    assert "\r" not in said.out
    tailed = command("run", flow, "--tail", "--json")
    assert tailed.document()["ok"]
    assert "[talk] one" in tailed.err.splitlines()


def test_help_and_version_need_no_state(tmp_path: Path) -> None:
    assert "run" in command("--help").out
    assert command("--version").out.strip()
    assert command("run", "--help").code == 0
    assert command().code == 0
    assert list(tmp_path.iterdir()) == []
    assert "pixirnb.notebook.magics" not in sys.modules or "IPython" in sys.modules
