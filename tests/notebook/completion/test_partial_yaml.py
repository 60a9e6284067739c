"""In a body a key is offered where a key belongs, a value where a value does, and nothing that would be a mistake."""

from __future__ import annotations

import pytest

from pixirnb.notebook.completion.partial_yaml import sketch
from tests.notebook.imagined_notebook import CURSOR, completions, offered

CELL = "%%workflow demo\n"
PARTS = """\
inputs: {n: {type: integer}}
repos: {cloud: ../cloud}
phases: [{name: build, steps: [make]}]
agents: {worker: {runner: scripted, role: You refactor.}}
"""
STEPS = """\
steps:
  - {id: make, run: make, output: {type: object, properties: {size: {type: integer}}}}
  - {id: test, run: make test, depends_on: [make]}
  - {id: ship, task: Ship it., depends_on: [test], agent: worker}
"""


def body(text: str) -> list[str]:
    return offered(CELL + text)


def keys(text: str) -> list[str]:
    """Keys offered, without what surrounds them."""
    return [each.strip("-[{: ") for each in body(text)]


# --- keys ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("⌖", "steps"),
        ("max⌖", "max_concurrency"),
        ("name: x\nst⌖", "steps"),
        ("name: x\n⌖\nsteps: []", "agents"),
        ("{⌖", "steps"),
        ("{name: x, ⌖}", "steps"),
        ("steps:\n  - ⌖", "id"),
        ("steps:\n  ⌖", "id"),
        ("steps:\n- ⌖\n  run: x", "id"),
        ("steps:\n  - id: a\n    ⌖", "depends_on"),
        ("steps:\n  - id: a\n    ⌖\n    run: x", "depends_on"),
        ("steps:\n- id: a\n  ti⌖\n- id: b", "timeout"),
        ("steps:\n  - {id: a, ⌖", "depends_on"),
        ("steps:\n  - {id: a, ⌖\n  - {id: b, run: x}\n", "depends_on"),
        ("steps: [{id: a,\n  run: x,\n  ⌖\n}]", "depends_on"),
        ("steps:\n  - {id: a, run: 'unclosed\n  - {id: b, ⌖}", "depends_on"),
        ("steps:\n  - id: a\n    retry: {⌖}", "max_attempts"),
        ("steps:\n  - id: a\n    retry:\n      ⌖", "max_attempts"),
        ("steps:\n  - id: a\n    retry: ⌖", "max_attempts"),
        ("steps:\n  - {id: a, verify: [{⌖}]}", "file_exists"),
        ("steps:\n  - {id: a, verify: [{exit_code: 0}, {⌖", "file_exists"),
        ("steps:\n  - {id: a, verify: [fi⌖", "file_exists"),
        ("steps:\n  - {id: a, ask: {⌖}}", "question"),
        ("defaults: {⌖}", "timeout"),
        ("agents:\n  w:\n    ⌖", "runner"),
        ("agents: {w: {⌖", "runner"),
        ("phases: [{⌖", "steps"),
        ("inputs:\n  n: {⌖", "type"),
        ("agents: {w: {script: {a: [[{⌖", "say"),
        ("agents:\n  w:\n    script:\n      a:\n        - - ⌖", "say"),
        ("agents: {w: {script: {a: [[{write: x, ⌖", "text"),
        ("agents: {w: {script: {a: [[{report: {⌖", "checkpoint_status"),
    ],
)
def test_keys_are_offered_where_a_key_belongs(text: str, wanted: str) -> None:
    assert wanted in keys(text)


@pytest.mark.parametrize(
    ("text", "unwanted"),
    [
        ("name: x\n⌖\nsteps: []", {"name", "steps", "run", "id"}),
        ("steps:\n  - {id: a, ⌖, timeout: 5m}", {"id", "timeout", "name", "agents"}),
        ("steps:\n  - id: a\n    ⌖\n    run: x", {"id", "run", "call", "task", "ask", "merge"}),
        ("steps:\n  - {run: x, ⌖}", {"run", "call", "task", "ask", "merge", "agent", "with"}),
        ("steps:\n  - {task: x, ⌖}", {"with", "run"}),
        ("steps:\n  - {id: a, verify: [{file_exists: x, ⌖", {"exit_code", "command", "timeout"}),
        ("agents: {w: {script: {a: [[{say: x, ⌖", {"write", "text"}),
    ],
)
def test_what_is_said_or_excluded_is_not_offered(text: str, unwanted: set[str]) -> None:
    assert unwanted & set(keys(text)) == set()


def test_a_command_check_may_still_say_its_exit_code_and_timeout() -> None:
    assert keys("steps:\n  - {id: a, verify: [{command: test, ⌖") == ["exit_code", "timeout"]


def test_a_key_brings_its_colon_unless_one_is_there() -> None:
    assert body("na⌖") == ["name: "]
    assert body("na⌖: x") == ["name"]


def test_a_mapping_that_begins_behind_its_key_begins_with_a_brace() -> None:
    assert "{max_attempts: " in body("defaults:\n  retry: ⌖")


def test_every_key_comes_with_a_sentence() -> None:
    found = completions(f"{CELL}steps:\n  - {CURSOR}")
    assert found is not None
    assert [each.text for each in found.candidates if not each.about] == []


# --- values ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("steps:\n- id: a\n  posture: ⌖", ["read_only", "writer"]),
        ("steps:\n- {id: a, workspace: i⌖}", ["isolated"]),
        ("on_failure: ⌖", ["continue", "stop"]),
        ("readiness: ⌖", ["strict", "lenient"]),
        ("undeclared_writers: s⌖", ["serialize"]),
        ("steps:\n- {id: a, reuse: ⌖}", ["spec", "reads", "never"]),
        ("steps:\n- {id: a, rerun: ⌖}", ["auto", "ask"]),
        ("steps:\n- {id: a, process: ⌖}", ["true", "false"]),
        ("agents: {w: {runner: s⌖}}", ["scripted"]),
        ("inputs: {n: {type: b⌖", ["boolean"]),
        ("defaults: {retry: {classes: [timeout, c⌖]}}", ["context_overflow", "crash", "cancelled"]),
        ("agents: {w: {script: {a: [[{fail: cont⌖", ["context_overflow"]),
        ("steps:\n- {id: a, timeout: ⌖}", []),
        ("steps:\n- {id: a, description: i⌖}", []),
        ("steps:\n- {id: ⌖}", []),
        (PARTS + "steps:\n- {id: a, phase: ⌖}", ["build"]),
        (PARTS + "steps:\n- {id: a, task: x, agent: ⌖}", ["worker"]),
        ("steps:\n- {id: a, call: ⌖}", ['":score"']),
        ('steps:\n- {id: a, call: ":⌖"}', [":score"]),
        ("steps:\n- {id: a, verify: [{python: ':s⌖", [":score"]),
        (STEPS + "phases: [{name: x, steps: [make, ⌖]}]", ["test", "ship"]),
        (STEPS.replace("task: Ship it.", "merge: [⌖]"), ["make", "test"]),
    ],
)
def test_values_are_offered_where_a_value_belongs(text: str, wanted: list[str]) -> None:
    assert body(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("  - {id: new, depends_on: [⌖]}", ["make", "test", "ship"]),
        ("  - {id: new, depends_on: [make, ⌖]}", ["test", "ship"]),
        ("  - {id: new, depends_on: [make, t⌖", ["test"]),
        ("  - {id: new, depends_on: ⌖}", ["[make]", "[test]", "[ship]"]),
        ("  - id: new\n    depends_on:\n      - ⌖", ["make", "test", "ship"]),
        ("  - id: new\n    depends_on:\n    - make\n    - ⌖", ["test", "ship"]),
    ],
)
def test_steps_are_offered_to_wait_on(text: str, wanted: list[str]) -> None:
    assert body(STEPS + text) == wanted


def test_a_step_is_not_offered_to_wait_on_itself_or_on_what_waits_on_it() -> None:
    assert body(STEPS.replace("run: make test, ", "run: make test, merge: [⌖], ")) == ["make"]


# --- references ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('run: "echo {{ ⌖"', ["steps.", "inputs.", "run.id }}"]),
        ("run: 'echo {{ steps.⌖'", ["test", "make", "ship"]),
        ("run: |\n      set -e\n      echo {{ steps.⌖", ["test", "make", "ship"]),
        ("run: 'echo {{ steps.m⌖'", ["make"]),
        ("run: 'echo {{ steps.make.⌖ }}'", ["output", "output_path", "summary"]),
        ("run: 'echo {{ steps.make.out⌖'", ["output }}", "output_path }}"]),
        ("run: 'echo {{ steps.make.output.⌖'", ["size }}"]),
        ("run: 'echo {{inputs.⌖}}'", ["n"]),
        ('when: "{{ inputs.⌖ }} > 2"', ["n"]),
        ("run: 'echo }} ⌖'", []),
    ],
)
def test_references_are_completed_part_by_part(text: str, wanted: list[str]) -> None:
    step = f"  - id: new\n    depends_on: [test]\n    {text}"
    found = body(PARTS + STEPS + step)
    assert sorted(found) == sorted(wanted)


def test_what_a_step_waits_on_is_offered_first_and_the_rest_says_what_it_lacks() -> None:
    step = "  - id: new\n    depends_on: [test]\n    run: echo {{ steps.⌖"
    found = completions(CELL + STEPS + step)
    assert found is not None
    abouts = {each.text: each.about for each in found.candidates}
    assert [*abouts] == ["make", "test", "ship"]
    assert abouts["ship"] == "not in depends_on yet" != abouts["make"]


# --- files ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("write_set: [s⌖]", ["src/"]),
        ('write_set: ["src/⌖"]', ["**", "api/", "a.py"]),
        ("read_set: [⌖]", ['"**"', "data/", "src/", "README.md", "flow.yaml", "repos.cloud:"]),
        ("artifacts:\n      - R⌖", ["README.md"]),
        ("verify: [{file_exists: src/a⌖", ["api/", "a.py"]),
        ("write_set: ['repos.cloud:⌖", ["lib/", "index.ts"]),
        ("cwd: ⌖", ["data/", "src/", "repos.cloud"]),
        ("cwd: src/⌖", ["api/"]),
        ("write_set: ['**/⌖", ["**"]),
        ("write_set: [.⌖]", [".env"]),
    ],
)
def test_files_are_offered_a_folder_at_a_time(text: str, wanted: list[str]) -> None:
    assert body(f"{PARTS}steps:\n  - id: a\n    {text}") == wanted


def test_files_are_those_of_the_workspace_the_cell_names() -> None:
    cell = "%%workflow demo --workspace src\nsteps:\n  - {id: a, write_set: [⌖"
    assert "**" not in offered(cell)
    assert offered("%%workflow --workspace ../cloud\nsteps:\n- {id: a, cwd: ⌖") == ["lib/"]


# --- where nothing belongs ---


@pytest.mark.parametrize(
    "text",
    [
        "# a comment na⌖",
        "name: x # na⌖",
        "steps:\n  - id: a\n    run: |\n      na⌖",
        "steps:\n ⌖ - {id: a}",
        "steps: [a]]]] na⌖",
        "env: {⌖}",
    ],
)
def test_text_comments_and_indentation_offer_nothing(text: str) -> None:
    assert body(text) == []


def test_reading_a_wrong_line_leaves_no_trace_in_the_next_reading() -> None:
    right = "steps:\n- {id: a}\n- id: b\n  depends_on: [a]\n"
    sketch(right + "    - c\n    d: e\n", None)
    assert sketch(right, None).value == {"steps": [{"id": "a"}, {"id": "b", "depends_on": ["a"]}]}


def test_half_a_body_is_read_for_what_it_means() -> None:
    text = (
        "steps:\n  - {id: a, depends_on: [b,\n  - id: b\n    run: 'x\n    timeout: 5m\nphases: [\n"
    )
    assert sketch(text, None).value == {
        "steps": [{"id": "a", "depends_on": ["b"]}, {"id": "b", "run": "x", "timeout": "5m"}],
        "phases": [],
    }
