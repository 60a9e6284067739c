"""What a completion learns of the world outside its cell is bounded, follows no link out, and evaluates nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import load, run
from pixirnb.notebook.completion.kernel_context import MOST_ENTRIES, Neighbourhood


def here(**names: Any) -> Neighbourhood:
    return Neighbourhood(names, {"In": []})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "work"
    for name in ("src/api", ".git/objects", ".pixirnb/runs"):
        (place / name).mkdir(parents=True)
    (place / "src" / "a.py").touch()
    (place / "README.md").touch()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").touch()
    (place / "out").symlink_to(tmp_path / "secret")
    (place / "in").symlink_to(place / "src")
    monkeypatch.chdir(place)
    return place


def test_folders_and_files_are_named_but_for_those_of_git_and_ours(folder: Path) -> None:
    assert folder.is_dir()
    assert here().entries("") == ["README.md", "in/", "out/", "src/"]
    assert here().entries("src/") == ["a.py", "api/"]
    assert here().entries(".git/") == here().entries("src/../.pixirnb/") == ()


def test_a_link_out_of_the_workspace_is_not_followed(folder: Path) -> None:
    assert here().entries("out/") == ()
    assert here().entries("in/") == ["a.py", "api/"]
    assert here().entries(str(folder / "out")) == ()


def test_what_was_typed_on_purpose_is_looked_at(folder: Path) -> None:
    assert here().entries("../secret/") == ["key"]
    assert here().within("src").entries("") == ["a.py", "api/"]
    assert here().entries(str(folder / "src")) == ["a.py", "api/"]


@pytest.mark.parametrize("name", ["gone/", "README.md/", "\0", "x" * 5000, "~nobody-here/", "a/\n"])
def test_what_is_no_folder_has_no_names(folder: Path, name: str) -> None:
    assert folder.is_dir()
    assert list(here().entries(name)) == []


def test_of_a_full_folder_so_many_are_named(folder: Path) -> None:
    for number in range(MOST_ENTRIES + 5):
        (folder / "src" / f"f{number}").touch()
    assert len(here().entries("src/")) == MOST_ENTRIES


def test_variables_are_data_and_functions_are_those_of_cells() -> None:
    def mine() -> None:
        """Mine to call."""

    mine.__module__ = "__main__"
    names = {"frame": [1], "mine": mine, "Path": Path, "os": pytest, "_hidden": 1, "In": []}
    world = here(**names)
    assert [(each.text, each.about) for each in world.variables()] == [("frame", "list")]
    assert [(each.text, each.about) for each in world.functions()] == [("mine", "Mine to call.")]


def test_runs_steps_and_checkpoints_come_from_the_state_folder(folder: Path) -> None:
    steps = "steps:\n  - {id: a, run: 'true', posture: read_only}\n"
    ended = run(load(f"name: short\n{steps}"), workspace=folder)
    world = here(last=ended.run_id)
    assert [(each.text, each.about) for each in world.runs()] == [
        (ended.run_id, "short · completed")
    ]
    assert [each.text for each in world.steps_of(ended.run_id)] == ["a"]
    assert [each.text for each in world.steps_of("$last")] == ["a"]
    assert "end" in [each.text for each in world.checkpoints_of(ended.run_id)]
    found = world.workflow_of(ended.run_id)
    assert found is not None
    assert found.name == "short"


def test_every_name_of_a_run_stands_for_it(folder: Path) -> None:
    ask = "{id: gate, ask: {question: ok, choices: [now, not yet]}}"
    ended = run(load(f"name: asks\nsteps: [{ask}]"), workspace=folder)
    world = here()
    assert [each.about for each in world.runs()] == ["asks · needs_orchestrator"]
    for name in ("@last", "-", "asks", ended.run_id.rpartition("-")[2]):
        assert [each.text for each in world.steps_of(name)] == ["gate"], name
        choices = [each.text for each in world.choices_of(name, "gate")]
        assert choices == ["now", "'\"not yet\"'"]


class Trap:
    """Something whose attributes must not be asked for."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")


@pytest.mark.parametrize("text", ["{trap.id}", "$trap", "{trap}", "{1/0}", "gone", "../x", ""])
def test_what_stands_for_no_run_is_not_evaluated(folder: Path, text: str) -> None:
    world = here(trap=Trap())
    assert folder.is_dir()
    assert [*world.steps_of(text), *world.checkpoints_of(text)] == []
    assert world.workflow_of(text) is None
