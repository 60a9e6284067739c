"""The scene and the look of a live view: what a browser needs beside the tape, and nothing that could act in it."""

from __future__ import annotations

import json
import re

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load
from pixirnb.testing.generators.histories import plan_of
from pixirnb.views.basics.status_marks import RUN_MARKS, STEP_MARKS
from pixirnb.views.live.scene import look, scene
from pixirnb.views.live.tape import KINDS

SPEC = """
name: story
phases: [{name: build, steps: [make, docs]}, {name: ship, steps: [ship]}]
steps:
  - {id: make, run: make, write_set: ["build/**"]}
  - {id: docs, run: docs, write_set: ["build/docs/**"]}
  - {id: ship, run: ship, depends_on: [make, docs]}
"""
FILLED = {
    *("attempt", "mark", "elapsed", "delay", "reused", "verdict", "name", "status"),
    *("reuse", "rerun", "hold", "asked"),
    "files",
    "merge",
}
"""What the browser can fill in."""


def test_every_mark_and_every_kind_of_event_has_words() -> None:
    told = look()
    assert [mark["key"] for mark in told["marks"]] == [mark.key for mark in STEP_MARKS]
    assert set(told["run"]) == {mark.key for mark in RUN_MARKS}
    assert len(told["events"]) == len(KINDS)
    assert all(told["events"])
    assert all(mark["word"] and mark["shape"] for mark in told["marks"])


def test_the_words_of_events_have_no_braces_but_those_the_browser_fills() -> None:
    for words in look()["events"]:
        assert set(re.findall(r"\{(\w*)\}", words)) <= FILLED


def test_steps_are_told_by_their_place_and_everything_is_plain_json() -> None:
    plan = plan_of(SPEC)
    told = scene("r-1", plan, report(require(load(SPEC)), Environment()).document())
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["ids"] == ["make", "docs", "ship"]
    assert told["needs"] == [[], [], [0, 1]]
    assert told["phases"] == [["build", [0, 1]], ["ship", [2]]]
    assert [entry[:2] for entry in told["conflicts"]] == [[0, 1]]
    (sheet,) = told["sheets"]
    assert [step for step, *_ in sheet["boxes"]] == [0, 1, 2]
    assert sheet["labels"] == []
    assert {(source, target) for source, target, _ in sheet["curves"]} == {(0, 2), (1, 2)}


def test_a_box_has_the_width_of_its_column_and_a_label_that_differs_from_others() -> None:
    ids = [f"extract-the-quarterly-figures-{'of-the-region-' * 2}{end}" for end in "abcdefg"]
    steps = ", ".join(f"{{id: {step}, run: x, depends_on: [go]}}" for step in ids)
    spec = f"name: w\nsteps: [{{id: go, run: x}}, {steps}]"
    told = scene("r-1", plan_of(spec), report(require(load(spec)), Environment()).document())
    sheet = told["sheets"][-1]
    assert {step: width for step, _, _, width in sheet["boxes"]} == {
        0: 112,
        **dict.fromkeys(range(1, 8), 260),
    }
    labels = dict(sheet["labels"])
    assert all(labels[step].endswith(ids[step - 1][-2:]) for step in range(1, 8))


def test_a_fan_out_is_a_stack_which_the_browser_unfolds() -> None:
    parts = ", ".join(f"{{id: part-{number:03}, run: x, depends_on: [go]}}" for number in range(20))
    spec = f"name: w\nmax_concurrency: 4\nsteps: [{{id: go, run: x}}, {parts}]"
    told = scene("r-1", plan_of(spec), report(require(load(spec)), Environment()).document())
    [sheet] = told["sheets"]
    [[_, _, label, steps, _, is_stack]] = sheet["more"]
    assert (label, steps, is_stack) == ("part-000 … 019", list(range(1, 21)), True)
    assert [(source, target) for source, target, _ in sheet["curves"]] == [(0, -1)]
    assert (sheet["pitch"], sheet["folded"]) == (52, False)
    assert next(mark["key"] for mark in look()["marks"] if mark["is_loud"]) == "failed"


def test_what_is_too_large_for_one_sheet_has_a_second_with_every_step() -> None:
    chains = ", ".join(
        f"{{id: s{at}, run: x, depends_on: [{'go' if at < 70 else f's{at - 70}'}]}}"
        for at in range(140)
    )
    spec = f"name: w\nsteps: [{{id: go, run: x}}, {chains}]"
    told = scene("r-1", plan_of(spec), report(require(load(spec)), Environment()).document())
    counted, every = told["sheets"]
    assert (counted["folded"], every["folded"]) == (True, False)
    assert [(label, is_stack) for _, _, label, _, _, is_stack in counted["more"]] == [
        ("… 11 more", False)
    ] * 2
    assert (len(every["boxes"]), every["more"]) == (141, [])
