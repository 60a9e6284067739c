"""A step stands behind the last step that it waits for, however many may run at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load
from pixirnb.testing.generators.histories import plan_of
from pixirnb.views.picture.drawing import Drawing, columns_of, drawing, edges_of
from tests.views.view_samples import RELEASE, waves_of
from tests.views.view_samples import edges_of as sample_edges


def drawn(spec: str) -> Drawing:
    return drawing(
        report(require(load(spec)), Environment()).document(), None, edges_of(plan_of(spec))
    )


def fan_out(count: int, at_once: int) -> str:
    parts = "".join(f"  - {{id: part-{n:03}, run: x, depends_on: [split]}}\n" for n in range(count))
    ids = ", ".join(f"part-{n:03}" for n in range(count))
    return (
        f"name: fan\nmax_concurrency: {at_once}\nsteps:\n  - {{id: split, run: x}}\n{parts}"
        f"  - {{id: join, run: x, depends_on: [{ids}]}}\n"
    )


def test_a_fan_out_of_150_at_16_at_once_has_three_columns() -> None:
    assert [len(column) for column in drawn(fan_out(150, 16)).columns] == [1, 150, 1]


def test_columns_of_a_plan_without_a_limit_are_its_waves() -> None:
    ids = [step for step, _, _ in RELEASE]
    waves = [sorted(wave, key=ids.index) for wave in waves_of(RELEASE)]
    assert columns_of(ids, sample_edges(RELEASE)) == waves


def test_a_step_that_is_serialized_after_another_stands_behind_it() -> None:
    steps = ", ".join(f"{{id: {step}, run: x, write_set: [a]}}" for step in ("monday", "friday"))
    assert drawn(f"name: w\nsteps: [{steps}]").columns == [["monday"], ["friday"]]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_every_step_has_one_column_whatever_the_pairs(pairs: list[tuple[int, int]]) -> None:
    steps = [f"s{n}" for n in range(8)]
    columns = columns_of(steps, [(f"s{a}", f"s{b}") for a, b in pairs])
    assert sorted(step for column in columns for step in column) == steps
    assert all(columns)
    at = {step: number for number, column in enumerate(columns) for step in column}
    if all(a < b for a, b in pairs):
        assert all(at[f"s{a}"] < at[f"s{b}"] for a, b in pairs if b < 8)
