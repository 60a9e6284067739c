"""The work of a subagent for one attempt: its prompt, its limits, its script, and the session it goes on with.

Results of earlier steps are read here, bounded: a large output is named by the file it lies in, or by the tool that reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from pixirnb.engine.folders import AttemptFolders
from pixirnb.history.bundles import stored_output
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonObject
from pixirnb.planning.plan import PlannedStep
from pixirnb.planning.prompts.compose import (
    PromptInput,
    Upstream,
    additional_paths,
    compose,
    fill_task,
    known_parts,
    quoted_failure,
)
from pixirnb.planning.roots import WORKSPACE
from pixirnb.protocols.work import AgentWork, ToolDefinition
from pixirnb.spec.expressions.references import Reference, as_text, render_value
from pixirnb.spec.policies import Agent
from pixirnb.spec.steps import AgentStep

_NO_AGENT = Agent()
_READ_LIMIT: Final = 1024 * 1024
"""Bytes of an output that are read from its blob to quote the beginning."""
_READABLE: Final = ("text", "json")

_LOCATION_FROM: Final = 1000
"""Length of an output that may be cut, in characters, from which the prompt names its location."""

Lookup = Callable[[Reference], Any]
Locate = Callable[[str], str | None]
"""Function that returns the file that a step's output lies in; None where the store keeps none."""


def agent_work(  # noqa: PLR0917 - all that an attempt is given
    step: PlannedStep,
    state: StepState,
    run: RunState,
    lookup: Lookup,
    locate: Locate,
    folders: AttemptFolders,
    *,
    cwd: Path,
    depth: int,
    surface: tuple[ToolDefinition, ...] = (),
) -> AgentWork:
    """Return the work of one attempt. `depth`: of delegation; `surface`: tools of the engine that are offered.

    Blobs may be read. Raises what `lookup` raises.
    """
    assert isinstance(step.spec, AgentStep)
    agent = step.agent or _NO_AGENT
    failure = failure_context(state) if step.retry.include_failure_context else ""
    # A set may go by a repository's second name.
    by_name = {
        name: str(folders.folders[root.name])
        for name, root in folders.roots.names.items()
        if root.name in folders.folders
    }
    repos = {
        name: folder
        for name, folder in by_name.items()
        if folders.roots.named(name).name in step.roots and name != WORKSPACE
    }
    known = known_parts(step, repos)
    sources = _Sources(run, lookup, locate, agent, surface)
    text, given = fill_task(step.spec.task, lookup)
    parts = replace(
        known,
        task=text,
        cwd=_folder(cwd, folders.workspace),
        given=tuple(map(sources.placed, given)),
        upstream=tuple(
            sources.upstream(
                name, is_quoted=any(each.name == f"steps.{name}.output" for each in given)
            )
            for name in dict.fromkeys(step.spec.depends_on)
        ),
        failure_context=failure,
    )
    command = agent.command
    session: JsonObject = {
        "session_id": attempt_name(step.id, state.attempt),
        "run_id": run.run_id,
        "step": step.id,
        "attempt": state.attempt,
        "agent": step.spec.agent,
        "runner": agent.runner,
        "model": agent.model,
        "command": [command]
        if isinstance(command, str)
        else None
        if command is None
        else list(command),
        "role": agent.role,
        "posture": step.posture,
        "permission_mode": known.permission_mode,
        "tools": list(agent.tools),
        "read_set": list(step.read_set),
        "write_set": list(step.write_set),
        "cwd": str(cwd),
        "timeout_ms": state.timeout_ms,
        "depth": depth,
        "continues": None,
    }
    task = as_text(render_value(step.spec.task, lookup))
    return AgentWork(
        runner=agent.runner,
        task=f"{task}\n\n{quoted_failure(failure)}" if failure else task,
        prompt=compose(parts),
        actions=_actions(step, state, agent),
        session=session,
        additional_paths=tuple(folders.looked_at(path) for path in additional_paths(step)),
        roots=by_name,
        surface=surface,
        output=step.spec.output,
        pass_env=tuple(agent.pass_env),
    )


def failure_context(state: StepState) -> str:
    """Return the text on the last attempt's failure for the next one; empty where there was none."""
    if not state.errors:
        return ""
    last = state.errors[-1]
    text = (
        f"The previous attempt failed ({last['kind']}): {last['message']}\n{last.get('tail', '')}"
    )
    return text.strip().replace("\0", "\ufffd")  # no variable and no argument can hold a NUL


def _folder(cwd: Path, workspace: Path) -> str:
    """Return the folder an agent works in, as its prompt names it; empty: the workspace."""
    root = workspace.resolve()
    if cwd.resolve() == root:
        return ""
    return str(cwd.resolve().relative_to(root)) if cwd.resolve().is_relative_to(root) else str(cwd)


def _actions(step: PlannedStep, state: StepState, agent: Agent) -> list[JsonObject]:
    attempts = agent.script_of(step.id) or []
    return attempts[min(state.attempt, len(attempts)) - 1] if attempts else []


class _Sources:
    """The results of steps, read for one prompt."""

    def __init__(
        self,
        run: RunState,
        lookup: Lookup,
        locate: Locate,
        agent: Agent,
        surface: tuple[ToolDefinition, ...],
    ) -> None:
        self._run = run
        self._lookup = lookup
        self._locate = locate
        self._agent = agent
        offered = {tool["name"] for tool in surface}
        if agent.tools:
            offered &= set(agent.tools)
        self._can_inspect = agent.runner == "llm" and "inspect_run" in offered

    def upstream(self, name: str, *, is_quoted: bool) -> Upstream:
        """Return the results of step `name`. `is_quoted`: the task refers to its output, which stands in the prompt already."""
        state = self._run.step(name)
        ended = state.ended
        output = "" if is_quoted else self._text(name, state)
        files = [] if ended is None else [file["path"] for file in ended.get("artifacts") or ()]
        return Upstream(
            name,
            "" if ended is None else ended["summary"],
            output,
            tuple(state.limitations),
            tuple(files),
            self._location(name) if len(output) > _LOCATION_FROM else None,
        )

    def placed(self, given: PromptInput) -> PromptInput:
        """Return `given` with the location of its whole text, where it is a step's output."""
        source, _, rest = given.name.partition(".")
        name, _, part = rest.partition(".")
        is_output = source == "steps" and part.startswith("output")
        return replace(given, location=self._location(name)) if is_output else given

    def _text(self, name: str, state: StepState) -> str:
        stored = stored_output(state)
        form = stored.get("format")
        if form == "none":
            return ""
        if "blob" in stored and (form not in _READABLE or stored.get("bytes", 0) > _READ_LIMIT):
            kind = stored.get("type") or form
            return f"[{kind}, {stored.get('bytes')} bytes{self._location_note(name)}]"
        if "blob" not in stored:
            return as_text(stored.get("value"))
        return as_text(self._lookup(_whole(name)))

    def _location_note(self, name: str) -> str:
        location = self._location(name)
        return f", in {location}" if location else ""

    def _location(self, name: str) -> str | None:
        """Return the tool that shows the output, for agents whose own tools keep to the workspace; otherwise its file."""
        if self._can_inspect:
            return f"the tool `inspect_run`, with run_id {self._run.run_id} and step {name}"
        if self._agent.runner in {"llm", "scripted"}:
            return None
        is_readable = stored_output(self._run.step(name)).get("format") in _READABLE
        return self._locate(name) if is_readable else None


def _whole(name: str) -> Reference:
    text = f"{{{{ steps.{name}.output }}}}"
    return Reference("step", name, "output", (), text, 0, len(text))
