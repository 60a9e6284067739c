"""The smallest world that still breaks the same rule: acts, people, faults, steps and features are left out while it does."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any, Final

from harness.simulator.campaign import judged
from harness.simulator.world import Document, World, world_of
from pixirnb.errors import PixirnbError

PATIENCE_S: Final = 30.0
"""So long a world is made smaller, at most."""
_ESSENTIAL: Final = frozenset({"id", "run", "call", "with", "task", "agent", "ask", "depends_on"})
_ROOT: Final = frozenset({"name", "steps", "agents", "inputs"})


def shrunk(world: World, rule: str, *, patience_s: float = PATIENCE_S) -> World:
    """A world no larger that breaks `rule` too; the same one where nothing can be left out, or time is up."""
    until = time.monotonic() + patience_s
    while True:
        for smaller in _smaller(world.document()):
            if time.monotonic() >= until:
                return world
            candidate = world_of(smaller)
            if _breaks(candidate, rule):
                world = candidate
                break
        else:
            return world


def _breaks(world: World, rule: str) -> bool:
    try:
        return any(breach.rule == rule for breach in judged(world).breaches)
    except (PixirnbError, KeyError):
        return False  # no sound workflow any more


def _smaller(document: Document) -> Iterator[Document]:
    """Every world that lacks one thing more, what saves most first."""
    acts = document["acts"]
    for number in reversed(range(1, len(acts))):
        yield _without_item(document, ["acts"], number)
    for step in reversed([step["id"] for step in document["workflow"]["steps"]]):
        yield _without_step(document, step)
    for number, act in enumerate(acts):
        for place in range(len(act.get("ops") or ())):
            yield _without_item(document, ["acts", number, "ops"], place)
        for key in sorted(act.keys() - {"form"}):
            yield _without_item(document, ["acts", number], key)
    for number, step in enumerate(document["workflow"]["steps"]):
        for key in sorted(step.keys() - _ESSENTIAL):
            yield _without_key(document, step["id"], key)
        for place in range(len(step.get("depends_on") or ())):
            yield _without_item(document, ["workflow", "steps", number, "depends_on"], place)
    for key in sorted(document["workflow"].keys() - _ROOT):
        yield _without_item(document, ["workflow"], key)
    for step, known in sorted(document["behaviours"].items()):
        for place in range(len(known) - 1):
            yield _without_item(document, ["behaviours", step], place)
        for place, behaviour in enumerate(known):
            for key in sorted(behaviour):
                yield _without_item(document, ["behaviours", step, place], key)


def _without_item(document: Document, path: list[Any], key: Any) -> Document:
    found = copy.deepcopy(document)
    place: Any = found
    for part in path:
        place = place[part]
    del place[key]
    return found


def _workflows(document: Document) -> list[Document]:
    edited = [act["workflow"] for act in document["acts"] if act.get("workflow") is not None]
    return [document["workflow"], *edited]


def _without_key(document: Document, name: str, key: str) -> Document:
    """A feature less of one step, in every edit of the workflow."""
    found = copy.deepcopy(document)
    for workflow in _workflows(found):
        for step in workflow["steps"]:
            if step["id"] == name:
                step.pop(key, None)
    return found


def _without_step(document: Document, name: str) -> Document:
    found = copy.deepcopy(document)
    sign = f"steps.{name}."
    found["behaviours"].pop(name, None)
    for workflow in _workflows(found):
        workflow["steps"] = [
            step for step in workflow["steps"] if step["id"] != name and step.get("merge") != [name]
        ]
        for phase in workflow.get("phases", ()):
            phase["steps"] = [each for each in phase["steps"] if each != name]
        for step in workflow["steps"]:
            if name in step.get("depends_on", ()):
                step["depends_on"] = [each for each in step["depends_on"] if each != name]
            if name in step.get("merge", ()):
                step["merge"] = [each for each in step["merge"] if each != name]
            if sign in step.get("when", ""):
                del step["when"]
            if "with" in step:
                step["with"] = {k: v for k, v in step["with"].items() if sign not in v}
            for key in ("run", "task"):
                if sign in str(step.get(key, "")):
                    step[key] = "work"
    return found
