"""Whatever a relay file says, it is read or refused with places and fixes; what is read can be written as YAML of ours."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import problems_of, report
from pixirnb.spec.loader import load_mapping, load_text
from pixirnb.spec.relay.keys import (
    AGENT,
    CONSTRAINTS,
    ERRORS,
    PATH,
    PERMISSIONS,
    PREFLIGHT,
    STEP,
    SWARM,
    TOP,
    VERIFICATION,
    WORKFLOW,
    Keys,
)
from pixirnb.spec.relay.reader import RelaySources, dialect, translate
from pixirnb.spec.yaml.writer import write
from tests.sweeps import examples

WORDS: Final = (
    "a", "b", "a b", "ü", "", "agent", "deterministic", "worktree", "integration", "claude", "aider", "api", "retry",
    "continue", "fail-fast", "readonly", "full", "file_exists", "custom", "output_contains", "exit_code", "pr_url",
    "non-empty", "(", "../x", "../x/y", "/etc", "~", "$HOME/x", ".", "no", "1e3", "0o7", "1:30", "{{steps.a.output}}",
    "echo '{{steps.a.output}}' \"{{x.y}}\" {{", "cat <<'E'\n{{steps.b.output}}\nE", "{{{steps.a.output}}}", "bash -c '{{a}}'",
    "\ud800", "\x00", "\u2028", "\u202e", "a\n  b \n", "- x: #", "true", "null",
)  # fmt: skip
SCALARS: Final = (
    st.sampled_from(WORDS)
    | st.integers(-2, 10**7)
    | st.booleans()
    | st.none()
    | st.floats()
    | st.text(max_size=5)
    | st.just(10**400)
)
ANYTHING: Final = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=4,
)


def mapping(keys: Keys, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A mapping with some of the keys: as they should be, or as nobody should write them."""
    every = {key: known.get(key, ANYTHING) | ANYTHING for key in keys.known}
    likely = {key: known[key] for key in known}
    return st.fixed_dictionaries({}, optional=every) | st.fixed_dictionaries(likely)


TEXT: Final = st.sampled_from(WORDS)
NAME: Final = st.sampled_from(("a", "b", "c", "a b", "ü"))
CHECK: Final = mapping(
    VERIFICATION,
    type=st.sampled_from(("file_exists", "custom", "output_contains", "exit_code", "pr_url")),
    value=TEXT,
)
COMMAND: Final = mapping(
    STEP,
    name=NAME,
    type=st.just("deterministic"),
    command=TEXT,
    dependsOn=st.lists(NAME, max_size=2),
    verification=CHECK,
    cwd=TEXT,
    failOnError=st.booleans(),
)
TASK: Final = mapping(STEP, name=NAME, agent=NAME, task=TEXT, dependsOn=st.lists(NAME, max_size=2))
TREE: Final = mapping(STEP, name=NAME, type=st.just("worktree"), branch=TEXT, path=TEXT)
WORK: Final = mapping(
    WORKFLOW,
    steps=st.lists(COMMAND | TASK | TREE, max_size=4),
    preflight=st.lists(mapping(PREFLIGHT, command=TEXT, failIf=TEXT), max_size=2),
)
AGENTS: Final = st.lists(
    mapping(
        AGENT,
        name=NAME,
        cli=TEXT,
        cwd=TEXT,
        constraints=mapping(CONSTRAINTS, timeoutMs=st.integers(1, 10**7), model=TEXT),
        permissions=mapping(PERMISSIONS, access=TEXT, files=st.just({"write": ["src/**"]})),
    ),
    max_size=2,
)
FILES: Final = mapping(
    TOP,
    name=TEXT,
    version=st.just("1.0"),
    swarm=mapping(SWARM, maxConcurrency=st.integers(0, 5), timeoutMs=st.integers(0, 10**7)),
    agents=AGENTS,
    workflows=st.lists(WORK, min_size=1, max_size=2),
    paths=st.lists(mapping(PATH, name=NAME, path=TEXT), max_size=2),
    errorHandling=mapping(ERRORS, strategy=TEXT, maxRetries=st.integers(0, 5)),
).map(lambda value: {"swarm": {}, **value} if isinstance(value, dict) else value)
GOOD: Final = TEXT.filter(lambda text: text.strip() and "\x00" not in text and "\ud800" not in text)
"""Texts that a command or a task may be."""


@st.composite
def likely(draw: st.DrawFn) -> dict[str, Any]:
    """A file that an author could have written: odd texts, and seldom a mistake."""
    names = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    agents = [
        {
            "name": name,
            "cli": draw(st.sampled_from(("claude", "codex", "aider"))),
            "role": draw(GOOD),
            "cwd": draw(st.sampled_from((".", "sub", "../x", "/etc"))),
            "constraints": {
                "timeoutMs": draw(st.integers(1, 10**7)),
                "retries": draw(st.integers(0, 3)),
            },
            "permissions": {"access": draw(st.sampled_from(("readonly", "readwrite", "full")))},
        }
        for name in draw(st.lists(NAME, min_size=1, max_size=2, unique=True))
    ]
    steps: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        step: dict[str, Any] = {"name": name, "dependsOn": names[:place]}
        match draw(st.sampled_from(("agent", "deterministic", "worktree"))):
            case "agent":
                step |= {"agent": agents[0]["name"], "task": draw(GOOD)}
            case "deterministic":
                step |= {"type": "deterministic", "command": draw(GOOD)}
                step["failOnError"] = draw(st.booleans())
                step["verification"] = {"type": "custom", "value": draw(GOOD)}
            case _:
                step |= {"type": "worktree", "branch": draw(GOOD), "path": draw(GOOD)}
        steps.append(step)
    return {
        "version": "1.0",
        "name": draw(GOOD),
        "description": draw(TEXT.filter(lambda text: "\ud800" not in text)),
        "swarm": {"pattern": "dag", "maxConcurrency": draw(st.integers(1, 5))},
        "agents": agents,
        "workflows": [{"steps": steps, "preflight": [{"command": draw(GOOD)}]}],
    }


AROUND: Final = RelaySources(
    "steps: {a: {type: deterministic, command: 'echo {{b}}'}}", {"HOME": "/h"}
)


@given(FILES)
@example(
    {
        "swarm": {},
        "agents": [
            {
                "name": "a",
                "cli": "a",
                "cwd": "\ud800",
                "permissions": {"files": {"write": ["src/**"]}},
            }
        ],
        "workflows": [{"steps": [{"name": "b", "agent": "a", "task": "c"}]}],
    }
)
@example({"swarm": {"maxConcurrency": float("inf")}, "workflows": [{"steps": [{"name": 10**400}]}]})
@settings(max_examples=examples(250), deadline=None)
def test_whatever_a_file_says_it_is_read_or_refused_with_places_and_fixes(
    value: dict[str, Any],
) -> None:
    assert dialect(value) == "v1"
    loaded = load_mapping(value, None, AROUND)
    found = problems_of(loaded)
    assert loaded.workflow is not None or found
    for problem in (*found, *loaded.source_map.notes):
        assert problem.code
        assert problem.message
        assert problem.fix
        assert not problem.path.startswith("steps[")  # paths are those of the file
    if loaded.workflow is not None and not found:
        planned = report(loaded.workflow, Environment())
        assert {warning.code for warning in planned.warnings} >= {
            note.code for note in loaded.source_map.notes
        }
        again = load_text(write(loaded.workflow, loaded.source_map.notes))
        assert again.workflow == loaded.workflow
        assert again.mistakes == ()


@given(ANYTHING | st.dictionaries(st.sampled_from(("a", "steps")), ANYTHING, max_size=2), ANYTHING)
@settings(max_examples=examples(100), deadline=None)
def test_whatever_the_definitions_of_custom_steps_say_nothing_raises(said: Any, param: Any) -> None:
    step = {"params": said, "type": "deterministic", "command": "echo {{b}}"}
    for text in (json.dumps(said), json.dumps({"steps": said}), json.dumps({"steps": {"a": step}})):
        value = {"swarm": {}, "workflows": [{"steps": [{"name": "a", "use": "a", "b": param}]}]}
        for problem in load_mapping(value, None, RelaySources(text)).problems:
            assert problem.fix


SOUND: Final = st.lists(NAME, min_size=1, max_size=5, unique=True).flatmap(
    lambda names: st.tuples(
        st.just(names),
        st.tuples(
            *(
                st.lists(st.sampled_from(names[:place]), unique=True, max_size=2)
                if place
                else st.just([])
                for place in range(len(names))
            )
        ),
    )
)


@given(SOUND)
@settings(max_examples=examples(100), deadline=None)
def test_levels_follow_depends_on_alone(drawn: tuple[list[str], tuple[list[str], ...]]) -> None:
    names, edges = drawn
    steps = [
        {"name": name, "type": "deterministic", "command": "true", "dependsOn": before}
        for name, before in zip(names, edges, strict=True)
    ]
    level: dict[str, int] = {}
    for name, before in zip(names, edges, strict=True):
        level[name] = 1 + max((level[each] for each in before), default=-1)
    value = {
        "version": "1.0",
        "name": "w",
        "swarm": {"pattern": "fan-out"},
        "workflows": [{"steps": steps}],
    }
    loaded = load_mapping(value)
    assert loaded.workflow is not None
    ids = dict(zip(names, (step.id for step in loaded.workflow.steps), strict=True))
    found = report(loaded.workflow, Environment()).levels
    assert {step: place for place, steps in enumerate(found) for step in steps} == {
        ids[name]: place for name, place in level.items()
    }


@given(FILES)
@settings(max_examples=examples(60), deadline=None)
def test_reading_is_the_same_each_time_and_leaves_the_file_as_it_is(value: dict[str, Any]) -> None:
    before = repr(value)
    first, second = translate(value, AROUND), translate(value, AROUND)
    assert repr(value) == before
    assert repr(first) == repr(second)


def test_the_lines_of_notes_are_those_of_the_text() -> None:
    value = {"version": "1.0", "name": "w", "workflows": [{"steps": []}], "swarm": {"channel": "x"}}
    text = yaml.safe_dump(value)
    notes = load_text(text).source_map.notes
    lines = text.splitlines()
    assert [lines[(note.line or 0) - 1].strip() for note in notes] == ["channel: x"]
