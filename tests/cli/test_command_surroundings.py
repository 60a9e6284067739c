"""What a first user types and where: an ASCII locale, `help`, files that are no workflows, the timeout of a run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pixirnb import api
from tests.verbs.command import command, written


def test_an_ascii_locale_runs_the_same_commands_and_tells_marks_apart(tmp_path: Path) -> None:
    steps = (
        '{id: x, run: "echo héllo", posture: read_only}, {id: y, run: "exit 3", posture: read_only}'
    )
    flow = written(tmp_path, f"name: ascii\nsteps: [{steps}]\n")
    program = "from pixirnb.cli.app import main; main()"
    said = subprocess.run(
        [sys.executable, "-c", program, "run", str(flow)],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""},
        capture_output=True,
        check=False,
    )
    rows = [line.split() for line in said.stdout.splitlines() if line.startswith(b"  ")]
    marks = {row[1]: row[0] for row in rows if len(row) > 1}
    assert (marks[b"x"], marks[b"y"]) == (b"+", b"x")
    assert command("logs", "@last", "x").out == "héllo\n"


def test_format_json_is_json_and_text_that_holds_it_is_taken_as_it_is(tmp_path: Path) -> None:
    step = '{id: a, run: "echo {{ inputs.flags }}", posture: read_only}'
    flow = written(tmp_path, f"name: w\ninputs: {{flags: {{type: string}}}}\nsteps: [{step}]\n")
    flags = "list --format=json --limit 3"
    for words in (["--format", "json"], ["--format=json"]):
        said = subprocess.run(
            [sys.executable, "-m", "pixirnb", "run", str(flow), "-i", f"flags={flags}", *words],
            capture_output=True,
            check=True,
        )
        assert json.loads(said.stdout)["inputs"] == {"flags": flags}


def test_a_command_without_memory_says_so_and_is_no_bug(tmp_path: Path) -> None:
    flow = written(tmp_path, "name: w\nsteps: [{id: a, run: 'true'}]\n")
    program = f"""
import os, resource
import pixirnb.engine.engine
from pixirnb.cli.command import perform
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * os.sysconf("SC_PAGESIZE") + 2**22  # with less, Python itself may lose the error
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
raise SystemExit(perform(["run", {str(flow)!r}]))
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (said.returncode, said.stdout) == (5, b"")
    assert said.stderr.startswith(b"out of memory [out_of_memory]\n")


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_what_a_library_prints_goes_into_no_file_of_a_run_where_the_streams_are_closed(
    tmp_path: Path, closed: str
) -> None:
    (tmp_path / "noisy.py").write_text("import os\ndef warn():\n    os.write(2, b'a warning')\n")
    step = "{id: a, call: 'noisy:warn'}"
    flow = written(tmp_path, f"name: w\nsteps: [{step}, {{id: b, run: 'true', depends_on: [a]}}]\n")
    words = shlex.join([sys.executable, "-m", "pixirnb", "run", str(flow)])
    subprocess.run(["sh", "-c", f"{words} {closed}"], check=True, stdout=subprocess.DEVNULL)
    run = api.open_run("@last", state=tmp_path / ".pixirnb")
    assert (run.status, run.damage) == ("completed", None)
    assert b"a warning" not in (run.folder / "lock").read_bytes()


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["run", "--help"]])
def test_a_page_that_nobody_can_read_is_exit_code_5_without_a_word(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        said = subprocess.run(
            [sys.executable, "-m", "pixirnb", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (said.returncode, said.stderr) == (5, b"")


def test_a_python_that_makes_every_warning_an_error_runs_a_workflow(tmp_path: Path) -> None:
    steps = "{id: a, run: 'true'}, {id: b, call: 'os:getcwd', depends_on: [a]}"
    flow = written(tmp_path, f"name: strict\nsteps: [{steps}]\n")
    strict = [sys.executable, "-W", "error", "-X", "warn_default_encoding"]
    said = subprocess.run(
        [*strict, "-m", "pixirnb", "run", str(flow)], capture_output=True, check=False
    )
    assert said.returncode == 0, said.stderr


def test_help_is_a_verb_too() -> None:
    assert command("help").out == command("--help").out
    assert command("help", "run").out == command("run", "--help").out


def test_a_file_that_is_no_workflow_is_one_error(tmp_path: Path) -> None:
    said = command("run", written(tmp_path, "root:*:19000:0:7:::\ndaemon:*:19000:0:7:::\n"))
    assert said.code == 2
    assert "1 error" in said.err
    assert "this does not look like a workflow: it has neither `name` nor `steps`" in said.err
    typo = command("run", written(tmp_path, "nmae: x\nstep: []\n"))
    assert "did you mean `name`?" in typo.err


def test_a_missing_file_and_a_key_of_another_tool_have_fixes_that_work(tmp_path: Path) -> None:
    assert "→ check the path" in command("run", "nosuch.yaml").err
    other = command("plan", written(tmp_path, "name: j\njobs:\n  x:\n    steps: [{run: echo}]\n"))
    assert "did you mean `steps`?" in other.err


def test_a_run_that_outlives_its_own_timeout_is_told_to_raise_that_one(tmp_path: Path) -> None:
    step = "{id: b, run: sleep 30, posture: read_only}"
    said = command("run", written(tmp_path, f"name: late\ntimeout: 1s\nsteps: [{step}]\n"))
    assert "raise the workflow's `timeout` in <FILE>, then resume" in said.out
    assert "timeout of b" not in said.out
    own = f"name: late\nsteps: [{step[:-1]}, timeout: 1s}}]\n"
    assert "raise the timeout of b in <FILE>" in command("run", written(tmp_path, own)).out


def test_a_quiet_run_names_its_status_in_words_and_keeps_its_annotations(tmp_path: Path) -> None:
    asks = written(tmp_path, "name: q\nsteps: [{id: gate, ask: {question: Ship?}}]\n")
    assert ": needs a decision. " in command("run", asks, "-q").out
    bad = written(tmp_path, 'name: q\nsteps: [{id: bad, run: "exit 3", posture: read_only}]\n')
    assert command("run", bad, "-q", "--format", "github").out.startswith("::error file=flow.yaml")


def test_a_damaged_log_of_an_ended_run_is_listed_as_such_and_blames_no_process(
    tmp_path: Path,
) -> None:
    step = '{id: a, run: "true", posture: read_only}'
    command("run", written(tmp_path, f"name: hurt\nsteps: [{step}]\n"))
    (log,) = Path(".pixirnb/runs").glob("*/log.jsonl")
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join([*lines[:2], *lines[3:]]), encoding="utf-8")
    assert "log damaged at line 3" in command("runs").out
    doctor = command("doctor", "@last", "--json").document()
    assert {"owner_died", "in_flight"}.isdisjoint(each["code"] for each in doctor["findings"])
    assert doctor["status"] == "blocked"


HOMELESS = """
import os, sys
from runpy import run_module
del os.environ["HOME"]
os.environ.pop("XDG_CONFIG_HOME", None)
os.getuid = lambda: 4_000_000_000  # of whom the system knows no home
sys.argv[:] = ["pixirnb", *sys.argv[1:]]
run_module("pixirnb", run_name="__main__")
"""


def test_a_user_without_a_home_runs_what_needs_none_and_is_told_what_to_set(
    tmp_path: Path,
) -> None:
    (tmp_path / ".pixirnb").mkdir()
    steps = "{id: a, run: 'true'}, {id: b, call: 'collections:OrderedDict', depends_on: [a]}"
    flow = written(tmp_path, f"name: w\nsteps: [{steps}]\n")

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", HOMELESS, *words]
        return subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)

    for words in (["run", str(flow)], ["show", "@last"]):
        shown = said(*words)
        assert "Traceback" not in shown.stderr
        assert "✓ a" in shown.stdout
        assert "this user has no home folder; set HOME or XDG_CONFIG_HOME" in shown.stdout
    assert said("runs").returncode == said("doctor").returncode == 0
