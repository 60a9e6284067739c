"""`pixirnb.expect`: a cell or a script that must not go on unless its run ended as it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from msgspec.structs import replace

import pixirnb
from pixirnb.history.events import RunStatus
from pixirnb.machine.outcome import RunOutcome

STATUSES = get_args(RunStatus)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """A run that failed."""
    spec = {"name": "fails", "steps": [{"id": "a", "run": "exit 3", "posture": "read_only"}]}
    return pixirnb.run(spec, workspace=tmp_path_factory.mktemp("fails"))


def test_a_run_that_failed_is_an_outcome_until_somebody_expects_better(outcome: RunOutcome) -> None:
    assert outcome.status == "failed"
    with pytest.raises(pixirnb.RunNotCompleted) as refused:
        pixirnb.expect(outcome)
    assert refused.value.details == {"run_id": outcome.run_id, "status": "failed"}
    assert f"%pixir resume {outcome.run_id}" in refused.value.fix


def test_the_line_says_which_step_to_look_at_first_and_what_came_of_it(
    outcome: RunOutcome, tmp_path: Path
) -> None:
    asks = {
        "name": "asks",
        "steps": [
            {"id": "breaks", "run": "exit 4", "posture": "read_only"},
            {"id": "gate", "ask": {"question": "Ship it?"}},
        ],
    }
    for ended, told in [
        (outcome, "`a`: exited with code 3"),
        (pixirnb.run(asks, workspace=tmp_path), "`gate`: "),
    ]:
        with pytest.raises(pixirnb.RunNotCompleted) as refused:
            pixirnb.expect(ended)
        assert told in refused.value.message
        assert "\n" not in refused.value.message


def test_the_fix_is_for_the_step_that_the_line_names(tmp_path: Path) -> None:
    late = {"id": "late", "run": "sleep 60", "timeout": "1s", "posture": "read_only"}
    wrong = {"id": "wrong", "run": "exit 3", "posture": "read_only"}
    for steps, named, fix in [
        ([wrong, late], "`wrong`: exited", "retry failed steps: "),
        ([late, wrong], "`late`: timed out", "raise timeout: "),
    ]:
        with pytest.raises(pixirnb.RunNotCompleted) as refused:
            pixirnb.expect(pixirnb.run({"name": "two", "steps": steps}, workspace=tmp_path))
        assert named in refused.value.message
        assert refused.value.fix.startswith(fix)


@pytest.mark.parametrize("status", STATUSES)
def test_only_completed_passes_unasked_and_any_end_that_is_named(
    outcome: RunOutcome, status: Any
) -> None:
    ended = replace(outcome, status=status)
    if status == "completed":
        assert pixirnb.expect(ended) is ended
        return
    wanted = pixirnb.RunInterrupted if status == "interrupted" else pixirnb.RunNotCompleted
    others = [name for name in STATUSES if name not in {status, "running"}]
    for named in ([], others):
        with pytest.raises(wanted) as refused:
            pixirnb.expect(ended, *named)
        assert type(refused.value) is wanted
    if status != "running":
        assert pixirnb.expect(ended, "completed", status) is ended


def test_a_run_that_is_live_has_not_ended_and_cannot_be_expected_to_be(outcome: RunOutcome) -> None:
    with pytest.raises(pixirnb.RunNotCompleted, match="is still running"):
        pixirnb.expect(replace(outcome, status="running"))
    with pytest.raises(pixirnb.InvalidArguments):
        pixirnb.expect(replace(outcome, status="running"), "running")


@pytest.mark.parametrize("word", ["done", "", "part", "partial,failed"])
def test_a_word_that_is_no_end_is_refused_even_where_the_run_completed(
    outcome: RunOutcome, word: str
) -> None:
    with pytest.raises(pixirnb.InvalidArguments, match="unknown final status"):
        pixirnb.expect(replace(outcome, status="completed"), word)


def test_a_run_itself_can_be_expected_and_statuses_may_be_a_list(tmp_path: Path) -> None:
    run = pixirnb.start("name: no\nsteps: [{id: a, run: 'false'}]\n", workspace=tmp_path)
    with pytest.raises(pixirnb.RunNotCompleted):
        pixirnb.expect(run)
    assert pixirnb.expect(run, ["partial", "failed"]).status == "failed"
    with pytest.raises(pixirnb.InvalidArguments, match="expected a Run or its outcome, got None"):
        pixirnb.expect(None)  # type: ignore[arg-type]  # as people write it


def test_what_was_awaited_can_be_expected_in_one_line(tmp_path: Path) -> None:
    async def story() -> RunOutcome:
        run = pixirnb.start("name: ok\nsteps: [{id: a, run: 'true'}]\n", workspace=tmp_path)
        return pixirnb.expect(await run)

    assert anyio.run(story).ok
