"""The examples in docstrings of public names, and on the page of the Python reference, do what they show."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import pixirnb

FINDER = doctest.DocTestFinder(recurse=False)
WITHOUT = {
    "PlanReport",
    "Problem",
    "RunOutcome",
    "SessionView",
    "StepOutcome",
    "Workflow",
    "load_ipython_extension",
    "unload_ipython_extension",
}
"""Values that other examples return, the workflow, whose docstring is a page's, and what only IPython calls."""
PUBLIC = {
    name: value
    for name in pixirnb.__all__
    if not (inspect.isclass(value := getattr(pixirnb, name)) and issubclass(value, Exception))
}


def examples(name: str) -> list[doctest.DocTest]:
    value: Any = inspect.unwrap(getattr(pixirnb, name))
    names = [each for each in dir(value) if not each.startswith("__")] if name == "Run" else []
    methods = [getattr(value, each) for each in names]
    found = [FINDER.find(each, name, globs={"pixirnb": pixirnb}) for each in (value, *methods)]
    return [test for tests in found for test in tests if test.examples]


def test_every_public_function_has_an_example() -> None:
    assert {name for name in PUBLIC if not examples(name)} == WITHOUT


def test_what_a_method_of_a_run_takes_and_raises_is_listed() -> None:
    inner = {"nothing_done", "require_step"}
    methods = {
        name: method
        for name, method in inspect.getmembers(pixirnb.Run, inspect.isfunction)
        if not name.startswith("_") and len(inspect.signature(method).parameters) > 1
    }
    assert inner <= methods.keys()
    assert [
        name
        for name in methods.keys() - inner
        for heading in ("Args:", "Raises:")
        if heading not in str(methods[name].__doc__)
    ] == []


@pytest.mark.parametrize("name", [*sorted(PUBLIC.keys() - WITHOUT), "PixirnbError"])
def test_an_example_does_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.ELLIPSIS)
    for test in examples(name):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"


def test_the_examples_of_the_python_page_do_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    runner = doctest.DocTestRunner()
    for text in blocks:
        runner.run(
            doctest.DocTestParser().get_doctest(text, {"pixirnb": pixirnb}, PAGE.name, None, None)
        )
    assert runner.summarize(verbose=False).failed == 0
