"""A text becomes a Workflow, or every mistake in it is told at once: code, path and line."""

from __future__ import annotations

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.spec import limits
from pixirnb.spec.loader import load, load_mapping, load_text

HEAD = "name: w\nsteps:\n"

# text, then what it is told: code, path, line
BROKEN = {
    "an unquoted reference": (
        HEAD + "  - id: a\n    run: {{ inputs.x }}\n",
        [("unquoted_reference", "steps[0].run", 4)],
    ),
    "an unquoted reference with text behind": (
        HEAD + "  - id: a\n    run: {{ inputs.x }} now\n",
        [("unquoted_reference", "steps[0].run", 4)],
    ),
    "an unquoted reference within a flow mapping": (
        HEAD + "  - {id: a, run: echo {{ inputs.x }}}\n",
        [("unquoted_reference", "", 3)],
    ),
    "an unquoted condition": (
        HEAD + "  - id: a\n    run: x\n    when: {{ inputs.x }} > 2\n",
        [("unquoted_reference", "steps[0].when", 5)],
    ),
    "a key written twice": (
        "name: a\n\nname: b\nsteps: [{id: a, run: x}]\n",
        [("duplicate_key", "name", 3)],
    ),
    "a merge key": (
        "<<: 3\nname: a\nsteps: [{id: a, run: x}]\n",
        [("merge_key", "<<", 1)],
    ),
    "a key that is a number": (
        HEAD + "  - {id: a, call: 'm:f', with: {1: x}}\n",
        [("bad_key", "steps[0].with.1", 3)],
    ),
    "a list as a key": (HEAD + "- id: a\n  run: x\n  ? [b]\n  : c\n", [("bad_key", "steps[0]", 5)]),
    "a tag": ("name: !!str w\nsteps: [{id: a, run: x}]\n", [("yaml_tag", "name", 1)]),
    "two documents": ("name: w\n---\nname: v\n", [("yaml_documents", "", 2)]),
    "an alias of itself": (
        HEAD + "  - id: a\n    call: m:f\n    with: &w {x: *w}\n",
        [("yaml_alias", "steps[0].with.x", 5)],
    ),
    "an alias of nothing": (HEAD + "  - {id: a, run: *b}\n", [("yaml_alias", "steps[0].run", 3)]),
    "a tab": (HEAD + "\t- id: a\n", [("yaml_tab", "", 3)]),
    "quotes left open": ("name: 'w\nsteps: []\n", [("yaml_syntax", "", 1)]),
    "a list left open": ("name: w\nsteps: [{id: a, run: x}\n", [("yaml_syntax", "", 2)]),
    "a crooked indentation": (HEAD + "- id: a\n run: x\n", [("yaml_syntax", "", 4)]),
    "a colon in plain text": (HEAD + "- id: a\n  run: x: y\n", [("yaml_syntax", "", 4)]),
    "a NUL": ("name: w\n# \x00\n", [("yaml_character", "", 2)]),
    "half a character": ("name: w\ndescription: \ud800\n", [("not_utf8", "", 2)]),
    "infinity": (
        "name: w\ntimeout: .inf\nsteps: [{id: a, run: x}]\n",
        [("not_json", "timeout", 2)],
    ),
    "more digits than a number has": (
        HEAD + f"  - {{id: a, call: 'm:f', with: {{n: {'9' * 5000}}}}}\n",
        [("not_json", "steps[0].with.n", 3)],
    ),
    "nothing": ("# only a comment\n", [("empty", "", 1)]),
    "a list of steps": ("- id: a\n", [("not_a_mapping", "", 1)]),
    "a sentence": ("hello\n", [("not_a_mapping", "", 1)]),
    "no name": ("steps: [{id: a, run: x}]\n", [("missing_key", "name", 1)]),
    "no steps": ("name: w\n", [("missing_key", "steps", 1)]),
    "an empty list of steps": ("name: w\nsteps: []\n", [("empty", "steps", 2)]),
    "steps that are no list": ("name: w\nsteps: x\n", [("wrong_type", "steps", 2)]),
    "a step that is no mapping": (HEAD + "  - x\n", [("wrong_type", "steps[0]", 3)]),
    "a name that is a path": (
        "name: ../w\nsteps: [{id: a, run: x}]\n",
        [("bad_name", "name", 1)],
    ),
    "a step without an id": (HEAD + "  - run: x\n", [("missing_key", "steps[0].id", 3)]),
    "a step of no kind": (HEAD + "  - id: a\n", [("step_kind", "steps[0]", 3)]),
    "a step of two kinds": (
        HEAD + "  - {id: a, run: x, call: 'm:f'}\n",
        [("step_kind", "steps[0]", 3)],
    ),
    "a step of no kind with other mistakes": (
        HEAD + "  - id: a b\n    timeout: soon\n",
        [
            ("step_kind", "steps[0]", 3),
            ("bad_name", "steps[0].id", 3),
            ("bad_duration", "steps[0].timeout", 4),
        ],
    ),
    "a misspelt key": (
        HEAD + "  - id: a\n    run: x\n    dependsOn: []\n",
        [("unknown_key", "steps[0].dependsOn", 5)],
    ),
    "a key of another kind": (
        HEAD + "  - {id: a, run: x, agent: b}\n",
        [("unknown_key", "steps[0].agent", 3)],
    ),
    "Python's word for with": (
        HEAD + "  - {id: a, call: 'm:f', arguments: {}}\n",
        [("unknown_key", "steps[0].arguments", 3)],
    ),
    "items without a list": (
        HEAD + "  - {id: a, run: x, for_each: 1}\n",
        [("bad_for_each", "steps[0].for_each.items", 3)],
    ),
    "items from what is a text": (
        HEAD + "  - {id: a, run: x, for_each: '{{ run.id }}'}\n",
        [("bad_for_each", "steps[0].for_each.items", 3)],
    ),
    "a boolean as a command": (
        HEAD + "  - {id: a, run: true}\n",
        [("wrong_type", "steps[0].run", 3)],
    ),
    "a number in an argv": (
        HEAD + "  - {id: a, run: [sleep, 5]}\n",
        [("wrong_type", "steps[0].run", 3)],
    ),
    "an empty command": (HEAD + "  - {id: a, run: ' '}\n", [("empty", "steps[0].run", 3)]),
    "a number in env": (
        HEAD + "  - {id: a, run: x, env: {N: [5]}}\n",
        [("wrong_type", "steps[0].env.N", 3)],
    ),
    "a function without a module": (
        HEAD + "  - {id: a, call: f}\n",
        [("bad_function", "steps[0].call", 3)],
    ),
    "a model without a module": (
        HEAD + "  - {id: a, run: x, output: Model}\n",
        [("bad_output", "steps[0].output", 3)],
    ),
    "a time-out of eight days": (
        HEAD + "  - {id: a, run: x, timeout: 192h}\n",
        [("bad_duration", "steps[0].timeout", 3)],
    ),
    "a choice nobody offers": (
        "name: w\non_failure: halt\nsteps: [{id: a, run: x}]\n",
        [("not_a_choice", "on_failure", 2)],
    ),
    "no attempts at all": (
        HEAD + "  - {id: a, run: x, retry: {max_attempts: 0}}\n",
        [("out_of_range", "steps[0].retry.max_attempts", 3)],
    ),
    "a check of two kinds": (
        HEAD + "  - {id: a, run: x, verify: [{exit_code: 0, python: 'm:f'}]}\n",
        [("check_kind", "steps[0].verify[0]", 3)],
    ),
    "a check of no kind": (
        HEAD + "  - {id: a, run: x, verify: [{timeout: 3s}]}\n",
        [("check_kind", "steps[0].verify[0]", 3)],
    ),
    "a check that is no pattern": (
        HEAD + "  - {id: a, run: x, verify: [{output_matches: '('}]}\n",
        [("bad_pattern", "steps[0].verify[0].output_matches", 3)],
    ),
    "an action nobody plays": (
        "name: w\nagents:\n  b: {script: {a: [[{dance: 1}]]}}\nsteps: [{id: a, run: x}]\n",
        [("script_action", "agents.b.script.a[0][0]", 3)],
    ),
    "a wrong number type": (
        "name: w\nmax_concurrency: '6'\nsteps: [{id: a, run: x}]\n",
        [("wrong_type", "max_concurrency", 2)],
    ),
}


@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_a_mistake_is_told_with_code_path_and_line(
    text: str, told: list[tuple[str, str, int]]
) -> None:
    loaded = load_text(text, "w.yaml")
    assert loaded.workflow is None
    assert [(each.code, each.path, each.line) for each in loaded.problems] == told
    for problem in loaded.problems:
        assert problem.message
        assert problem.fix
        assert "pydantic" not in problem.sentence()
        assert "\n" not in problem.sentence()


def test_all_mistakes_of_a_text_are_told_in_its_order() -> None:
    text = (
        "name: w w\nmax_concurrency: many\nagents:\n  b: {runer: scripted}\nsteps:\n"
        "  - {id: a, run: x, timeout: soon}\n  - {id: b}\n  - {id: c, run: [1]}\n"
    )
    found = [(each.code, each.line) for each in load_text(text).problems]
    assert found == [
        ("bad_name", 1),
        ("wrong_type", 2),
        ("unknown_key", 4),
        ("bad_duration", 6),
        ("step_kind", 7),
        ("wrong_type", 8),
    ]


def test_requiring_a_broken_text_raises_one_error_that_carries_all() -> None:
    with pytest.raises(InvalidSpec) as raised:
        load_text("name: 1\nsteps: 2\n", "w.yaml").require()
    assert raised.value.code == "invalid_spec"
    assert len(raised.value.problems) == 2
    assert "w.yaml" in raised.value.message


@pytest.mark.parametrize(
    ("key", "meant"),
    [("dependsOn", "depends_on"), ("time_out", "timeout"), ("verfy", "verify"), ("Run", "run")],
)
def test_an_unknown_key_is_asked_about(key: str, meant: str) -> None:
    loaded = load_mapping({"name": "w", "steps": [{"id": "a", "run": "x", key: 1}]})
    assert loaded.problems[0].fix == f"did you mean `{meant}`?"


def test_a_mapping_has_paths_and_no_lines() -> None:
    loaded = load_mapping({"name": "w", "steps": [{"id": "a", "run": "x", "cwd": 1}]})
    assert [(each.path, each.line) for each in loaded.problems] == [("steps[0].cwd", None)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1: 2}, {"a": {3}}])
def test_a_mapping_holds_only_json(value: object) -> None:
    loaded = load_mapping(
        {"name": "w", "steps": [{"id": "a", "call": "m:f", "with": {"x": value}}]}
    )
    assert [each.path for each in loaded.problems] == ["steps[0].with"]
    assert loaded.problems[0].code in {"not_json", "bad_key"}


def test_a_value_that_holds_itself_is_refused() -> None:
    value: dict[str, object] = {}
    value["self"] = value
    loaded = load_mapping({"name": "w", "steps": [{"id": "a", "call": "m:f", "with": value}]})
    assert [each.code for each in loaded.problems] == ["limit_exceeded"]


def test_a_byte_that_is_not_utf8_is_told_with_its_line() -> None:
    loaded = load_text(b"name: w\ndescription: \xff\n")
    assert [(each.code, each.line) for each in loaded.problems] == [("not_utf8", 2)]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_byte_order_marks_of_any_editor_are_read(end: str, mark: str) -> None:
    text = mark + end.join(["name: w", "steps:", "  - id: a", "    run: x", ""])
    assert load_text(text).workflow == load_text(text.encode()).workflow
    assert load_text(text).require().steps[0].id == "a"
    broken = load_text(text.replace("id: a", "id: a b"))
    assert [each.line for each in broken.problems] == [3]


def test_text_dict_and_object_are_one_workflow() -> None:
    text = "name: w\nsteps: [{id: a, run: x, timeout: 90s}]\n"
    spec = {"name": "w", "steps": [{"id": "a", "run": "x", "timeout": 90}]}
    workflow = load_text(text).require()
    assert load_mapping(spec).require() == workflow
    assert load(workflow).require() is workflow
    assert load(text).require() == load(spec).require() == workflow


def test_the_salvage_of_a_broken_text_keeps_its_sound_steps() -> None:
    loaded = load_text(
        HEAD + "  - {id: a, run: x}\n  - {id: b, run: x, timeout: soon}\n  - {id: c}\n"
    )
    assert loaded.salvage is not None
    assert [step.id for step in loaded.salvage.workflow.steps] == ["a", "b", "c"]
    assert {step: {*keys} for step, keys in loaded.salvage.removed.items()} == {
        1: {"timeout"},
        2: {"action"},
    }


# --- limits: at the limit, and one past it ---


def _codes(loaded: object) -> list[str]:
    return [each.code for each in loaded.problems]  # type: ignore[attr-defined]  # because every Loaded has them


def test_depends_on_has_a_limit() -> None:
    many = [f"s{number}" for number in range(limits.DEPENDS_ON + 1)]
    steps = [{"id": name, "run": "x"} for name in many]
    at = load_mapping(
        {"name": "w", "steps": [*steps, {"id": "z", "run": "x", "depends_on": many[1:]}]}
    )
    past = load_mapping(
        {"name": "w", "steps": [*steps, {"id": "z", "run": "x", "depends_on": many}]}
    )
    assert _codes(at) == []
    assert _codes(past) == ["limit_exceeded"]
    assert "depends_on" in past.problems[0].fix


def test_steps_have_a_limit() -> None:
    steps = [{"id": f"s{number}", "run": "x"} for number in range(limits.STEPS + 1)]
    assert _codes(load_mapping({"name": "w", "steps": steps[1:]})) == []
    past = load_mapping({"name": "w", "steps": steps})
    assert _codes(past) == ["limit_exceeded"]
    assert "steps" in past.problems[0].fix


def test_max_concurrency_has_a_limit() -> None:
    spec = {"name": "w", "steps": [{"id": "a", "run": "x"}]}
    assert _codes(load_mapping({**spec, "max_concurrency": 1000})) == []
    assert _codes(load_mapping({**spec, "max_concurrency": 1001})) == ["limit_exceeded"]


def test_attempts_have_a_limit() -> None:
    def loaded(count: int) -> list[str]:
        step = {"id": "a", "run": "x", "retry": {"max_attempts": count}}
        return _codes(load_mapping({"name": "w", "steps": [step]}))

    assert loaded(100) == []
    assert loaded(101) == ["limit_exceeded"]


def test_text_has_a_limit() -> None:
    head = b"name: w\nsteps: [{id: a, run: x}]\n#"
    at = head + b"x" * (limits.SPEC_TEXT_BYTES - len(head))
    assert _codes(load_text(at)) == []
    assert _codes(load_text(at + b"x")) == ["limit_exceeded"]
    assert _codes(load_text((at + b"x").decode())) == ["limit_exceeded"]
