"""A run as one file: a zip that is a run folder again wherever it is unzipped, or a page that loads nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import Cannot
from pixirnb.operations.doctor import diagnose
from pixirnb.operations.export import export_run
from pixirnb.store.archive import pack
from pixirnb.store.file_store import FileStore
from tests.operations.household import completed, content, cut_off, kept, name_of
from tests.views.pictures import drawn_in

RUN = name_of(1)
MIXED = """
name: mixed
steps:
  - {id: text, run: "echo printed"}
  - {id: long, run: "printf '%20000s' x; echo kept > kept.txt", artifacts: [kept.txt]}
  - {id: object, call: "builtins:set", with: {}, depends_on: [text]}
"""


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "state")


def unzipped(file: Path, into: Path) -> Path:
    """The run folder in a zip, unpacked as `unzip` does: modes and all."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(into)
        for entry in archive.infolist():
            (into / entry.filename).chmod(stat.S_IMODE(entry.external_attr >> 16))
        [name] = {Path(entry.filename).parts[0] for entry in archive.infolist()}
    return into / name


def names(file: Path) -> list[str]:
    with zipfile.ZipFile(file) as archive:
        return archive.namelist()


def test_an_exported_run_is_the_run_wherever_it_is_unzipped(tmp_path: Path) -> None:
    run = api.start(MIXED, workspace=tmp_path, state=tmp_path / "state")
    run.wait()
    told, history = run.outcome.document(), run.history()
    for step in told["steps"]:
        if step["output_path"] is not None:
            step["output_path"] = str(
                tmp_path / "elsewhere" / run.id / step["output_path"].split(f"/{run.id}/")[1]
            )
    pack(run.folder, tmp_path / "run.zip")
    moved = unzipped(tmp_path / "run.zip", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "state")
    copy = api.open_run(moved, state=tmp_path / "another")
    assert copy.live is None
    assert copy.outcome.document() == told
    assert copy.history() == history
    assert copy.output("text") == "printed\n"
    assert copy.value("text") == "printed"
    assert len(copy.value("long")) == 20_000
    assert copy.value("object") == set()  # signed by this user, whose key is here
    assert diagnose(copy.store, copy.id).findings == ()
    assert not (tmp_path / "another").exists()


def test_a_copy_of_a_live_run_is_not_the_one_this_process_drives(tmp_path: Path) -> None:
    text = "name: w\nsteps: [{id: a, run: sleep 60}]"
    run = api.start(text, workspace=tmp_path, state=tmp_path / "state")
    try:
        export_run(run.store, run.id, tmp_path / "run.zip")  # waits for the first event
        moved = unzipped(tmp_path / "run.zip", tmp_path / "elsewhere")
        copy = api.open_run(moved)
        assert (copy.is_live_here, copy.status) == (False, "interrupted")
        assert api.open_run(run.folder).is_live_here
    finally:
        run.cancel()
        run.wait()


def test_what_belongs_to_this_machine_stays_behind(store: FileStore, tmp_path: Path) -> None:
    folder = kept(store, completed().events)
    for name in ("lease.json", "inbox/0123456789abcdef.json", "blobs/tmp.1.0", "notes.txt"):
        (folder / name).write_text("{}")
    (folder / "output" / "make.1.log").write_text("printed")
    (folder / "output" / "use.1.log").symlink_to("/etc/hostname")
    (folder / "sessions" / "look.1.jsonl").write_text("{}")
    count = pack(folder, tmp_path / "run.zip")
    files = [name for name in names(tmp_path / "run.zip") if not name.endswith("/")]
    assert files == [
        f"{RUN}/{n}" for n in ("log.jsonl", "output/make.1.log", "sessions/look.1.jsonl")
    ]
    assert count == len(files)


@pytest.mark.parametrize("is_page", [False, True])
def test_nothing_takes_the_place_of_a_pipe_or_has_an_impossible_name(
    store: FileStore, tmp_path: Path, is_page: bool
) -> None:
    kept(store, completed().events)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link", "n" * 300):
        with pytest.raises(Cannot) as refused:
            export_run(store, RUN, tmp_path / name, force=True, is_page=is_page)
        assert refused.value.code == "file_unwritable"
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "state") == [
        "link",
        "pipe",
    ]


def test_the_same_run_is_packed_to_the_same_bytes(store: FileStore, tmp_path: Path) -> None:
    folder = kept(store, completed().events)
    (folder / "output" / "make.1.log").write_text("printed")
    pack(folder, tmp_path / "one.zip")
    again = shutil.copytree(folder, tmp_path / "again" / RUN)
    pack(again, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_of_a_live_run_the_whole_lines_and_their_blobs_are_packed(
    store: FileStore, tmp_path: Path
) -> None:
    story = cut_off()
    ended = story.ending("make", output={"format": "text", "blob": "", "bytes": 1})[-1]
    log = store.create(RUN)
    try:
        named, unnamed = log.blobs.put(b"x" * 20_000), log.blobs.put(b"y" * 20_000)
        ended.data["output"]["blob"] = named
        story.record(ended)
        story.events[0].data["run_id"] = RUN
        log.append(story.events)
        with (store.folder(RUN) / "log.jsonl").open("ab") as file:
            file.write(b'{"at":"2026')
        pack(store.folder(RUN), tmp_path / "run.zip")
    finally:
        log.close()
    folder = unzipped(tmp_path / "run.zip", tmp_path / "elsewhere")
    reading = FileStore.of_folder(folder)[0].read(RUN)
    assert reading.damage is None
    assert len(reading.events) == len(story.events)
    assert (folder / "blobs" / named[3:5] / named[3:]).is_file()
    assert not (folder / "blobs" / unnamed[3:5] / unnamed[3:]).exists()


def test_a_blob_that_only_a_spilled_line_names_comes_along(
    store: FileStore, tmp_path: Path
) -> None:
    story = completed()
    log = store.create(RUN)
    try:
        named = log.blobs.put(b"artifact")
        ended = next(event for event in story.events if event.kind == "attempt_ended")
        ended.data["artifacts"] = [{"path": "a", "blob": named, "bytes": 8}]
        ended.data["output"] = {"format": "json", "value": "x" * 300_000}
        story.events[0].data["run_id"] = RUN
        log.append(story.events)
        pack(store.folder(RUN), tmp_path / "run.zip")
    finally:
        log.close()
    folder = unzipped(tmp_path / "run.zip", tmp_path / "elsewhere")
    assert FileStore.of_folder(folder)[0].read(RUN).damage is None
    assert (folder / "blobs" / named[3:5] / named[3:]).is_file()


def test_damage_travels_with_the_run(store: FileStore, tmp_path: Path) -> None:
    folder = kept(store, completed().events)
    log = folder / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"value":1', b'"value":7'))
    pack(folder, tmp_path / "run.zip")
    moved = unzipped(tmp_path / "run.zip", tmp_path / "elsewhere")
    damage = FileStore.of_folder(moved)[0].read(RUN).damage
    assert damage is not None
    assert damage.code == "chain_broken"


def test_exporting_changes_nothing_and_leaves_one_private_file(
    store: FileStore, tmp_path: Path
) -> None:
    kept(store, completed().events)
    before = content(store.state)
    out = tmp_path / "out"
    out.mkdir()
    document = export_run(store, RUN, out / "run.zip")
    assert content(store.state) == before
    assert [path.name for path in out.iterdir()] == ["run.zip"]
    assert stat.S_IMODE((out / "run.zip").stat().st_mode) == 0o600
    assert document == {
        "run_id": RUN,
        "path": str(out / "run.zip"),
        "bytes": (out / "run.zip").stat().st_size,
        "files": 1,
    }


def test_a_file_that_is_there_stays_unless_forced(store: FileStore, tmp_path: Path) -> None:
    kept(store, completed().events)
    target = tmp_path / "run.zip"
    target.write_text("mine")
    with pytest.raises(Cannot) as refused:
        export_run(store, RUN, target)
    assert refused.value.code == "file_exists"
    assert target.read_text() == "mine"
    export_run(store, RUN, target, force=True)
    assert zipfile.is_zipfile(target)


def test_an_export_that_fails_leaves_no_half_of_a_file(store: FileStore, tmp_path: Path) -> None:
    folder = kept(store, completed().events)
    (folder / "log.jsonl").unlink()
    (folder / "log.jsonl").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(Cannot):
        pack(folder, out / "run.zip")
    assert list(out.iterdir()) == []


def test_a_page_is_whole_in_itself_and_loads_nothing(store: FileStore, tmp_path: Path) -> None:
    kept(store, completed().events)
    export_run(store, RUN, tmp_path / "run.html", is_page=True)
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert RUN in text
    assert "make" in text
    assert text.count("src=") == len(drawn_in(text)) == 1
    for loaded in ("<script", "<link", "<iframe", "@import", "url("):
        assert loaded not in text
    assert re.findall(r"href=(?!['\"](?:#|%23)px-)", text) == []
    assert re.findall(r"https?://[^\"<]+", text.replace("http://www.w3.org/2000/svg", "")) == []


def test_what_a_run_says_is_text_on_the_page(store: FileStore, tmp_path: Path) -> None:
    story = completed()
    for event in story.events:
        if event.kind == "attempt_ended":
            event.data["summary"] = "<script>alert(1)</script>"
        if event.kind == "run_started":
            event.data["workflow"] = "</title><script>alert(2)</script>"
    kept(store, story.events)
    export_run(store, RUN, tmp_path / "run.html", is_page=True)
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_document_is_plain_json(store: FileStore, tmp_path: Path) -> None:
    kept(store, completed().events)
    assert json.loads(json.dumps(export_run(store, RUN, tmp_path / "a.zip")))["files"] == 1
