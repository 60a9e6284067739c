"""`%%step`: a workflow written cell by cell, each a step in Python, tried alone or run and resumed like any other."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.notebook.cells.step_cell import StepCell, StepRequest, check, split_list, step_cell
from tests.notebook.kernel_cells import Cell, Notebook
from tests.views.pictures import drawn_in


def compiled(body: str = "1", notebook: dict[str, Any] | None = None, **asked: Any) -> StepCell:
    return step_cell(StepRequest(asked.pop("id", "a"), "w", **asked), body, notebook or {})


def refused(**asked: Any) -> tuple[str, int | None]:
    with pytest.raises(InvalidArguments) as caught:
        compiled(**asked)
    assert caught.value.fix
    return caught.value.code, caught.value.line


# --- what a cell means ----------------------------------------------------------------------------------------------


def test_a_cell_is_an_ordinary_python_step() -> None:
    cell = compiled(
        "[row for row in raw_data if len(row) > limit]",
        {"limit": 3},
        id="clean-up",
        after=("raw-data", "gate"),
        use=("limit",),
        read=("data/**",),
        write=("out.csv",),
        title="Загрузка",
        timeout="45s",
        process=True,
        verify=("file_exists:out.csv",),
    )
    assert cell.written({"n": {"type": "integer"}}) == {
        "id": "clean-up",
        "call": ":step_clean_up",
        "depends_on": ["raw-data", "gate"],
        "with": {"raw_data": "{{ steps.raw-data.output }}", "limit": 3},
        "title": "Загрузка",
        "timeout": "45s",
        "process": True,
        "read_set": ["data/**"],
        "write_set": ["out.csv"],
        "verify": [{"file_exists": "out.csv"}],
    }
    assert cell.source.startswith("def step_clean_up(raw_data, limit):  # %%step clean-up\n")


def test_inputs_are_given_only_to_a_body_that_asks_for_them() -> None:
    assert compiled("1").written(["n"])["with"] == {}
    given = compiled("inputs['n']").written(["n", "m"])["with"]
    assert given == {"inputs": {"n": "{{ inputs.n }}", "m": "{{ inputs.m }}"}}


def test_values_of_the_notebook_are_copied_when_the_cell_is_run() -> None:
    value: dict[str, Any] = {"a": [1, 2.5, None, True, "text"], "b": {"c": []}}
    cell = compiled("x", {"x": value}, use=("x",))
    value["a"].clear()
    assert cell.used == {"x": {"a": [1, 2.5, None, True, "text"], "b": {"c": []}}}


class Money(float):
    """A number that is more than one."""


class Word(str):
    """Text that is more than that."""

    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        (1, 2),
        {1: "a"},
        {"a": {1, 2}},
        object(),
        len,
        os,
        Money(3),
        "{{ steps.a.output }}",
        ["{{"],
        "\ud800",
        10**5000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_data_cannot_say_exactly_is_refused(value: Any) -> None:
    assert refused(notebook={"x": value}, use=("x",)) == ("use_not_data", 1)


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ((1,), "make it a list: x = list(x)"),
        (np.int64(3), "make it plain data: x = x.tolist()"),
        ({"a": np.bool_(True)}, "make it plain data: x['a'] = x['a'].tolist()"),
        (np.array([1, 2]), "make it plain data: x = x.tolist()"),
        (Word("text"), "make it plain text: x = str(x)"),
        (len, "import or define it in the step's cell"),
    ],
)
def test_what_is_nearly_data_is_told_how_to_become_some(value: Any, fix: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        compiled(notebook={"x": value}, use=("x",))
    assert caught.value.fix == fix


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert refused(notebook={"x": endless}, use=("x",)) == ("use_not_data", 1)


def test_names_are_refused_where_they_cannot_be_or_would_stand_for_two_things() -> None:
    assert refused(id="no good") == ("bad_name", 1)
    assert refused(id="../up") == ("bad_name", 1)
    assert refused(after=("a b",)) == ("bad_name", 1)
    assert refused(use=("gone",)) == ("use_missing", 1)
    assert refused(notebook={"a.b": 1}, use=("a.b",)) == ("use_missing", 1)
    assert refused(after=("x-y", "x_y")) == ("name_twice", 1)
    assert refused(notebook={"raw": 1}, after=("raw",), use=("raw",)) == ("name_twice", 1)
    assert refused(notebook={"inputs": 1}, use=("inputs",)) == ("name_twice", 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file_exists:out/*.csv", {"file_exists": "out/*.csv"}),
        ("output_contains:a: b", {"output_contains": "a: b"}),
        ("python:pkg.mod:fn", {"python": "pkg.mod:fn"}),
        (":fn", {"python": ":fn"}),
        ('schema:{"type": "array"}', {"schema": {"type": "array"}}),
        ("exit_code:0", {"exit_code": 0}),
        ("{command: [true], timeout: 5s}", {"command": [True], "timeout": "5s"}),
    ],
)
def test_a_check_is_written_in_a_word(text: str, expected: dict[str, Any]) -> None:
    assert check(text) == expected


@pytest.mark.parametrize("text", ["out.csv", "exists:out.csv", "", "[a]", "{a: 1"])
def test_a_check_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check(text)
    assert caught.value.line == 1


def test_values_of_an_option_may_be_listed_or_repeated_and_globs_keep_their_commas() -> None:
    assert split_list(["a, b", "c,a", ""]) == ("a", "b", "c")
    assert split_list(["data/{a,b}.csv,x"]) == ("data/{a,b}.csv", "x")
    assert split_list(None) == ()


# --- in a kernel ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """One kernel for these tests; each names its workflows differently."""
    opened = Notebook(tmp_path_factory.mktemp("steps"))
    yield opened
    opened.close()


def shown_by(cell: Cell) -> list[str]:
    """Every text it shows; pictures of earlier cells that changed meanwhile may be among them."""
    return [bundle["text/plain"] for bundle in cell.saved]


def test_a_workflow_is_written_cell_by_cell_in_any_order(notebook: Notebook) -> None:
    first = notebook.run("%%step total --workflow grown --after raw\nsum(raw)")
    assert "`total` needs `raw`: run the cell that defines it" in first.text
    assert drawn_in(first.saved[-1]["text/html"])
    early = notebook.run("%pixir run grown --wait")
    assert early.errors[0][0] == (
        "`total` needs `raw` (--after), which no cell defines [unknown_dependency]"
    )
    notebook.run("%%workflow grown\ninputs: {n: {type: integer, default: 4}}\n")
    second = notebook.run("%%step raw --workflow grown\nlist(range(inputs['n']))")
    assert "waits" not in second.text
    assert "2 steps in 2 waves" in second.text
    assert notebook.run("%pixir plan grown").shown[0]["text/plain"] in shown_by(second)
    assert notebook.run("%pixir run grown --wait --as run --input n=5").status == "ok"
    assert notebook.run("print(run.value('total'))").printed == "10\n"


def test_a_workflow_cell_may_leave_its_steps_to_others(notebook: Notebook) -> None:
    header = "%%workflow led\nphases: [{name: load, steps: [raw]}]\n"
    cell = notebook.run(header)
    assert "has no steps yet" in cell.text
    assert "[missing_key]" in notebook.run(header.replace("led", "led --run")).errors[0][0]
    other = notebook.run("%%step other --workflow led\n1")
    assert "phase `load` needs `raw`: run the cell that defines it" in other.text
    assert "waits" not in notebook.run("%%step raw --workflow led\n1").text
    assert notebook.run("%pixir run led --wait").status == "ok"


def test_step_cells_and_a_workflow_cell_make_one_workflow(notebook: Notebook) -> None:
    cell = "%%workflow both\nsteps:\n  - {id: a, run: 'echo 1'}\n  - {id: b, run: 'echo 2'}\n"
    notebook.run(cell)
    notebook.run("%%step c --workflow both --after b\nb")
    notebook.run("%%step a --workflow both\n'mine'")
    notebook.run("from pixirnb.notebook.cells.registry import REGISTRY")
    order = "print([step.id for step in REGISTRY.workflows['both'].steps])"
    assert notebook.run(order).printed == "['a', 'b', 'c']\n"
    again = notebook.run(cell)
    assert "step_twice" in again.errors[0][1]
    assert "line 3" in again.errors[0][1]
    assert "%step a --workflow both --remove" in again.errors[0][1]
    kept = cell.replace("  - {id: a, run: 'echo 1'}\n", "")
    assert notebook.run(kept).status == "ok"
    assert notebook.run(order).printed == "['b', 'c', 'a']\n"
    ran = notebook.run("%%workflow both --wait --as run\n" + kept.partition("\n")[2])
    assert ran.status == "ok"
    assert notebook.run("print(run.value('c'), run.value('a'))").printed == "2 mine\n"
    bad = notebook.run("%%workflow both\nsteps: [{id: b, run: x, depends_on: [gone]}]")
    assert "line 2" in bad.errors[0][1]
    assert "if a %%step cell defines it, run that cell first" in bad.errors[0][1]
    notebook.run("%%step gone --workflow both\n1 if gonee else 2")
    early = notebook.run("%%workflow both\nsteps: [{id: b, run: x, depends_on: [gone]}]")
    assert early.status == "ok"
    assert "gonee" not in early.text  # the card of the %%step cell has said it


def test_a_step_that_is_run_again_stays_in_its_place_and_only_what_it_changes_reruns(
    notebook: Notebook,
) -> None:
    notebook.run("%%step a --workflow edited\n1")
    notebook.run("%%step b --workflow edited --after a\na + 1")
    notebook.run("%%step c --workflow edited --after b\nb * 10")
    notebook.run("%%step d --workflow edited --after a\na * 5")
    notebook.run("%pixir run edited --wait --as run")
    titled = notebook.run(
        "%%step b --workflow edited --after a --timeout 5m --title 'Второй шаг'\na + 1"
    )
    assert "Второй шаг (b)" in titled.text
    told = notebook.run("%pixir resume {run.id} --spec edited --dry-run --json").printed
    assert notebook.run(
        f"import json; print({{s['action'] for s in json.loads({told!r})['steps']}})"
    ).printed == ("{'reuse'}\n")
    notebook.run("%%step b --workflow edited --after a\n# more\na + 2")
    assert notebook.run("%pixir resume {run.id} --spec edited --wait").status == "ok"
    shown = notebook.run("print({s.step_id: s.attempt for s in run.outcome.steps})").printed
    assert shown == "{'a': 1, 'b': 2, 'c': 2, 'd': 1}\n"
    assert notebook.run("print(run.value('c'))").printed == "30\n"


def test_what_a_step_uses_of_the_notebook_is_data_in_the_log(notebook: Notebook) -> None:
    notebook.run("limit, words = 3, {'stop': ['the', 'a']}")
    notebook.run("%%step a --workflow used --use limit,words\n[limit, words]")
    notebook.run("limit = 99")
    notebook.run("%pixir run used --wait --as run")
    assert notebook.run("print(run.value('a'))").printed == "[3, {'stop': ['the', 'a']}]\n"
    notebook.run("import json; first = json.loads((run.folder / 'log.jsonl').open().readline())")
    assert notebook.run("print(first['data']['spec']['steps'][0]['with'])").printed == (
        "{'limit': 3, 'words': {'stop': ['the', 'a']}}\n"
    )


def test_a_workflow_of_step_cells_is_a_value_that_python_runs_and_resumes_with(
    notebook: Notebook,
) -> None:
    """It brings along the bodies as they were when it was bound."""
    assert notebook.run("%%step first --workflow held\n'as bound'").status == "ok"
    assert notebook.run("%%workflow held --as flow\ndescription: bound").status == "ok"
    assert notebook.run("%%step first --workflow held\n'as edited'").status == "ok"
    told = notebook.run(
        "import copy, pixirnb\n"
        "print(pixirnb.plan(flow).ok, pixirnb.load(flow) is flow)\n"
        "run = pixirnb.start(copy.deepcopy(flow)); run.wait()\n"
        "print(run.outcome.status, run.value('first'))\n"
        "print([step['action'] for step in pixirnb.plan_resume(run.id, spec=flow)])\n"
        "print(pixirnb.run(flow).status)"
    )
    assert told.errors == []
    assert told.printed == "True True\ncompleted as bound\n['reuse']\ncompleted\n"
    assert notebook.run("%pixir run held --wait --as run\nprint(run.value('first'))").printed == (
        "as edited\n"
    )


def test_a_body_is_pinned_as_it_was_written(notebook: Notebook) -> None:
    body = "# the reason\ntext = '''one \n  x\n\ttwo'''  # kept\n\ntext"
    notebook.run(f"%%step a --workflow pinned\n{body}")
    notebook.run("%pixir run pinned --wait --as run")
    assert notebook.run("run.value('a')").shown[0]["text/plain"] == repr("one \n  x\n\ttwo")
    notebook.run("source = run.compiled().sources[':step_a']")
    assert notebook.run("print(source)").printed == (
        "def step_a():  # %%step a\n    # the reason\n    text = '''one \n  x\n\ttwo'''  # kept\n\n    return text\n\n"
    )


def test_a_step_sees_nothing_of_the_notebook_but_what_it_was_given(notebook: Notebook) -> None:
    notebook.run("import math\nframe = {}\nhidden = 3\nrows = (1, 2)\nslow = object()")
    cell = notebook.run(
        "%%step b --workflow alone --after a\n# a comment\nhidden + math.pi\nfrme + a\nrows, slow"
    )
    told = cell.text
    for line in (
        "`b` needs `a`: run the cell that defines it",
        "line 3: `hidden` is not available in this step; pass it with --use hidden",
        "line 3: `math` is not available in this step; import or define it in this cell",
        "line 4: `frme` is not available in this step; import or define it in this cell",
        "line 5: `rows` is not available in this step; define it here, or make it a list: rows = list(rows)",
        "line 5: `slow` is not available in this step; define it here, "
        "or return it from another step and name that step in --after",
    ):
        assert f"{line}\n" in told
    notebook.run("%%step a --workflow alone\n1")
    notebook.run("%pixir run alone --wait --expect partial --as run")
    error = notebook.run("print(run.outcome.step('b').error['message'])").printed
    assert error == "line 3 of the cell: NameError: name 'hidden' is not defined\n"


def test_a_writer_runs_as_a_process_and_its_checks_are_made(notebook: Notebook) -> None:
    source = (
        "%%step make --workflow written --write 'out/{a,b}.txt' --verify file_exists:out/a.txt --try\n"
        "import os, pathlib\npathlib.Path('out').mkdir()\npathlib.Path('out/NAME.txt').write_text('x')\nos.getpid()"
    )
    failed = notebook.run(source.replace("NAME", "b"))
    assert "[run_not_completed]" in failed.errors[0][0]
    assert "file_exists" in failed.text
    done = notebook.run(source.replace("NAME", "a").replace("mkdir()", "mkdir(exist_ok=True)"))
    assert done.status == "ok"
    assert str(notebook.pid) not in shown_by(done)


def test_braces_in_the_line_are_globs_whatever_the_notebook_calls_by_those_names(
    notebook: Notebook,
) -> None:
    notebook.run("a, b = 1, 2")
    notebook.run(
        "%%step make --workflow braces --read 'in/{a,b}.csv' --verify 'file_exists:{a}'\n1"
    )
    notebook.run("from pixirnb.notebook.cells.registry import REGISTRY")
    told = notebook.run("print(REGISTRY.draft('braces').cells['make'].options)").printed
    assert told == "{'read_set': ['in/{a,b}.csv'], 'verify': [{'file_exists': '{a}'}]}\n"


def test_an_input_that_no_cell_declares_is_named_with_its_place(notebook: Notebook) -> None:
    told = notebook.run('%%step a --workflow undeclared --try\ninputs["n"] + 1').text
    assert "declare `n` under `inputs:` of the %%workflow cell" in told


def test_a_step_that_asks_for_a_process_gets_one_and_its_timeout_ends_it(
    notebook: Notebook,
) -> None:
    done = notebook.run("%%step a --workflow apart --process --try\nimport os\nos.getpid()")
    assert done.status == "ok"
    assert str(notebook.pid) not in shown_by(done)
    late = notebook.run(
        "%%step b --workflow apart --process --timeout 1s --try\nimport time\ntime.sleep(60)"
    )
    assert "timed out" in late.text
    assert "detached" not in late.text


def test_a_writer_that_fails_names_the_line_of_the_cell_too(notebook: Notebook) -> None:
    raised = notebook.run("%%step make --workflow written --write x --try\n\n1 / 0")
    assert "line 3 of the cell: ZeroDivisionError" in raised.text


def test_mistakes_are_a_line_or_two_and_leave_the_workflow_as_it_was(notebook: Notebook) -> None:
    notebook.run("%%step a --workflow sound\n1")
    before = notebook.run("%pixir plan sound").shown[-1]["text/plain"]
    for line, body, code in (
        ("b", "x = (", "step_syntax"),
        ("b", "!ls", "step_syntax"),
        ("b", "await a", "step_await"),
        ("b!", "1", "bad_name"),
        ("b --use gone", "1", "use_missing"),
        ("b --verify nonsense", "1", "check_kind"),
    ):
        cell = notebook.run(f"%%step {line} --workflow sound\n{body}")
        (lines,) = cell.errors
        assert f"[{code}]" in lines[0]
        assert "(line " in lines[0]
        assert len(lines) == 2
    for line, code in (
        ("--timeout 5x", "bad_duration"),
        ("--write '[a'", "bad_pattern"),
        ("--after b", "cycle"),
        ("--verify ':gone'", "function_missing"),
    ):
        (lines,) = notebook.run(f"%%step b --workflow sound {line}\n1").errors
        assert "line 1" in lines[1]
        assert f"[{code}]" in lines[1]
        assert len(lines) == 2
    for line in (
        "b --workflow sound --afer a",
        "b c --workflow sound",
        "b --workflow",
        "b --workflow 'sound",
    ):
        cell = notebook.run(f"%%step {line}\n1")
        assert cell.printed.startswith("UsageError: ")
        assert cell.printed.strip().count("\n") == 0
    assert notebook.run("%pixir plan sound").shown[-1]["text/plain"] == before


def test_help_is_shown_where_it_is_asked_for(notebook: Notebook) -> None:
    for asked in ("%step", "%%step --help\n1"):
        cell = notebook.run(asked)
        assert cell.printed.startswith("%%step [--workflow NAME]")
        assert "awaited" not in cell.printed


def test_a_live_run_is_not_attached_to_once_a_step_has_changed(notebook: Notebook) -> None:
    notebook.run("%%step a --workflow moving\nimport time\ntime.sleep(20)")
    flow = "%%workflow moving --run --as run\ndescription: moving\n"
    first = notebook.run(flow + "inputs: {}")
    assert first.status == "ok"
    assert notebook.run(flow.replace("as run", "as same") + "inputs: {}").status == "ok"
    assert notebook.run("print(run.id == same.id)").printed == "True\n"
    notebook.run("%%step a --workflow moving\n1")
    changed = notebook.run(flow + "inputs: {}")
    assert "[still_live]" in changed.errors[0][0]
    assert notebook.run("run.cancel()\n(await run).status").status == "ok"


# --- --try ----------------------------------------------------------------------------------------------------------


def test_a_step_is_tried_alone_and_shows_its_value(notebook: Notebook) -> None:
    cell = notebook.run(
        "%%step page --workflow tried --try\nclass Page:\n    pass\n'<b>not bold</b>'"
    )
    assert cell.status == "ok"
    assert "✓ completed · tried-try-page" in cell.text
    assert repr("<b>not bold</b>") in shown_by(cell)
    names = (
        "import pixirnb\nprint([row['workflow'] for row in pixirnb.runs()].count('tried-try-page'))"
    )
    assert notebook.run(names).printed == "1\n"
    assert "1 step" in notebook.run("%pixir plan tried").text


def test_a_try_that_fails_is_one_line_that_stops_the_cells_below(notebook: Notebook) -> None:
    first = notebook.send("%%step a --workflow failed --try\n\n{}['gone']")
    second = notebook.send("print('reached')")
    cell, after = notebook.collect(first), notebook.collect(second)
    ((line,),) = cell.errors
    assert "[run_not_completed]" in line
    assert "line 3 of the cell: KeyError: 'gone'" in cell.text
    assert (after.status, after.printed) == ("aborted", "")


def test_a_try_makes_checks_that_are_functions_of_the_notebook(notebook: Notebook) -> None:
    notebook.run("def is_even(output): return output % 2 == 0")
    even = notebook.run("%%step even --workflow checked --verify :is_even --try\n2")
    odd = notebook.run("%%step odd --workflow checked --verify :is_even --try\n3")
    assert (even.status, odd.status) == ("ok", "error")
    assert "check failed: `python :is_even`: returned False" in odd.shown[0]["text/plain"]


def test_a_body_that_asks_a_person_fails_at_once_and_says_what_asks(notebook: Notebook) -> None:
    cell = notebook.run("%%step asks --workflow asking --try\ninput('name? ')")
    assert cell.status == "error"
    assert "line 2 of the cell: EOFError" in cell.shown[0]["text/plain"]
    assert "`ask` step" in cell.shown[0]["text/plain"]


def test_a_try_takes_what_it_needs_from_the_last_run(notebook: Notebook) -> None:
    notebook.run("%%workflow fed\ninputs: {n: {type: integer}}\n")
    notebook.run("%%step raw-data --workflow fed\nimport pandas\npandas.DataFrame({'a': [1, 2]})")
    tried = "%%step total --workflow fed --after raw-data,late --try\nint(raw_data.a.sum()) * TIMES"
    body = tried.replace("TIMES", "1")
    none = notebook.run(body)
    assert none.errors[0][0].startswith("`total` needs the output of `raw-data`")
    assert "%pixir run fed" in none.errors[0][1]
    notebook.run("%%step late --workflow fed\n1 / 0")
    notebook.run("%pixir run fed --wait --expect partial --input n=7 --as run")
    done = notebook.run(tried.replace("TIMES", "inputs['n']"))
    assert done.errors == []
    assert shown_by(done)[-1].endswith(" 21")
    needs = notebook.run(tried.replace("TIMES", "late"))
    assert "needs the output of `late`" in needs.errors[0][0]
    assert notebook.run("print(run.id)").printed.strip() in needs.errors[0][1]
    assert "--until late" in needs.errors[0][1]


def test_a_try_needs_a_value_for_every_input_it_uses(notebook: Notebook) -> None:
    notebook.run("%%workflow asked\ninputs: {n: {type: integer}, m: {type: integer, default: 2}}\n")
    cell = notebook.run("%%step a --workflow asked --try\ninputs['m']")
    assert cell.errors[0][0].startswith("input `n`")
    assert notebook.run("%%step a --workflow asked --try\n1").status == "ok"


def test_an_interrupt_ends_a_try_in_one_line(notebook: Notebook) -> None:
    waiting = notebook.send(
        "%%step a --workflow stopped --write began --try\n"
        "import pathlib, time\npathlib.Path('began').touch()\ntime.sleep(600)"
    )
    while not (notebook.folder / "began").exists():
        time.sleep(0.05)
    notebook.interrupt()
    ((line,),) = notebook.collect(waiting).errors
    assert "[interrupted]" in line


# --- another day ----------------------------------------------------------------------------------------------------

STORY = (
    "%%workflow story\ninputs: {seconds: {type: number, default: 600}}\n",
    "%%step made --workflow story --write trace\nwith open('trace', 'a') as file:\n    file.write('once ')\n[1, 2]",
    "%%step long --workflow story --after made --use factor --write done\n"
    "# it may take a while\nimport time\ntime.sleep(inputs['seconds'])\n[factor * n for n in made]",
    "%%step end --workflow story --after long\nsum(long)",
)


def test_a_run_of_a_killed_kernel_is_finished_in_a_new_one_that_ran_none_of_the_cells(
    tmp_path: Path,
) -> None:
    first = Notebook(tmp_path)
    try:
        first.run("factor = 10")
        for source in STORY:
            assert first.run(source).status == "ok"
        first.run("%pixir run story --as run")
        first.run("while run.outcome.step('long').subagent_status != 'running': pass")
        os.kill(first.pid, signal.SIGKILL)
        other = Notebook(tmp_path)
        try:
            other.run(
                "import pixirnb\nrow, = pixirnb.runs()\nrun = pixirnb.open_run(row['run_id'])"
            )
            assert "owner_died" in other.run("print(run.outcome.reasons)").printed
            cell = other.run("%pixir resume {run.id} --input seconds=0 --wait")
            assert cell.errors == []
            assert other.run("print(run.value('end'))").printed == "30\n"
            assert (tmp_path / "trace").read_text() == "once "
            assert other.run("print('step_long' in globals())").printed == "False\n"
        finally:
            other.close()
    finally:
        first.close()
