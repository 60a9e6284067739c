"""What a person reads when files clash, wait or were merged: what happened, and what to do next, once and in words."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments, RunNotCompleted
from pixirnb.machine.diagnosis import DiagnosisInput, findings
from pixirnb.machine.merge_requests import MergeReport
from pixirnb.machine.outcome import RunOutcome, outcome
from pixirnb.machine.requests import Request, grant
from pixirnb.testing.generators.histories import Rehearsal
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.files.merge_report import merge_blocks
from pixirnb.views.run.explain import explain
from pixirnb.views.run.isolation_overview import Copies, copies_blocks
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.run.self_display import Bundle, unsafe_reason
from tests.views.file_histories import clashing, met, seen


def standing(play: Rehearsal) -> RunOutcome:
    return outcome(play.plan, play.board.run, is_live=False)


FILES: Any = {
    "patch": None,
    "files": [{"path": "a.txt", "change": "modified", "added": 1, "deleted": 1}],
    "count": 1,
}
CLASH: Any = {
    "path": "a.txt",
    "kind": "content",
    "sides": [],
    "marked_text": "<<<<<<< a\nmine\n=======\ntheirs\n>>>>>>> b\n",
}


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (MergeReport("r", "nothing", []), ["Nothing to merge"]),
        (MergeReport("r", "clean", ["a"], preview=True, changes=FILES), ["Would merge", "a.txt"]),
        (MergeReport("r", "merged", ["a"], merge="m1", changes=FILES), ["Merged", "m1", "--undo"]),
        (
            MergeReport("r", "undone", [], merge="m2", undoes="m1", changes=FILES),
            ["Undid merge m1"],
        ),
        (
            MergeReport("r", "conflict", ["a"], between=["workspace", "a"], conflicts=[CLASH]),
            ["Your files and a changed a.txt in different ways", "mine", "theirs", "--side a"],
        ),
    ],
)
def test_a_report_of_a_merge_shows_itself_in_a_cell_and_in_print(
    report: MergeReport, told: list[str]
) -> None:
    shown = report._repr_mimebundle_()  # type: ignore[attr-defined]

    assert str(report) == shown["text/plain"]
    for words in told:
        assert words in shown["text/plain"]
        assert words in shown["text/html"]


def test_a_side_for_a_file_that_is_not_in_conflict_is_told() -> None:
    document = MergeReport("r", "merged", ["a"], changes=FILES, unmatched=["nofile"]).document()

    assert "No conflict in nofile" in draw_text(merge_blocks(document))


def test_a_step_in_conflict_says_everywhere_to_put_the_files_right_first() -> None:
    play = clashing()
    found = standing(play)

    assert "resolving the conflict in your files" in draw_text(outcome_blocks(found.document()))
    assert "Resolve it in your files" in explain(play.plan, play.board.run, "land")[0]
    with pytest.raises(RunNotCompleted) as refused:
        api.expect(found)
    assert refused.value.fix.startswith("resolve the conflicting files in your folder")


def test_beside_a_question_about_files_no_resume_is_offered_that_would_only_ask_again() -> None:
    play = clashing()
    cells = [action["cell"] for action in standing(play).next_actions]

    assert any(cell.endswith(" land accept") for cell in cells)
    assert not [cell for cell in cells if cell.startswith("%pixir resume")]


def test_the_note_on_the_seam_of_a_conflict_says_that_the_conflict_stays() -> None:
    seams = {seam["reason"]: seam for seam in seen(clashing(), "api")["seams"]}

    assert seams["merge conflict"]["aside"].startswith("A note only confirms")
    assert seams["both changed the same files"]["aside"] == ""


def test_the_question_about_writes_outside_stands_once_in_the_panel() -> None:
    told = seen(met(outside=["x/y"]), "types")

    assert told["question"]["is_open"]
    assert told["error"] is None
    assert not [sentence for sentence in told["why"] if "question" in sentence]


def test_what_is_not_safe_to_build_on_says_why() -> None:
    play = met(outside=["x/y"])
    step = next(s for s in standing(play).steps if s.step_id == "types")
    reason = unsafe_reason(step.document())

    assert reason.startswith("needs a decision: ")
    assert reason.endswith("[writes_outside_write_set]")
    assert step.checkpoint is not None
    shown = Bundle(step.checkpoint, reason)._repr_mimebundle_()
    assert "needs a decision" in shown["text/plain"]
    assert "needs a decision" in shown["text/html"]


def test_the_doctor_offers_for_an_open_seam_the_word_that_resolves_it() -> None:
    play = clashing()
    run = play.board.run
    found = findings(play.plan, run, standing(play), DiagnosisInput())
    actions = [each.next_action for each in found if each.code == "seam_open"]

    assert actions
    for action in actions:
        assert action is not None
        assert action["cell"].endswith("accept --note WHY")
        assert action["step"] in play.plan.index


def test_an_id_stands_in_a_plan_as_it_is_written() -> None:
    told = draw_html(copies_blocks(Copies(("a",), (("land", ("a",)),)), {}))

    assert "<code>land</code> merges:" in told
    assert "Land" not in told


@pytest.mark.parametrize(
    ("step", "words", "fix"),
    [
        ("land", "waits for a conflict to be solved", "Put the files right"),
        ("types", "waits for a decision", "accept"),
    ],
)
def test_what_cannot_be_merged_yet_says_how_it_stands_in_words(
    step: str, words: str, fix: str
) -> None:
    play = clashing() if step == "land" else met(outside=["x/y"])
    with pytest.raises(InvalidArguments) as refused:
        grant(Request("q", "merge", {"steps": [step]}, "ada"), play.plan, play.board.run)
    if refused.value.code == "merge_not_ready":
        assert words in refused.value.message
        assert fix in refused.value.fix
    assert "needs_orchestrator" not in refused.value.message


def test_a_side_that_there_is_none_of_is_refused_in_words() -> None:
    play = met()
    said = {"steps": ["types"], "sides": {"src/a.py": "nobody"}}
    with pytest.raises(InvalidArguments) as refused:
        grant(Request("q", "merge", said, "ada"), play.plan, play.board.run)
    assert refused.value.message == "unknown version `nobody` for `src/a.py`"
    assert "`types`" in refused.value.fix
