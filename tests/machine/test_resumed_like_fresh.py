"""Whatever was edited, selected, left out or cut short: in the end a resumed run is what a fresh one would be."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixirnb.testing.generators.histories import plan_of
from tests.machine.pure_work import (
    Result,
    begun,
    begun_against_plan,
    drawn_files,
    drawn_inputs,
    drawn_selection,
    drawn_workflow,
    edited,
    has_items_left_out,
    rested,
    result_of,
    resumed,
    worked,
)
from tests.sweeps import examples


def of_steps(result: Result) -> Result:
    """The result without items: those of a list that is skipped and left out are the ones that it had."""
    return {name: each for name, each in result.items() if "@" not in name}


@settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=examples(1200),
)
@given(st.integers(0, 2**32))
def test_a_run_that_was_resumed_is_in_the_end_what_a_fresh_one_is(seed: int) -> None:
    chance = Random(seed)
    workflow, inputs, files = drawn_workflow(chance), drawn_inputs(chance), drawn_files(chance)
    run = worked(begun(workflow, inputs, files), chance, chance.choice([3, 8, 400, 400, 400]))
    for _ in range(chance.randint(1, 4)):
        other = edited(chance, workflow) if chance.random() < 0.5 else workflow
        given_then = {**inputs, **drawn_inputs(chance)} if chance.random() < 0.6 else inputs
        selection = drawn_selection(chance, run, other)
        files_then = drawn_files(chance)
        later = resumed(run, plan_of(other), given_then, selection, files_then)
        if later is None:
            continue
        workflow, inputs, files = other, given_then, files_then
        run = worked(later, chance, chance.choice([3, 8, 400, 400, 400]))
        assert begun_against_plan(run) == []
        if run.outcome().status == "completed" and not has_items_left_out(run):
            fresh = worked(begun(workflow, inputs, files), chance)
            fresh = rested(fresh, plan_of(workflow), inputs, chance)
            result, expected = of_steps(result_of(run)), of_steps(result_of(fresh))
            # What has collected no item waits for nothing, and stays what it was where its list is skipped.
            assert {k: v for k, v in result.items() if v[2] != "[]"} == {
                k: v for k, v in expected.items() if result[k][2] != "[]"
            }
    run, fresh = (
        rested(each, plan_of(workflow), inputs, chance)
        for each in (run, worked(begun(workflow, inputs, files), chance))
    )
    assert result_of(run) == result_of(fresh)
    assert run.outcome().status == fresh.outcome().status
