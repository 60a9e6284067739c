"""A panel says what a step changed and whether that is merged, what clashes, and which seams are its."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.history.run_state import fold
from pixirnb.testing.generators.file_facts import change, merged, resolved
from pixirnb.testing.generators.histories import Rehearsal, events_of
from pixirnb.views.files.conflicts import conflict_document
from pixirnb.views.files.patch_parser import parse_patch
from pixirnb.views.live.controls import controls
from pixirnb.views.live.panel_files import patch_document
from tests.views.file_histories import MARKED, PATCH, clashing, landed, met, seen, undone
from tests.views.view_samples import HOSTILE


def controls_of(play: Rehearsal, **how: Any) -> Any:
    run = fold(play.events)
    told: Any = {"live": "", "is_past": False, "folder": "/f", **how}
    return controls(play.outcome().document(), run, **told)


def test_changes_of_a_ready_step_can_be_merged_and_say_that_they_are_not() -> None:
    files = seen(met(), "types")["files"]

    assert files["phrase"] == "2 files, +10 -1"
    assert [file["path"] for file in files["files"]] == ["src/a.py", "src/new.py"]
    assert files["sentence"] == "Not in your files until you merge the step."
    assert files["wishes"] == {"merge": {"do": "merge", "steps": ["types"]}, "undo": None}
    assert files["merge"] is None


def test_what_a_step_began_with_is_merged_with_it() -> None:
    play = met(built_on=["api"])  # as if types had begun with it

    assert seen(play, "types")["files"]["wishes"]["merge"]["steps"] == ["types", "api"]


def test_merged_changes_name_their_merge_and_only_the_last_can_be_taken_back() -> None:
    play = landed()
    types, land = seen(play, "types")["files"], seen(play, "land")["files"]

    assert types["merge"] == land["merge"] == "land.1"
    assert types["sentence"] == "In your files since merge land.1."
    assert land["phrase"] == "2 files, +12 -1"
    assert (
        types["wishes"] == land["wishes"] == {"merge": None, "undo": {"do": "merge", "undo": True}}
    )


def test_only_the_last_merge_can_be_taken_back() -> None:
    play = met()
    files = [change("src/a.py")]
    play.record(merged("m1", ["types"], files=files), merged("m2", ["api"], files=files))

    assert seen(play, "types")["files"]["wishes"]["undo"] is None
    assert seen(play, "api")["files"]["wishes"]["undo"] is not None
    assert [merge["wish"] is None for merge in controls_of(play)["merges"]] == [False, True]


def test_a_merge_taken_back_leaves_its_steps_to_be_merged_again() -> None:
    play = undone()

    assert seen(play, "types")["files"]["wishes"]["merge"] is not None
    assert seen(play, "land")["files"] is None
    (back, first) = controls_of(play)["merges"]
    assert (back["merge"], back["undoes"], back["wish"]) == ("m2", "land.1", None)
    assert (first["merge"], first["undone"], first["wish"]) == ("land.1", True, None)


def test_a_step_in_the_users_own_files_has_no_such_part() -> None:
    told = seen(met(), "plain")

    assert (told["files"], told["clash"], told["seams"]) == (None, None, [])


def test_what_lies_outside_or_stays_behind_is_listed() -> None:
    files = seen(met(outside=["x/y"], left_behind=[".env"]), "types")["files"]

    assert files["outside"] == {"paths": ["x/y"], "count": 1}
    assert files["left_behind"] == {"paths": [".env"], "count": 1}


def test_a_conflict_names_its_files_and_the_words_that_solve_it_and_asks_no_other_question() -> (
    None
):
    told = seen(clashing(), "land")
    clash = told["clash"]

    assert clash["sentence"] == "Your files and api changed src/a.py in different ways."
    assert [side["name"] for side in clash["sides"]] == ["workspace", "api", "types"]
    assert clash["is_open"]
    assert clash["wishes"]["accept"] == {"do": "decide", "step": "land", "verdict": "accept"}
    assert clash["wishes"]["reject"]["verdict"] == "reject"
    assert told["question"] is None
    assert told["headline"].startswith("`land` waits for a merge conflict to be resolved.")


def test_what_was_said_of_a_conflict_is_shown_as_said() -> None:
    play = clashing()
    word = events_of([play.decision("land", value="api")], after=len(play.events))
    after = Rehearsal(play.plan, [*play.events, *word])
    told = seen(after, "land")

    assert told["question"]["said"]["value"] == "api"
    assert not told["clash"]["is_open"]
    assert told["clash"]["wishes"] == {"accept": None, "reject": None}


def test_seams_come_open_ones_first_with_the_word_that_resolves_them() -> None:
    play = clashing()
    seams = seen(play, "api")["seams"]

    assert [(seam["seam"], seam["is_open"]) for seam in seams] == [("s1", True), ("s2", True)]
    assert seams[0]["reason"] == "both changed the same files"
    assert seams[0]["wish"] == {"do": "decide", "step": "s1", "verdict": "accept"}
    assert [seam["seam"] for seam in controls_of(play)["seams"]] == ["s1", "s2"]
    after = seen(landed(), "api")["seams"][0]
    assert (after["is_open"], after["wish"]) == (False, None)
    assert after["resolution"] == "merged together in land.1, by land"


def test_an_open_seam_stands_before_one_that_was_resolved_earlier() -> None:
    play = clashing()
    word = events_of([resolved("s1", "fits")], after=len(play.events))
    after = Rehearsal(play.plan, [*play.events, *word])

    assert [seam["seam"] for seam in seen(after, "api")["seams"]] == ["s2", "s1"]


@pytest.mark.parametrize("history", [clashing, landed], ids=["clashing", "landed"])
@pytest.mark.parametrize("step", ["types", "api", "land"])
def test_the_past_and_a_damaged_log_offer_nothing(step: str, history: Any) -> None:
    play = history()
    told = seen(play, step, upto=len(play.events) - 1)

    assert told["is_past"]
    wishes = [told["files"]["wishes"]] if told["files"] else []
    wishes += [told["clash"]["wishes"]] if told["clash"] else []
    assert all(wish is None for each in wishes for wish in each.values())
    assert all(seam["wish"] is None for seam in told["seams"])
    past = controls_of(play, is_past=True)
    assert [each["wish"] for each in (*past["seams"], *past["merges"]) if each["wish"]] == []


def test_a_patch_is_told_file_by_file_with_what_is_left_out() -> None:
    told = patch_document(parse_patch(PATCH.decode(), lines=2), 0)

    (file,) = told["files"]
    assert (file["path"], file["sign"], file["added"], file["deleted"]) == ("src/a.py", "M", 1, 1)
    assert file["hunks"] == [
        {"head": "line 1, below “def f():”", "lines": [["deleted", "one"], ["added", "ONE"]]}
    ]
    assert told["sentence"].startswith("Not shown: 1 line.")


def test_both_sides_of_a_text_are_taken_apart() -> None:
    told = conflict_document({"path": "a", "kind": "content", "sides": []}, MARKED)

    assert told["pieces"] == [
        {"both": ["same"]},
        {"ours": ["mine"], "theirs": ["theirs"]},
        {"both": ["end"]},
    ]
    assert told["words"] == "both changed the same lines"


def test_of_what_both_sides_share_only_what_is_near_a_difference_is_shown() -> None:
    same = "".join(f"{n}\n" for n in range(30))
    clash = "<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\n"
    told = conflict_document(cast("Any", {"path": "a"}), same + clash + same + clash + same)[
        "pieces"
    ]

    hidden = "… {} unchanged lines …"
    assert told[0] == {"both": [hidden.format(27), "27", "28", "29"]}
    assert told[2] == {"both": ["0", "1", "2", hidden.format(24), "27", "28", "29"]}
    assert told[4] == {"both": ["0", "1", "2", hidden.format(27)]}


def test_no_name_and_no_content_reaches_a_browser_uncleaned() -> None:
    for text in HOSTILE:
        files = [change(text), change(f"b{text}", "deleted", None, None, mode=["100755", None])]
        play = met(files=files, outside=[text], left_behind=[text], built_on=[text])
        sent = json.dumps(seen(play, "types")["files"], ensure_ascii=False)
        sent += json.dumps(
            patch_document(parse_patch(f"diff --git a/x b/x\n@@ -1 +1 @@ {text}\n+{text}"), 3)
        )
        told = {**conflict_document({"path": text, "kind": text, "sides": []}, text), "value": ""}
        sent += json.dumps(told, ensure_ascii=False)
        assert not any(sign in sent for sign in "\x1b\u202e\u2066\x07\x9b\x00")


@given(st.one_of(st.text(), st.lists(st.sampled_from(
    ["<<<<<<<", "<<<<<<< ours", "=======", ">>>>>>> theirs", "|||||||", "a", "", "\r"])).map("\n".join)))  # fmt: skip
def test_any_text_can_be_taken_for_a_conflict(text: str) -> None:
    told = conflict_document({"path": "a", "kind": "content", "sides": []}, text)

    rows = [row for piece in told["pieces"] for part in piece.values() for row in part]
    assert len(rows) <= len(text.split("\n"))
