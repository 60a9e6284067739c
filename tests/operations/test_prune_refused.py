"""A run whose trees or copies cannot be deleted now stays a run, and the prune says what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pixirnb.machine.outcome_documents import RunRow
from pixirnb.operations.prune import PruneFilter, prune_runs
from pixirnb.protocols.trees import Belonging
from pixirnb.store.file_store import FileStore
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.housekeeping import PruneDocument, prune_blocks
from pixirnb.workspace.git.refs import names_of
from pixirnb.workspace.remove_copies import remove_folder
from pixirnb.workspace.stores_by_root import tree_store
from tests.operations.household import completed, kept, name_of

STUCK = """
import json, sys
from pathlib import Path
from pixirnb.operations.prune import PruneFilter, prune_runs
from pixirnb.store.file_store import FileStore


def refuse(event, arguments):
    if event in ("os.remove", "os.rmdir") and str(arguments[0]).endswith(sys.argv[2]):
        raise PermissionError(1, "Operation not permitted", arguments[0])


sys.addaudithook(refuse)
said = prune_runs(FileStore(Path(sys.argv[1])), dict, PruneFilter(), is_preview=False)
print(json.dumps(said))
"""


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    store = FileStore(tmp_path / "state")
    kept(store, completed().events, name_of(1))
    return store


def nobody(run_id: str) -> RunRow:
    """No run is driven by anybody."""
    raise AssertionError(run_id)


def prune(store: FileStore) -> PruneDocument:
    return prune_runs(store, nobody, PruneFilter(), is_preview=False)


def trees_of(store: FileStore, root: Path) -> Path:
    """Keep a tree of `root` for the run, by git; the folder of its names."""
    root.mkdir()
    (root / "a.txt").write_text("a\n")
    trees = tree_store(store.state, root)
    trees.keep(f"{name_of(1)}/make.1", [trees.snapshot(Belonging())])
    [folder] = (store.state / "trees").glob("*-git")
    names = names_of(folder, name_of(1))
    assert names.is_dir()
    return names


def test_without_git_a_run_that_git_keeps_trees_of_stays_and_is_told(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = trees_of(store, tmp_path / "root")
    copies = store.state / "isolated" / name_of(1) / "make.1.kept"
    copies.mkdir(parents=True)
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path / "nothing"))
        document = prune(store)
    assert (document["runs"], document["kept"]) == ([], 1)
    [told] = document["failed"]
    assert told["code"] == "git_missing"
    assert "then prune again" in told["message"]
    assert "then prune again" in draw_text(prune_blocks(document))
    assert store.run_ids() == [name_of(1)]
    assert [path.name for path in (store.state / "runs").iterdir()] == [name_of(1)]
    assert names.is_dir()
    assert copies.is_dir(), "nothing goes of a run that stays"
    assert len(prune(store)["runs"]) == 1
    assert not names.is_dir()
    assert not copies.parent.exists()


def stuck(store: FileStore, name: str) -> dict[str, Any]:
    """What a prune says where the disk deletes everything but what is called `name`."""
    child = subprocess.run(
        [sys.executable, "-c", STUCK, str(store.state), name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    said: dict[str, Any] = json.loads(child.stdout)
    return said


def test_of_copies_all_goes_but_what_cannot_be_deleted_and_the_run_stays(
    store: FileStore, tmp_path: Path
) -> None:
    names = trees_of(store, tmp_path / "root")
    copies = store.state / "isolated" / name_of(1)
    for path in ("a.1/x", "a.1/in/stuck", "a.1/z", "b.2/y", "c.1.kept/k"):
        (copies / path).parent.mkdir(parents=True, exist_ok=True)
        (copies / path).write_text("x")
    document = stuck(store, "stuck")
    assert (document["runs"], document["kept"]) == ([], 1)
    [told] = document["failed"]
    assert told["code"] == "workspace_not_removed"
    assert f"{copies}/a.1/in/stuck`: Operation not permitted" in told["message"]
    assert f"delete `{copies}/a.1` by hand" in told["message"]
    left = [path.relative_to(copies) for path in copies.rglob("*") if path.is_file()]
    assert left == [Path("a.1/in/stuck")]
    assert store.run_ids() == [name_of(1)]
    assert names.is_dir(), "the trees of a run that stays stay"
    assert len(prune(store)["runs"]) == 1
    assert not copies.exists()


def test_a_run_folder_that_the_disk_would_not_delete_is_not_counted_as_kept(
    store: FileStore,
) -> None:
    document = stuck(store, "log.jsonl")
    assert (document["runs"], document["kept"]) == ([], 0)
    assert len(document["failed"]) == 1


def test_folders_that_a_step_closed_to_everybody_are_deleted(tmp_path: Path) -> None:
    closed = tmp_path / "one.1" / "a" / "b"
    closed.mkdir(parents=True)
    (closed / "x").write_text("x")
    closed.chmod(0)
    closed.parent.chmod(0)
    # As a user whom modes hold up, also where the tests are run by one whom they do not.
    drop = "setpriv --bounding-set -dac_override,-dac_read_search --inh-caps -dac_override,-dac_read_search"
    words = drop.split() if os.geteuid() == 0 else []
    code = "import sys, pathlib; from pixirnb.workspace.remove_copies import *; remove_folder(pathlib.Path(sys.argv[1]))"
    subprocess.run(
        [*words, sys.executable, "-c", code, str(tmp_path / "one.1")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    assert not (tmp_path / "one.1").exists()
    remove_folder(tmp_path / "one.1")
