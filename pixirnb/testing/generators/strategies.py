"""Hypothesis strategies: small workflows with everything that can get in each other's way, and how attempts end.

Workflows are plain mappings, as an author would write them; every one of them is sound.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

GLOBS: Final = ("a/**", "a/x", "b/**", "b/*.py", "b/y.py", "**/*", "c")
"""Few enough that claims often meet."""

ENDS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {},
    {},
    {"value": 3},
    {"status": "failed", "error": "exit"},
    {"status": "failed", "error": "crash", "report": {"checkpoint_status": "partial"}},
    {"status": "failed", "error": "function_missing"},
    {"status": "failed", "error": "turn_limit"},
    {"status": "timed_out"},
    {"status": "cancelled"},
    {"status": "detached"},
    {"checks": [True, False]},
    {"checks": [True]},
    {"report": {"checkpoint_status": "checkpoint_ready", "limitations": ["a draft"]}},
    {"report": {"checkpoint_status": "needs_orchestrator"}},
    {"report": {"checkpoint_status": "failed"}},
)
"""Ends of attempts, as arguments of `Rehearsal.end`."""

CLEAN: Final[dict[str, Any]] = {"report": {"checkpoint_status": "checkpoint_ready"}, "value": 3}
"""An end that makes a step of any kind ready."""

json_values: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
"""Small JSON of any shape."""


def ends() -> st.SearchStrategy[dict[str, Any]]:
    """Return ways in which an attempt ends."""
    return st.sampled_from(ENDS)


@st.composite
def workflows(draw: st.DrawFn, *, most: int = 8) -> dict[str, Any]:
    """Return a sound workflow of at most `most` steps, in an order that need not follow its edges."""
    count = draw(st.integers(1, most))
    names = [f"s{n}" for n in range(count)]
    steps = [_step(draw, names[:n], name) for n, name in enumerate(names)]
    workflow: dict[str, Any] = {
        "name": "drawn",
        "inputs": {"n": {"type": "integer", "default": draw(st.integers(0, 3))}},
        "agents": {"helper": {}},
        "max_concurrency": draw(st.integers(1, 4)),
        "on_failure": draw(st.sampled_from(["continue", "continue", "stop"])),
        "readiness": draw(st.sampled_from(["strict", "lenient"])),
        "undeclared_writers": draw(st.sampled_from(["allow", "serialize"])),
        "steps": draw(st.permutations(steps)),
    }
    if draw(st.integers(0, 5)) == 0:
        workflow["timeout"] = "90s"
    return workflow


def _step(draw: st.DrawFn, before: list[str], name: str) -> dict[str, Any]:
    step: dict[str, Any] = {"id": name}
    if before:
        step["depends_on"] = draw(
            st.lists(st.sampled_from(before), unique=True, max_size=min(3, len(before)))
        )
    if draw(st.integers(0, 3)) == 0:
        step["phase"] = draw(st.sampled_from(["one", "two"]))
    if draw(st.integers(0, 4)) == 0:
        step["when"] = draw(st.sampled_from(["{{ inputs.n }} > 1", "{{ inputs.n }} == 0"]))
    kind = draw(st.sampled_from(["run", "run", "task", "call", "ask"]))
    if kind == "ask":
        step["ask"] = {"question": "go?"}
        if draw(st.booleans()):
            step["timeout"] = "60s"
        return step
    step[kind] = {"run": "true", "task": "think", "call": "json:dumps"}[kind]
    if kind == "task":
        step["agent"] = "helper"
    if draw(st.integers(0, 2)) == 0:
        step["write_set"] = draw(st.lists(st.sampled_from(GLOBS), min_size=1, max_size=2))
    elif draw(st.booleans()):
        step["posture"] = "read_only"
        step["read_set"] = draw(st.lists(st.sampled_from(GLOBS), min_size=1, max_size=2))
    if draw(st.integers(0, 2)) == 0:
        step["retry"] = {
            "max_attempts": draw(st.integers(1, 3)),
            "delay": draw(st.sampled_from(["0s", "5s"])),
        }
    step["timeout"] = draw(st.sampled_from(["20s", "40s"]))
    step["rerun"] = draw(st.sampled_from(["auto", "auto", "ask"]))
    return step
