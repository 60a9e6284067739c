"""A run whose state folder is not that of the current folder: every command that is printed reaches it from here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.verbs.command import Said, command, written

FLOW = """name: far
steps:
  - {id: bad, run: "exit 3", posture: read_only}
  - {id: gate, ask: {question: "Ship?"}}
"""


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("analysis").mkdir()
    return written(Path("analysis"), FLOW)


def commands_in(said: Said) -> list[str]:
    """The commands for a run, as they are printed."""
    found = re.findall(r"pixirnb [a-z]+ r-[^`\"\n]*?(?=`|\"|\n|  )", f"{said.out}{said.err}\n")
    assert found, said
    return found


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_a_run_prints_reaches_the_run_from_here(flow: Path, options: tuple[str, ...]) -> None:
    for printed in commands_in(command("run", flow, *options)):
        verb, run, *rest = shlex.split(printed)[1:]
        assert rest[:2] == ["--state", "analysis/.pixirnb"]
        assert command("show", run, *rest[:2]).code == 0, verb


def test_errors_name_the_state_folder_too(flow: Path) -> None:
    command("run", flow)
    state = ("--state", "analysis/.pixirnb")
    (log,) = Path("analysis/.pixirnb/runs").glob("*/log.jsonl")
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join([*lines[:2], *lines[3:]]), encoding="utf-8")
    said = command("resume", "@last", *state)
    assert [" ".join(state) in each for each in commands_in(said)] == [True, True]


def test_no_state_folder_is_named_where_the_run_is_found_without(
    flow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = command("run", flow, "--state", ".pixirnb")
    assert not any("--state" in each for each in commands_in(said))
    monkeypatch.chdir("analysis")
    assert not any("--state" in each for each in commands_in(command("run", "flow.yaml")))


def test_a_verb_that_finds_no_run_here_names_the_folder_below_that_has_some(flow: Path) -> None:
    assert command("runs").out == "No runs yet.\n"
    command("run", flow)
    hint = "analysis/.pixirnb has 1 run: add `--state analysis/.pixirnb`"
    for words in (
        ("show",),
        ("resume", "@last"),
        ("logs", "far"),
        ("show", "r-20260101-000000-abcdef"),
    ):
        assert hint in command(*words).err
    assert hint in command("runs").out
    assert hint in command("doctor").out
    assert command("runs", "--json").document()["runs"] == []


def test_of_several_folders_below_the_one_with_the_newest_run_is_named(flow: Path) -> None:
    for folder in ("zoo", "analysis", "merge"):
        Path(folder).mkdir(exist_ok=True)
        command("run", written(Path(folder), FLOW))
    ids = {
        folder: max(path.name for path in Path(folder, ".pixirnb", "runs").iterdir())
        for folder in ("zoo", "analysis", "merge")
    }
    newest = max(ids, key=lambda folder: ids[folder])
    assert (
        f"{newest}/.pixirnb has the newest run, 2 other folders have runs:"
        f" add `--state {newest}/.pixirnb`" in command("show").err
    )


def test_of_a_state_folder_that_was_chosen_only_its_own_runs_are_told(flow: Path) -> None:
    command("run", flow)
    for words in (("show",), ("show", "far"), ("runs",), ("doctor",)):
        said = command(*words, "--state", "empty")
        assert "analysis/.pixirnb" not in said.out + said.err


def test_runs_that_a_filter_leaves_out_are_still_runs_here(flow: Path) -> None:
    command("run", flow)
    command("run", flow, "--state", ".pixirnb")
    assert "analysis" not in command("runs", "--status", "running").out


@pytest.mark.parametrize("state", ["date=1", "~/kept", "-dash", "a b"])
def test_a_state_folder_of_any_name_is_named_so_that_it_is_found(flow: Path, state: str) -> None:
    shown = command("run", flow, f"--state={state}")
    for printed in commands_in(shown):
        _, run, *rest = shlex.split(printed)[1:]
        assert command("show", run, *rest[:2]).code == 0, printed
