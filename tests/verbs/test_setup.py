"""What `init` writes runs as it is; examples are listed and copied; a file that exists is never replaced."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pixirnb.spec.yaml.reader import read_yaml
from tests.verbs.command import command

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    """An empty current folder."""
    return tmp_path


@pytest.mark.parametrize(
    ("template", "status", "ready"), [("shell", 0, 4), ("python", 0, 4), ("merge", 0, 5)]
)
def test_a_template_plans_without_a_warning_and_runs_as_it_is(
    template: str, status: int, ready: int
) -> None:
    assert command("init", template).code == 0
    plan = command("plan", "workflow.yaml", "--json").document()
    assert (plan["ok"], plan["warnings"]) == (True, [])
    ran = command("run", "workflow.yaml", "--json")
    assert ran.code == status, ran.out
    assert ran.document()["counts"]["checkpoint_ready"] == ready


def test_the_template_of_agents_pauses_for_a_decision_and_ends_with_it() -> None:
    command("init", "agents")
    assert command("plan", "workflow.yaml", "--json").document()["warnings"] == []
    assert command("run", "workflow.yaml", "--json").code == 4
    decided = command("decide", "@last", "approve", "accept", "--value", "yes", "--json")
    assert (decided.code, decided.document()["status"]) == (0, "completed")
    assert "A step has checks." in Path("draft.txt").read_text()


@pytest.mark.parametrize("template", ["shell", "python", "agents", "merge"])
def test_a_template_fits_the_schema_that_its_first_line_names(template: str) -> None:
    command("init", template, "--to", "new/folder")
    text = Path("new/folder/workflow.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=./workflow.schema.json\n")
    schema = json.loads(Path("new/folder/workflow.schema.json").read_text())
    Draft202012Validator(schema).validate(read_yaml(text).value)


def test_init_never_replaces_a_file_and_writes_all_files_or_none() -> None:
    Path("steps.py").write_text("mine")
    refused = command("init", "python", "--json")
    assert (refused.code, refused.document()["error"]["code"]) == (5, "file_exists")
    assert sorted(path.name for path in Path().iterdir()) == ["steps.py"]
    assert Path("steps.py").read_text() == "mine"


def test_init_may_be_repeated_where_its_files_are_unchanged() -> None:
    said = [command("init") for _ in range(2)]
    Path("workflow.schema.json").unlink()
    said.append(command("init"))
    assert [each.code for each in said] == [0, 0, 0]
    assert [each.out.partition(" Run it")[0] for each in said] == [
        "Wrote workflow.yaml, workflow.schema.json.",
        "Already there, unchanged: workflow.yaml, workflow.schema.json.",
        "Wrote workflow.schema.json. Already there, unchanged: workflow.yaml.",
    ]


@pytest.mark.parametrize("entry", ["folder", "dangling link"])
def test_init_replaces_no_entry_of_another_kind(entry: str) -> None:
    taken = Path("workflow.yaml")
    taken.mkdir() if entry == "folder" else taken.symlink_to("elsewhere.yaml")
    refused = command("init", "--json")
    assert (refused.code, refused.document()["error"]["code"]) == (5, "file_exists")
    assert [path.name for path in Path().iterdir()] == ["workflow.yaml"]


def test_a_folder_that_cannot_be_made_is_reported() -> None:
    Path("taken").write_text("mine")
    refused = command("init", "--to", "taken/below", "--json")
    assert (refused.code, refused.document()["error"]["code"]) == (5, "file_unwritable")


def test_examples_are_listed_and_copied_with_what_they_need() -> None:
    listed = command("examples", "--json").document()["examples"]
    names = {row["name"] for row in listed}
    assert {"held", "agents", "01_first_run", "dashboard_refactor"} <= names
    assert all(row["about"] for row in listed)
    copied = command("examples", "held.yaml", "dashboard_refactor", "--to", "here", "--json")
    assert {Path(name).name for name in copied.document()["files"]} == {
        "held.yaml",
        "dashboard_refactor.yaml",
        "dashboard_repositories.sh",
    }
    original = ROOT / "examples" / "held.yaml"
    assert Path("here/held.yaml").read_bytes() == original.read_bytes()


def test_an_unknown_example_is_refused_with_the_nearest_name() -> None:
    refused = command("examples", "heldd", "--json").document()["error"]
    assert (refused["code"], refused["fix"]) == ("unknown_example", "did you mean `held`?")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_every_verb_and_is_sound(shell: str) -> None:
    script = command("completion", shell).out
    assert all(verb in script for verb in ("resume", "watch", "init", "dry-run"))
    if (program := shutil.which(shell)) is not None:
        checked = subprocess.run(
            [program, "-n"], check=False, input=script, text=True, capture_output=True
        )
        assert (checked.returncode, checked.stderr) == (0, "")


def test_a_wheel_holds_templates_examples_and_notebooks(folder: Path) -> None:
    command_line = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, *command_line], check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "pixirnb/verbs/templates/shell.yaml",
        "pixirnb/verbs/templates/steps.py",
        "pixirnb/shipped/examples/held.yaml",
        "pixirnb/shipped/notebooks/01_first_run.ipynb",
    } <= names
