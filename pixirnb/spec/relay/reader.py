"""Workflow files of agent-relay (format v1), read as workflows of ours. Pure: gets what the YAML says, and what lies around it.

    value ──dialect──▶ "v1" | "v2" | None
    value, surroundings ──translate──▶ Translation(native, moved, mistakes, notes)

`native` is a workflow as our own YAML would say it; the loader reads it like any other. Every mistake and note has
its path in the relay file, and `moved` leads mistakes that only our language shows back there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field

from pixirnb.spec.durations import format_duration
from pixirnb.spec.fields import shown
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.relay.agents import Permissions, Team
from pixirnb.spec.relay.folders import Folders
from pixirnb.spec.relay.keys import ERRORS, SWARM, TOP, WORKFLOW
from pixirnb.spec.relay.parser import RelayDraft, RelayParser, safe_names
from pixirnb.spec.relay.steps import Steps
from pixirnb.spec.relay.templates import CustomSteps
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.steps import KIND_KEYS

Dialect = Literal["v1", "v2"]

_V2_TYPES: Final = frozenset(("deterministic", "llm", "agent"))
_V2_KEYS: Final = frozenset(("prompt", "instruction"))
"""Keys with the task of an agent, from which a missing type of a step is guessed."""
_STRATEGIES: Final = ("fail-fast", "continue", "retry")
_ON_ERROR: Final = {"fail": "stop", "skip": "continue", "retry": "stop"}
_LIKE_ON_ERROR: Final = {"continue": "continue", "fail-fast": "stop"}
"""Words of `errorHandling.strategy`, which files also write for `onError`: its own runner does not look closely."""
_DEFAULT_RETRIES: Final = 2
"""Retries of its own runner if a file says nothing about errors."""
_DEFAULT_DELAY: Final = "1s"


class RelaySources(Struct, frozen=True):
    """Sources of a relay file outside it."""

    custom_steps: str | None = None
    """The text of `.relay/steps.yaml`; None where there is none."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of `$NAME` in a path."""


class Translation(Struct, frozen=True):
    """A relay file in our words."""

    native: dict[str, Any]
    moved: dict[PathParts, PathParts]
    """A path of `native` to the one in the file that it was read from."""
    mistakes: list[SpecProblem]
    notes: list[SpecProblem]
    """Notes on keys that have another effect than with its own runner, or none here."""


def dialect(value: Mapping[str, Any]) -> Dialect | None:
    """Return the version of the format of a document, by its shape; None for one of ours."""
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
    """Return the mistake of a file in a later version of the format."""
    version = shown(value.get("version"))
    return SpecProblem(
        "relay_v2",
        ("version",),
        f"relay files of format v2 (version {version}) are not supported",
        "write the steps as a pixirnb workflow (`run:`, `task:`), or as a v1 file with `swarm` and `workflows`",
    )


def translate(value: Mapping[str, Any], surroundings: RelaySources | None = None) -> Translation:
    """Read a v1 file. Never raises for what it says."""
    sources = surroundings or RelaySources()
    reading = RelayParser()
    reading.keys(value, (), TOP)
    draft = RelayDraft(reading, ())
    _head(draft, value)
    retry, attempts = _errors(draft, value)
    _swarm(draft, value, {"max_attempts": attempts, **retry})
    folders = Folders(reading, sources.variables)
    folders.declare(value)
    permissions = Permissions(reading)
    permissions.declare(value)
    team = Team(reading, folders, permissions, retry)
    team.read(value)
    parts, workflow = _workflow(reading, value)
    if workflow is not None:
        _of_workflow(draft, workflow, parts)
        steps = Steps(reading, team, CustomSteps(reading, sources.custom_steps))
        steps.read(workflow, parts)
        draft.put("inputs", steps.inputs or None)
        draft.native["steps"] = steps.native
        draft.came("steps", at=(*parts, "steps"))
    draft.put("agents", team.native or None)
    draft.put("repos", folders.repos or None)
    folders.note_unused()
    native: dict[str, Any] = {key: draft.native[key] for key in _ORDER if key in draft.native}
    return Translation(native, reading.moved, reading.mistakes, reading.notes)


_ORDER: Final = (
    *("name", "description", "max_concurrency", "on_failure", "readiness", "undeclared_writers"),
    *("inputs", "repos", "defaults", "agents", "steps"),
)


def _head(draft: RelayDraft, value: Mapping[str, Any]) -> None:
    reading = draft.reading
    name = reading.needed(value, "name", ())
    safe = "unnamed"
    if name is not None:
        safe = safe_names([name])[name]
        reading.renamed(("name",), name, safe)
    draft.put("name", safe)
    version = value.get("version")
    if not isinstance(version, str):
        message = "`version` must be a string"
        fix = 'write `version: "1.0"`'
        reading.note("relay_differs", ("version",) if "version" in value else (), message, fix)
    elif version.split(".")[0] != "1":
        message = f"version {version:.20} is read as version 1"
        reading.note("relay_differs", ("version",), message, "check the plan")
    draft.put("description", reading.text(value, "description", ()) or None)
    # Its own runner takes a clean end for success, and keeps nobody apart.
    draft.native |= {"readiness": "lenient", "undeclared_writers": "allow"}


def _swarm(draft: RelayDraft, value: Mapping[str, Any], retry: Mapping[str, Any]) -> None:
    """Read `swarm`, and with it what all steps share."""
    reading = draft.reading
    if value.get("swarm") is None:
        message = "missing key `swarm`"
        reading.note("relay_differs", (), message, "add `swarm: {pattern: dag}`")
    swarm = reading.mapping(value, "swarm", ())
    reading.keys(swarm, ("swarm",), SWARM)
    most = reading.count(swarm, "maxConcurrency", ("swarm",))
    draft.put("max_concurrency", most, ("swarm", "maxConcurrency"))
    # Steps share the folder, as with its own runner: what an agent writes the next command finds.
    defaults = RelayDraft(reading, ("defaults",), {"workspace": "shared"})
    timeout = reading.span(swarm, "timeoutMs", ("swarm",))
    defaults.put("timeout", timeout, ("swarm", "timeoutMs"))
    if retry["max_attempts"] > 1:
        defaults.put("retry", dict(retry), ("errorHandling", "maxRetries"))
    draft.put("defaults", defaults.native)


def _errors(draft: RelayDraft, value: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the retry policy of all steps, and the default number of attempts of a step."""
    reading, at = draft.reading, ("errorHandling",)
    if value.get("errorHandling") is None:
        draft.put("on_failure", "stop")
        return {"delay": _DEFAULT_DELAY, "jitter": 0}, _DEFAULT_RETRIES + 1
    data = reading.mapping(value, "errorHandling", ())
    reading.keys(data, at, ERRORS)
    strategy = reading.needed(data, "strategy", at)
    if strategy is not None and strategy not in _STRATEGIES:
        reading.no_choice((*at, "strategy"), strategy, "strategy", _STRATEGIES)
    draft.put("on_failure", "continue" if strategy == "continue" else "stop")
    retries = reading.count(data, "maxRetries", at) or 0
    raw = reading.count(data, "retryDelayMs", at)
    delay = _DEFAULT_DELAY if raw is None else format_duration(raw) if raw else "0s"
    longest = {"max_delay": delay} if raw is not None and raw > 300_000 else {}
    return {"delay": delay, "jitter": 0, **longest}, retries + 1


def _workflow(
    reading: RelayParser, value: Mapping[str, Any]
) -> tuple[PathParts, dict[str, Any] | None]:
    """Return the workflow that is read: the first, as with its own runner."""
    if not reading.items(value, "workflows", ()):
        reading.wrong(
            "relay_no_workflow",
            ("workflows",) if "workflows" in value else (),
            "the file has no workflow",
            "add `workflows:` with a workflow",
        )
        return (), None
    workflows = [*reading.mappings(value, "workflows", ())]
    for parts, other in workflows[1:]:
        message = f"only the first workflow is read; {shown(other.get('name'))} is ignored"
        reading.note("relay_differs", parts, message, "move it to the top, or to a separate file")
    return workflows[0] if workflows else ((), None)


def _of_workflow(draft: RelayDraft, workflow: Mapping[str, Any], parts: PathParts) -> None:
    reading, native = draft.reading, draft.native
    reading.keys(workflow, parts, WORKFLOW)
    reading.text(workflow, "name", parts)
    texts = (native.get("description"), reading.text(workflow, "description", parts))
    draft.put("description", "\n\n".join(filter(None, texts)) or None)
    on_error, at = reading.text(workflow, "onError", parts), (*parts, "onError")
    if on_error in _LIKE_ON_ERROR:
        draft.put("on_failure", _LIKE_ON_ERROR[on_error])
        message = f"unknown value `onError: {on_error}` is read as `{_LIKE_ON_ERROR[on_error]}`"
        fix = "use `skip` to continue after a failure, `fail` to stop"
        reading.note("relay_differs", at, message, fix)
    elif on_error is not None and on_error not in _ON_ERROR:
        reading.no_choice(at, on_error, "value of `onError`", _ON_ERROR)
    elif on_error is not None:
        draft.put("on_failure", _ON_ERROR[on_error])
    if not reading.items(workflow, "steps", parts):
        reading.wrong("empty", (*parts, "steps"), "the workflow has no steps", "add a step")
