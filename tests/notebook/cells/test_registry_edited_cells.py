"""A cell is edited after its run: every command that is offered uses the edited cell, and one that does not says so."""

from __future__ import annotations

from tests.notebook.kernel_cells import Cell, Notebook

UNUSED = "the cells of `{0}` have changed; add `--spec {0}` to use them"


def offered(cell: Cell) -> list[str]:
    """The resumes that a cell names, with what they do."""
    lines = [line.strip() for line in cell.told.splitlines()]
    lines += [line.partition("→ ")[2] for lines in cell.errors for line in lines]
    return [line.partition("%pixir ")[2] for line in lines if "%pixir resume" in line]


def test_a_resume_without_the_edited_cell_says_so_and_one_with_it_uses_it(
    notebook: Notebook,
) -> None:
    notebook.run("%%step s --workflow ed\n1")
    notebook.run("%pixir run ed -j 1 --wait")
    assert "have changed" not in notebook.run("%pixir resume ed --wait").told
    notebook.run("%%step s --workflow ed\n2")

    for line in ("%pixir resume ed --wait", "%pixir resume ed --dry-run"):
        assert UNUSED.format("ed") in notebook.run(line).told
    cell = notebook.run("%pixir resume ed --spec ed --wait --as run")
    assert "have changed" not in cell.told
    assert notebook.run("print(run['s'].value)").printed == "2\n"


def test_a_failed_step_of_a_cell_is_rerun_with_its_cell(notebook: Notebook) -> None:
    notebook.run("%%step s --workflow mended\n1 / 0")
    failed = notebook.run("%pixir run mended --wait --as run")
    resumes = offered(failed)
    assert resumes
    assert all(" --spec mended" in resume for resume in resumes)
    assert offered(notebook.run("%pixir show mended"))

    notebook.run("%%step s --workflow mended\n3")
    resumed = notebook.run("%pixir resume mended")
    assert UNUSED.format("mended") in resumed.told
    command = resumes[0].partition("  ")[0]
    assert notebook.run(f"%pixir {command} --wait").status == "ok"
    assert notebook.run("print(run['s'].value)").printed == "3\n"


def test_a_redefined_function_of_the_notebook_is_an_edit_too(notebook: Notebook) -> None:
    notebook.run("def half(): return 1 / 0")
    notebook.run("%%workflow calling --wait\nsteps: [{id: a, call: ':half'}]")
    assert "have changed" not in notebook.run("%pixir resume calling --dry-run").told
    notebook.run("def half(): return 1 / 2")
    assert UNUSED.format("calling") in notebook.run("%pixir resume calling --dry-run").told


def test_an_outcome_an_expectation_and_a_diagnosis_offer_the_cell(notebook: Notebook) -> None:
    notebook.run("%%step s --workflow shown\n1 / 0")
    notebook.run("%pixir run shown --wait --expect failed --as run")
    notebook.run("import pixirnb")
    for cell in ("run", "run.outcome", "%pixir show shown", "pixirnb.expect(run)"):
        resumes = offered(notebook.run(cell))
        assert resumes, cell
        assert all(" --spec shown" in resume for resume in resumes), cell


def test_a_file_that_no_cell_defines_is_resumed_as_before(notebook: Notebook) -> None:
    (notebook.folder / "flow.yaml").write_text("{name: filed, steps: [{id: a, run: exit 3}]}")
    assert not any(
        "--spec" in each for each in offered(notebook.run("%pixir run flow.yaml --wait"))
    )


def test_a_timeout_is_raised_in_the_cell_and_a_thread_says_what_can_be_stopped(
    notebook: Notebook,
) -> None:
    notebook.run("%%step s --workflow late --timeout 1s\nimport time; time.sleep(3)")
    cell = notebook.run("%pixir run late --wait --as run")
    assert "raise the timeout of s in its cell, then resume" in cell.told
    assert "set `process: true`" in cell.told
    assert all(" --spec late" in resume for resume in offered(cell))
    for diagnosis in ("run.diagnose()", "%pixir doctor late"):
        resumes = offered(notebook.run(diagnosis))
        assert resumes, diagnosis
        assert all(" --spec late" in resume for resume in resumes), diagnosis
