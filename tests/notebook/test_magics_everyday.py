"""Everyday cells in a real kernel: a step without its workflow's name, steps taken out, prints, names that are not seen."""

from __future__ import annotations

from tests.notebook.kernel_cells import Cell, Notebook


def usage(cell: Cell) -> str:
    """The one line of a mistake in the options."""
    assert cell.status == "error"
    line = cell.printed.removeprefix("UsageError: ").rstrip()
    assert "\n" not in line
    return line


def test_a_step_before_any_workflow_says_what_is_missing(notebook: Notebook) -> None:
    (lines,) = notebook.run("%%step lonely\n1").errors
    assert "[workflow_missing]" in lines[0]
    assert "%%step lonely --workflow NAME" in lines[1]


def test_a_step_without_a_workflow_belongs_to_the_last_one_or_to_where_it_is(
    notebook: Notebook,
) -> None:
    notebook.run("%%workflow first\ndescription: one")
    assert notebook.run("%%step a\n1").status == "ok"
    notebook.run("%%workflow second\ndescription: two")
    assert notebook.run("%%step b --depends-on a\na + 1").status == "ok"
    notebook.run("%%step a\n2")
    assert "1 step" in notebook.run("%pixir plan first").text
    told = notebook.run(
        "from pixirnb.notebook.cells.registry import REGISTRY\n"
        "print({name: [*draft.cells] for name, draft in REGISTRY.drafts.items()})"
    )
    assert told.printed == "{'second': ['b'], 'first': ['a']}\n"


def test_the_words_of_a_workflow_are_options_too(notebook: Notebook) -> None:
    notebook.run("limit = 3\n")
    notebook.run("%%step a --workflow worded\n1")
    cell = notebook.run(
        "%%step b --workflow worded --depends-on a --with limit --read-set 'in/*' --write-set out\na + limit"
    )
    assert cell.status == "ok"
    told = notebook.run("print(REGISTRY.draft('worded').cells['b'].written([]))").printed
    assert "'depends_on': ['a']" in told
    assert "'limit': 3" in told
    assert "'read_set': ['in/*'], 'write_set': ['out']" in told


def test_a_step_is_removed_and_what_needs_it_is_named(notebook: Notebook) -> None:
    notebook.run("%%step a --workflow shrinks\n1")
    notebook.run("%%step b --workflow shrinks --after a\na")
    cell = notebook.run("%step a --remove")
    assert "`b` needs `a`" in cell.text
    (lines,) = notebook.run("%%step a --workflow shrinks --remove\n1").errors
    assert "[unknown_step]" in lines[0]
    assert notebook.run("%%step b --remove").status == "ok"
    (lines,) = notebook.run("%pixir forget shrinks").errors
    assert "[unknown_workflow]" in lines[0]


def test_a_workflow_is_forgotten_with_its_steps(notebook: Notebook) -> None:
    notebook.run("%%step a --workflow gone\n1")
    assert notebook.run("%pixir forget gone").printed == "Forgot workflow gone.\n"
    assert notebook.run("%pixir run gone --wait").status == "error"
    (lines,) = notebook.run("%pixir forget gon").errors
    assert "[unknown_workflow]" in lines[0]
    assert "forget" in notebook.run("%pixir --help").printed


def test_a_mistake_in_the_options_comes_with_a_suggestion(notebook: Notebook) -> None:
    body = "steps: [{id: a, run: 'true'}]"
    for line, told in (
        ("%%workflow x --wiat", "unknown option `--wiat`; did you mean `--wait`?"),
        ("%%workflow x --frobnicate", "unknown option `--frobnicate`; see %%workflow?"),
        ("%%workflow my flow", "unexpected argument `flow`; workflow names cannot contain spaces"),
        ("%%workflow x --input", "--input needs a value"),
        ("%%workflow x --wait --as 2x", "--as: '2x' is not a valid Python variable name"),
        ("%%workflow x --expect failed", "--expect requires --wait"),
        ("%%step", "missing argument ID; usage: %%step ID [options]"),
        ("%%step x --afer a", "unknown option `--afer`; did you mean `--after`?"),
        ("%pixir resume $nope", "$nope: variable `nope` is not defined"),
    ):
        assert usage(notebook.run(f"{line}\n{body}" if line[1] == "%" else line)) == told


def test_a_function_that_will_miss_a_name_says_so_when_the_workflow_is_defined(
    notebook: Notebook,
) -> None:
    notebook.run("import json\ndef load():\n    return json.loads('[1]')")
    body = 'steps: [{id: load, call: ":load"}]'
    note = "line 2 of `load`: `json` is not available when it runs as a step; "
    defined = notebook.run(f"%%workflow blind\n{body}")
    assert note + "import or define it inside `load`, or use %%step" in defined.text
    ran = notebook.run(f"%%workflow blind --wait --expect failed\n{body}")
    assert note in ran.printed
    notebook.run("def load():\n    import json\n    return json.loads('[1]')")
    assert "not available" not in notebook.run(f"%%workflow blind\n{body}").text


def test_a_cell_that_waits_shows_the_end_of_what_its_python_steps_printed(
    notebook: Notebook,
) -> None:
    notebook.run("%%step many --workflow loud\nfor n in range(30): print('row', n)")
    notebook.run("%%step few --workflow loud --after many\nprint('done', end='')")
    notebook.run("%%step mute --workflow loud\n1")
    cell = notebook.run("%pixir run loud --wait --as run")
    rows = "".join(f"[many] row {n}\n" for n in range(20, 30))
    run_id = notebook.run("print(run.id)").printed.strip()
    assert (
        cell.printed == f"[many] … 20 lines before: %pixir logs {run_id} many\n{rows}[few] done\n"
    )
    assert notebook.run("%pixir resume {run.id} --from few --wait").printed == "[few] done\n"
    assert notebook.run("%pixir resume {run.id} --wait").printed == ""


def test_a_step_with_a_class_of_its_cell_says_what_to_do(notebook: Notebook) -> None:
    cell = notebook.run("%%step model --workflow classes --try\nclass Model: pass\nModel()")
    assert "classes defined in a cell or a function cannot be stored" in cell.text
    assert "define `Model` in a module" in cell.text


def test_a_cell_that_waits_shows_the_figures_of_its_steps_small(notebook: Notebook) -> None:
    notebook.run(
        "%%step plot --workflow drawn\nfrom matplotlib.figure import Figure\n"
        "figure = Figure()\nfigure.subplots().plot([1, 2])\nfigure"
    )
    cell = notebook.run("%pixir run drawn --wait --as run")
    (shown,) = [o for o in cell.outputs if "image/png" in o.get("data", {})]
    assert shown["data"]["text/plain"] == "[plot] Figure"
    assert shown["data"]["image/png"].startswith("iVBOR")
    assert shown["metadata"] == {"image/png": {"width": 320}}
    assert len(notebook.run("%pixir resume {run.id} --wait").shown) == 1
