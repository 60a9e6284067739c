"""What a failing step printed last stands below the run, and below the step, with the file that holds all of it."""

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
def run_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(command("run", written(tmp_path, FLOW), "--json").document()["run_id"])


def test_a_run_shows_what_its_failing_steps_printed_last_and_where_the_rest_is(run_id: str) -> None:
    told = command("show", run_id).out
    (build,) = (row for row in told.splitlines() if "printed last" in row and "build" in row)
    assert "“working / cannot find it”" in build
    log = Path(build.partition("All of it: ")[2])
    assert log.read_text(encoding="utf-8") == "working\ncannot find it\n"
    (code,) = (row for row in told.splitlines() if "printed last" in row and "code" in row)
    assert "no key" in code
    assert "\x1b" not in code
    assert told.count("printed last") == 2
    assert "all is well" not in told.partition("printed last")[2]


def test_a_step_shows_its_own_and_json_none(run_id: str) -> None:
    assert command("show", run_id, "build").out.count("printed last") == 1
    assert "printed last" not in command("show", run_id, "fine").out
    assert "printed last" not in command("show", run_id, "--json").out


def test_a_log_that_is_gone_is_no_hindrance(run_id: str) -> None:
    for log in Path(".pixirnb/runs", run_id, "output").iterdir():
        log.unlink()
    said = command("show", run_id)
    assert (said.code, "printed last" in said.out) == (0, False)


def test_a_log_that_was_cut_is_not_said_to_be_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flow = "name: flood\nsteps: [{id: a, run: 'head -c 11000000 /dev/zero | tr \"\\\\0\" x; exit 1'}]\n"
    found = command("run", written(tmp_path, flow), "--json").document()
    (row,) = (r for r in command("show", found["run_id"]).out.splitlines() if "printed last" in r)
    assert "All of it" not in row
    ends, _, whole = row.partition("Its beginning and its end: ")[2].partition("; all of its ")
    assert Path(ends).stat().st_size < 11_000_000
    assert Path(whole.removeprefix("standard output: ")).stat().st_size == 11_000_000
