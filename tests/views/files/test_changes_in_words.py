"""What became of files is said in the same words in a log, an outcome, an explanation, a diff and a merge's report."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pixirnb.history.bundles import CheckpointBundle
from pixirnb.history.run_state import fold
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load
from pixirnb.testing.generators.file_facts import NO_BLOB, captured, change, merged
from pixirnb.testing.generators.histories import Rehearsal, events_of
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.files.changes import PATCH_ROOM, diff_document
from pixirnb.views.files.diff import Diff, diff_blocks
from pixirnb.views.files.merge_report import merge_blocks
from pixirnb.views.live.tape import Tape
from pixirnb.views.picture.dot import dot
from pixirnb.views.picture.mermaid import mermaid
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.bundle_view import bundle_blocks
from pixirnb.views.run.event_lines import event_sentence
from pixirnb.views.run.explain import explain
from pixirnb.views.run.isolation_overview import copies
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.run.plan_view import plan_blocks
from tests.views.file_histories import MARKED, PATCH, SPEC, clashing, landed, met, undone
from tests.views.pictures import opened_card, written_out


def blob(digest: str, limit: int) -> tuple[bytes, int]:
    """The one patch there is."""
    assert digest == NO_BLOB
    return PATCH[:limit], len(PATCH)


def diff_of(play: Rehearsal, of: str | None = None, **how: Any) -> Any:
    return diff_document(play.plan, fold(play.events), of, blob, **how)


def lines_of(play: Rehearsal, *kinds: str) -> list[str]:
    return [event_sentence(event) for event in play.events if event.kind in kinds]


# --- the log --------------------------------------------------------------------------------------------------------


def test_every_event_about_files_is_a_sentence() -> None:
    assert lines_of(clashing(), "workspace_captured", "merge_conflicted", "seam_opened") == [
        "± types: attempt 1 left 2 files, +10 -1",
        "± api: attempt 1 left 1 file, +2 -0",
        "◇ seam s1 opened: types and api: both changed the same files, src/a.py",
        "◆ land: not merged: your files and api changed src/a.py in different ways",
        "◇ seam s2 opened: your files, api and land: merge conflict, src/a.py",
    ]
    assert lines_of(undone(), "merge_applied", "seam_resolved") == [
        "⊕ land.1 by land: merged changes of types, api: 2 files, +12 -1",
        "◇ seam s1 resolved by land: merged together in land.1, by land",
        "⊕ m2 by ada: undid land.1: 2 files, +1 -12",
    ]
    (outside,) = events_of([captured("a", files=[change("x")], outside=["x", "y"])])
    assert event_sentence(outside).endswith("; 2 files outside its write_set")


def test_a_merge_taken_back_changes_the_look_of_the_step_that_did_it() -> None:
    play = undone()
    tape = Tape(play.plan)
    tape.extend(play.events)

    changed = tape.entries[-1][4]
    assert changed[0] == play.plan.index["land"]


# --- outcome, bundle, explanation -----------------------------------------------------------------------------------


def test_an_outcome_lists_its_seams_open_ones_first_with_what_can_be_done() -> None:
    document = clashing().outcome().document()
    told = draw_text(outcome_blocks(document))

    assert "seam s1 of api is open" in told
    assert "seam s1 (open): types and api: both changed the same files, src/a.py" in told
    assert "decide r-20261121T220344-rehearsal s1 accept --note <WHY>" in told
    assert "merge isolated changes into your files" in told
    assert "types and api: both changed the same files" in draw_html(outcome_blocks(document))
    mermaid(None, document, [])


def test_a_merge_taken_back_is_a_reason_in_words() -> None:
    assert "the merge of land was undone" in draw_text(
        outcome_blocks(undone().outcome().document())
    )


def test_a_bundle_lists_the_files_that_were_changed() -> None:
    bundle = met().outcome().step("types").document()["checkpoint"]

    assert bundle is not None
    assert "changed: 2 files, +10 -1" in draw_text(bundle_blocks(bundle))
    assert "A  src/new.py  +9 -0" in draw_text(bundle_blocks(bundle))
    assert "src/new.py" in draw_html(bundle_blocks(bundle))


def test_a_merge_does_not_call_a_conflict_resolved_by_hand_where_a_version_was_chosen() -> None:
    play = landed(solved=["a.py"])
    land = " ".join(explain(play.plan, fold(play.events), "land"))
    lines = " ".join(lines_of(play, "merge_applied"))

    assert "conflicts were resolved in `a.py`." in land
    assert "1 file with resolved conflicts" in lines
    assert "by hand" not in land + lines


def test_a_bundle_shows_each_check_as_a_person_writes_it() -> None:
    check = {"check": {"file_exists": "a b"}, "passed": True, "evidence": {"saw": "1 found"}}
    shown = draw_text(bundle_blocks(cast(CheckpointBundle, {"verification": [check]})))

    assert "✓ passed  file_exists a b  a file that matches  1 found" in shown
    assert "{" not in shown


def test_an_explanation_says_where_the_work_lies() -> None:
    play = landed()
    run = fold(play.events)
    types, land = (" ".join(explain(play.plan, run, step)) for step in ("types", "land"))

    assert "It ran in an isolated workspace and changed 2 files, +10 -1" in types
    assert "merge land.1 merged them into your files." in types
    assert "Merge land.1 merged the changes of `types`, `api` into your files" in land
    assert "Seam `s1` is resolved" in types
    back = undone()
    again = explain(back.plan, fold(back.events), "land")
    assert again[0] == "`land` must run again: its merge land.1 was undone."
    assert "selected" not in " ".join(again)
    alone = met(files=[], built_on=["api"], outside=["x"])
    told = explain(alone.plan, fold(alone.events), "types")
    assert "It ran in an isolated workspace and changed nothing." in told
    assert "Its workspace started with the changes of `api`." in told
    assert "Outside its `write_set` it changed `x`." in told


# --- diff -----------------------------------------------------------------------------------------------------------


def test_a_diff_shows_every_isolated_step_and_what_is_merged_of_it() -> None:
    told = draw_text(diff_blocks(diff_of(met())))

    assert told.startswith("types · 2 files, +10 -1 · not merged\n")
    assert "\napi · 1 file, +2 -0 · not merged\n" in told
    assert "M src/a.py\n── line 1, below “def f():” ──\n-one\n+ONE\n two" in told
    assert "land" not in told
    after = draw_text(diff_blocks(diff_of(landed())))
    assert "types · 2 files, +10 -1 · merged by land.1" in after
    assert "  land.1  types, api  by land" in after


def test_a_diff_of_one_step_or_one_merge_is_of_that_alone() -> None:
    play = landed()

    assert [each["step"] for each in diff_of(play, "api")["changes"]] == ["api"]
    assert diff_of(play, "land")["changes"][0]["merge"] == "land.1"
    assert diff_of(play, "land.1")["changes"][0]["changes"]["count"] == 2
    assert "merges" not in draw_text(diff_blocks(diff_of(play, "plain"))), (
        "it has to do with none of them"
    )
    assert [each["merge"] for each in diff_of(undone(), "types")["merges"]] == ["land.1"]
    assert [each["merge"] for each in diff_of(undone(), "land.1")["merges"]] == ["land.1", "m2"]
    for of, words in (("plain", "shared workspace"), ("land", "not merged anything")):
        document = diff_of(met(), of)
        assert document["changes"] == []
        assert words in draw_text(diff_blocks(document))
        assert words in draw_html(diff_blocks(document))
    with pytest.raises(KeyError):
        diff_of(play, "nobody")


def test_a_run_without_copies_says_that_there_is_nothing() -> None:
    play = Rehearsal(met().plan).begin()

    assert draw_text(diff_blocks(diff_of(play))) == "No isolated step of this run has changes."


def test_colours_are_ours_and_only_where_they_are_wanted() -> None:
    document = diff_of(met(files=[change("a\x1b[31m")]), "types")
    patch = "diff --git a/x b/x\n@@ -1 +1,2 @@\n-a\n+b\n+\x1b[2J\u202etrick\n"
    document["changes"][0]["patch_text"] = patch

    assert "\x1b" not in draw_text(diff_blocks(document))
    assert "+<U+001B>[2J<U+202E>trick" in draw_text(diff_blocks(document))
    painted = draw_text(diff_blocks(document), is_painted=True).split("\x1b[")[1:]
    assert {part.split("m")[0] for part in painted} == {"0", "1", "31", "32", "36"}


def test_a_long_patch_is_cut_and_says_so() -> None:
    def long(_: str, limit: int) -> tuple[bytes, int]:
        body = b"".join(b"+%d\n" % n for n in range(200_000))
        data = b"diff --git a/x b/x\n@@ -0,0 +1,200000 @@\n" + body
        return data[:limit], len(data)

    play = met()
    document = diff_document(play.plan, fold(play.events), "types", long)
    (entry,) = document["changes"]

    assert entry["patch_text"] is not None
    assert 0 < len(entry["patch_text"]) <= PATCH_ROOM
    assert entry["patch_text"].endswith("\n")
    assert entry["patch_cut"] > 0
    told = draw_text(diff_blocks(document))
    assert len(told.split("\n")) < 1_100
    assert f"bytes. The whole patch is blob {NO_BLOB[:20]}" in told
    assert "The whole patch is blob" in draw_html(diff_blocks(document))


def test_stat_leaves_the_patches_out() -> None:
    document = diff_of(met(), with_patch=False)

    assert [each["patch_text"] for each in document["changes"]] == [None, None]
    assert "@@" not in draw_text(diff_blocks(document))
    assert "src/new.py" in draw_html(diff_blocks(document))


def test_a_diff_shows_itself() -> None:
    shown = Diff(diff_of(met()))

    assert repr(shown) == "<Diff r-20261121T220344-rehearsal: 3 files>"
    assert shown._repr_mimebundle_()["text/plain"] == str(shown)
    assert "<details>" in shown._repr_mimebundle_()["text/html"]


# --- merge ----------------------------------------------------------------------------------------------------------


def reported(status: str, **told: Any) -> Any:
    return {"run_id": "r-1", "status": status, "steps": ["types", "api"], "merge": None,
            "undoes": None, "preview": False, "changes": {"patch": None, "files": []},
            "between": [], "conflicts": [], **told}  # fmt: skip


BROUGHT = merged("m1", ["types"], files=[change("src/a.py"), change("b", "deleted", 0, 3)]).data


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            reported("merged", merge="m1", changes=BROUGHT["changes"]),
            "Merged the changes of types, api into your files as m1: 2 files, +1 -3.",
        ),
        (reported("clean", preview=True), "Nothing was changed."),
        (reported("clean", preview=True), "can be merged"),
        (reported("clean", preview=True, undoes="m1"), "Would undo merge m1"),
        (reported("clean", preview=True, undoes="m1"), "can be undone"),
        (reported("nothing", steps=[]), "Nothing to merge"),
        (reported("undone", undoes="m1"), "Undid merge m1"),
        (reported("a_status_to_come"), "a_status_to_come"),
    ],
)
def test_a_merge_says_what_it_did_and_nothing_more(document: Any, words: str) -> None:
    assert words in draw_text(merge_blocks(document, command="pixirnb"))
    if document["status"] != "a_status_to_come":
        assert words in draw_html(merge_blocks(document))


def test_a_conflict_shows_both_sides_and_the_commands_that_solve_it() -> None:
    clash = {"path": "src/a.py", "kind": "content", "marked_text": MARKED,
             "sides": [{"name": "workspace", "mode": "100644", "bytes": 9},
                       {"name": "api", "mode": None, "bytes": None}]}  # fmt: skip
    document = reported("conflict", between=["workspace", "api"], conflicts=[clash])
    told = draw_text(merge_blocks(document, command="pixirnb"))

    assert "Your files and api changed src/a.py in different ways. Nothing was changed." in told
    assert "src/a.py: both changed the same lines. your files: 9 bytes · api: missing" in told
    assert "┌ your files\n    │ mine\n    ┌ api\n    │ theirs\n" in told
    assert "pixirnb merge r-1 types api --side api" in told
    assert "mine" in draw_html(merge_blocks(document))


def test_a_merge_that_cannot_be_taken_back_is_put_right_by_hand_and_has_no_sides() -> None:
    document = reported("conflict", undoes="m1", between=["workspace", "m1"])
    for told in (draw_text(merge_blocks(document)), draw_html(merge_blocks(document))):
        assert "fix them in your folder" in told
        assert "merge r-1 --undo" in told
        assert "--side" not in told
        assert "merge r-1 types" not in told


def test_a_preview_whose_patch_is_cut_says_how_much_is_left_out() -> None:
    patch = "diff --git a/src/a.py b/src/a.py\n@@ -0,0 +1 @@\n+x\n"
    changes = {**BROUGHT["changes"], "patch": None, "patch_text": patch, "patch_cut": 4_321}
    document = reported("clean", preview=True, changes=changes)
    for told in (draw_text(merge_blocks(document)), draw_html(merge_blocks(document))):
        assert "4,321 bytes" in told


# --- plans and pictures ---------------------------------------------------------------------------------------------


def test_a_plan_says_who_works_apart_what_merges_it_and_which_folders_there_are() -> None:
    spec = {**SPEC, "repos": {"cloud": "../cloud"}}
    fact = PathFact(
        exists=True,
        is_directory=True,
        is_git=True,
        is_writable=False,
        is_inside=False,
        resolved="/c",
    )
    planned = report(require(load(spec)), Environment(repos={"cloud": fact}))
    document = planned.document()
    found = copies(planned.spec)
    told = draw_text(plan_blocks(document, copies=found))

    assert "isolated workspaces: types, api" in told
    assert "land merges: types, api" in told
    assert "cloud       ../cloud  a git repository, not writable" in told
    shown = opened_card(plan_blocks(document, copies=found))
    assert "isolated workspaces" in shown
    assert shown.count('class="pixirnb-copy"') == 2


def test_a_step_that_works_in_a_copy_is_drawn_with_a_second_sheet() -> None:
    drawn = written_out(picture(None, met().outcome().document()))

    assert drawn.count('class="pixirnb-copy"') == 2
    assert "shell step in an isolated workspace" in drawn
    document = met().outcome().document()
    assert (
        mermaid(None, document, []).count("isolated") == dot(None, document).count("isolated") == 2
    )
