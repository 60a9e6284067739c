"""What a plan shows: levels, waves, conflicts, warnings, and the JSON of all of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.planning.analysis import analyse
from pixirnb.planning.claims import conflict_between
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.globs.index import PlainSets, plain_path
from pixirnb.planning.globs.pattern import Pattern, overlap
from pixirnb.planning.report import PlanReport, report
from pixirnb.spec.loader import load_mapping, load_text
from pixirnb.spec.workflow import Workflow
from tests.sweeps import examples


def workflow(*steps: dict[str, Any], **keys: Any) -> Workflow:
    return load_mapping({"name": "w", "steps": list(steps), **keys}).require()


def reported(*steps: dict[str, Any], facts: Environment | None = None, **keys: Any) -> PlanReport:
    return report(workflow(*steps, **keys), facts or Environment())


def step(name: str, *after: str, **keys: Any) -> dict[str, Any]:
    return {
        "id": name,
        "run": "x",
        "posture": "read_only",
        "read_set": [],
        "depends_on": list(after),
        **keys,
    }


def writer(name: str, *globs: str, after: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"id": name, "run": "x", "write_set": list(globs), "depends_on": list(after)}


def test_levels_are_generations_and_waves_what_starts_together() -> None:
    found = reported(
        step("a"), step("b"), step("c"), step("d", "a"), step("e", "d", "c"), max_concurrency=2
    )
    assert found.levels == (("a", "b", "c"), ("d",), ("e",))
    assert found.waves == (("a", "b"), ("c", "d"), ("e",))
    assert found.peak_concurrency == 2
    assert found.critical_path == ("a", "d", "e")


def test_writers_of_one_place_take_turns_in_spec_order() -> None:
    found = reported(writer("a", "lib/**"), writer("b", "lib/x"), writer("c", "doc/**"), step("d"))
    assert found.waves == (("a", "c", "d"), ("b",))
    assert found.conflicts == (
        {"steps": ["a", "b"], "rule": "writer_writer", "paths": ["lib/**", "lib/x"]},
    )
    assert found.conflict_count == 1
    assert found.serialized == (("b", "a"),)


def test_a_later_step_does_not_overtake_one_it_conflicts_with() -> None:
    # c conflicts only with b, which waits for a: c waits too.
    found = reported(writer("a", "x/**"), writer("b", "x/**", "y/**"), writer("c", "y/**"))
    assert found.waves == (("a",), ("b",), ("c",))
    assert found.serialized == (("b", "a"), ("c", "b"))


def test_a_step_behind_its_dependency_was_not_serialized() -> None:
    found = reported(writer("a", "x/**"), writer("b", "x/**", after=("a",)), writer("c", "z/**"))
    assert found.conflict_count == 0
    assert found.waves == (("a", "c"), ("b",))
    assert found.serialized == ()


def test_many_writers_of_everything_are_planned_in_a_moment() -> None:
    names = [f"s{number}" for number in range(3000)]
    found = reported(*({"id": name, "run": "x", "posture": "writer"} for name in names))
    assert found.conflict_count == 3000 * 2999 // 2
    assert len(found.conflicts) == 1000
    assert found.waves == tuple((name,) for name in names)
    assert found.serialized == tuple(zip(names[1:], names, strict=False))


def test_many_writers_of_overlapping_places_are_planned_in_a_moment() -> None:
    found = reported(*(writer(f"s{number}", "*.py", f"a/{number}") for number in range(1500)))
    assert found.conflict_count == 1500 * 1499 // 2
    assert [len(wave) for wave in found.waves] == [1] * 1500


globs = st.sampled_from(["a/**", "a/b", "b/**", "*.py", "a/*", "c", "**/*"])
claims = st.lists(
    st.tuples(
        st.sets(globs, max_size=2),
        st.sets(globs, max_size=2),
        st.sets(st.integers(0, 9), max_size=2),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=examples(150))
@given(claims, st.integers(1, 4))
def test_waves_follow_the_scheduler_s_rule(
    parts: list[tuple[set[str], set[str], set[int]]], limit: int
) -> None:
    steps = []
    for number, (reads, writes, after) in enumerate(parts):
        steps.append(
            {
                "id": f"s{number}",
                "run": "x",
                "read_set": sorted(reads),
                "write_set": sorted(writes),
                "depends_on": [f"s{other}" for other in sorted(after) if other < number],
            }
        )
    plan = analyse(workflow(*steps, max_concurrency=limit), Environment())
    assert plan.schedule.waves == _plainly(plan.resolved, plan.graph.depends_on, limit)


def _plainly(resolved: list[Any], depends_on: list[list[int]], limit: int) -> list[list[int]]:
    """The rule, said in the most direct way."""
    from pixirnb.planning.claims import Claim

    held = [
        Claim(tuple(map(Pattern.parse, each.reads)), tuple(map(Pattern.parse, each.writes)))
        for each in resolved
    ]
    done: set[int] = set()
    waves = []
    while len(done) < len(held):
        ready = [
            number
            for number in range(len(held))
            if number not in done and all(before in done for before in depends_on[number])
        ]
        wave: list[int] = []
        waiting: list[int] = []
        for number in ready:
            if len(wave) == limit:
                break
            if any(conflict_between(held[number], held[other]) for other in wave + waiting):
                waiting.append(number)
            else:
                wave.append(number)
        waves.append(wave)
        done.update(wave)
    return waves


paths = st.lists(st.sampled_from(["a", "b", "ab", "a.b", "_"]), min_size=1, max_size=3).map(
    "/".join
)
plain = st.tuples(paths, st.sampled_from(["", "/**"])).map("".join)


@given(st.lists(st.tuples(st.lists(plain, max_size=2), st.lists(plain, max_size=2)), max_size=6))
def test_sorting_plain_paths_never_misses_a_conflict(
    sets: list[tuple[list[str], list[str]]],
) -> None:
    proof = PlainSets()
    proof.paths = {text: plain_path(text) for pair in sets for group in pair for text in group}
    claimed = [(tuple(reads), tuple(writes)) for reads, writes in sets]
    if not proof.are_disjoint(claimed):
        return
    for place, (_, writes) in enumerate(claimed):
        for other, (reads_too, writes_too) in enumerate(claimed):
            if place != other:
                for one in writes:
                    for two in reads_too + writes_too:
                        assert not overlap(Pattern.parse(one), Pattern.parse(two))


def test_the_document_has_every_field_and_is_json() -> None:
    found = reported(
        {"id": "a", "task": "x", "agent": "b", "retry": {"max_attempts": 3}, "output": {}},
        step("c", "a", phase="p"),
        agents={"b": {"timeout": "15m"}},
    )
    document = found.document()
    assert json.loads(json.dumps(document)) == document
    assert list(document) == [
        "schema_version",
        "ok",
        "workflow",
        "spec_digest",
        "errors",
        "warnings",
        "levels",
        "waves",
        "conflicts",
        "conflict_count",
        "serialized",
        "critical_path",
        "peak_concurrency",
        "agent_minutes",
        "agents",
        "repos",
        "timeouts",
        "phases",
        "steps",
    ]
    assert document["ok"] is True
    assert document["agent_minutes"] == 45.0
    assert document["agents"] == {"b": ["a"]}
    assert document["timeouts"] == {
        "a": {"ms": 900_000, "source": "agent"},
        "c": {"ms": 1_800_000, "source": "standard"},
    }
    assert document["phases"] == [{"name": "p", "steps": ["c"]}, {"name": "rest", "steps": ["a"]}]


def test_the_steps_of_a_plan_name_their_edges_and_what_is_in_force() -> None:
    found = reported(
        {"id": "a", "task": "x", "agent": "b", "write_set": ["src/**"]},
        step("c", "a", read_set=["src/**"], timeout="1s"),
        agents={"b": {"timeout": "15m", "posture": "writer"}},
    )
    agent, shell = found.document()["steps"]
    assert agent == {
        "step_id": "a",
        "kind": "agent",
        "depends_on": [],
        "posture": "writer",
        "workspace": "isolated",
        "read_set": [],
        "write_set": ["src/**"],
        "timeout_ms": 900_000,
        "agent": "b",
    }
    assert (shell["depends_on"], shell["read_set"], shell["timeout_ms"]) == (
        ["a"],
        ["src/**"],
        1000,
    )
    assert shell["agent"] is None


def test_a_workflow_without_phases_is_one() -> None:
    assert reported(step("a"), step("b")).phases == (("w", ("a", "b")),)


def test_a_report_of_a_broken_workflow_shows_what_it_can() -> None:
    found = reported(step("a"), step("b", "c"), step("c", "b"))
    assert not found.ok
    assert found.waves == (("a",),)
    assert found.document()["ok"] is False


def root(**keys: Any) -> Environment:
    kept: dict[str, Any] = {
        "exists": True,
        "is_directory": True,
        "is_writable": True,
        "is_git": False,
        "is_inside": True,
        "resolved": "/w",
        **keys,
    }
    return Environment("/w", {".": PathFact(**kept)})


def task(name: str, *after: str) -> dict[str, Any]:
    """A verified task for the agent of `AGENT`."""
    return {"id": name, "task": "x", "agent": "b", "depends_on": [*after], "output": {}}


AGENT: dict[str, Any] = {"agents": {"b": {}}, "defaults": {"workspace": "shared"}}
WARNED: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[tuple[str, str]]]] = {
    "nothing": ([step("a")], {}, []),
    "an agent that reads five results": (
        [*(step(name) for name in "abcde"), task("z", *"abcde")],
        AGENT,
        [("decompose", "steps[5].depends_on")],
    ),
    "an agent that reads four": ([*(step(name) for name in "abcd"), task("z", *"abcd")], AGENT, []),
    "a program that gathers any number": (
        [*(step(name) for name in "abcdefgh"), step("z", *"abcdefgh")],
        {"max_concurrency": 8},
        [],
    ),
    "a long time-out": (
        [step("a", timeout="31m")],
        {},
        [("timeout_long", "steps[0].timeout")],
    ),
    "thirty minutes": ([step("a", timeout="30m")], {}, []),
    "a long time-out that is meant": ([step("a", timeout="31m", allow_long_timeout=True)], {}, []),
    "a long time-out for all is told once": (
        [step("a"), step("b")],
        {"defaults": {"timeout": "2h"}},
        [("timeout_long", "defaults.timeout")],
    ),
    "undeclared writers are told once": (
        [{"id": "a", "run": "x"}, {"id": "b", "run": "x"}],
        {},
        [("undeclared_writers", "steps[0]")],
    ),
    "undeclared writers of which no two run at once": (
        [{"id": "a", "run": "x"}, {"id": "b", "run": "x", "depends_on": "a"}],
        {},
        [],
    ),
    "undeclared writers that run one at a time": (
        [{"id": "a", "run": "x"}, {"id": "b", "run": "x"}],
        {"max_concurrency": 1},
        [("wave_wide", "max_concurrency")],
    ),
    "undeclared writers kept apart": (
        [{"id": "a", "run": "x"}, {"id": "b", "run": "x"}],
        {"undeclared_writers": "serialize"},
        [
            ("serialized_for_want_of_write_set", "steps[0]"),
            ("serialized_for_want_of_write_set", "steps[1]"),
        ],
    ),
    "a writer of everything beside one of something": (
        [{"id": "a", "run": "x", "posture": "writer"}, writer("b", "o")],
        {},
        [("serialized_for_want_of_write_set", "steps[0]")],
    ),
    "a writer of everything alone": ([{"id": "a", "run": "x", "posture": "writer"}], {}, []),
    "more than may start": (
        [step(name) for name in "abc"],
        {"max_concurrency": 2},
        [("wave_wide", "max_concurrency")],
    ),
    "an agent nobody checks": (
        [{"id": "a", "task": "x", "agent": "b"}],
        AGENT,
        [("agent_unverified", "steps[0]")],
    ),
    "an agent with a check": (
        [{"id": "a", "task": "x", "agent": "b", "verify": [{"file_exists": "o"}]}],
        AGENT,
        [],
    ),
    "a text compared with a number, once for each comparison": (
        [
            step("n"),
            step(
                "a",
                "n",
                when="{{ steps.n.output }} > 3 and not ({{ inputs.f }} == true or 2 < {{ steps.n.summary }})",
            ),
        ],
        {"inputs": {"f": {"type": "string", "default": "x"}}},
        [("when_types_differ", "steps[1].when")] * 3,
    ),
    "values of one type, or of a type that is open": (
        [
            step("n", output={"type": "integer"}),
            step("m", output={}),
            step("t"),
            {"id": "q", "ask": "x?"},
            step(
                "a",
                *"nmtq",
                when="{{ steps.n.output }} > 3 and {{ steps.m.output }} == 1 and {{ steps.t.output }} == '3'"
                " and {{ steps.q.output }} == true and {{ inputs.k }} == 1.5 and 'x' in {{ inputs.l }}"
                " and {{ steps.t.output.field }} == 1 and 'x' in {{ steps.t.output }} and {{ inputs.k }} != null",
            ),
        ],
        {"inputs": {"k": {"type": "number", "default": 1}, "l": {"type": "array", "default": []}}},
        [],
    ),
    "a choice of words compared with true": (
        [
            {"id": "q", "ask": {"question": "x?", "choices": ["yes", "no"]}},
            step("a", "q", when="{{ steps.q.output }} == true"),
        ],
        {},
        [("when_types_differ", "steps[1].when")],
    ),
    "an agent without work": ([step("a")], AGENT, [("agent_unused", "agents.b")]),
    "a script for nobody": (
        [{"id": "ask", "task": "x", "agent": "b", "output": {}}],
        {**AGENT, "agents": {"b": {"script": {"aks": [[]], "*": [[]]}}}},
        [("script_unknown_step", "agents.b.script.aks")],
    ),
    "a scripted agent with what only others use": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}}],
        {**AGENT, "agents": {"b": {"model": "openai:m", "command": ["x"], "tools": ["read"]}}},
        [
            ("agent_key_inert", "agents.b.model"),
            ("agent_key_inert", "agents.b.command"),
            ("agent_key_inert", "agents.b.tools"),
        ],
    ),
    "a coding agent with tools and a script": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}}],
        {
            **AGENT,
            "agents": {
                "b": {"runner": "cli", "command": "c", "tools": ["read"], "script": {"*": [[]]}}
            },
        },
        [
            ("agent_key_inert", "agents.b.tools"),
            ("agent_key_inert", "agents.b.script"),
            ("agent_cannot_ask", "steps[0]"),
        ],
    ),
    "a scripted failure of a kind that is none": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}}],
        {**AGENT, "agents": {"b": {"script": {"*": [[], [{"fail": "provider_transiant"}]]}}}},
        [("script_fail_unknown", "agents.b.script.*[1][0].fail")],
    ),
    "an agent with all its runner needs": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}}],
        {
            **AGENT,
            "agents": {
                "b": {
                    "runner": "llm",
                    "model": "openai:m",
                    "tools": ["read", "shell"],
                    "pass_env": ["OPENAI_API_KEY"],
                }
            },
        },
        [],
    ),
    "a script with nothing for a step": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}}],
        {**AGENT, "agents": {"b": {"script": {"z": [[]]}}}},
        [("script_step_missing", "agents.b.script"), ("script_unknown_step", "agents.b.script.z")],
    ),
    "leave that a reader cannot use": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}}],
        {**AGENT, "agents": {"b": {"permission_mode": "auto", "posture": "read_only"}}},
        [("permission_conflict", "agents.b.permission_mode")],
    ),
    "a writer that may change nothing": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}, "write_set": ["o"]}],
        {**AGENT, "agents": {"b": {"permission_mode": "read_only"}}},
        [("permission_conflict", "agents.b.permission_mode")],
    ),
    "no choices at all": (
        [{"id": "a", "ask": {"question": "q", "choices": []}}],
        {},
        [("choices_empty", "steps[0].ask.choices")],
    ),
    "leave to write anything": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}}],
        {**AGENT, "agents": {"b": {"permission_mode": "auto"}}},
        [("auto_without_write_set", "steps[0]")],
    ),
    "leave to write something": (
        [{"id": "a", "task": "x", "agent": "b", "output": {}, "write_set": ["o"]}],
        {**AGENT, "agents": {"b": {"permission_mode": "auto"}}},
        [],
    ),
    "phases side by side": (
        [step("a", phase="p"), step("b", phase="q")],
        {},
        [("phase_splits_wave", "steps[0].phase"), ("phase_splits_wave", "steps[1].phase")],
    ),
    "phases one after the other": ([step("a", phase="p"), step("b", "a", phase="q")], {}, []),
    "a secret by name": (
        [step("a", env={"API_KEY": "0123456789"})],
        {},
        [("secret_in_env", "steps[0].env.API_KEY")],
    ),
    "a secret by look": (
        [step("a", env={"X": "ghp_0123456789abcdef"})],
        {},
        [("secret_in_env", "steps[0].env.X")],
    ),
    "a secret that is a reference": (
        [step("a", env={"API_KEY": "{{ inputs.key }}"})],
        {"inputs": {"key": {"type": "string"}}},
        [],
    ),
    "a short value": ([step("a", env={"KEY": "name"})], {}, []),
}


@pytest.mark.parametrize(("steps", "keys", "told"), WARNED.values(), ids=WARNED.keys())
def test_a_doubt_is_told_with_its_code_and_path(
    steps: list[dict[str, Any]], keys: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    found = reported(*steps, **keys)
    assert found.ok
    assert [(each.code, each.path) for each in found.warnings] == told
    assert all(each.fix for each in found.warnings)


def test_a_workspace_that_cannot_be_written_is_told() -> None:
    found = reported(step("a"), facts=root(is_writable=False))
    assert [each.code for each in found.warnings] == ["workspace_not_writable"]


def test_warnings_of_a_text_have_lines() -> None:
    text = "name: w\nsteps:\n- id: a\n  run: x\n  posture: read_only\n  timeout: 45m\n"
    found = report(load_text(text).require(), Environment())
    assert [(each.code, each.line) for each in found.warnings] == [("timeout_long", 6)]
