"""Ways into a state folder that others may have: closed where they are ours to close, refused where they lead away."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import PixirnbError, StateUnusable
from pixirnb.store.file_store import FileStore
from pixirnb.store.state_folder import prepare_state
from pixirnb.testing.contracts.store import LATER, RUN, story


def bits(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / ".pixirnb")
    log = store.create(RUN)
    log.append(story(3))
    log.close()
    return store


@pytest.mark.parametrize(("before", "after"), [(0o777, 0o755), (0o775, 0o755), (0o1777, 0o1755)])
def test_a_state_folder_that_others_may_write_is_closed_before_anything_is_written(
    store: FileStore, before: int, after: int
) -> None:
    store.state.chmod(before)
    store.read(RUN)
    assert bits(store.state) == before, "looking changes nothing"
    store.acquire(RUN).close()
    assert bits(store.state) == after
    store.state.chmod(before)
    store.create(LATER).close()
    assert bits(store.state) == after


def test_a_new_folder_is_closed_too(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    prepare_state(tmp_path / "state")
    assert bits(tmp_path / "state") == 0o755


def test_a_folder_with_other_things_in_it_is_left_as_its_user_wants_it(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "notes.txt").touch()
    shared.chmod(0o777)
    with pytest.raises(StateUnusable) as refused:
        FileStore(shared).create(RUN)
    assert refused.value.code == "state_exposed"
    assert f"chmod go-w {shared}" in refused.value.fix
    assert bits(shared) == 0o777
    assert [path.name for path in shared.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["runs", "trees", "isolated", "merges"])
def test_a_link_in_the_place_of_a_folder_of_ours_is_refused(
    store: FileStore, tmp_path: Path, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if (store.state / name).exists():
        (store.state / name).rename(elsewhere)
    else:
        elsewhere.mkdir()
    (store.state / name).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    for look in (
        lambda: store.read(RUN),
        lambda: store.acquire(RUN),
        lambda: store.create(LATER),
        store.run_ids,
    ):
        with pytest.raises(StateUnusable) as refused:
            look()
        assert refused.value.code == "symlink_refused"
        assert str(store.state / name) in refused.value.message
    assert sorted(elsewhere.rglob("*")) == before


def test_a_link_in_the_place_of_an_output_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    run = api.start({"name": "w", "steps": [{"id": "a", "run": "echo x"}]}, workspace=tmp_path)
    run.wait()
    log = run.folder / "output" / "a.1.log"
    log.unlink()
    log.symlink_to(tmp_path / "secret")
    with pytest.raises(StateUnusable) as refused:
        run.output("a")
    assert refused.value.code == "symlink_refused"


# --- folders that were moved and renamed ------------------------------------------------------------------------------


FLOW = {
    "name": "moved",
    "steps": [
        {"id": "a", "run": "echo a >> effects.txt"},
        {"id": "b", "run": "test -e ok", "depends_on": ["a"]},
    ],
}


@pytest.mark.parametrize("name", ["backup", "kept/of monday", "r-20200101-000000-aaaaaa"])
def test_a_folder_that_was_moved_and_renamed_opens_as_the_run_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    assert run.wait().status == "partial"
    told = run.outcome.document()
    target = tmp_path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    run.folder.rename(target)
    opened = api.open_run(target)
    assert opened.id == run.id
    assert opened.outcome.document() == told
    assert opened.diagnose().run_id == run.id
    Path("ok").touch()
    resumed = api.resume(target)
    assert resumed.wait().status == "completed"
    assert resumed.id == run.id
    assert Path("effects.txt").read_text() == "a\n"
    assert api.open_run(target).history() == resumed.history()
    assert {event.data["run_id"] for event in resumed.history() if "run_id" in event.data} == {
        run.id
    }


def test_a_folder_that_was_renamed_among_its_like_is_shown_and_waits_for_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start(FLOW)
    told = run.wait().document()
    target = run.folder.rename(run.folder.with_name("old"))
    assert api.open_run(target).outcome.document() == told
    with pytest.raises(StateUnusable) as refused:
        api.resume(target)
    assert refused.value.code == "run_misnamed"
    target.rename(run.folder)
    Path("ok").touch()
    assert api.resume(run.id).wait().status == "completed"


def test_a_folder_that_is_no_run_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with pytest.raises(PixirnbError) as refused:
        _ = api.open_run(tmp_path / "notes").outcome
    assert refused.value.code == "unknown_run"
