"""Cells that go wrong say what happened once, in the words of a cell: no command of a shell, no file, no option of a magic."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.notebook.kernel_cells import Cell, Notebook

ASKING = 'steps: [{id: g, ask: {question: ok, choices: ["yes", "no"]}}]'


def error(cell: Cell) -> str:
    """The lines of a cell's one error."""
    (lines,) = cell.errors
    return "\n".join(lines)


def test_a_missing_answer_is_asked_for_as_the_reader_would_give_it(notebook: Notebook) -> None:
    notebook.run(f"%%workflow asking --wait --as run\n{ASKING}")
    calls = 'use run.accept("g", "yes") or run.accept("g", "no")'
    assert (
        error(notebook.run("run.accept('g')")) == f"`g` needs an answer [not_a_choice]\n→ {calls}"
    )
    wrong = error(notebook.run("run.accept('g', True)"))
    assert wrong == f"True is not an answer of `g` [not_a_choice]\n→ {calls}"
    typed = error(notebook.run("%pixir decide asking g accept"))
    assert typed.endswith("→ use `--value yes` or `--value no`")

    notebook.run("%pixir decide asking g accept --value yes --wait")
    again = error(notebook.run("%pixir decide asking g accept --value yes"))
    assert "run it again: `%pixir resume r-" in again


@pytest.mark.parametrize("line", ["run gapped --wiat", "run nowhere --wiat", "plan gapped --wiat"])
def test_a_misspelt_option_is_named_before_the_workflow_is_looked_at(
    notebook: Notebook, line: str
) -> None:
    notebook.run("%%step b --workflow gapped --after a\n1")
    assert "unknown option `--wiat`" in notebook.run(f"%pixir {line}").outputs[0]["text"]
    assert "[unknown_dependency]" in error(notebook.run("%pixir run gapped"))


def test_commands_for_a_run_of_another_folder_reach_it(notebook: Notebook, tmp_path: Path) -> None:
    steps = "[{id: a, run: exit 3, posture: read_only}, {id: b, run: 'true', depends_on: a}]"
    (tmp_path / "far.yaml").write_text(f"name: far\nsteps: {steps}")
    state = f"--state {os.path.relpath(tmp_path / '.pixirnb', notebook.folder)}"
    state = min(state, f"--state {tmp_path / '.pixirnb'}", key=len)
    notebook.run(f"%pixir run {tmp_path}/far.yaml --as far")
    notebook.run("far.wait()")
    shown = notebook.run("%pixir show {far.id} " + state).text
    for text in (shown, notebook.run("far").text, error(notebook.run("far.value('b')"))):
        printed = re.findall(r"%pixir \w+ r-\S+(?= )(?: --state [^\s`]+)?", text)
        assert printed
        assert all(each.endswith(state) for each in printed), text
        for verb in printed:
            again = notebook.run(f"{verb} --help" if "resume" in verb else verb)
            assert not again.errors


def test_next_lists_each_command_once(notebook: Notebook) -> None:
    late = "{id: %s, run: sleep 60, timeout: 1s, posture: read_only}"
    steps = ", ".join(late % name for name in ("a", "b"))
    shown = notebook.run(f"%%workflow late --wait\nsteps: [{steps}]").text
    assert shown.count("--spec late") == 1
    assert "raise the timeout of a, b in its cell" in shown


def test_a_view_names_the_commands_of_a_cell(notebook: Notebook) -> None:
    notebook.run("%%workflow held --run --as run\nsteps: [{id: a, run: sleep 60}]")
    refused = notebook.run("%pixir prune held --yes")
    assert "`%pixir cancel r-" in refused.told
    assert "<code>%pixir cancel r-" in refused.saved[-1]["text/html"]
    notebook.run("%pixir cancel held")
    removed = "import shutil; run.wait(); shutil.rmtree(run.folder); run"
    assert "`%pixir runs` lists the runs" in notebook.run(removed).told


def test_a_missing_step_or_file_is_one_fact(notebook: Notebook) -> None:
    notebook.run("%%step s2 --workflow gap --after s0\ns0")
    for line in ("%pixir run gap", "%%workflow gap --wait\ndescription: d"):
        (told, _) = error(notebook.run(line)).splitlines()
        assert told == "`s2` needs `s0` (--after), which no cell defines [unknown_dependency]"
    assert "nofile.yaml: No such file" in error(notebook.run("%pixir run nofile.yaml"))
    named = error(notebook.run("%%workflow --wait\nsteps: [{id: a, run: 'true'}]"))
    assert "name the workflow: `%%workflow NAME`" in named


def test_a_workflow_of_a_cell_that_python_is_to_start_is_bound(notebook: Notebook) -> None:
    notebook.run("import pixirnb")
    for call in ("start('branch')", "plan('branch')", "resume('asking', spec='branch')"):
        assert "`%%workflow branch --as VAR`" in error(notebook.run(f"pixirnb.{call}"))


def test_a_function_is_not_called_a_class(notebook: Notebook) -> None:
    cell = notebook.run("%%step s --workflow returns --try\ndef f(): pass\nf")
    assert "functions defined in a cell or a function cannot be stored; define `f`" in cell.told


def test_a_cell_that_runs_shows_the_warnings_of_its_plan_above_the_view(notebook: Notebook) -> None:
    body = "steps: [{id: a, run: 'true', verify: [{exit_code: 3}], posture: read_only}]"
    for cell in (f"%%workflow warned --wait\n{body}", "%pixir run warned --wait"):
        first, view = notebook.run(cell).outputs[:2]
        assert (first["name"], first["text"][:17]) == ("stdout", "warning: line 2: ")
        assert first["text"].endswith("[check_never_passes]\n")
        assert view["type"] == "display_data"
    tried = notebook.run("%%step t --workflow warned --write out --try\n1")
    assert tried.printed == ""


def test_a_step_cell_that_takes_the_place_of_a_yaml_step_says_so(notebook: Notebook) -> None:
    notebook.run("%%workflow both\nsteps: [{id: a, run: 'true'}, {id: b, run: 'true'}]")
    note = "`a` takes the place of that step in the %%workflow cell"
    assert note in notebook.run("%%step a --workflow both\n1").told
    assert note not in notebook.run("%%step c --workflow both\n1").told


def test_a_tried_value_that_the_table_shows_whole_is_shown_once(notebook: Notebook) -> None:
    assert len(notebook.run("%%step a --workflow tried --try\n[1, 2]").saved) == 1
    assert len(notebook.run("%%step a --workflow tried --try\n'one\\ntwo'").saved) == 2


def test_an_error_below_a_view_that_a_person_sees_says_nothing_of_it_again(
    notebook: Notebook,
) -> None:
    source = "%%workflow seen --wait\nsteps: [{id: a, run: exit 3, posture: read_only}]"
    cell = notebook.collect(notebook.client.execute(source, allow_stdin=True))
    assert error(cell).endswith(
        " ended as failed: 0 of 1 step ready, 1 failed. [run_not_completed]"
    )
    assert "exited with code 3" in cell.told
