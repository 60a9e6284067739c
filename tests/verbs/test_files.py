"""`diff` and `merge` in a terminal: what isolated steps changed, brought back whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.verbs.files import sides_of
from tests.verbs.command import Said, command, written

FLOW = """
name: two
steps:
  - {id: types, run: "sed -i s/one/ONE/ a.txt; echo new > n.txt", workspace: isolated, write_set: [a.txt, n.txt]}
  - {id: api, run: "sed -i s/one/uno/ a.txt", workspace: isolated, write_set: [a.txt]}
  - {id: plain, run: "true", posture: read_only}
"""


@pytest.fixture
def run_id(tmp_path: Path) -> str:
    """A run of two writers who changed one line otherwise; nothing is merged."""
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    said = command("run", written(tmp_path, FLOW), "--json")
    return str(said.document()["run_id"])


def test_a_diff_is_plain_text_where_nobody_sees_colours(run_id: str) -> None:
    said = command("diff", run_id)

    assert said.code == 0
    assert "types · 2 files, +2 -1 · not merged" in said.out
    assert "-one\n+ONE\n two" in said.out
    assert "\x1b" not in said.out
    assert "api" not in command("diff", run_id, "types").out
    assert "@@" not in command("diff", run_id, "--stat").out
    assert command("diff", run_id, "plain").code == 0
    assert command("diff", run_id, "nobody").code == 2


def test_a_preview_changes_nothing_and_a_merge_does_what_it_said(
    run_id: str, tmp_path: Path
) -> None:
    seen = command("merge", run_id, "types", "--preview")

    assert (seen.code, (tmp_path / "n.txt").exists()) == (0, False)
    assert "can be merged" in seen.out
    done = command("merge", run_id, "types", "--json").document()
    assert (done["status"], done["merge"], done["ok"]) == ("merged", "m1", True)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "ONE\ntwo\n"
    again = command("merge", run_id, "types")
    assert (again.code, "nothing to merge" in again.out) == (0, True)
    assert "merged by m1" in command("diff", run_id).out


def test_a_conflict_exits_4_names_the_file_and_says_how_to_go_on(
    run_id: str, tmp_path: Path
) -> None:
    command("merge", run_id, "types")
    said = command("merge", run_id, "api")

    assert said.code == 4
    assert "Your files and api changed a.txt in different ways. Nothing was changed." in said.out
    assert f"pixirnb merge {run_id} api --side workspace" in said.out
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "ONE\ntwo\n"
    assert command("merge", run_id, "api", "--side", "a.txt=api").code == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "uno\ntwo\n"


def test_an_undo_takes_the_last_merge_back_and_leaves_what_was_written_since(
    run_id: str, tmp_path: Path
) -> None:
    command("merge", run_id, "types")
    (tmp_path / "mine.txt").write_text("mine\n", encoding="utf-8")
    said = command("merge", run_id, "--undo")

    assert said.code == 0
    assert "Undid merge m1" in said.out
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    assert (tmp_path / "mine.txt").exists()
    assert not (tmp_path / "n.txt").exists()
    assert command("merge", run_id, "--undo").code == 2


def test_an_undo_is_looked_at_first_with_the_changes_the_other_way_round(
    run_id: str, tmp_path: Path
) -> None:
    command("merge", run_id, "types")
    seen = command("merge", run_id, "--undo", "--preview", "--json").document()

    assert (seen["status"], seen["undoes"], seen["steps"]) == ("clean", "m1", ["types"])
    assert [(f["path"], f["change"]) for f in seen["changes"]["files"]] == [
        ("a.txt", "modified"),
        ("n.txt", "deleted"),
    ]
    assert "-ONE\n+one" in seen["changes"]["patch_text"]
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "ONE\ntwo\n"


def test_an_undo_that_conflicts_says_so_beforehand_and_goes_on_once_the_file_is_put_right(
    run_id: str, tmp_path: Path
) -> None:
    command("merge", run_id, "types")
    (tmp_path / "a.txt").write_text("mine\ntwo\n", encoding="utf-8")
    for words in (["--preview"], []):
        said = command("merge", run_id, "--undo", *words)
        assert said.code == 4
        assert f"pixirnb merge {run_id} --undo" in said.out
        assert "--side" not in said.out
        told = command("merge", run_id, "--undo", "--json", *words).document()
        assert (told["undoes"], told["between"]) == ("m1", ["workspace", "m1"])
        assert [side["bytes"] for side in told["conflicts"][0]["sides"]] == [9, 8]
    assert (tmp_path / "n.txt").exists()
    (tmp_path / "a.txt").write_text("one and mine\ntwo\n", encoding="utf-8")
    assert command("merge", run_id, "--undo").code == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one and mine\ntwo\n"
    assert not (tmp_path / "n.txt").exists()


def test_what_is_put_right_for_an_undo_solves_no_other_conflict(
    run_id: str, tmp_path: Path
) -> None:
    command("merge", run_id, "types")
    (tmp_path / "a.txt").write_text("mine\ntwo\n", encoding="utf-8")
    command("merge", run_id, "--undo")
    (tmp_path / "a.txt").write_text("other\ntwo\n", encoding="utf-8")

    assert command("merge", run_id, "api").code == 4


def test_a_merge_that_brought_no_files_is_taken_back_like_any_other(
    run_id: str, tmp_path: Path
) -> None:
    command("merge", run_id, "types")
    nothing = command("merge", run_id, "api", "--side", "workspace", "--json").document()
    assert (nothing["merge"], nothing["changes"]["count"]) == ("m2", 0)

    assert "Undid merge m2" in command("merge", run_id, "--undo").out
    assert "Undid merge m1" in command("merge", run_id, "--undo").out
    assert command("merge", run_id, "--undo").code == 2


def test_a_preview_holds_the_beginning_of_a_long_patch_and_counts_the_rest(tmp_path: Path) -> None:
    flow = "name: long\nsteps: [{id: a, run: seq 90000 > n.txt, workspace: isolated, write_set: [n.txt]}]\n"
    run_id = command("run", written(tmp_path, flow), "--json").document()["run_id"]
    changes = command("merge", run_id, "--preview", "--json").document()["changes"]

    assert len(changes["patch_text"]) <= 256 * 1024
    assert changes["patch_cut"] > 200_000
    assert "bytes" in command("merge", run_id, "--preview").out


def test_a_seam_is_resolved_with_a_note_by_the_verb_that_decides(run_id: str) -> None:
    assert command("decide", run_id, "s1", "accept").code == 2
    said = command("decide", run_id, "s1", "accept", "--note", "they fit", "--json").document()

    assert said["status"] == "completed"
    assert said["seam_obligations"][0]["note"] == "they fit"


@pytest.mark.parametrize(
    "words", [["--undo", "types"], ["--undo", "--side", "api"], ["--side", "nobody"], ["nobody"], ["plain"],
              ["--side", "api", "--side", "types"], ["--side", "a.txt=", "--side", "b=api"]]
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_two_lines(run_id: str, words: list[str]) -> None:
    said: Said = command("merge", run_id, *words)

    assert (said.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 2


def test_sides_are_for_all_files_or_by_path() -> None:
    assert sides_of(None) is None
    assert sides_of(["api"]) == "api"
    assert sides_of(["a=b.txt=api", "c=workspace"]) == {"a=b.txt": "api", "c": "workspace"}
    with pytest.raises(InvalidArguments):
        sides_of(["api", "c=workspace"])
