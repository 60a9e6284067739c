"""What the tests of relay files share: the fixtures, and small files written as dicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pixirnb.planning.environment import Environment
from pixirnb.planning.report import PlanReport, problems_of, report
from pixirnb.spec.loader import load_mapping, load_text
from pixirnb.spec.relay.reader import RelaySources
from pixirnb.spec.workflow import Workflow

FILES = Path(__file__).parent / "relay_files"


def text_of(name: str) -> str:
    return (FILES / f"{name}.yaml").read_text(encoding="utf-8")


def read(name: str, around: RelaySources | None = None) -> Workflow:
    loaded = load_text(text_of(name), f"{name}.yaml", around)
    assert loaded.workflow is not None, loaded.problems
    return loaded.workflow


def planned(workflow: Workflow) -> PlanReport:
    return report(workflow, Environment())


def relay(*steps: dict[str, Any], **top: Any) -> dict[str, Any]:
    """A small file with these steps."""
    head = {"version": "1.0", "name": "w", "swarm": {"pattern": "dag"}}
    head["errorHandling"] = {"strategy": "fail-fast"}
    return {**head, "workflows": [{"name": "w", "steps": list(steps)}], **top}


def shell(name: str = "a", command: str = "true", **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": "deterministic", "command": command, **keys}


def native(*steps: dict[str, Any], **top: Any) -> Workflow:
    loaded = load_mapping(relay(*steps, **top))
    assert loaded.workflow is not None, loaded.problems
    return loaded.workflow


def step_of(*steps: dict[str, Any], **top: Any) -> dict[str, Any]:
    """The last step, as our own YAML would say it."""
    found: dict[str, Any] = native(*steps, **top).steps[-1].canonical()
    return found


def told(*steps: dict[str, Any], **top: Any) -> list[tuple[str, str]]:
    """Code and path of every note."""
    return [(note.code, note.path) for note in native(*steps, **top).source_map.notes]


def refused(value: dict[str, Any], around: RelaySources | None = None) -> list[tuple[str, str]]:
    """Code and path of every mistake."""
    loaded = load_mapping(value, None, around)
    return [(problem.code, problem.path) for problem in problems_of(loaded)]


AGENT = {"name": "w", "cli": "claude"}
STEPS = "workflows[0].steps"
