"""What cells promise in a real kernel: pictures, one-line errors, runs in the background, waiting, attaching."""

from __future__ import annotations

import pytest

from tests.notebook.kernel_cells import Notebook
from tests.views.pictures import drawn_in

QUICK = 'steps:\n  - {id: a, run: "echo hi", posture: read_only}\n'


def slow(seconds: float) -> str:
    return f'steps:\n  - {{id: a, run: "sleep {seconds}", posture: read_only}}\n'


def test_a_cell_defines_a_workflow_and_shows_its_plan(notebook: Notebook) -> None:
    cell = notebook.run(f"%%workflow defined --as flow\n{QUICK}")
    (bundle,) = cell.shown
    assert "Nothing has run" in bundle["text/plain"]
    assert drawn_in(bundle["text/html"])
    assert notebook.run("print(type(flow).__name__, flow.name)").printed == "Workflow defined\n"
    planned = notebook.run("%pixir plan defined").shown[0]["text/plain"]
    assert bundle["text/plain"].startswith(planned.rstrip("\n"))
    assert "next\n    %pixir run defined  run the workflow" in bundle["text/plain"]


def test_every_mistake_is_one_line_on_its_line_of_the_cell_and_stops_what_follows(
    notebook: Notebook,
) -> None:
    wrong = "name: other\nstps: 1\nsteps:\n  - {id: a, rnu: x}\n"
    # What a broken cell stops are the cells that wait behind it: they must be there when it breaks.
    held = notebook.send(
        "import pathlib, time\nwhile not pathlib.Path('all-sent').exists(): time.sleep(0.01)\ntime.sleep(0.5)"
    )
    first = notebook.send(f"%%workflow wrong --wait\n{wrong}")
    second = notebook.send("print('reached')")
    (notebook.folder / "all-sent").touch()
    notebook.collect(held)
    cell, after = notebook.collect(first), notebook.collect(second)
    (lines,) = cell.errors
    assert [line.split(",")[0] for line in lines[1:]] == [
        "  ✗ line 2",
        "  ✗ line 3",
        "  ✗ line 5",
    ]
    assert (cell.status, after.status, after.printed) == ("error", "aborted", "")


def test_a_mistake_in_the_options_is_one_line(notebook: Notebook) -> None:
    for line in (
        "%%workflow x --wiat",
        "%%workflow x --wait --expect done",
        "%%workflow x --expect",
    ):
        cell = notebook.run(f"{line}\n{QUICK}")
        assert cell.status == "error"
        assert cell.printed.startswith("UsageError: ")
        assert cell.printed.rstrip().count("\n") == 0
    unknown = notebook.run("%pixir frobnicate").printed
    assert unknown == "UsageError: unknown verb `frobnicate`; see `%pixir --help` [invalid_args]\n"
    assert notebook.run("%pixir approve").printed.startswith("UsageError: missing argument REQUEST")


def test_help_is_shown_where_it_is_asked_for(notebook: Notebook) -> None:
    for asked in ("%workflow", "%workflow --help", f"%%workflow --help\n{QUICK}"):
        cell = notebook.run(asked)
        assert cell.status == "ok"
        assert cell.printed.startswith("%%workflow [--run] [--wait]")
        assert "awaited" not in cell.printed


def test_the_help_of_a_verb_is_one_plain_text_as_wide_as_a_cell(notebook: Notebook) -> None:
    cell = notebook.run("%pixir --help")
    for asked in ("%pixir --help", "%pixir run --help", "%pixir resume -h"):
        cell = notebook.run(asked)
        assert {output["type"] for output in cell.outputs} == {"stream"}, asked
        assert "\x1b" not in cell.printed
        assert "\n\n\n" not in cell.printed
        assert max(map(len, cell.printed.splitlines())) <= 88
    started = notebook.run("%pixir run --help").printed
    for option in ("--wait", "--expect", "--as"):
        assert option in started
    assert "wait for it" not in started


def test_a_cell_that_waits_ends_with_the_run_and_its_last_picture(notebook: Notebook) -> None:
    cell = notebook.run(f"%%workflow waited --wait --as run\n{slow(0.3)}")
    (bundle,) = cell.saved
    assert (cell.status, cell.errors, cell.printed) == ("ok", [], "")
    assert bundle["text/plain"].startswith("✓ completed · waited")
    assert drawn_in(bundle["text/html"])
    assert notebook.run("print(run.status, run.outcome.ok)").printed == "completed True\n"


def test_a_background_run_returns_at_once_and_its_picture_ends_true(notebook: Notebook) -> None:
    cell = notebook.run(f"%%workflow background --run\n{slow(1)}")
    (bundle,) = cell.saved
    assert bundle["text/plain"].startswith("▸ running")
    last = notebook.next_update()
    while not last["text/plain"].startswith("✓ completed"):
        last = notebook.next_update()
    assert drawn_in(last["text/html"])


def test_a_run_that_did_not_complete_is_one_line_unless_expected(notebook: Notebook) -> None:
    body = 'steps:\n  - {id: a, run: "exit 3", posture: read_only}\n'
    cell = notebook.run(f"%%workflow failing --wait\n{body}")
    ((line,),) = cell.errors
    assert "[run_not_completed]" in line
    assert "ended as failed" in line
    assert "%pixir resume" in line
    assert "\n" not in line
    assert notebook.run(f"%%workflow failing --wait --expect failed\n{body}").status == "ok"
    again = notebook.run("%pixir run failing --wait --expect partial")
    assert (again.status, len(again.errors)) == ("error", 1)


def test_a_cell_run_again_attaches_to_its_live_run(notebook: Notebook) -> None:
    source = f"%%workflow again --run --as first\n{slow(30)}"
    notebook.run(source)
    attached = notebook.run(source.replace("first", "second"))
    assert attached.status == "ok"
    assert notebook.run("print(first.id == second.id)").printed == "True\n"

    other = notebook.run(f"%%workflow again --run --as third\n{slow(31)}")
    assert "[still_live]" in other.errors[0][0]
    assert "%pixir cancel r-" in other.errors[0][1]
    assert notebook.run("print('third' in globals())").printed == "False\n"

    assert notebook.run("%pixir cancel {first.id}").printed.startswith("Stopping r-")
    ended = notebook.run("(await first).status")
    assert ended.shown[0]["text/plain"] == "'interrupted'"

    notebook.run(source)
    assert notebook.run("print(first.id == second.id); first.cancel()").printed == "False\n"


def test_a_cell_with_true_in_the_place_of_one_attaches_to_no_live_run(notebook: Notebook) -> None:
    body = f"inputs: {{x: {{type: array}}}}\n{slow(30)}"
    notebook.run(f"%%workflow typed --run --as first --input x=[1]\n{body}")
    other = notebook.run(f"%%workflow typed --run --input x=[true]\n{body}")
    assert "[still_live]" in other.errors[0][0]
    notebook.run("first.cancel()")


def test_a_function_of_an_earlier_cell_is_a_step_and_counts_as_part_of_the_workflow(
    notebook: Notebook,
) -> None:
    notebook.run("def double(n):\n    import time\n    time.sleep(0.5)\n    return {'n': 2 * n}")
    body = 'inputs: {n: {type: integer}}\nsteps:\n  - {id: a, call: ":double", with: {n: "{{ inputs.n }}"}}\n'
    cell = notebook.run(f"%%workflow doubled --wait --as run --input n=21\n{body}")
    assert cell.status == "ok"
    assert notebook.run("run.value('a')").shown[0]["text/plain"] == "{'n': 42}"

    notebook.run(f"%%workflow doubled --run --input n=21\n{body}")
    notebook.run("def double(n):\n    return n")
    changed = notebook.run(f"%%workflow doubled --run --input n=21\n{body}")
    assert "[still_live]" in changed.errors[0][0]


def test_inputs_are_checked_before_anything_runs(notebook: Notebook) -> None:
    body = f"inputs: {{n: {{type: integer}}}}\n{QUICK}"
    for options in ("--wait", "--wait --input n=x", "--run --input m=1 --input n=1", "--input n=x"):
        cell = notebook.run(f"%%workflow given {options}\n{body}")
        assert cell.status == "error"
        assert "[input_" in cell.errors[0][0]


def test_a_plan_counts_the_items_of_the_inputs_it_is_shown_for(notebook: Notebook) -> None:
    steps = "steps: [{id: a, for_each: '{{ inputs.l }}', run: 'echo {{ item }}'}]"
    body = f"inputs: {{l: {{type: array}}}}\n{steps}\n"
    assert "× ?" in notebook.run(f"%%workflow counted\n{body}").text
    given = notebook.run(f"%%workflow counted --dry-run --input 'l=[1, 2, 3]'\n{body}").text
    assert "× 3" in given
    assert "%pixir run counted --input 'l=[1, 2, 3]'" in given


def test_a_dry_run_says_that_no_cluster_is_given(notebook: Notebook) -> None:
    body = "placement: cluster\nsteps: [{id: a, run: 'true'}]\n"
    said = "No cluster is given; a cannot run without one."
    assert said in notebook.run(f"%%workflow placed --dry-run\n{body}").text.replace("`", "")
    assert said not in notebook.run(f"%%workflow placed\n{body}").text.replace("`", "")


def test_a_run_can_be_awaited_in_a_cell(notebook: Notebook) -> None:
    notebook.run(f"%%workflow awaited --run --as run\n{slow(0.3)}")
    cell = notebook.run("await run")
    assert cell.shown[0]["text/plain"].startswith("✓ completed · awaited")
    assert drawn_in(cell.shown[0]["text/html"])


def test_verbs_show_text_and_html(notebook: Notebook) -> None:
    notebook.run(f"%%workflow shown --wait --as run\n{QUICK}")
    for verb, said in (
        ("runs", "completed"),
        ("show {run.id}", "completed"),
        ("show {run.id} a", "It has no dependencies."),
        ("log {run.id}", "run completed"),
        ("resume {run.id} --dry-run", "ready and unchanged"),
        ("resume {run.id} --wait", "Nothing to do"),
    ):
        (bundle,) = notebook.run(f"%pixir {verb}").shown
        assert said in bundle["text/plain"], verb
        assert said in bundle["text/html"], verb


def test_json_is_exactly_one_document(notebook: Notebook) -> None:
    notebook.run(f"%%workflow told --wait --as run\n{QUICK}")
    for line in (
        "runs --json",
        "show {run.id} --json",
        "run told --wait --json",
        "plan told --json",
    ):
        printed = notebook.run(f"%pixir {line}").printed
        assert notebook.run(
            f"import json; print(type(json.loads({printed!r})).__name__)"
        ).printed == ("dict\n")


def test_output_is_told_only_by_the_cell_that_stays_and_asks(notebook: Notebook) -> None:
    notebook.run(f"%%workflow loud --wait\n{QUICK}")
    assert notebook.run("%pixir run loud --wait").printed == ""
    assert notebook.run("%pixir run loud --wait --tail").printed == "[a] hi\n"
    assert notebook.run("%pixir run loud --tail").printed.startswith(
        "UsageError: --tail requires --wait"
    )


def test_errors_of_the_python_interface_are_lines_too(notebook: Notebook) -> None:
    cell = notebook.run("import pixirnb\npixirnb.open_run('r-none')")
    assert "[unknown_run]" in cell.errors[0][0]
    assert len(cell.errors[0]) == 2


def test_a_magic_within_another_still_waits(notebook: Notebook) -> None:
    notebook.run(f"%%workflow nested --as flow\n{slow(0.3)}")
    cell = notebook.run(
        "def go():\n    %pixir run nested --wait --as inner\ngo()\nprint(inner.status)"
    )
    assert cell.printed == "completed\n"


@pytest.mark.parametrize("outer", ["%%time", "%%timeit -n1 -r1", "%%capture kept"])
def test_a_cell_within_another_still_waits(notebook: Notebook, outer: str) -> None:
    cell = notebook.run(f"{outer}\n%%workflow within --wait --as inner\n{slow(0.2)}")
    assert (cell.status, cell.errors) == ("ok", [])
    assert notebook.run("print(inner.status); del inner").printed == "completed\n"


def test_a_name_whose_cell_was_not_run_is_told_from_a_file_that_is_missing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    fresh = Notebook(tmp_path_factory.mktemp("fresh"))
    try:
        (lines,) = fresh.run("%pixir run sales").errors
    finally:
        fresh.close()
    assert "no workflow of this notebook is named" in lines[0]
    assert lines[1].strip() == "→ run the cell that defines it first (known: none yet)"


def test_an_extension_taken_away_leaves_nothing(notebook: Notebook) -> None:
    notebook.run("%unload_ext pixirnb")
    try:
        assert "not found" in notebook.run("%pixir runs").printed
        assert len(notebook.run("import pixirnb; pixirnb.open_run('r-none')").errors[0]) > 2
    finally:
        notebook.run("%load_ext pixirnb")
    assert notebook.run("%pixir runs").status == "ok"
