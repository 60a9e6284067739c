"""Two steps want one file otherwise: nothing is changed, the file is named, and a person says how it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.run import Run
from tests.stories.filestory import isolated, land, lines, plant, said, seams, tree
from tests.stories.storyline import ended, facts, shell, statuses

pytestmark = pytest.mark.story

TEXT = lines("one", "two", "three", "four", "five")
STEPS = (
    isolated("loud", "sed -i 1s/one/ONE/ a.txt; echo loud > loud.txt", write_set=["*.txt"]),
    isolated("german", "sed -i 1s/one/eins/ a.txt; sed -i s/five/FIVE/ a.txt", write_set=["*.txt"]),
    land("loud", "german"),
    {"id": "use", "run": "cat a.txt", "depends_on": ["land"], "posture": "read_only"},
)


def clashed(home: Path) -> tuple[Run, RunOutcome]:
    """A run that waits for a person: both have changed the first line."""
    plant(home, {"a.txt": TEXT, "b.txt": "b\n"})
    run, outcome = ended(home, *STEPS)
    assert outcome.status == "needs_orchestrator"
    assert statuses(outcome)["land"] == "needs_orchestrator"
    return run, outcome


def test_a_conflict_changes_nothing_names_the_file_with_both_sides_and_opens_a_seam(
    tmp_path: Path,
) -> None:
    run, outcome = clashed(tmp_path)
    assert tree(tmp_path) == {"a.txt": TEXT, "b.txt": "b\n"}
    [conflict] = facts(run, "merge_conflicted")
    assert [file["path"] for file in conflict["files"]] == ["a.txt"]
    assert conflict["between"] == ["loud", "german"]
    report = run.merge(preview=True)
    assert report.status == "conflict"
    marked = report.conflicts[0]["marked_text"]
    assert marked is not None
    assert "ONE" in marked
    assert "eins" in marked
    assert "open" in seams(run).values()
    assert outcome.step("use").checkpoint_status == "held"
    assert not outcome.ok
    assert tree(tmp_path) == {"a.txt": TEXT, "b.txt": "b\n"}


def test_who_mends_the_file_by_hand_and_says_decide_gets_all_of_it_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    run, _ = clashed(tmp_path)
    mended = lines("ONE, eins", "two", "three", "four", "FIVE")
    (tmp_path / "a.txt").write_text(mended)
    code, document = said(tmp_path, "decide", run.id, "land", "accept")
    assert (code, document["status"]) == (0, "completed")
    assert tree(tmp_path) == {"a.txt": mended, "b.txt": "b\n", "loud.txt": "loud\n"}
    assert run.value("use") == mended.removesuffix("\n")
    assert set(seams(run).values()) == {"resolved"}
    [merge] = facts(run, "merge_applied")
    assert merge["solved"] == ["a.txt"]


def test_who_decides_without_mending_is_asked_again(tmp_path: Path) -> None:
    run, _ = clashed(tmp_path)
    code, document = said(tmp_path, "decide", run.id, "land", "accept")
    assert (code, document["status"]) == (4, "needs_orchestrator")
    assert tree(tmp_path) == {"a.txt": TEXT, "b.txt": "b\n"}


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ("loud", "ONE"),
        pytest.param({"a.txt": "german"}, "eins", marks=pytest.mark.sweep),
        pytest.param("workspace", "one", marks=pytest.mark.sweep),
    ],
)
def test_a_side_can_be_named_instead_and_what_does_not_clash_is_kept_of_both(
    tmp_path: Path, value: str | dict[str, str], first: str
) -> None:
    run, _ = clashed(tmp_path)
    words = ["decide", run.id, "land", "accept", "--value", json.dumps(value)]
    code, document = said(tmp_path, *words)
    assert (code, document["status"]) == (0, "completed")
    found = tree(tmp_path)
    assert found["a.txt"].splitlines()[0] == first
    assert found["loud.txt"] == "loud\n"
    assert set(seams(run).values()) == {"resolved"}


def test_by_hand_a_merge_takes_sides_too(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    run, outcome = ended(tmp_path, *STEPS[:2])
    assert outcome.status == "needs_orchestrator", "two changed one file, and nobody said they fit"
    code, document = said(tmp_path, "merge", run.id)
    assert (code, document["status"]) == (4, "conflict")
    assert tree(tmp_path) == {"a.txt": TEXT}
    code, document = said(tmp_path, "merge", run.id, "--side", "a.txt=german")
    assert (code, document["status"]) == (0, "merged")
    assert tree(tmp_path)["a.txt"].splitlines()[0] == "eins"
    assert set(seams(run).values()) == {"resolved"}


def test_rejected_the_merge_is_given_up_and_no_run_is_completed_over_its_seam(
    tmp_path: Path,
) -> None:
    run, _ = clashed(tmp_path)
    code, document = said(tmp_path, "decide", run.id, "land", "reject", "--note", "not now")
    assert code != 0
    assert document["status"] != "completed"
    assert not document["ok"]
    assert "open" in seams(run).values()
    assert tree(tmp_path) == {"a.txt": TEXT, "b.txt": "b\n"}
    again = api.resume(run.id, workspace=tmp_path)
    assert again.wait().status != "completed"
    assert tree(tmp_path) == {"a.txt": TEXT, "b.txt": "b\n"}


def test_merging_twice_changes_nothing(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    run, outcome = ended(tmp_path, STEPS[0])
    assert outcome.status == "completed"
    assert said(tmp_path, "merge", run.id)[1]["status"] == "merged"
    (tmp_path / "a.txt").write_text("mine\n")
    events = len(run.history())
    code, document = said(tmp_path, "merge", run.id)
    assert (code, document["status"]) == (0, "nothing")
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    assert len(run.history()) == events


def test_what_was_taken_back_is_merged_again_by_a_resume_and_later_edits_stay(
    tmp_path: Path,
) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    run, outcome = ended(tmp_path, STEPS[0], land("loud"))
    assert outcome.status == "completed"
    assert (tmp_path / "a.txt").read_text().startswith("ONE")
    (tmp_path / "a.txt").write_text((tmp_path / "a.txt").read_text().replace("five", "mine"))

    code, document = said(tmp_path, "merge", run.id, "--undo")
    assert (code, document["status"]) == (0, "undone")
    assert tree(tmp_path) == {"a.txt": lines("one", "two", "three", "four", "mine")}
    code, document = said(tmp_path, "resume", run.id)
    assert (code, document["status"]) == (0, "completed")
    assert tree(tmp_path) == {
        "a.txt": lines("ONE", "two", "three", "four", "mine"),
        "loud.txt": "loud\n",
    }
    assert [fact["undoes"] for fact in facts(run, "merge_applied")] == [None, "land.1", None]
    assert len(facts(run, "workspace_captured")) == 1, "only the merge was done again"


def test_a_dependent_of_two_that_clash_does_not_start_until_a_person_says_how(
    tmp_path: Path,
) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    both = isolated("both", "cat a.txt", "loud", "german", posture="read_only")
    run, outcome = ended(tmp_path, *STEPS[:2], both)
    assert outcome.status == "needs_orchestrator"
    assert statuses(outcome)["both"] == "needs_orchestrator"
    assert [fact["step"] for fact in facts(run, "attempt_started")] == ["loud", "german"]
    run.decide("both", "accept", value="german")
    outcome = run.wait()
    assert statuses(outcome)["both"] == "checkpoint_ready"
    assert run.value("both").splitlines()[0] == "eins"
    assert outcome.status == "completed"
    assert tree(tmp_path) == {"a.txt": TEXT}


def test_two_that_meet_in_a_file_without_clashing_open_a_seam_that_the_merge_resolves(
    tmp_path: Path,
) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    steps = (
        isolated("top", "sed -i 1s/one/ONE/ a.txt", write_set=["a.txt"]),
        isolated("end", "sed -i s/five/FIVE/ a.txt", write_set=["a.txt"]),
    )
    run, outcome = ended(tmp_path, *steps)
    assert outcome.status == "needs_orchestrator"
    assert list(seams(run).values()) == ["open"]
    assert run.merge().status == "merged"
    assert run.status == "completed"
    assert tree(tmp_path) == {"a.txt": lines("ONE", "two", "three", "four", "FIVE")}
    assert run.resume().wait().status == "completed"
    assert run.merge(undo=True).status == "undone"
    again = run.resume()
    assert not again.is_no_op  # it is not completed any more
    assert again.wait().status == "needs_orchestrator"


@pytest.mark.parametrize("is_forked", [False, True], ids=["same run", "fork"])
def test_a_merge_step_that_found_a_merge_by_hand_runs_again_once_that_is_undone(
    tmp_path: Path, is_forked: bool
) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    source, _ = ended(
        tmp_path,
        isolated("one", "sed -i 1s/one/ONE/ a.txt", write_set=["a.txt"]),
        {"id": "gate", "ask": "Land it?", "depends_on": ["one"]},
        land("one", after=("gate",)),
        shell("use", "head -1 a.txt", "land", posture="read_only"),
    )
    assert source.merge().status == "merged"
    run = source
    if is_forked:
        source.checkpoint("there")
        run = api.resume(source, checkpoint="there")
        run.wait()
    run.accept("gate")
    assert run.wait().status == "completed"
    assert source.merge(undo=True).status == "undone"
    assert tree(tmp_path) == {"a.txt": TEXT}
    if not is_forked:  # a fork notices it when it is resumed
        assert run.status == "partial"
        assert {"code": "merge_undone", "step": "land"} in run.outcome.reasons
    assert run.resume().wait().status == "completed"
    assert run["land"].outcome.attempt == 2
    assert tree(tmp_path) == {"a.txt": TEXT.replace("one", "ONE")}


def test_a_seam_that_a_step_declares_is_resolved_by_a_later_step_or_with_a_note(
    tmp_path: Path,
) -> None:
    declares = isolated(
        "types", "echo 1 > types.txt", write_set=["types.txt"], seams=["types ↔ cloud"]
    )
    answers = isolated("fit", "true", "types", posture="read_only", seams=["types ↔ cloud"])
    run, outcome = ended(tmp_path, declares, answers)
    assert outcome.status == "completed"
    assert list(seams(run).values()) == ["resolved"]

    run, outcome = ended(tmp_path, declares)
    assert outcome.status == "needs_orchestrator"
    [seam] = seams(run)
    code, document = said(tmp_path, "decide", run.id, seam, "accept", "--note", "cloud was told")
    assert (code, document["status"]) == (0, "completed")
    assert "cloud was told" in str(document["seam_obligations"])


def test_a_fork_knows_of_a_merge_that_was_taken_back_after_its_checkpoint(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "a\n"})
    steps = [
        isolated("edit", "echo A > a.txt", write_set=["a.txt"]),
        land("edit"),
        isolated("look", "cat a.txt", "land", posture="read_only"),
    ]
    run, _ = ended(tmp_path, *steps)
    run.checkpoint("all")
    run.merge(undo=True)
    assert (tmp_path / "a.txt").read_text() == "a\n"
    fork = api.resume(run.id, checkpoint="all", from_step="look", workspace=tmp_path)
    assert fork.id != run.id
    assert fork.wait().status == "completed", "it merged anew"
    assert fork.output("look") == "A\n"
    assert (tmp_path / "a.txt").read_text() == "A\n"


def test_a_merge_settled_wholly_by_the_users_own_files_can_be_taken_back(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    run, _ = ended(
        tmp_path,
        isolated("loud", "sed -i 1s/one/ONE/ a.txt", write_set=["*.txt"]),
        isolated("german", "sed -i 1s/one/eins/ a.txt", write_set=["*.txt"]),
    )
    mine = TEXT.replace("one", "uno")
    (tmp_path / "a.txt").write_text(mine)
    assert said(tmp_path, "merge", run.id, "--side", "workspace")[1]["status"] == "merged"
    assert (set(seams(run).values()), said(tmp_path, "merge", run.id)[1]["status"]) == (
        {"resolved"},
        "nothing",
    )
    code, document = said(tmp_path, "merge", run.id, "--undo")
    assert (code, document["status"], document["undoes"]) == (0, "undone", "m1")
    assert "open" in seams(run).values()
    assert tree(tmp_path)["a.txt"] == mine
    assert said(tmp_path, "merge", run.id, "--side", "loud")[1]["status"] == "merged"
    assert tree(tmp_path)["a.txt"].splitlines()[0] == "ONE"


def failing(home: Path) -> tuple[dict[str, object], Path]:
    """A dependent of both that fails, once it has begun, until a file outside of the project is there."""
    flag = home.parent / f"{home.name}-mended"
    return isolated("both", f"cat a.txt; test -e {flag}", "loud", "german"), flag


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ({"a.txt": "loud"}, "ONE"),
        (None, "both"),
        pytest.param("german", "eins", marks=pytest.mark.sweep),
        pytest.param("workspace", "one", marks=pytest.mark.sweep),
    ],
)
def test_what_a_person_solved_stays_solved_when_the_step_fails_later_and_is_resumed(
    tmp_path: Path, value: str | dict[str, str] | None, first: str
) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    both, flag = failing(tmp_path)
    run, _ = ended(tmp_path, *STEPS[:2], both)
    if value is None:
        (tmp_path / "a.txt").write_text(TEXT.replace("one", "both"))
    run.decide("both", "accept", value=value)
    assert statuses(run.wait())["both"] == "failed"
    for _ in range(2):
        outcome = api.resume(run.id, workspace=tmp_path).wait()
        assert statuses(outcome)["both"] == "failed", "it began, and nobody was asked again"
    assert len(facts(run, "merge_conflicted")) == 1
    flag.touch()
    outcome = api.resume(run.id, workspace=tmp_path).wait()
    assert statuses(outcome)["both"] == "checkpoint_ready"
    assert run.output("both").splitlines()[0] == first


def test_what_was_solved_is_asked_again_once_a_side_is_another(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": TEXT})
    both, flag = failing(tmp_path)
    run, _ = ended(tmp_path, *STEPS[:2], both)
    run.decide("both", "accept", value="german")
    assert statuses(run.wait())["both"] == "failed"
    flag.touch()
    mine = TEXT.replace("one", "uno")
    (tmp_path / "a.txt").write_text(mine)
    outcome = api.resume(run.id, workspace=tmp_path).wait()
    assert statuses(outcome)["both"] == "needs_orchestrator", "the user's file is another"
    outcome = api.resume(run.id, from_step="loud", workspace=tmp_path).wait()
    assert statuses(outcome)["both"] == "needs_orchestrator", "a step began anew"
    assert len(facts(run, "merge_conflicted")) == 3
    assert tree(tmp_path) == {"a.txt": mine}


def test_a_merge_step_that_is_done_again_after_it_was_taken_back_asks_again(tmp_path: Path) -> None:
    run, _ = clashed(tmp_path)
    said(tmp_path, "decide", run.id, "land", "accept", "--value", '"german"')
    assert said(tmp_path, "merge", run.id, "--undo")[1]["status"] == "undone"
    assert said(tmp_path, "resume", run.id)[1]["status"] == "needs_orchestrator"
    assert len(facts(run, "merge_conflicted")) == 2
