"""Nothing runs for ever: every kind of step ends when its time is up, and nothing of it stays behind."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from pixirnb import api
from tests.stories.storyline import ended, facts, shell, started, until

pytestmark = pytest.mark.story


def test_a_shell_step_s_whole_tree_ends_with_its_time(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        shell("hang", "setsid sleep 7201 & sleep 7202 & echo here; wait", timeout=0.5),
    )
    step = outcome.step("hang")
    assert (step.subagent_status, step.checkpoint_status) == ("timed_out", "failed")
    assert step.error is not None
    assert step.error["kind"] == "timeout"
    assert run.output("hang") == "here\n"
    commands = map(_words, psutil.process_iter())
    left = [words for words in commands if {"7201", "7202"} & set(words)]
    assert left == []


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_python_step_that_may_write_runs_as_a_process_and_is_ended(tmp_path: Path) -> None:
    nap = {"id": "nap", "call": "time:sleep", "with": {}, "timeout": 0.5}
    source = "def nap():\n    import time\n    time.sleep(600)\n    return 1\n"
    run = api.start(
        {"name": "t", "steps": [{**nap, "call": ":nap", "process": True}]},
        workspace=tmp_path,
        functions={":nap": source},
    )
    step = run.wait().step("nap")
    assert (step.subagent_status, step.checkpoint_status) == ("timed_out", "failed")


def test_a_thread_cannot_be_ended_and_becomes_detached_and_gives_its_slot_up(
    tmp_path: Path,
) -> None:
    source = (
        "def nap():\n    import pathlib, time\n"
        f"    while not pathlib.Path({str(tmp_path / 'go')!r}).exists():\n"
        "        time.sleep(0.02)\n    return 1\n"
    )
    run = api.start(
        {
            "name": "t",
            "max_concurrency": 1,
            "steps": [
                {"id": "nap", "call": ":nap", "timeout": 0.3},
                shell("after", "echo there"),
            ],
        },
        workspace=tmp_path,
        functions={":nap": source},
    )
    outcome = run.wait()
    (tmp_path / "go").touch()
    assert outcome.step("nap").subagent_status == "detached"
    assert outcome.step("nap").checkpoint_status == "failed"
    assert outcome.step("after").checkpoint_status == "checkpoint_ready"


def test_a_scripted_agent_that_hangs_is_ended(tmp_path: Path) -> None:
    agents = {"w": {"runner": "scripted", "timeout": 0.5, "script": {"*": [[{"hang": True}]]}}}
    _, outcome = ended(tmp_path, {"id": "a", "task": "go", "agent": "w"}, agents=agents)
    assert outcome.step("a").subagent_status == "timed_out"
    assert outcome.status == "timed_out"


def test_a_question_with_a_time_out_fails_when_nobody_answers(tmp_path: Path) -> None:
    run, outcome = ended(tmp_path, {"id": "q", "ask": {"question": "Go?"}, "timeout": 0.2})
    assert outcome.status == "timed_out"
    assert outcome.step("q").checkpoint_status == "failed"
    assert facts(run, "attempt_ended")[0]["status"] == "timed_out"


def test_checks_count_in_the_time_of_their_step(tmp_path: Path) -> None:
    _, outcome = ended(tmp_path, shell("a", "true", timeout=0.5, verify=[{"command": "sleep 600"}]))
    assert outcome.step("a").subagent_status == "timed_out"


def test_a_search_for_files_ends_with_the_time_of_its_step(tmp_path: Path) -> None:
    tmp_path.joinpath(*["d"] * 800).mkdir(parents=True)
    endless = "/".join(["**/d"] * 800 + ["none"])
    run = started(
        tmp_path,
        shell("searches", "true", timeout=0.5, verify=[{"file_exists": endless}]),
        shell("beside", "for n in $(seq 500); do test -e go && exit; sleep 0.02; done"),
    )
    until(lambda: facts(run, "attempt_ended"))
    (tmp_path / "go").touch()
    outcome = run.wait()
    assert [end["step"] for end in facts(run, "attempt_ended")] == ["searches", "beside"]
    assert outcome.step("searches").subagent_status == "timed_out"
    assert outcome.step("beside").checkpoint_status == "checkpoint_ready"


def test_a_check_has_a_time_of_its_own(tmp_path: Path) -> None:
    verify = [{"command": "sleep 600", "timeout": 0.2}]
    _, outcome = ended(tmp_path, shell("a", "true", verify=verify))
    step = outcome.step("a")
    assert step.subagent_status == "completed"
    assert step.checkpoint_status == "failed"
    assert step.error is not None
    assert step.error["kind"] == "verification"


def test_a_step_that_times_out_beside_one_that_is_ready_leaves_a_partial_run(
    tmp_path: Path,
) -> None:
    """The seed's second required scenario, its third and first beside it."""
    _, outcome = ended(
        tmp_path,
        shell("slow", "echo half > half.txt; sleep 600", timeout=0.5, artifacts=["half.txt"]),
        shell("quick", "echo done"),
        shell("after", "echo never", "slow"),
    )
    assert outcome.status == "partial"
    assert not outcome.ok
    assert outcome.step("slow").checkpoint_status == "partial"
    assert outcome.step("slow").subagent_status == "timed_out"
    assert outcome.step("quick").checkpoint_status == "checkpoint_ready"
    assert outcome.step("after").checkpoint_status == "held"
    assert outcome.step("after").held_by == {"kind": "dependency", "step": "slow"}
    assert outcome.held_dependents == {"slow": ["after"]}
    assert "completed" not in outcome.summary
    assert outcome.proof_states[-1] == "partial_outcome_ready"


def test_retries_may_have_more_time_each(tmp_path: Path) -> None:
    retry = {"max_attempts": 2, "delay": 0, "timeout_scale": 50}
    run, outcome = ended(
        tmp_path,
        shell("a", "test -e second || { touch second; sleep 600; }", timeout=0.4, retry=retry),
    )
    assert outcome.status == "completed"
    assert [f["timeout_ms"] for f in facts(run, "step_scheduled")] == [400, 20_000]
    assert facts(run, "retry_planned")[0]["retry_class"] == "timeout"


def test_a_run_can_be_waited_for_a_while(tmp_path: Path) -> None:
    run = started(tmp_path, shell("a", "until test -e go; do sleep 0.02; done"))
    assert run.wait(timeout=0.05).status == "running"
    (tmp_path / "go").touch()
    assert run.wait().status == "completed"


LOOKS = """
def looks(output):
    import os, pathlib, time
    here = pathlib.Path(__file__).parent
    with open(here / "looked", "a") as file:
        file.write(f"{os.getpid()}\\n")
    while not (here / "go").exists():
        time.sleep(0.02)
    return True
"""


def test_a_check_with_a_limit_of_its_own_is_ended_by_it(tmp_path: Path) -> None:
    check = {"python": "looks:looks", "timeout": "1s"}
    (tmp_path / "looks.py").write_text(LOOKS)
    _, outcome = ended(tmp_path, shell("make", "true", verify=[check]))
    step = outcome.step("make")
    assert step.error is not None
    assert step.error["kind"] == "verification"
    [pid] = map(int, (tmp_path / "looked").read_text().split())
    assert not psutil.pid_exists(pid), "it ran as a process, and that has ended"


def test_a_check_in_a_thread_that_outlives_its_step_keeps_the_step_from_another_attempt(
    tmp_path: Path,
) -> None:
    (tmp_path / "looks.py").write_text(LOOKS)
    retry = {"max_attempts": 3, "delay": 0}
    step = shell("make", "true", verify=[{"python": "looks:looks"}], timeout=1, retry=retry)
    try:
        _, outcome = ended(tmp_path, step)
        made = outcome.step("make")
        assert (made.subagent_status, made.attempt) == ("detached", 1)
        assert len((tmp_path / "looked").read_text().split()) == 1
    finally:
        (tmp_path / "go").touch()


@pytest.mark.parametrize("is_retried", [True, False])
def test_the_check_after_the_one_that_took_all_the_time_is_not_begun(
    is_retried: bool, tmp_path: Path
) -> None:
    (tmp_path / "looks.py").write_text(LOOKS)
    checks = [{"command": "sleep 60"}, {"python": "looks:looks"}]
    retry = {"max_attempts": 1 + is_retried, "delay": 0}
    _, outcome = ended(tmp_path, shell("make", "true", verify=checks, timeout=0.5, retry=retry))
    made = outcome.step("make")
    assert (made.subagent_status, made.attempt) == ("timed_out", 1 + is_retried)
    assert not (tmp_path / "looked").exists()
