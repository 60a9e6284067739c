"""Workflow files of agent-relay (format v1), read as workflows of ours. Pure: gets what the YAML says, and what lies around it.

    value ──dialect──▶ "v1" | "v2" | None
    value, surroundings ──translate──▶ Translation(native, moved, mistakes, notes)

`native` is a workflow as our own YAML would say it; the loader reads it like any other. Every mistake and note has
its path in the relay file, and `moved` leads mistakes that only our language shows back there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pixirnb.spec.fields import shown
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.relay.agents import read_agents
from pixirnb.spec.relay.custom_steps import CustomSteps
from pixirnb.spec.relay.folders import Folders
from pixirnb.spec.relay.keys import ERRORS, SWARM, TOP, WORKFLOW
from pixirnb.spec.relay.parser import RelayParser, safe_names
from pixirnb.spec.relay.permissions import Permissions
from pixirnb.spec.relay.steps import Steps
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import KIND_KEYS

Dialect = Literal["v1", "v2"]

_V2_TYPES: Final = frozenset(("deterministic", "llm", "agent"))
_V2_KEYS: Final = frozenset(("prompt", "instruction"))
"""What an agent is told, where the type of a step is left to be guessed."""
_STRATEGIES: Final = ("fail-fast", "continue", "retry")
_ON_ERROR: Final = {"fail": "stop", "skip": "continue", "retry": "stop"}
_LIKE_ON_ERROR: Final = {"continue": "continue", "fail-fast": "stop"}
"""Words of `errorHandling.strategy`, which files also write for `onError`: its own runner does not look closely."""
_DEFAULT_RETRIES: Final = 2
"""What its own runner does where a file says nothing about errors."""
_DEFAULT_DELAY: Final = "1s"


@dataclass(frozen=True, slots=True)
class RelaySources:
    """What a relay file takes from around it."""

    custom_steps: str | None = None
    """The text of `.relay/steps.yaml`; None where there is none."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What `$NAME` in a path stands for."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A relay file in our words."""

    native: dict[str, Any]
    moved: dict[PathParts, PathParts]
    """A path of `native` to the one in the file that it was read from."""
    mistakes: list[SpecProblem]
    notes: list[SpecProblem]
    """What runs otherwise than with its own runner, or changes nothing here."""


def dialect(value: Mapping[str, Any]) -> Dialect | None:
    """Which version of the format a document is written in, by its shape; None for one of ours."""
    if "steps" not in value:
        return "v1" if "swarm" in value or "workflows" in value else None
    steps = value["steps"]
    if "version" not in value or "swarm" in value or not isinstance(steps, list | tuple):
        return None
    return "v2" if any(isinstance(step, dict) and _is_v2(step) for step in steps) else None


def _is_v2(step: Mapping[str, Any]) -> bool:
    kind = step.get("type")
    if isinstance(kind, str):
        return kind in _V2_TYPES
    return not _V2_KEYS.isdisjoint(step) and KIND_KEYS.keys().isdisjoint(step)


def not_v1(value: Mapping[str, Any]) -> SpecProblem:
    """The mistake of a file in a later version of the format."""
    version = shown(value.get("version"))
    return SpecProblem(
        "relay_v2",
        ("version",),
        f"this is a flow of the v2 format (version {version}), and relay files are read in v1",
        "write the steps as a workflow of ours (`run:`, `task:`), or as a v1 file with `swarm` and `workflows`",
    )


def translate(value: Mapping[str, Any], surroundings: RelaySources | None = None) -> Translation:
    """Read a v1 file. Never raises for what it says."""
    around = surroundings or RelaySources()
    reading = RelayParser()
    reading.keys(value, (), TOP)
    native: dict[str, Any] = {}
    _head(reading, value, native)
    delay, attempts = _errors(reading, value, native)
    _swarm(reading, value, native, attempts, delay)
    folders = Folders(reading, around.variables)
    folders.declare(value)
    permissions = Permissions(reading)
    permissions.declare(value)
    team = read_agents(reading, value, folders=folders, permissions=permissions, retry=delay)
    parts, workflow = _workflow(reading, value)
    if workflow is not None:
        _of_workflow(reading, workflow, parts, native)
        custom = CustomSteps(reading, around.custom_steps)
        steps = Steps(reading, team, folders, permissions, custom, delay)
        templates = steps.read(workflow, parts)
        reading.moved["steps",] = (*parts, "steps")
        if templates.inputs:
            native["inputs"] = templates.inputs
        native["steps"] = steps.native
    if team.native:
        native["agents"] = team.native
    if folders.repos:
        native["repos"] = folders.repos
    folders.told_unused()
    return Translation(_in_order(native), reading.moved, reading.mistakes, reading.notes)


_ORDER: Final = (
    "name",
    "description",
    "max_concurrency",
    "on_failure",
    "readiness",
    "undeclared_writers",
    "inputs",
    "repos",
    "defaults",
    "agents",
    "steps",
)


def _in_order(native: Mapping[str, Any]) -> dict[str, Any]:
    return {key: native[key] for key in _ORDER if key in native}


def _head(reading: RelayParser, value: Mapping[str, Any], native: dict[str, Any]) -> None:
    name = reading.needed(value, "name", ())
    safe = "unnamed"
    if name is not None:
        safe = safe_names([name])[name]
        reading.renamed(("name",), name, safe)
    native["name"] = safe
    version = value.get("version")
    if not isinstance(version, str):
        reading.note(
            "relay_differs",
            ("version",) if "version" in value else (),
            "the version is not a text, which its own runner refuses",
            'write `version: "1.0"`',
        )
    elif version.split(".")[0] != "1":
        reading.note(
            "relay_differs",
            ("version",),
            f"version {version:.20} is read as version 1",
            "compare what the plan shows",
        )
    if description := reading.text(value, "description", ()):
        native["description"] = description
    # Its own runner takes a clean end for success, and keeps nobody apart.
    native |= {"readiness": "lenient", "undeclared_writers": "allow"}


def _swarm(
    reading: RelayParser,
    value: Mapping[str, Any],
    native: dict[str, Any],
    attempts: int,
    delay: Mapping[str, Any],
) -> None:
    """`swarm`, and with it what all steps share."""
    if value.get("swarm") is None:
        reading.note(
            "relay_differs",
            (),
            "there is no `swarm`, which its own runner refuses",
            "add `swarm: {pattern: dag}`",
        )
    swarm = reading.mapping(value, "swarm", ())
    reading.keys(swarm, ("swarm",), SWARM)
    most = reading.count(swarm, "maxConcurrency", ("swarm",))
    if most is not None:
        native["max_concurrency"] = most
        reading.moved["max_concurrency",] = ("swarm", "maxConcurrency")
    # Steps share the folder, as with its own runner: what an agent writes the next command finds.
    defaults: dict[str, Any] = {"workspace": "shared"}
    timeout = reading.span(swarm, "timeoutMs", ("swarm",))
    if timeout is not None:
        defaults["timeout"] = timeout
        reading.moved["defaults", "timeout"] = ("swarm", "timeoutMs")
    if attempts > 1:
        defaults["retry"] = {"max_attempts": attempts, **delay}
        reading.moved["defaults", "retry"] = ("errorHandling", "maxRetries")
    native["defaults"] = defaults


def _errors(
    reading: RelayParser, value: Mapping[str, Any], native: dict[str, Any]
) -> tuple[dict[str, Any], int]:
    """The delay of retries, and how many attempts a step has that does not say so itself."""
    at: PathParts = ("errorHandling",)
    if value.get("errorHandling") is None:
        native["on_failure"] = "stop"
        return {"delay": _DEFAULT_DELAY, "jitter": 0}, _DEFAULT_RETRIES + 1
    said = reading.mapping(value, "errorHandling", ())
    reading.keys(said, at, ERRORS)
    strategy = reading.needed(said, "strategy", at)
    if strategy is not None and strategy not in _STRATEGIES:
        reading.no_choice((*at, "strategy"), strategy, "no strategy", _STRATEGIES)
    native["on_failure"] = "continue" if strategy == "continue" else "stop"
    retries = reading.count(said, "maxRetries", at) or 0
    raw = reading.count(said, "retryDelayMs", at)
    span = None if not raw else reading.span(said, "retryDelayMs", at)
    delay = _DEFAULT_DELAY if raw is None else span or "0s"
    retry: dict[str, Any] = {"delay": delay, "jitter": 0}
    if raw is not None and raw > 300_000:
        retry["max_delay"] = delay
    return retry, retries + 1


def _workflow(
    reading: RelayParser, value: Mapping[str, Any]
) -> tuple[PathParts, dict[str, Any] | None]:
    """The workflow that is read: the first, as with its own runner."""
    if not reading.items(value, "workflows", ()):
        reading.wrong(
            "relay_no_workflow",
            ("workflows",) if "workflows" in value else (),
            "the file has no workflow",
            "add `workflows:` with a list of steps",
        )
        return (), None
    found = [*reading.mappings(value, "workflows", ())]
    for parts, other in found[1:]:
        reading.note(
            "relay_differs",
            parts,
            f"only the first workflow is read, and {shown(other.get('name'))} is not the first",
            "put it first, or into a file of its own",
        )
    return found[0] if found else ((), None)


def _of_workflow(
    reading: RelayParser, workflow: Mapping[str, Any], parts: PathParts, native: dict[str, Any]
) -> None:
    reading.keys(workflow, parts, WORKFLOW)
    reading.text(workflow, "name", parts)
    description = reading.text(workflow, "description", parts)
    if description:
        above = native.get("description")
        native["description"] = f"{above}\n\n{description}" if above else description
    on_error = reading.text(workflow, "onError", parts)
    if on_error in _LIKE_ON_ERROR:
        native["on_failure"] = _LIKE_ON_ERROR[on_error]
        reading.note(
            "relay_differs",
            (*parts, "onError"),
            f"`onError: {on_error}` is read as {_LIKE_ON_ERROR[on_error]}; the format has fail, skip and retry",
            "write `skip` to go on after a failure, `fail` to stop",
        )
    elif on_error is not None and on_error not in _ON_ERROR:
        reading.no_choice((*parts, "onError"), on_error, "nothing to do on an error", _ON_ERROR)
    elif on_error is not None:
        native["on_failure"] = _ON_ERROR[on_error]
    if not reading.items(workflow, "steps", parts):
        reading.wrong(
            "empty", (*parts, "steps"), "the workflow has no steps", "give `steps` something to do"
        )
