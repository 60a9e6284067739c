"""A browser asks what a step changed and what a merge would do; a click does it, solves a conflict, resolves a seam."""

from __future__ import annotations

import getpass
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.machine.merge_requests import MergeReport
from pixirnb.notebook.live.file_details import merge_document
from pixirnb.notebook.live.message_handlers import MessageHandlers
from pixirnb.operations.run import Run
from pixirnb.views.files.conflicts import TEXT_ROOM, conflict_document

SPEC: dict[str, Any] = {
    "name": "two",
    "steps": [
        {"id": "types", "run": "sed -i s/one/ONE/ a.txt; echo new > 'n <b>.txt'", "workspace": "isolated",
         "write_set": ["a.txt", "n*"]},
        {"id": "api", "run": "sed -i s/one/uno/ a.txt", "workspace": "isolated", "write_set": ["a.txt"]},
        {"id": "land", "merge": ["types", "api"], "depends_on": ["types", "api"]},
    ],
}  # fmt: skip


def clashed(place: Path) -> Run:
    """Two writers changed one line otherwise: the merge step waits for a person."""
    (place / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    found = api.start(SPEC, workspace=place)
    assert found.wait().status == "needs_orchestrator"
    return found


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """One to be changed."""
    return clashed(tmp_path)


@pytest.fixture(scope="module")
def rested(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One that is only asked."""
    return clashed(tmp_path_factory.mktemp("rested"))


def said(inquiries: MessageHandlers, **message: Any) -> dict[str, Any]:
    """The answer, which is there and is JSON."""
    reply = inquiries.answer({"id": 1, **message})
    assert json.loads(json.dumps(reply, allow_nan=False)) == reply
    assert reply["ok"], reply["error"]
    return dict(reply["answer"])


def refused(inquiries: MessageHandlers, **message: Any) -> str:
    reply = inquiries.answer({"id": 1, **message})
    assert not reply["ok"]
    return str(reply["error"]["code"])


def test_the_patch_of_a_step_comes_when_it_is_asked_for(rested: Run) -> None:
    asking = MessageHandlers(rested)
    told = said(asking, ask="changes", step="types")

    assert [(file["sign"], file["path"]) for file in told["files"]] == [
        ("M", "a.txt"),
        ("A", "n <b>.txt"),
    ]
    assert told["files"][0]["hunks"][0]["lines"][:2] == [["deleted", "one"], ["added", "ONE"]]
    assert said(asking, ask="changes", step="types", at=2)["files"] == []
    assert refused(asking, ask="changes", step="nobody") == "unknown_step"


def test_a_patch_whose_blob_is_gone_is_told_of(run: Run) -> None:
    blob = run.changes("types")["patch"]
    assert blob is not None
    path = run.store.blobs(run.id).path(blob)
    assert path is not None
    path.unlink()

    assert refused(MessageHandlers(run), ask="changes", step="types") == "blob_missing"
    assert said(MessageHandlers(run), ask="step", step="types")["files"]["count"] == 2


def test_a_conflict_is_shown_from_both_sides_and_solved_by_naming_one(run: Run) -> None:
    asking = MessageHandlers(run)
    (file,) = said(asking, ask="conflict", step="land")["files"]

    assert file["pieces"][0] == {"ours": ["ONE"], "theirs": ["uno"]}
    assert refused(asking, ask="conflict", step="types") == "nothing_to_decide"
    wish = said(asking, ask="step", step="land")["clash"]["wishes"]["accept"]
    said(asking, **wish, value={file["value"]: "api"}, note="theirs is right")
    run.wait()
    text = (Path(run.state.workspace) / "a.txt").read_text(encoding="utf-8")
    assert text == "uno\ntwo\n"
    assert api.open_run(run.folder).outcome.step("land").checkpoint_status == "checkpoint_ready"


def test_a_conflict_is_solved_hunk_by_hunk(run: Run) -> None:
    asking, place = MessageHandlers(run), Path(run.state.workspace) / "a.txt"
    (file,) = said(asking, ask="conflict", step="land")["files"]
    value = {file["value"]: {"hunks": ["types+api"], "of": file["of"]}}
    wish = said(asking, ask="step", step="land")["clash"]["wishes"]["accept"]
    old = {file["value"]: {"hunks": ["api"], "of": f"{file['of']}0"}}
    assert refused(asking, **wish, value=old) == "conflict_changed"

    before = place.read_text(encoding="utf-8")
    place.write_text(f"{before}mine\n", encoding="utf-8")
    said(asking, **wish, value=value)
    run.wait()
    assert said(asking, ask="step", step="land")["clash"]["is_open"], "the file changed meanwhile"
    assert place.read_text(encoding="utf-8") == f"{before}mine\n"

    (file,) = said(asking, ask="conflict", step="land")["files"]
    said(asking, **wish, value={file["value"]: {"hunks": ["types+api"], "of": file["of"]}})
    run.wait()
    assert place.read_text(encoding="utf-8") == "ONE\nuno\ntwo\nmine\n"
    notes = {event.data["note"] for event in run.history() if event.kind == "seam_resolved"}
    assert notes == {"resolved hunk by hunk in land.3, by step land"}


def test_hunks_are_offered_for_texts_that_are_shown_whole(run: Run) -> None:
    clash = run.state.step("land").clash
    assert clash is not None
    (file,) = clash["files"]
    marked = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    assert conflict_document(file, marked)["of"] == file["marked"]
    for other in (None, "", "no markers", marked + "x" * TEXT_ROOM):
        assert conflict_document(file, other)["of"] is None


def test_what_can_be_done_about_a_conflict_names_the_run(rested: Run) -> None:
    told = said(MessageHandlers(rested), ask="run")["actions"]
    (decide,) = [each["phrase"] for each in told if each["action"] == "decide_step"]

    assert f"`merge {rested.id} --preview`" in decide


def test_an_attempt_that_followed_a_word_says_whose_it_was(run: Run) -> None:
    asking = MessageHandlers(run)
    said(asking, do="decide", step="land", verdict="accept", note="as it is")
    run.wait()
    first, second = said(asking, ask="step", step="land")["attempts"]

    assert first["retry"]["by"] == getpass.getuser()
    assert second["retry"] is None


def test_lines_of_what_is_no_text_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "b.dat").write_bytes(b"\0a")
    make = {"id": "a", "run": "printf '\\0b' > b.dat", "workspace": "isolated", "write_set": ["*"]}
    found = api.start({"name": "binary", "steps": [make]}, workspace=tmp_path)
    found.wait()
    (file,) = said(MessageHandlers(found), ask="merge", steps=["a"])["patch"]["files"]

    assert (file["note"], file["added"], file["deleted"]) == ("not text", None, None)


def test_a_merge_is_looked_at_first_and_then_done_and_undone(run: Run) -> None:
    asking, place = MessageHandlers(run), Path(run.state.workspace)
    wish = said(asking, ask="step", step="types")["files"]["wishes"]["merge"]
    seen = said(asking, ask="merge", steps=wish["steps"])

    assert (seen["status"], seen["patch"]["files"][0]["path"]) == ("clean", "a.txt")
    assert not (place / "n <b>.txt").exists()
    done = said(asking, **wish)
    assert done["merge"]["sentence"].startswith("Merged the changes of types")
    assert (place / "n <b>.txt").exists()
    (merge,) = said(asking, ask="run")["merges"]
    undone = said(asking, **merge["wish"])
    assert undone["merge"]["status"] == "undone"
    assert not (place / "n <b>.txt").exists()


def test_a_merge_that_conflicts_says_so_and_takes_sides(run: Run) -> None:
    asking = MessageHandlers(run)
    said(asking, do="merge", steps=["types"])
    told = said(asking, do="merge", steps=["api"])["merge"]

    assert (told["status"], told["conflicts"][0]["path"]) == ("conflict", "a.txt")
    assert [side["name"] for side in told["sides"]] == ["workspace", "api"]
    seen = said(asking, ask="merge", steps=["api"], sides="workspace")
    assert seen["status"] == "clean"
    (file,) = told["conflicts"]
    hunks = {"hunks": ["workspace+api"], "of": file["of"]}
    assert said(asking, ask="merge", steps=["api"], sides={"a.txt": hunks})["status"] == "clean"
    again = said(asking, do="merge", steps=["api"], sides={"a.txt": hunks})["merge"]
    assert again["status"] == "merged"
    text = (Path(run.state.workspace) / "a.txt").read_text(encoding="utf-8")
    assert text == "ONE\nuno\ntwo\n"


def test_a_seam_is_resolved_with_a_note_alone(run: Run) -> None:
    asking = MessageHandlers(run)
    seam = said(asking, ask="step", step="api")["seams"][0]

    assert refused(asking, **seam["wish"]) == "seam_needs_note"
    said(asking, **seam["wish"], note="they fit", resume=False)
    (after,) = [each for each in said(asking, ask="run")["seams"] if each["seam"] == seam["seam"]]
    assert (after["is_open"], after["resolution"]) == (False, "they fit")


@pytest.mark.parametrize(
    "message",
    [
        {"do": "merge", "steps": "types"},
        {"do": "merge", "steps": [1]},
        {"do": "merge", "undo": 1},
        {"do": "merge", "sides": [1]},
        {"do": "merge", "sides": {"a.txt": 1}},
        {"do": "merge", "sides": {"a.txt": [1]}},
        {"ask": "merge", "steps": [["types"]]},
        {"ask": "conflict", "step": 1},
        {"ask": "changes"},
    ],
)
def test_what_no_view_sends_is_unreadable(rested: Run, message: dict[str, Any]) -> None:
    assert refused(MessageHandlers(rested), **message) == "message_unreadable"


def test_every_key_about_files_is_in_the_reference(run: Run) -> None:
    page = Path(__file__).parents[3] / "docs" / "internals" / "live-view.md"
    known = set(re.findall(r"[a-z_]+", page.read_text(encoding="utf-8")))
    asking = MessageHandlers(run)
    sent = [said(asking, ask="step", step=step) for step in run.compiled().index]
    sent += [said(asking, ask="changes", step="types"), said(asking, ask="conflict", step="land")]
    sent += [said(asking, ask="merge", steps=["types"]), said(asking, ask="merge")]
    sent += [said(asking, do="merge", steps=["types"]), said(asking, ask="run")]

    assert sorted(_keys(sent) - known) == []


def _keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_keys, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(_keys(part) for name, part in value.items() if name != "value"))


def test_an_undo_that_conflicts_offers_no_sides_and_tells_both_sizes() -> None:
    sides = [
        {"name": "workspace", "mode": "100644", "bytes": 9},
        {"name": "m1", "mode": None, "bytes": None},
    ]
    clash = {"path": "a.txt", "kind": "content", "sides": sides, "marked_text": None}
    said: dict[str, Any] = {"between": ["workspace", "m1"], "conflicts": [clash]}

    undo = merge_document(MergeReport("r", "conflict", ["a"], undoes="m1", **said))
    assert (undo["sides"], undo["between"]) == ([], ["your files", "m1"])
    assert "your files: 9 bytes" in undo["conflicts"][0]["words"]
    assert merge_document(MergeReport("r", "conflict", ["a"], **said))["sides"]
