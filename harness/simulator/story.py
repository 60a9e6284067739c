"""What became of a world, told for a reader: the workflow, what happened when, and every run's log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.auditor.breaches import Breach
from harness.simulator.life import Life

_DULL = ("spec", "sources", "fingerprint", "output", "output_log")
"""Fields of events that say nothing of what happened."""
_WIDTH = 400


def told(life: Life) -> Iterator[str]:
    """The story, line by line."""
    yield from _workflow(life)
    yield from life.witness.notes
    for run_id in life.run_ids:
        yield f"--- {run_id}"
        yield from (_shown(line) for line in life.log(run_id).splitlines())
    yield from (sentence(breach) for breach in life.breaches)


def sentence(breach: Breach) -> str:
    """One breach."""
    where = f" at {breach.seq}" if breach.seq is not None else ""
    who = f" {breach.step}:" if breach.step else ""
    return f"{breach.rule}{where}:{who} {breach.message}"


def _workflow(life: Life) -> Iterator[str]:
    """In YAML: JSON is YAML, and a step a line is what one wants to see."""
    for key, value in life.world.workflow.items():
        if key != "steps":
            yield f"{key}: {json.dumps(value)}"
    yield "steps:"
    for step in life.world.workflow["steps"]:
        yield f"  - {json.dumps(step)}"
        for number, behaviour in enumerate(life.world.behaviours.get(step["id"], ()), start=1):
            yield f"    # attempt {number}: {json.dumps(behaviour)}"
    for number, act in enumerate(life.world.acts, start=1):
        shown = {key: value for key, value in act.items() if key != "workflow"}
        yield f"# act {number}: {json.dumps(shown)}"


def _shown(line: bytes) -> str:
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        return f"(torn) {line[:80]!r}"
    data = {key: value for key, value in event["data"].items() if key not in _DULL}
    if event["kind"] == "run_resumed":
        data["steps"] = [
            f"{each['step_id']} {each['action']}: {each['reason']}" for each in data["steps"]
        ]
    text = f"{event['seq']:4} {event['at'][11:23]} {event['kind']} {json.dumps(data)}"
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
