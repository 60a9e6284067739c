"""Titles are names for people, in any script, on one line; ids stay what files and commands use."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.spec import limits
from pixirnb.spec.loader import Loaded, load_mapping, load_text
from pixirnb.spec.steps import ShellStep
from pixirnb.spec.workflow_schema import workflow_schema
from pixirnb.spec.yaml.writer import write


def loaded(title: Any, **step: Any) -> Loaded:
    return load_mapping(
        {"name": "w", "title": title, "steps": [{"id": "a", "title": title, "run": "x", **step}]}
    )


@pytest.mark.parametrize(
    "title",
    [
        "Загрузка данных",
        "データを取得する",
        "تحميل البيانات",
        "डेटा लाएँ",
        "👩‍🔬 a: `b` #1",
        "x" * limits.TITLE,
    ],
)
def test_a_title_of_any_script_is_kept_and_written_back(title: str) -> None:
    workflow = loaded(title).require()
    assert (workflow.title, workflow.steps[0].title) == (title, title)
    assert workflow.canonical()["steps"][0]["title"] == title
    assert load_text(write(workflow)).require() == workflow
    document = report(workflow, Environment()).document()
    assert (document["workflow_title"], document["steps"][0]["title"]) == (title, title)


def test_without_a_title_documents_have_no_key() -> None:
    workflow = load_mapping({"name": "w", "steps": [{"id": "a", "run": "x"}]}).require()
    document = report(workflow, Environment()).document()
    assert (workflow.title, workflow.steps[0].title) == ("", "")
    assert "workflow_title" not in document
    assert "title" not in document["steps"][0]


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("", "empty"),
        (" \u3000", "empty"),
        ("two\nlines", "bad_text"),
        ("a\u2028b", "bad_text"),
        ("a\x1b[31m", "bad_text"),
        ("a\x9bb", "bad_text"),
        ("safe\u202eevil", "bad_text"),
        ("a\u2066b", "bad_text"),
        ("a\u200fb", "bad_text"),
        ("a\ud800", "bad_text"),
        ("x" * (limits.TITLE + 1), "limit_exceeded"),
        (3, "wrong_type"),
        (None, "wrong_type"),
    ],
)
def test_what_is_no_line_of_text_is_refused_for_workflow_and_step(title: Any, code: str) -> None:
    found = [(wrong.code, wrong.parts) for wrong in loaded(title).mistakes]
    assert found == [(code, ("title",)), (code, ("steps", 0, "title"))]


def test_a_refused_character_is_named() -> None:
    (wrong, _) = loaded("a\u202eb").mistakes
    assert wrong.message == "`title` contains the character U+202E"
    (wrong, _) = loaded("x" * 130).mistakes
    assert wrong.message == "`title` has 130 characters, more than the limit of 120"


def test_an_id_in_another_script_is_told_which_characters_it_may_have_and_offered_a_title() -> None:
    text = (
        "name: Обзор рынка\nsteps:\n  - {id: загрузка, run: x}\n  - {id: ok, run: x, phase: три}\n"
    )
    rule = "use a-z, A-Z, 0-9, `-` and `_`, at most 64, beginning with a letter or digit"
    assert [(wrong.code, wrong.fix) for wrong in load_text(text).mistakes] == [
        ("bad_name", f"{rule}; `title: Обзор рынка` can keep this name"),
        ("bad_name", f"{rule}; `title: загрузка` can keep this name"),
        ("bad_name", rule),
    ]


def test_defaults_have_no_title() -> None:
    found = load_mapping(
        {"name": "w", "defaults": {"title": "T"}, "steps": [{"id": "a", "run": "x"}]}
    )
    (wrong,) = found.mistakes
    assert (wrong.code, wrong.fix) == ("unknown_key", "move `title` to each step")


@pytest.mark.parametrize("key", ["label", "display_name"])
def test_a_neighbor_s_word_is_understood(key: str) -> None:
    spec = {"name": "w", key: "T", "steps": [{"id": "a", "run": "x", key: "T"}]}
    fixes = [wrong.fix for wrong in load_mapping(spec).mistakes]
    assert fixes == ["did you mean `title: T`?"] * 2


def test_python_objects_and_the_schema_have_it() -> None:
    assert ShellStep(id="a", run="x", title="Загрузка").title == "Загрузка"
    schema = workflow_schema()
    step = schema["$defs"]["ShellStep"]["properties"]["title"]
    assert (step["type"], step["maxLength"]) == ("string", limits.TITLE)
    assert "any script" in step["description"]
    assert "any script" in schema["properties"]["title"]["description"]
