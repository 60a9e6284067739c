"""Workflows of worlds: four to fourteen steps in chains, fans and diamonds, with everything that can get in their way.

Every one of them is sound. Time-outs are far above what work lasts that ends by itself, so that whether a step times out
never hangs on a millisecond.
"""

from __future__ import annotations

from random import Random
from typing import Final

from harness.simulator.actors import OUTPUT_MODEL, STEP_CALL
from harness.simulator.world import Document

_GLOBS: Final = ("a/**", "a/x", "b/**", "b/*.py", "b/y.py", "c", "d/e")
_SCHEMA: Final[Document] = {
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer"}, "text": {"type": "string", "pattern": "^v"}},
}
"""With a pattern: what is looked at in a process of its own, an actor plays. Rare, as reading a schema takes long."""
_CHECKS: Final[tuple[Document, ...]] = (
    {"command": "check it", "timeout": "4s"},
    {"command": ["check", "that"], "exit_code": 0, "timeout": "4s"},
    {"python": "simulated.checks:ok"},
)
_DELAYS: Final = ("0s", "1s", "5s", "20s")


def workflow(chance: Random, *, is_timeless: bool) -> Document:
    """A workflow as written. `is_timeless`: how it ends hangs on no clock and no person."""
    count = chance.randint(4, 14)
    shape = chance.choice(("chain", "fan", "diamonds", "random", "random", "random"))
    steps: list[Document] = []
    for number in range(count):
        before = [step["id"] for step in steps]
        needs = _edges(chance, shape, number, before)
        steps.append(_step(chance, f"s{number}", needs, steps, is_timeless=is_timeless))
    found: Document = {
        "name": "world",
        "max_concurrency": chance.randint(1, 4),
        "inputs": {
            "n": {"type": "integer", "default": chance.randint(0, 3)},
            "scope": {"type": "string", "enum": ["quick", "full"], "default": "quick"},
        },
        "agents": {
            "helper": {"role": "You help.", "timeout": "40s"},
            "reader": {"posture": "read_only", "retry": {"max_attempts": 2, "delay": "1s"}},
        },
        "readiness": chance.choice(["strict", "strict", "lenient"]),
        "undeclared_writers": chance.choice(["allow", "allow", "serialize"]),
        "steps": steps,
    }
    if chance.random() < 0.4:
        chance.shuffle(steps)
    if not is_timeless:
        found["on_failure"] = chance.choice(["continue", "continue", "stop"])
        if chance.random() < 0.12:
            found["timeout"] = chance.choice(["15s", "40s", "90s"])
    if chance.random() < 0.25:
        found["defaults"] = {"timeout": "30s", "retry": {"max_attempts": 2, "delay": "2s"}}
    if chance.random() < 0.3:
        _phases(chance, found)
    return found


def _phases(chance: Random, found: Document) -> None:
    steps = found["steps"]
    if chance.random() < 0.5:
        cut = chance.randint(1, len(steps) - 1)
        names = [step["id"] for step in steps]
        found["phases"] = [{"name": "first", "steps": names[:cut]}]
        if chance.random() < 0.5:
            found["phases"].append({"name": "second", "steps": names[cut:]})
        return
    for step in steps:
        if chance.random() < 0.6:
            step["phase"] = chance.choice(["early", "late"])


def _edges(chance: Random, shape: str, number: int, before: list[str]) -> list[str]:
    if not before:
        return []
    match shape:
        case "chain":
            return [before[-1]]
        case "fan":
            return [before[0]] if number % 5 else before[-4:]
        case "diamonds":
            base = before[(number - 1) // 3 * 3]
            return [base] if number % 3 else before[-2:]
        case _:
            most = min(3, len(before))
            return chance.sample(before, chance.randint(0, most))


def _step(
    chance: Random, name: str, needs: list[str], before: list[Document], *, is_timeless: bool
) -> Document:
    step: Document = {"id": name}
    if needs:
        step["depends_on"] = needs
    kinds = ("run", "run", "call", "call", "task", "task")
    kind = "ask" if chance.random() < 0.08 else chance.choice(kinds)
    if kind == "ask" and not is_timeless:
        step["ask"] = {"question": "Go on with {{ inputs.scope }}?"}
        if chance.random() < 0.4:
            step["ask"]["choices"] = ["now", "later"]
        if chance.random() < 0.5:
            step["timeout"] = "25s"
    else:
        _work(chance, step, "run" if kind == "ask" else kind, _references(chance, needs, before))
        _policies(chance, step, is_timeless=is_timeless)
    if chance.random() < 0.12:
        step["when"] = _when(chance, needs, before)
    return step


def _references(chance: Random, needs: list[str], before: list[Document]) -> list[str]:
    """References that every value holds: whole outputs, fields where they are declared, inputs."""
    found = []
    if chance.random() < 0.25:
        found.append("{{ inputs.n }}")
    found += [_output_of(need, before) for need in needs if chance.random() < 0.6]
    return found


def _output_of(need: str, before: list[Document]) -> str:
    step = next(step for step in before if step["id"] == need)
    has_fields = "output" in step
    return f"{{{{ steps.{need}.output{'.n' if has_fields else ''} }}}}"


def _work(chance: Random, step: Document, kind: str, asked: list[str]) -> None:
    match kind:
        case "run" if chance.random() < 0.5:
            step["run"] = ["work", *asked]
        case "run":
            step["run"] = " ".join(["work", *asked])
        case "call":
            step["call"] = STEP_CALL
            step["with"] = {f"x{n}": text for n, text in enumerate(asked)}
        case _:
            step["task"] = " ".join(["Think.", *asked])
            step["agent"] = chance.choice(["helper", "reader"])


def _policies(chance: Random, step: Document, *, is_timeless: bool) -> None:
    is_reader = step.get("agent") == "reader"
    if not is_reader and chance.random() < 0.3:
        step["write_set"] = chance.sample(_GLOBS, chance.randint(1, 2))
    elif chance.random() < 0.35:
        step["posture"] = "read_only"
        step["read_set"] = chance.sample(_GLOBS, chance.randint(1, 2))
        if chance.random() < 0.4:
            step["reuse"] = "reads"
    if "reuse" not in step and chance.random() < 0.04:
        step["reuse"] = "never"
    if "task" in step and chance.random() < 0.5:
        step["workspace"] = "shared"
    if "call" in step and chance.random() < 0.2:
        step["process"] = True
    step["timeout"] = chance.choice(["20s", "20s", "40s"])
    if chance.random() < 0.25:
        step["verify"] = chance.sample(_CHECKS, chance.randint(1, 2))
        if "run" in step:
            step["verify"].append({"exit_code": 0})
    if chance.random() < 0.2:
        step["output"] = _SCHEMA if chance.random() < 0.05 else OUTPUT_MODEL
    if chance.random() < 0.45:
        step["retry"] = _retry(chance)
    if not is_timeless and chance.random() < 0.15:
        step["rerun"] = "ask"


def _retry(chance: Random) -> Document:
    found: Document = {
        "max_attempts": chance.randint(2, 4),
        "delay": chance.choice(_DELAYS),
        "backoff": chance.choice([1, 2, 3]),
        "jitter": chance.choice([0, 0.1, 0.5]),
    }
    if chance.random() < 0.3:
        found["timeout_scale"] = 1.5
    if chance.random() < 0.3:
        found["include_failure_context"] = True
    if chance.random() < 0.3:
        found["max_delay"] = "8s"
    if chance.random() < 0.2:
        found["classes"] = chance.sample(
            ["timeout", "crash", "exit", "verification", "cancelled"], chance.randint(1, 4)
        )
    return found


def _when(chance: Random, needs: list[str], before: list[Document]) -> str:
    if not needs or chance.random() < 0.4:
        return chance.choice(["{{ inputs.n }} > 1", "{{ inputs.scope }} == 'quick'"])
    need = chance.choice(needs)
    step = next(step for step in before if step["id"] == need)
    if "output" in step:
        return f"{{{{ steps.{need}.output.n }}}} != 1"
    return f"{{{{ steps.{need}.output }}}} != 'v1'"


def with_placement(chance: Random, written: Document) -> None:
    """Place steps on a cluster, in one world of six: those that work in the shared workspace."""
    if chance.random() > 1 / 6 or "workspace" in written.get("defaults", {}):
        return
    for step in written["steps"]:
        is_able = not {"run", "call", "task"}.isdisjoint(step)
        if is_able and "workspace" not in step and chance.random() < 0.6:
            step["placement"] = "cluster"
