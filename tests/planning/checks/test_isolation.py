"""Copies of the workspace in the plan: who has one, what is wrong with it, whose changes reach whom."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import PlanReport, compile_plan, report
from pixirnb.spec.loader import load_mapping


def alone(name: str, *after: str, **keys: Any) -> dict[str, Any]:
    """A step in a copy of its own."""
    keys = {"write_set": [f"{name}/**"], "workspace": "isolated", **keys}
    return {"id": name, "run": "x", "depends_on": list(after), **keys}


def among(name: str, *after: str, **keys: Any) -> dict[str, Any]:
    """A step in the shared workspace."""
    return {"id": name, "run": "x", "depends_on": list(after), "write_set": [f"{name}/**"], **keys}


def merge(name: str, *of: str, after: tuple[str, ...] | None = None) -> dict[str, Any]:
    return {"id": name, "merge": list(of), "depends_on": list(of if after is None else after)}


def reported(*steps: dict[str, Any], **keys: Any) -> PlanReport:
    return report(
        load_mapping({"name": "w", "steps": list(steps), **keys}).require(), Environment()
    )


MISTAKEN: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "a merge of an isolated step": ([alone("a"), merge("m", "a")], []),
    "a merge of nobody": (
        [alone("alpha"), merge("m", "alpa", after=("alpha",))],
        [("merge_unknown_step", "steps[1].merge[0]")],
    ),
    "a merge of a step that works in the workspace": (
        [among("a"), merge("m", "a")],
        [("merge_not_isolated", "steps[1].merge[0]")],
    ),
    "a merge of a step that only reads": (
        [alone("a", posture="read_only", write_set=[]), merge("m", "a")],
        [("merge_not_isolated", "steps[1].merge[0]")],
    ),
    "a merge of a question": (
        [{"id": "a", "ask": {"question": "?"}}, merge("m", "a")],
        [("merge_not_isolated", "steps[1].merge[0]")],
    ),
    "a merge that does not wait": (
        [alone("a"), merge("m", "a", after=())],
        [("merge_not_after", "steps[1].merge[0]")],
    ),
    "a merge that does not wait is not told what it lacks as well": (
        [
            *(alone("a"), alone("b", "a"), among("x"), among("y", "x"), among("z", "y")),
            merge("m", "b", after=("z",)),
        ],
        [("merge_not_after", "steps[5].merge[0]")],
    ),
    "a merge of itself": (
        [merge("m", "m", after=())],
        [("merge_not_isolated", "steps[0].merge[0]"), ("merge_not_after", "steps[0].merge[0]")],
    ),
    "a merge far behind": ([alone("a"), among("b", "a"), merge("m", "a", after=("b",))], []),
    "a merge without what it builds on": (
        [alone("a"), alone("b", "a"), merge("m", "b")],
        [("merge_incomplete", "steps[2].merge")],
    ),
    "a merge with what it builds on": ([alone("a"), alone("b", "a"), merge("m", "a", "b")], []),
    "a merge behind the merge of what it builds on": (
        [alone("a"), alone("b", "a"), merge("m", "a"), merge("n", "b", after=("b", "m"))],
        [],
    ),
    "a merge beside the merge of what it builds on": (
        [alone("a"), alone("b", "a"), merge("m", "a"), merge("n", "b")],
        [("merge_incomplete", "steps[3].merge")],
    ),
    "a step that begins after the merge": (
        [alone("a"), merge("m", "a"), alone("b", "m"), merge("n", "b")],
        [],
    ),
    "a merge behind a reader in between": (
        [
            alone("a"),
            alone("r", "a", posture="read_only", write_set=[]),
            alone("b", "r"),
            merge("m", "b"),
        ],
        [("merge_incomplete", "steps[3].merge")],
    ),
    "carrying into the workspace": (
        [among("a", carry=["node_modules"])],
        [("carry_without_isolation", "steps[0].carry")],
    ),
    "carrying what is no path": (
        [alone("a", carry=["/x", "../x", "n*", ".git", "{{ run.id }}", "repos.c:x", "ok/x"])],
        [("bad_carry", f"steps[0].carry[{place}]") for place in range(5)]
        + [("unknown_repo", "steps[0].carry[5]")],
    ),
    "carrying what is secret by its name": (
        [alone("a", carry=[".env", "./keys/id_rsa", "node_modules", "repos.c:.env.local"])],
        [("bad_carry", f"steps[0].carry[{place}]") for place in (0, 1, 3)],
    ),
    "a question in a copy": (
        [{"id": "a", "ask": {"question": "?"}, "workspace": "isolated"}],
        [("isolation_not_taken", "steps[0].workspace")],
    ),
    "a merge in a copy": (
        [alone("a"), {**merge("m", "a"), "workspace": "isolated"}],
        [("isolation_not_taken", "steps[1].workspace")],
    ),
}


@pytest.mark.parametrize(("steps", "told"), MISTAKEN.values(), ids=MISTAKEN.keys())
def test_a_mistake_about_copies_is_told_with_its_code_and_path(
    steps: list[dict[str, Any]], told: list[tuple[str, str]]
) -> None:
    found = reported(*steps)
    assert sorted((each.code, each.path) for each in found.errors) == sorted(told)
    assert all(each.fix for each in found.errors)


def test_a_merge_says_what_to_add() -> None:
    found = reported(alone("a"), alone("b", "a"), alone("c", "b"), merge("m", "c"))
    assert found.errors[0].fix == "add `a`, `b` to `merge`, or merge them first"


def test_what_is_never_copied_is_not_carried_either() -> None:
    found = reported(alone("a", carry=["own/x.private", "own", "a"]), never_copy=["*.private", "["])
    assert [each.path for each in found.errors if each.code == "bad_carry"] == ["steps[0].carry[0]"]
    assert "never_copy: *.private" in found.errors[-1].message


WARNED: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "changes that come back": ([alone("a"), merge("m", "a")], []),
    "changes that stay where they are": (
        [among("z"), alone("a"), alone("b")],
        [("changes_not_merged", "steps[1]")],
    ),
    "a reader in a copy": ([alone("a", posture="read_only", write_set=[])], []),
    "a step that does not see them": (
        [alone("a"), among("b", "a"), merge("m", "a", after=("b",))],
        [("changes_not_seen", "steps[1]")],
    ),
    "steps that do not see them are told together": (
        [alone("a"), among("b", "a"), among("c", "a"), merge("m", "a", after=("b", "c"))],
        [("changes_not_seen", "steps[1]")],
    ),
    "a question in between changes nothing": (
        [
            alone("a"),
            {"id": "q", "ask": {"question": "?"}, "depends_on": ["a"]},
            among("b", "q"),
            merge("m", "a", after=("b",)),
        ],
        [("changes_not_seen", "steps[2]")],
    ),
    "a step behind the merge": ([alone("a"), merge("m", "a"), among("b", "m", "a")], []),
    "a function that looks at no file": (
        [alone("a"), {"id": "f", "call": "m:f", "depends_on": ["a"]}, merge("m", "a")],
        [],
    ),
    "a copy begins with them": ([alone("a"), alone("b", "a"), merge("m", "a", "b")], []),
    "a copy whose changes nothing is held against": (
        [{"id": "a", "run": "x", "workspace": "isolated"}, merge("m", "a")],
        [("isolated_undeclared", "steps[0]")],
    ),
}


@pytest.mark.parametrize(("steps", "told"), WARNED.values(), ids=WARNED.keys())
def test_a_doubt_about_copies_is_told_with_its_code_and_path(
    steps: list[dict[str, Any]], told: list[tuple[str, str]]
) -> None:
    found = reported(*steps)
    assert found.errors == ()
    assert [(each.code, each.path) for each in found.warnings] == told
    assert all(each.fix for each in found.warnings)


def test_isolation_for_all_leaves_questions_and_merges_out() -> None:
    steps = [
        {"id": "a", "run": "x", "posture": "writer"},
        {"id": "q", "ask": {"question": "?"}, "depends_on": ["a"]},
        merge("m", "a", after=("q",)),
    ]
    spec = {"name": "w", "defaults": {"workspace": "isolated"}, "steps": steps}
    plan = compile_plan(load_mapping(spec).require(), Environment(), {})
    assert [step.workspace for step in plan.steps] == ["isolated", "shared", "shared"]


def test_what_is_carried_for_all_needs_one_copy() -> None:
    keys = {"defaults": {"carry": ["node_modules"]}}
    assert [each.path for each in reported(among("a"), **keys).errors] == ["defaults.carry"]
    assert reported(among("a"), alone("b"), **keys).ok


@pytest.mark.parametrize("glob", ["../x", "/x", "repos.c:x", "{{ run.id }}", "a{"])
def test_what_is_never_copied_is_named_by_globs(glob: str) -> None:
    found = reported(among("a"), never_copy=[".env*", glob])
    assert [(each.code, each.path) for each in found.errors] == [("bad_pattern", "never_copy[1]")]


def test_agents_that_write_work_in_copies_and_those_that_read_do_not() -> None:
    steps = [
        {"id": "w", "task": "x", "agent": "b"},
        {"id": "r", "task": "x", "agent": "b", "posture": "read_only"},
        {"id": "s", "task": "x", "agent": "b", "workspace": "shared"},
    ]
    spec = {"name": "w", "agents": {"b": {}}, "steps": steps}
    plan = compile_plan(load_mapping(spec).require(), Environment(), {})
    assert [step.workspace for step in plan.steps] == ["isolated", "shared", "shared"]


def test_a_copy_never_meets_a_reader_and_always_another_writer() -> None:
    found = reported(
        alone("a", write_set=["lib/**"]),
        among("r", write_set=[], read_set=["lib/**"], posture="read_only"),
        alone("b", write_set=["lib/x"]),
    )
    assert [pair["steps"] for pair in found.conflicts] == [["a", "b"]]


def test_a_merge_claims_what_its_steps_claim_and_meets_their_readers() -> None:
    steps = [
        merge("m", "a", "b"),
        alone("a", write_set=["x/**", "y"]),
        alone("b", write_set=["x/**"]),
        {"id": "u", "run": "x", "workspace": "isolated"},
        merge("n", "u"),
        among("r", write_set=[], read_set=["x/1"], posture="read_only"),
    ]
    spec = load_mapping({"name": "w", "steps": steps}).require()
    plan = compile_plan(spec, Environment(), {})
    assert (plan.steps[0].write_set, plan.steps[0].posture) == (("x/**", "y"), "writer")
    assert plan.steps[4].write_set == ("**/*",)
    met = [pair["steps"] for pair in report(spec, Environment()).conflicts]
    assert ["m", "r"] in met
    assert ["b", "r"] not in met


def test_who_does_not_see_whose_changes_is_named_and_those_behind_are_not() -> None:
    steps = [
        alone("a"),
        among("b", "a"),
        among("c", "a"),
        among("d", "b"),
        alone("e"),
        among("f", "e"),
    ]
    found = reported(*steps, merge("m", "a", "e", after=("c", "d", "f")))
    told = [each.message for each in found.warnings if each.code == "changes_not_seen"]
    assert told == [
        "`b`, `c` and `f` do not see the changes of `a` and `e`, which are not merged by then"
    ]
