"""Fan-outs are drawn as stacks, and what failed or asks is drawn beside its stack; a picture stays within its bounds."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pixirnb.views.picture.drawing import Drawing, drawing
from pixirnb.views.picture.fold import PEELED, fold_drawing
from pixirnb.views.picture.svg import draw

PARTS = [f"part-{number:03}" for number in range(150)]


def step_of(step: str, status: str | None) -> Any:
    return {"step_id": step, "checkpoint_status": status, "attempt": 1 if status else 0}


def fan_out(parts: list[str], failed: int = 0, asking: int = 0, phases: Any = ()) -> Drawing:
    plan: Any = {"workflow": "w", "waves": [["split"], parts, ["join"]], "phases": list(phases)}
    edges = [pair for part in parts for pair in (("split", part), (part, "join"))]
    if not failed + asking:
        return drawing(plan, None, edges)
    loud = dict.fromkeys(parts[-failed or len(parts) :], "failed")
    loud |= dict.fromkeys(parts[:asking], "needs_orchestrator")
    steps = [step_of(part, loud.get(part, "checkpoint_ready")) for part in parts]
    return drawing(plan, {"status": "partial", "steps": steps}, edges)


def test_150_equal_steps_are_one_stack_with_a_name_and_a_count() -> None:
    shown = fold_drawing(fan_out(PARTS))
    assert [list(column) for column in shown.columns] == [["split"], ["+part-000"], ["join"]]
    stack = shown.nodes["+part-000"]
    assert (stack.name, stack.counts, stack.is_stack) == ("part-000 … 149", "150 steps", True)
    assert shown.edges == [("split", "+part-000"), ("+part-000", "join")]
    assert stack.steps == tuple(PARTS)


def test_seven_steps_are_no_stack() -> None:
    whole = fan_out(PARTS[:7])
    assert fold_drawing(whole) is whole


def test_steps_that_failed_are_drawn_beside_their_stack_and_still_counted() -> None:
    shown = fold_drawing(fan_out(PARTS, failed=5))
    assert shown.columns[1] == ["+part-000", *PARTS[-5:]]
    assert shown.nodes["+part-000"].counts == "145 ✓ 5 ✗"
    assert ("split", "part-149") in shown.edges
    assert ("part-149", "join") in shown.edges


def test_of_many_loud_steps_those_that_ask_are_drawn_first() -> None:
    shown = fold_drawing(fan_out(PARTS, failed=100, asking=2))
    assert shown.columns[1] == ["+part-000", *PARTS[:2], *PARTS[50 : 50 + PEELED - 2]]


def test_steps_with_other_neighbours_or_of_another_phase_are_no_part_of_a_stack() -> None:
    phases = [{"name": "a", "steps": PARTS[:75]}, {"name": "b", "steps": PARTS[75:150]}]
    shown = fold_drawing(fan_out([*PARTS, "odd"], phases=phases))
    assert shown.columns[1] == ["+part-000", "+part-075", "odd"]
    assert shown.phases == [("a", ["+part-000"]), ("b", ["+part-075"])]


def test_steps_that_nothing_joins_are_a_stack_only_where_their_ids_number_them() -> None:
    names = ["lint", "types", "docs", "unit", "browser", "wheel", "audit", "spell"]
    plan: Any = {"workflow": "w", "waves": [[*names, *PARTS[:9]]], "phases": []}
    assert fold_drawing(drawing(plan)).columns == [[*names, "+part-000"]]


@given(st.lists(st.text("ab-1", min_size=1, max_size=9), min_size=8, max_size=12, unique=True))
def test_the_name_of_a_stack_begins_with_its_first_id_and_has_the_end_of_its_last(
    ids: list[str],
) -> None:
    [[stack]] = [c for c in fold_drawing(fan_out(ids)).columns if c[0].startswith("+")]
    name = fold_drawing(fan_out(ids)).nodes[stack].name
    first, last = name.split(" … ")
    assert first == ids[0]
    assert last
    assert ids[-1].endswith(last)


def test_a_column_and_a_row_of_a_picture_stay_within_bounds() -> None:
    columns = [[f"s{number}-{row}" for row in range(90)] for number in range(70)]
    edges = [(a[row], b[row]) for a, b in pairwise(columns) for row in range(90)]
    plan: Any = {"workflow": "w", "waves": columns, "phases": []}
    whole = drawing(plan, None, edges)
    shown = fold_drawing(whole)
    assert len(shown.columns) == 60
    assert {len(column) for column in shown.columns[:-1]} == {20}
    assert shown.nodes["+0"].name == "… 71 more"
    assert shown.nodes["+rest"].name == "… 990 more in 11 columns"
    assert sum(len(node.steps) or 1 for node in shown.nodes.values()) == 70 * 90


def test_a_picture_names_its_stack_and_counts_every_step_once() -> None:
    svg = draw(fan_out(PARTS, failed=5))
    assert re.search(r">part-000 … 149</text><text [^>]*>145 ✓ 5 ✗</text>", svg)
    assert "145 ready, 5 failed" in svg
    assert all(f">{part}</text>" in svg for part in PARTS[-5:])
