"""`doctor`, `compare`, `export` and `prune` as a shell meets them: their words, their exit codes, one document each."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.verbs.command import Said, command, written

GOOD = 'name: good\nsteps: [{id: make, run: "echo made"}]'
OTHER = 'name: good\nsteps: [{id: make, run: "echo other"}, {id: more, run: "true"}]'
ASK = 'name: ask\nsteps: [{id: gate, ask: {question: "Go?"}}]'


def made(tmp_path: Path, text: str) -> str:
    """The id of a new run of a workflow, at rest."""
    found = command("run", written(tmp_path, text), "--json").document()["run_id"]
    assert isinstance(found, str)
    return found


def damaged(run: str) -> None:
    log = Path(".pixirnb/runs", run, "log.jsonl")
    log.write_bytes(log.read_bytes().replace(b'"made"', b'"maid"'))


def refused(said: Said) -> str:
    """Return the code of the error that was shown, in two lines at most."""
    assert said.out == ""
    assert 1 <= len(said.err.splitlines()) <= 2
    found = re.search(r"\[(\w+)\]$", said.err.splitlines()[0])
    assert found is not None
    return found[1]


def test_the_exit_code_of_doctor_says_how_a_run_stands(tmp_path: Path) -> None:
    good, ask, broken = made(tmp_path, GOOD), made(tmp_path, ASK), made(tmp_path, GOOD)
    damaged(broken)
    statuses = {}
    for run in (good, ask, broken):
        said = command("doctor", run, "--json")
        statuses[said.code] = said.document()["status"]
    assert statuses == {0: "ready", 1: "ready_with_warnings", 5: "blocked"}
    everything = command("doctor", "--json")
    assert (everything.code, everything.document()["status"]) == (5, "blocked")
    assert [run["run_id"] for run in everything.document()["runs"]] == [broken, ask, good]
    newest = command("doctor", "--limit", "1", "--json").document()
    assert [run["run_id"] for run in newest["runs"]] == [broken]
    assert refused(command("doctor", "r-20261121-000000-000000")) == "unknown_run"


def test_doctor_tells_what_to_run_next_and_passes_over_sound_runs(tmp_path: Path) -> None:
    good, ask = made(tmp_path, GOOD), made(tmp_path, ASK)
    said = command("doctor").out
    assert "! gate waits for a decision. [decision_open]" in said
    assert f"pixirnb decide {ask} gate accept" in said
    assert "%pixir" not in said
    assert good not in said
    assert said.rstrip().endswith("2 runs checked, 1 with warnings.")
    assert said.count(f"pixirnb decide {ask} gate accept") == 1


def test_compare_names_what_differs_and_exits_clean(tmp_path: Path) -> None:
    left, right = made(tmp_path, GOOD), made(tmp_path, OTHER)
    said = command("compare", left, right, "--json")
    assert said.code == 0
    steps = {step["step_id"]: step["differs"] for step in said.document()["steps"]}
    assert steps == {"make": ["run", "digest"], "more": ["only_right"]}
    assert command("compare", left, left, "--json").document()["same"] is True
    assert "make" in command("compare", left, right).out
    assert refused(command("compare", left, "r-20261121-000000-000000")) == "unknown_run"


def test_export_writes_a_zip_or_a_page_and_never_over_a_file(tmp_path: Path) -> None:
    run = made(tmp_path, GOOD)
    said = command("export", run, "--json")
    assert said.code == 0
    assert said.document()["path"] == f"{run}.zip"
    assert said.document()["bytes"] == Path(f"{run}.zip").stat().st_size
    assert command("export", run, "--json").document()["error"]["code"] == "file_exists"
    assert command("export", run, "--force").code == 0
    assert command("export", run, "--html", "--to", "page.html").code == 0
    assert Path("page.html").read_text().startswith("<!doctype html>")
    missing = command("export", run, "--to", "no/such/file.zip")
    assert refused(missing) == "file_unwritable"
    assert missing.err.startswith("folder no/such does not exist [file_unwritable]")


def test_an_exported_run_opens_in_another_place(tmp_path: Path) -> None:
    run, other = made(tmp_path, ASK), made(tmp_path, GOOD)
    command("export", run, "--to", "taken.zip")
    with zipfile.ZipFile("taken.zip") as archive:
        archive.extractall("elsewhere")
    folder, state = f"elsewhere/{run}", ("--state", "nowhere")
    here = command("show", run, "--json").document()
    assert command("show", folder, *state, "--json").document() == here
    log = command("log", folder, *state, "--json").document()
    assert log["events"] == command("log", run, "--json").document()["events"]
    assert command("doctor", folder, *state).code == 1
    assert command("compare", folder, run, *state).code == 5  # that one is not in this state folder
    assert command("compare", folder, f".pixirnb/runs/{other}", *state).code == 0
    assert not Path("nowhere").exists()


def test_a_run_that_was_moved_goes_on_where_it_lies(tmp_path: Path) -> None:
    run = made(tmp_path, ASK)
    command("export", run, "--to", "taken.zip")
    with zipfile.ZipFile("taken.zip") as archive:
        archive.extractall("elsewhere")
    said = command("decide", f"elsewhere/{run}", "gate", "accept", "--no-resume", "--json")
    assert said.code == 4, said
    resumed = command("resume", f"elsewhere/{run}", "--json")
    assert resumed.document()["status"] == "completed"
    assert command("show", run, "--json").document()["status"] == "needs_orchestrator"


def test_a_run_that_was_moved_keeps_its_trees_in_the_state_folder_of_its_new_place(
    tmp_path: Path,
) -> None:
    run = made(
        tmp_path,
        """
        name: t
        steps:
          - {id: gate, ask: "Go?"}
          - {id: i, run: echo x > f, workspace: isolated, write_set: [f], depends_on: [gate]}
        """,
    )
    command("export", run, "--to", "taken.zip")
    Path("project/.pixirnb").mkdir(parents=True, mode=0o700)
    with zipfile.ZipFile("taken.zip") as archive:
        archive.extractall("project")
        archive.extractall("other/place")
    for folder in ("project", "other/place"):
        moved = f"{folder}/{run}"
        assert command("decide", moved, "gate", "accept", "--json").code == 0
        assert sorted(path.name for path in Path(folder).iterdir()) == sorted(
            {".pixirnb", run} if folder == "project" else {run}
        )
    assert Path("project/.pixirnb/trees").is_dir()
    assert not Path("trees").exists()


def test_prune_shows_first_and_removes_when_told(tmp_path: Path) -> None:
    old, new = made(tmp_path, GOOD), made(tmp_path, GOOD)
    preview = command("prune", "--keep", "1", "--json").document()
    assert preview["preview"] is True
    assert [run["run_id"] for run in preview["runs"]] == [old]
    assert Path(".pixirnb/runs", old).is_dir()
    assert command("prune", "--keep", "1", "--yes", "-n", "--json").document()["preview"] is True
    done = command("prune", "--keep", "1", "--yes", "--json")
    assert (done.code, done.document()["preview"]) == (0, False)
    assert [row["run_id"] for row in command("runs", "--json").document()["runs"]] == [new]
    assert refused(command("show", old)) == "unknown_run"


def test_prune_asks_which_before_it_takes_everything(tmp_path: Path) -> None:
    run = made(tmp_path, GOOD)
    assert run in command("prune").out
    assert refused(command("prune", "--yes")) == "invalid_args"
    assert refused(command("prune", "--status", "running")) == "not_a_choice"
    assert refused(command("prune", "--status", "")) == "not_a_choice"
    assert refused(command("prune", "--older-than", "soon")) == "bad_duration"
    assert refused(command("prune", "--keep", "-1")) == "invalid_args"
    assert run in command("runs").out


@pytest.mark.parametrize("age", ["30d", "2d12h", "90m", "1d"])
def test_an_age_may_be_any_number_of_days(tmp_path: Path, age: str) -> None:
    made(tmp_path, GOOD)
    found = command("prune", "--older-than", age, "--json").document()
    assert (found["runs"], found["kept"]) == ([], 1)


def test_every_answer_is_one_document_and_reads_in_a_notebook(tmp_path: Path) -> None:
    from pixirnb.notebook.rendering import answer_bundle
    from pixirnb.verbs.answers import Answer, Desk
    from pixirnb.verbs.app import perform

    run = made(tmp_path, GOOD)
    for tokens in (
        ["doctor"],
        ["doctor", run],
        ["compare", run, run],
        ["export", run],
        ["prune"],
        ["runs"],
    ):
        answer = perform(Desk(), tokens, name="%pixir")
        assert isinstance(answer, Answer)
        json.dumps(answer.document)
        assert run in answer_bundle(answer)["text/plain"] or tokens == ["doctor"]
