"""Whatever stands in a cell, wherever the cursor is: completion answers, with what goes on from the text before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.notebook.completion.complete import MOST, complete
from pixirnb.notebook.completion.partial_yaml import sketch
from pixirnb.spec.yaml.reader import read_yaml
from tests.notebook.imagined_notebook import MAGICS, Imagined
from tests.sweeps import examples

ROOT = Path(__file__).parents[3]
BODIES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.yaml"))]
EVERY_KIND = """\
name: every
defaults: {timeout: 20m, retry: {max_attempts: 1}}
inputs: {n: {type: integer, default: 3}}
phases:
- name: build
  steps: [make, gate]
agents:
  worker:
    script: {refactor: [
      [{say: "it's"}, {fail: context_overflow}],
      [{report: {checkpoint_status: checkpoint_ready, output: {n: 1}}}]]}
steps:
  - {id: make, run: [python, -m, build], verify: [{exit_code: 0}, {command: "test -s 'x'"}]}
  - id: gate
    ask: {question: "Ship {{ inputs.n }}?"}   # whoever
    depends_on:
    - make
    when: "{{ inputs.n }} > 2"
  - id: refactor
    task: |
      Do it: well.

        - and this
    agent: worker
    depends_on: [gate]
"""
LINES = ["%%workflow demo --run --input n=1", "%%step a --after b --use x", "x = %pixir decide r a"]
signs = "{}[],:#-'\"|>&*! \n\t\r\\%=⌖é\0\u2028\ue000"
told = (
    "\n  ",
    "- ",
    ": ",
    "{{ ",
    " }}",
    "---",
    "? ",
    "%%",
    "steps",
    "id",
    "run",
    "depends_on",
    "script",
)
soup = st.lists(st.sampled_from([*signs, *told]), max_size=60).map("".join)


def check(cell: str, offset: int) -> None:
    found = complete(cell, offset, Imagined(), MAGICS)
    if found is not None:
        assert cell[:offset].endswith(found.typed)
        assert len(found.candidates) <= MOST
        assert all(each.text and "\ue000" not in each.text for each in found.candidates)


@given(st.data())
@settings(max_examples=examples(300))
def test_any_part_of_a_cell_is_answered_wherever_the_cursor_is(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from([EVERY_KIND, *BODIES]))
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, len(body)))
    first = data.draw(st.sampled_from(LINES))
    cell = f"{first}\n{body[start if data.draw(st.booleans()) else 0 : end]}"
    check(
        cell, data.draw(st.integers(-1, len(cell) + 1).map(lambda at: min(max(at, 0), len(cell))))
    )


def test_every_place_of_a_body_is_answered() -> None:
    cell = f"%%workflow\n{EVERY_KIND}"
    for offset in range(len(cell) + 1):
        check(cell, offset)
        check(cell[:offset], offset)


@given(soup, st.integers(0, 100))
@settings(max_examples=examples(500))
def test_any_soup_is_answered(text: str, place: int) -> None:
    for first in ("%%workflow x\n", "%%step x ", "%pixir ", "%%workflow "):
        cell = first + text
        check(cell, min(place, len(cell)))
        check(cell, len(cell))


def as_text(value: Any) -> Any:
    """A read value as a sketch has it: scalars as they are written."""
    if isinstance(value, dict):
        return {key: as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return value


words = st.from_regex(r"[a-z][a-z ]{0,8}[a-z]", fullmatch=True).filter(
    lambda word: word not in {"no", "yes", "on", "off", "null", "true", "false"}
)
trees = st.recursive(
    words,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(words, inner, min_size=1, max_size=3)
    ),
    max_leaves=15,
)


@given(trees, st.sampled_from([True, False, None]), st.sampled_from([2, 4]))
@settings(max_examples=examples(300))
def test_a_whole_body_is_sketched_as_it_is_read(tree: Any, flow: bool | None, indent: int) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, indent=indent, width=10_000)
    assert sketch(text, None).value == as_text(read_yaml(text).value)


@pytest.mark.parametrize("body", [EVERY_KIND, *BODIES])
def test_the_steps_of_a_whole_body_are_all_found(body: str) -> None:
    read, drawn = read_yaml(body).value, sketch(body, None).value
    for key in ("id", "depends_on", "agent"):
        told = [step.get(key) for step in read["steps"]]
        assert [step.get(key) for step in drawn["steps"]] == told
    assert [*read] == [*drawn]


def test_a_thousand_steps_are_completed_by_name() -> None:
    steps = "".join(f"  - {{id: s{n}, run: echo, depends_on: [s{n - 1}]}}\n" for n in range(1000))
    cell = f"%%workflow big\nsteps:\n{steps}  - {{id: last, depends_on: [s99"
    found = complete(cell, len(cell), Imagined(), MAGICS)
    assert found is not None
    assert [each.text for each in found.candidates] == ["s99", *(f"s{n}" for n in range(990, 1000))]
