"""The work of a step, resolved: references filled in, folder and environment chosen, nothing pasted into a shell.

A reference in a shell text travels as an environment variable, in an argv list as one argument, in a python step's `with` as
the typed value. Source: contract.md §1 (references, environment), §5 (failure context).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.engine.agent_work import agent_work, failure_context
from pixirnb.engine.folders import AttemptFolders
from pixirnb.engine.run_context import RunContext
from pixirnb.engine.session_continuation import with_grants
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import deep_copy
from pixirnb.planning.items import lookup_in
from pixirnb.planning.plan import PlannedStep
from pixirnb.protocols.work import (
    PythonWork,
    ShellWork,
    ToolDefinition,
    UnloadedValue,
    Work,
    WorkRefused,
    agent_variables,
)
from pixirnb.runners.python.loaded_modules import is_current
from pixirnb.spec.expressions.references import (
    SHELL_VARIABLE,
    Reference,
    Template,
    as_text,
    render,
    render_value,
    shell_template,
)
from pixirnb.spec.steps import AgentStep, PythonStep, ShellStep
from pixirnb.wording import cut

REFERENCE_LIMIT: Final = 64 * 1024
_HERE: Final = str(Path(sys.executable).parent)
"""Folder of this Python and of the tools installed next to it."""
_GITS_OWN: Final = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_NAMESPACE",
    }
)
"""Variables that would lead the git of an isolated step to the user's repository."""

Lookup = Callable[[Reference], Any]


class Assignment(Struct, frozen=True):
    """The work of a step with all references filled in."""

    step: PlannedStep
    """The step as it is performed: in a process of its own where a thread would call other code than that on disk."""
    work: Work
    cwd: Path
    workspace: Path
    """The user's workspace, or the attempt's copy."""
    env: dict[str, str]
    written: dict[str, str]
    """The part of `env` that is not inherited from this process."""

    def sent(self) -> Assignment:
        """Return it as its runner gets it: a worker of a cluster adds an environment of its own, and gets none of this one."""
        return self if self.step.placement == "local" else replace(self, env=self.written)


@contextmanager
def _written_as_text() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        message = f"a referenced value cannot be written as text: {error}"
        raise WorkRefused("reference_not_text", message) from error


@_written_as_text()
def assign(
    step: PlannedStep,
    state: StepState,
    run: RunState,
    lookup: Lookup,
    folders: AttemptFolders,
    *,
    sources: Mapping[str, str],
    facts: Mapping[str, str],
    depth: int,
    surface: tuple[ToolDefinition, ...],
    typed: Lookup,
) -> Assignment:
    """Resolve one attempt of a step. `depth`: of delegation; `surface`: the engine's tools. Raises WorkRefused.

    `facts`: the variables that tell the step which attempt it is.
    `lookup`: the value of a reference in a text; `typed`: of one that is a whole argument, `UnloadedValue` where it is large.
    """
    step = _with_current_modules(step, folders)
    # A thread has the environment of this process: only its checks are given one.
    has_own = step.kind != "python" or step.process or step.spec.verify
    inherited = _environment(step) if has_own else {}
    if folders.is_isolated:
        for name in _GITS_OWN & inherited.keys():
            del inherited[name]
        inherited.setdefault(
            "PYTHONDONTWRITEBYTECODE", "1"
        )  # what Python compiles is no work of the step
    env = folders.variables()
    env.update({name: _word(text, lookup) for name, text in step.spec.env.items()})
    env.update(facts)
    if step.retry.include_failure_context and state.errors:
        env["PIXIRNB_FAILURE_CONTEXT"] = failure_context(state)
    spec = step.spec
    work: Work
    if isinstance(spec, ShellStep):
        work = shell_work(spec.run, lookup, env)
    elif isinstance(spec, PythonStep):
        arguments, holds_unloaded = _arguments(spec.arguments, lookup, typed)
        work = PythonWork(
            spec.call,
            arguments,
            sources.get(spec.call),
            process=step.process,
            holds_unloaded=holds_unloaded,
        )
    elif isinstance(spec, AgentStep):
        cwd = _cwd(step, folders, lookup)
        locate = _locator(lookup)
        bare = agent_work(
            step, state, run, lookup, locate, folders, cwd=cwd, depth=depth, surface=surface
        )
        work = with_grants(bare, step.id, run)
    else:
        raise WorkRefused("not_runnable", f"{step.kind} steps have no runner")
    for check in step.spec.verify if step.references else ():
        if check.command is not None:  # refused before the work is done, not after
            shell_work(check.command, lookup, {})
    cwd = _cwd(step, folders, lookup)
    return Assignment(step, work, cwd, folders.workspace, inherited | env, env)


def lookup_of(step: PlannedStep, context: RunContext) -> Lookup:
    """Return the lookup of a step's references: an item has its own, a copy for each. The lookup raises WorkRefused."""
    if step.item is None:
        return context.lookup
    in_item = lookup_in(context.plan, step, context.lookup)

    def lookup(reference: Reference) -> Any:
        if reference.source != "item":
            return in_item(reference)
        try:
            return deep_copy(in_item(reference))
        except LookupError as error:
            raise WorkRefused("reference_missing", str(error)) from error

    return lookup


def _with_current_modules(step: PlannedStep, folders: AttemptFolders) -> PlannedStep:
    if not isinstance(step.spec, PythonStep) or step.process or step.placement == "cluster":
        return step
    return replace(step, process=not is_current(step.spec.call, str(folders.workspace)))


def _arguments(value: Any, lookup: Lookup, typed: Lookup) -> tuple[Any, bool]:
    """Return the arguments of a function, and whether any holds an `UnloadedValue`."""
    if isinstance(value, str):
        template = Template.parse(value)
        is_whole = len(template.parts) == 1 and bool(template.references)
        rendered = render(template, typed if is_whole else lookup)
        return rendered, isinstance(rendered, UnloadedValue)
    if isinstance(value, Mapping):
        items = {key: _arguments(item, lookup, typed) for key, item in value.items()}
        holds = any(is_unloaded for _, is_unloaded in items.values())
        return {key: item for key, (item, _) in items.items()}, holds
    if isinstance(value, list | tuple):
        listed = [_arguments(item, lookup, typed) for item in value]
        return [item for item, _ in listed], any(is_unloaded for _, is_unloaded in listed)
    return value, False


def shell_work(run: str | Iterable[str], lookup: Lookup, env: dict[str, str]) -> ShellWork:
    """Return a command with its references filled in; those of a text go into `env`. Raises WorkRefused."""
    if isinstance(run, str):
        return ShellWork(_shell_text(run, lookup, env))
    return ShellWork([_word(part, lookup) for part in run])


def _shell_text(text: str, lookup: Lookup, env: dict[str, str]) -> str:
    """Return the script of a shell text; its references go into `env`. Raises WorkRefused."""
    template = shell_template(text)
    for number, reference in enumerate(template.references, start=1):
        value = as_text(lookup(reference))
        if len(value.encode("utf-8", errors="replace")) > REFERENCE_LIMIT:
            raise WorkRefused(
                "reference_too_large",
                f"{reference.text} is larger than 64 KiB; use output_path instead",
            )
        env[f"{SHELL_VARIABLE}{number}"] = _without_nul(value, reference.text)
    return template.script


def _word(text: str, lookup: Lookup) -> str:
    """Return an argument or the value of a variable. Raises WorkRefused."""
    return _without_nul(as_text(render_value(text, lookup)), text)


def _without_nul(value: str, source: str) -> str:
    if "\0" in value:
        message = f"{cut(source, 200)} contains a NUL byte; use output_path instead"
        raise WorkRefused("reference_has_nul", message)
    return value


def _environment(step: PlannedStep) -> dict[str, str]:
    inherited = dict(os.environ)
    if step.kind == "agent":
        inherited = agent_variables(inherited, () if step.agent is None else step.agent.pass_env)
    inherited["PATH"] = search_path(inherited.get("PATH", os.defpath))
    return inherited


def search_path(path: str) -> str:
    """Return the PATH of a step: the folder of this Python first, then `path`."""
    return path if path.split(os.pathsep, maxsplit=1)[0] == _HERE else _HERE + os.pathsep + path


def _locator(lookup: Lookup) -> Callable[[str], str | None]:
    """Return a function that returns the file of a step's output; None where the store keeps no files."""

    def locate(name: str) -> str | None:
        written = f"{{{{ steps.{name}.output_path }}}}"
        try:
            return str(lookup(Reference("step", name, "output_path", (), written, 0, len(written))))
        except WorkRefused:
            return None

    return locate


def _cwd(step: PlannedStep, folders: AttemptFolders, lookup: Lookup) -> Path:
    if step.spec.cwd is not None:
        return folders.step_folder(as_text(render_value(step.spec.cwd, lookup)))
    if step.agent is not None and step.agent.cwd is not None:
        return folders.agent_folder(as_text(render_value(step.agent.cwd, lookup)))
    return folders.workspace
