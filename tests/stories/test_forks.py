"""A named checkpoint can be gone on from in a run of its own, which owes nothing to the one it came from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments
from pixirnb.operations.run import Run
from tests.stories.filestory import isolated, land, repository, said
from tests.stories.storyline import (
    effects,
    ended,
    facts,
    kinds,
    mark,
    shell,
    spec,
    statuses,
    until,
)

pytestmark = pytest.mark.story

STEPS: list[dict[str, Any]] = [
    shell("make", mark("make", "echo made"), phase="build"),
    shell("bulk", mark("bulk", "yes long | head -c 40000"), phase="build"),
    shell("test", mark("test", "echo {{ steps.make.output }}"), "make", phase="check"),
    shell("ship", mark("ship"), "test", "bulk", phase="check"),
]


@pytest.fixture
def source(tmp_path: Path) -> Run:
    """A completed run of two phases."""
    run, outcome = ended(tmp_path, *STEPS)
    assert outcome.ok
    return run


def actions(entries: list[Any]) -> dict[str, tuple[str, str]]:
    return {entry["step_id"]: (entry["action"], entry["reason"]) for entry in entries}


def test_a_fork_goes_on_from_its_checkpoint_and_leaves_the_other_run_as_it_was(
    tmp_path: Path, source: Run
) -> None:
    before = (source.folder / "log.jsonl").read_bytes()
    state = source.store.state
    told = actions(api.plan_resume(source.id, checkpoint="build", state=state))
    assert told["make"] == ("reuse", "ready")
    assert told["ship"][0] == "rerun"
    fork = api.resume(source.id, checkpoint="build", state=state)
    assert fork.id != source.id
    assert fork.wait().status == "completed"
    reused = [name for name, (action, _) in told.items() if action == "reuse"]
    for step in ("make", "bulk", "test", "ship"):
        assert effects(tmp_path).count(step) == (1 if step in reused else 2)
    assert (source.folder / "log.jsonl").read_bytes() == before
    assert fork.outcome.run_id == fork.id
    [junction] = facts(fork, "run_forked")
    assert (junction["run_id"], junction["checkpoint"]) == (source.id, "build")
    saved = source.history()[junction["seq"] - 1]
    assert (saved.kind, saved.data["name"]) == ("checkpoint_saved", "build")


def test_a_fork_stands_alone_when_the_other_run_is_gone(tmp_path: Path, source: Run) -> None:
    fork = api.resume(source.id, checkpoint="end", state=source.store.state)
    assert fork.wait().ok
    shutil.rmtree(source.folder)
    moved = tmp_path / "elsewhere" / fork.id
    shutil.copytree(fork.folder, moved)
    opened = api.open_run(moved)
    assert opened.outcome.ok
    assert opened.value("bulk") == "\n".join(["long"] * 8000)
    assert opened.output("make") == "made\n"
    assert sorted(effects(tmp_path)) == ["bulk", "make", "ship", "test"]


def test_a_fork_may_be_edited_and_selected_as_any_resume(tmp_path: Path, source: Run) -> None:
    edited = [dict(step) for step in STEPS]
    edited[2]["run"] = mark("test2", "echo tested")
    fork = api.resume(
        source.id, checkpoint="end", spec=spec(*edited), until="test", state=source.store.state
    )
    assert statuses(fork.wait())["ship"] == "held"
    assert fork.value("test") == "tested"
    again = api.resume(fork.id, state=source.store.state)
    assert again.wait().ok
    assert source.outcome.ok
    assert source.value("test") == "made"


def test_a_fork_of_a_fork_and_its_own_resumes_count_attempts_on(
    tmp_path: Path, source: Run
) -> None:
    fork = api.resume(source.id, checkpoint="build", from_step="test", state=source.store.state)
    assert fork.wait().ok
    fork.checkpoint("mine", note="after the first fork")
    second = api.resume(fork.id, checkpoint="mine", from_step="ship", state=source.store.state)
    assert second.wait().ok
    assert second.outcome.step("ship").attempt == fork.outcome.step("ship").attempt + 1
    assert kinds(second).count("run_forked") == 2
    assert second.outcome.elapsed_ms is not None
    assert second.outcome.elapsed_ms < 60_000


def test_a_live_run_can_be_forked_and_goes_on_undisturbed(tmp_path: Path) -> None:
    steps = [
        shell("a", mark("a"), phase="one"),
        shell("b", "until test -e go; do sleep 0.02; done", "a", phase="two"),
    ]
    run = api.start(spec(*steps), workspace=tmp_path)
    until(lambda: facts(run, "checkpoint_saved"))
    fork = api.resume(run.id, checkpoint="one", until="a", state=run.store.state)
    assert fork.wait().status == "partial"
    assert run.status == "running"
    (tmp_path / "go").touch()
    assert run.wait().ok
    assert effects(tmp_path) == ["a"]


def test_a_checkpoint_that_is_not_there_is_named_with_those_that_are(source: Run) -> None:
    with pytest.raises(InvalidArguments) as caught:
        api.resume(source.id, checkpoint="nowhere", state=source.store.state)
    assert caught.value.code == "unknown_checkpoint"
    assert "build" in caught.value.fix
    assert len(source.store.run_ids()) == 1


def test_a_value_that_is_lost_is_made_anew_in_the_fork(tmp_path: Path, source: Run) -> None:
    [step] = [f for f in facts(source, "attempt_ended") if f["step"] == "bulk"]
    path = source.store.blobs(source.id).path(step["output"]["blob"])
    assert path is not None
    path.write_bytes(b"rotten")
    fork = api.resume(source.id, checkpoint="end", state=source.store.state)
    assert fork.wait().ok
    assert effects(tmp_path).count("bulk") == 2
    assert effects(tmp_path).count("make") == 1


def test_a_terminal_forks_with_one_flag(tmp_path: Path, source: Run) -> None:
    flags = ["resume", source.id, "--checkpoint", "build", "--state", str(source.store.state)]
    code, document = said(tmp_path, *flags)
    assert (code, document["ok"]) == (0, True)
    assert document["run_id"] != source.id
    code, document = said(tmp_path, *flags, "--take-over")
    assert (code, document["error"]["code"]) == (2, "invalid_args")


@pytest.mark.parametrize("is_done_again", [True, False], ids=["done again", "left undone"])
def test_a_fork_does_what_its_dry_run_says_where_a_merge_was_undone_since(
    tmp_path: Path, is_done_again: bool
) -> None:
    repository(tmp_path, {"f.txt": "base\n"})
    steps = [
        isolated("one", "echo one >> f.txt", write_set=["f.txt"]),
        land("one"),
        shell("ship", mark("ship"), "land"),
    ]
    run, _ = ended(tmp_path, *steps)
    run.checkpoint("done")
    assert run.merge(undo=True).status == "undone"
    if is_done_again:
        assert api.resume(run).wait().ok
    told = {each["step_id"]: each["action"] for each in api.plan_resume(run, checkpoint="done")}
    forked = api.resume(run, checkpoint="done")
    assert forked.wait().ok
    assert (tmp_path / "f.txt").read_text() == "base\none\n"
    again = {step for step, state in forked.state.steps.items() if state.attempt > 1}
    assert ("land" in again, told["land"] == "rerun") == (not is_done_again, not is_done_again)
    assert all(told[step] == "rerun" for step in again)
    assert set(told.values()) == ({"reuse"} if is_done_again else {"reuse", "rerun"})


def test_what_a_source_undoes_is_not_named_as_what_its_fork_has_merged(tmp_path: Path) -> None:
    repository(tmp_path, {"f.txt": "base\n", "g.txt": "base\n"})
    steps = [
        isolated("one", "echo one >> f.txt", write_set=["f.txt"]),
        land("one"),
        isolated("two", "echo two >> g.txt", write_set=["g.txt"]),
        {"id": "gate", "ask": "Ship?", "depends_on": ["land", "two"]},
    ]
    source, _ = ended(tmp_path, *steps)
    source.checkpoint("landed")
    fork = api.resume(source, checkpoint="landed")
    fork.wait()
    fork.merge("two")
    (tmp_path / "g.txt").write_text("base\n")
    source.merge(undo=True)
    fork.resume().wait()
    merges = [e.data for e in fork.store.read(fork.id).events if e.kind == "merge_applied"]
    assert [(merge["merge"], merge.get("undoes")) for merge in merges][:3] == [
        ("land.1", None),
        ("m2", None),
        ("m3", "land.1"),
    ]


def test_a_merge_is_undone_where_it_was_made_and_its_forks_notice(tmp_path: Path) -> None:
    repository(tmp_path, {"f.txt": "base\n"})
    steps = [
        isolated("one", "echo one >> f.txt", write_set=["f.txt"]),
        land("one"),
        {"id": "gate", "ask": "Ship?", "depends_on": ["land"]},
        shell("ship", mark("ship", "cat f.txt"), "gate"),
    ]
    source, _ = ended(tmp_path, *steps)
    source.checkpoint("landed")
    fork = api.resume(source, checkpoint="landed")
    fork.wait()
    fork.checkpoint("again")
    grandchild = api.resume(fork, checkpoint="again")
    grandchild.wait()
    with pytest.raises(InvalidArguments) as refused:
        fork.merge(undo=True)
    assert refused.value.code == "merge_inherited"
    assert source.id in refused.value.fix
    assert source.merge(undo=True).status == "undone"
    for heir in (fork, grandchild):
        told = {each["step_id"]: each["action"] for each in api.plan_resume(heir)}
        assert (told["one"], told["land"]) == ("reuse", "rerun")
    grandchild.decide("gate", "accept")
    grandchild.wait()
    assert grandchild.state.steps["land"].checkpoint_status == "checkpoint_ready"
    assert (tmp_path / "f.txt").read_text() == "base\none\n"
    [undone] = [e for e in grandchild.store.read(grandchild.id).events if e.data.get("undoes")]
    assert grandchild.store.blobs(grandchild.id).is_whole(undone.data["changes"]["patch"])
