"""Several repositories in the plan: which are there, who works where, and whose claims meet by what name."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import PlanReport, compile_plan, report
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.workflow import Workflow


def fact(resolved: str, **keys: Any) -> PathFact:
    kept: dict[str, Any] = {
        "exists": True,
        "is_directory": True,
        "is_writable": True,
        "is_git": True,
        "is_inside": True,
        **keys,
    }
    return PathFact(resolved=resolved, **kept)


def around(beside: dict[str, PathFact] | None = None, **repos: str | PathFact) -> Environment:
    known = {name: fact(each) if isinstance(each, str) else each for name, each in repos.items()}
    return Environment("/w", {".": fact("/w")}, beside or {}, known, "/w")


def spec(*steps: dict[str, Any], repos: str = "cloud web", **keys: Any) -> Workflow:
    named = {name: f"../{name}" for name in repos.split()}
    return load_mapping({"name": "w", "repos": named, "steps": list(steps), **keys}).require()


def writer(name: str, *globs: str, **keys: Any) -> dict[str, Any]:
    return {"id": name, "run": "x", "write_set": list(globs), **keys}


def planned(*steps: dict[str, Any], facts: Environment, **keys: Any) -> Plan:
    return compile_plan(spec(*steps, **keys), facts, {})


def told(found: PlanReport) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in found.errors]


BESIDE = around(cloud="/cloud", web="/web")


def test_the_plan_knows_where_each_repository_lies() -> None:
    plan = planned(writer("a", "repos.web:x"), facts=BESIDE)
    assert plan.repos == {"cloud": "/cloud", "web": "/web"}
    assert [root.name for root in plan.roots.roots] == [".", "repos.cloud", "repos.web"]
    assert plan.origin == "/w"
    assert planned(writer("a", "repos.web:x"), facts=Environment()).repos == {}


@pytest.mark.parametrize(
    ("step", "roots"),
    [
        (writer("a", "src/**"), (".",)),
        (writer("a", "repos.web:x", cwd="repos.web"), ("repos.web",)),
        (writer("a", "repos.web:x", cwd="repos.web/sub"), ("repos.web",)),
        (writer("a", "repos.web:x", "repos.cloud:y"), (".", "repos.cloud", "repos.web")),
        (writer("a", "repos.web:x", read_set=["repos.cloud:y"], cwd="repos.web"),
         ("repos.cloud", "repos.web")),
        ({"id": "a", "run": "x", "cwd": "repos.web"}, ("repos.web",)),
        ({"id": "a", "run": "x", "artifacts": ["repos.web:*.html"]}, (".", "repos.web")),
        ({"id": "a", "task": "x", "agent": "b"}, (".", "repos.cloud")),
        ({"id": "a", "task": "x", "agent": "b", "write_set": ["repos.cloud:x"]}, ("repos.cloud",)),
        ({"id": "a", "task": "x", "agent": "b", "cwd": ".", "write_set": ["x"]}, (".",)),
    ],
)  # fmt: skip
def test_a_step_uses_the_root_of_its_folder_and_of_its_sets(
    step: dict[str, Any], roots: tuple[str, ...]
) -> None:
    keys: dict[str, Any] = {"agents": {"b": {"cwd": "repos.cloud"}}} if "task" in step else {}
    assert planned(step, facts=BESIDE, **keys).steps[0].roots == roots
    assert planned(step, facts=Environment(), **keys).steps[0].roots == roots


def test_a_used_root_brings_those_that_lie_in_it() -> None:
    facts = around(cloud="/w/libs/cloud", web="/web")
    plan = planned(
        writer("a", "src/**"), writer("b", "repos.cloud:x", cwd="repos.cloud"), facts=facts
    )
    assert [step.roots for step in plan.steps] == [(".", "repos.cloud"), ("repos.cloud",)]


def test_a_folder_of_the_workspace_that_is_a_repository_counts_as_one() -> None:
    facts = around(cloud="/w/libs/cloud", web="/web")
    facts = Environment(
        "/w", {**facts.paths, "libs/cloud": fact("/w/libs/cloud")}, {}, facts.repos, "/w"
    )
    plan = planned(writer("a", "repos.cloud:x", cwd="libs/cloud"), facts=facts)
    assert plan.steps[0].roots == ("repos.cloud",)


def test_a_merge_uses_the_roots_of_what_it_merges() -> None:
    steps = [
        writer("a", "repos.web:x", cwd="repos.web", workspace="isolated"),
        writer("b", "repos.cloud:x", cwd="repos.cloud", workspace="isolated"),
        {"id": "m", "merge": ["a", "b"], "depends_on": ["a", "b"]},
    ]
    merge = planned(*steps, facts=BESIDE).steps[2]
    assert merge.roots == ("repos.cloud", "repos.web")
    assert merge.write_set == ("repos.web:x", "repos.cloud:x")


def test_a_writer_that_names_nothing_claims_the_repository_it_works_in_too() -> None:
    step = planned({"id": "a", "run": "x", "posture": "writer", "cwd": "repos.web"}, facts=BESIDE)
    assert step.steps[0].write_set == ("**/*", "repos.web:**/*")


def test_an_agent_s_folder_that_is_a_repository_is_known_as_one() -> None:
    facts = around({"../cloud": fact("/cloud", is_inside=False)}, cloud="/cloud", web="/web")
    task = {"id": "a", "task": "x", "agent": "b"}
    step = planned(task, facts=facts, agents={"b": {"cwd": "../cloud"}}).steps[0]
    assert step.write_set == ("**/*", "repos.cloud:**/*")


def test_an_isolated_agent_works_in_something_that_can_be_copied() -> None:
    facts = around({"../far": fact("/far", is_inside=False)}, cloud="/cloud", web="/web")
    task = {"id": "a", "task": "x", "agent": "b", "output": {}}
    flow = spec(task, agents={"b": {"cwd": "../far"}})
    assert told(report(flow, facts)) == [("cwd_not_isolated", "steps[0]")]
    shared = spec({**task, "workspace": "shared"}, agents={"b": {"cwd": "../far"}})
    assert report(shared, facts).ok


def test_repositories_nobody_declared_are_told_wherever_they_are_named() -> None:
    flow = spec(
        writer("a", "repos.cluod:x", read_set=["repos.web:ok"], artifacts=["repos.x:y"]),
        writer("b", "x", cwd="repos.wbe/sub", additional_paths=["repos.web", "repos.no"]),
        agents={"b": {"cwd": "repos.cloudy", "additional_paths": ["repos.nope"]}},
    )
    found = report(flow, BESIDE)
    assert {code for code, _ in told(found)} == {"unknown_repo"}
    assert sorted(path for _, path in told(found)) == [
        "agents.b.additional_paths[0]",
        "agents.b.cwd",
        "steps[0].artifacts[0]",
        "steps[0].write_set[0]",
        "steps[1].additional_paths[1]",
        "steps[1].cwd",
    ]
    fixes = {each.path: each.fix for each in found.errors}
    assert "cloud" in fixes["steps[0].write_set[0]"]
    assert "web" in fixes["steps[1].cwd"]


@pytest.mark.parametrize("glob", ["repos.cloud:.git/x", "repos.cloud:../x", "repos.cloud:/x"])
def test_a_glob_stays_in_its_repository(glob: str) -> None:
    found = report(spec(writer("a", glob)), BESIDE)
    assert told(found) == [("bad_pattern", "steps[0].write_set[0]")]


def test_a_repository_that_cannot_be_written_is_a_mistake_where_a_step_writes() -> None:
    facts = around(cloud=fact("/cloud", is_writable=False), web=fact("/web", is_writable=False))
    found = report(spec(writer("a", "repos.cloud:x")), facts)
    assert told(found) == [("repo_not_writable", "repos.cloud")]
    warned = [(each.code, each.path) for each in found.warnings]
    assert warned == [("repo_not_writable", "repos.web")]


def test_a_repository_that_is_missing_is_one_mistake() -> None:
    gone = fact("/cloud", exists=False, is_directory=False, is_git=False, is_writable=False)
    found = report(spec(writer("a", "repos.cloud:x"), repos="cloud"), around(cloud=gone))
    assert told(found) == [("path_missing", "repos.cloud")]
    assert found.warnings == ()


def test_the_report_says_what_each_repository_is() -> None:
    plain = fact("/web", is_git=False, is_writable=False)
    found = report(spec(writer("a", "x")), around(cloud="/cloud", web=plain))
    assert found.document()["repos"] == {
        "cloud": {"path": "../cloud", "exists": True, "git": True, "writable": True},
        "web": {"path": "../web", "exists": True, "git": False, "writable": False},
    }
    assert [each.code for each in found.warnings] == ["repo_not_git", "repo_not_writable"]


@pytest.mark.parametrize(
    ("facts", "one", "other", "meets"),
    [
        (BESIDE, "repos.cloud:x", "repos.cloud:**", True),
        (BESIDE, "repos.cloud:x", "repos.web:x", False),
        (BESIDE, "repos.cloud:x", "**/*", False),
        (around(cloud="/w/libs/cloud", web="/web"), "repos.cloud:x", "**/*", True),
        (around(cloud="/w/libs/cloud", web="/web"), "repos.cloud:x", "libs/*/y", False),
        (around(cloud="/one", web="/one"), "repos.cloud:x", "repos.web:?", True),
        (around(cloud="/", web="/web"), "repos.cloud:web/x", "repos.web:x", True),
        (around(cloud="/w", web="/web"), "repos.cloud:a", "a/**", True),
        (around(cloud="/w", web="/web"), "a", "b", False),
    ],
)
def test_claims_meet_by_where_they_are_and_are_shown_as_written(
    facts: Environment, one: str, other: str, meets: bool
) -> None:
    found = report(spec(writer("a", one), writer("b", other)), facts)
    shown = [{"steps": ["a", "b"], "rule": "writer_writer", "paths": [one, other]}]
    assert list(found.conflicts) == (shown if meets else [])
    assert len(found.waves) == (2 if meets else 1)


def test_agents_of_different_repositories_run_side_by_side() -> None:
    steps = [
        {"id": name, "task": "x", "agent": name, "write_set": [f"repos.{name}:src/**"]}
        for name in ("cloud", "web")
    ]
    agents = {name: {"cwd": f"repos.{name}"} for name in ("cloud", "web")}
    assert report(spec(*steps, agents=agents), BESIDE).waves == (("cloud", "web"),)


@pytest.mark.parametrize("where", ["step", "agent"])
def test_a_repository_that_is_only_looked_at_is_given_along(where: str) -> None:
    beside = {"additional_paths": ["repos.web/src"]}
    agent = {"cwd": "repos.cloud", **(beside if where == "agent" else {})}
    step = {"id": "a", "task": "x", "agent": "c", "write_set": ["repos.cloud:x"]}
    workflow = spec(step | (beside if where == "step" else {}), agents={"c": agent})
    assert compile_plan(workflow, BESIDE, {}).steps[0].roots == ("repos.cloud", "repos.web")
