"""Sources of workflows and their workspaces: a path, a text or a mapping, with its folder, state and functions.

Paths are read here, for `api` and for agents; `spec.loader` gets texts. Source: contract.md §1 (workspace), §3.
"""

from __future__ import annotations

import inspect
import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from pixirnb.errors import InvalidArguments, InvalidSpec, Problem
from pixirnb.ids import STANDARD_INPUT, is_step_id
from pixirnb.json_types import JsonMapping
from pixirnb.operations.locations import type_name, typed_path, workspace_of
from pixirnb.operations.survey import survey
from pixirnb.planning.report import require
from pixirnb.spec import limits, loader, role_files
from pixirnb.spec.relay.reader import RelaySources
from pixirnb.spec.relay.templates import DEFINITIONS
from pixirnb.spec.steps import PythonStep
from pixirnb.spec.workflow import Workflow
from pixirnb.system.system_calls import open_plain
from pixirnb.value_codec import config_folder

_READ: Final = limits.SPEC_TEXT_BYTES + 1
"""Bytes that are read of a workflow: one more than it may have, for the loader to refuse."""
_DEFINITIONS_BYTES: Final = 1024 * 1024

Source = Workflow | Mapping[str, Any] | str | Path
"""Type of a workflow's source. Text with a line break is YAML; any other text is a path."""


class Edit(Struct, frozen=True):
    """The changes of a resume to the pinned run; empty: none."""

    workflow: Workflow | None = None
    inputs: JsonMapping | None = None
    sources: Mapping[str, str] | None = None
    """Current notebook functions; the pinned source replaces missing ones."""


def read(source: Source, workspace: str | Path | None = None) -> loader.Loaded:
    """Read a workflow, mistakes included, with the roles it names.

    Raises InvalidSpec (`spec_unreadable`) for a file that cannot be read, InvalidArguments.
    """
    if not isinstance(source, str | Path | Mapping | Workflow):
        raise InvalidArguments(
            f"expected a path, YAML text, a dict or a Workflow, got {type_name(source)}",
            fix='pass a workflow, such as "flow.yaml" or {"name": …, "steps": […]}',
        )
    return adopt_roles(_loaded(source), workspace)


def read_file(path: Path) -> loader.Loaded:
    """Read a workflow that an agent names, like `read`: a pipe in the file's place must not hold anybody up."""
    try:
        with open_plain(path) as file:
            text = file.read(_READ)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return adopt_roles(_parsed(path, text), None)


def adopt_roles(loaded: loader.Loaded, workspace: str | Path | None) -> loader.Loaded:
    """Return `loaded` with the role files of agents that its steps name and it does not declare.

    They are searched next to its file, in its workspace, then in the user's config folder. Raises InvalidArguments.
    """
    salvage = None if loaded.salvage is None else loaded.salvage.workflow
    written = loaded.workflow or salvage
    if written is None or not (names := role_files.missing(written)):
        return loaded
    folder = workspace_of(written, workspace)
    folders = [folder, config_folder()]
    source = written.source_map.source
    if source is not None and Path(source).is_file():
        folders.insert(0, Path(source).resolve().parent)
    from pixirnb.workspace.role_lookup import find_roles

    return role_files.adopt(loaded, find_roles(names, folders, workspace=folder))


def _loaded(source: Source) -> loader.Loaded:
    if isinstance(source, Path) or (isinstance(source, str) and is_path(source)):
        path = typed_path(source)
        try:
            with path.open("rb") as file:
                text = file.read(_READ)
        except (OSError, ValueError) as error:
            raise _unreadable(source, error) from error
        return _parsed(path, text)
    return loader.load(source, context=surroundings())


def _parsed(path: Path, text: bytes) -> loader.Loaded:
    if str(path) == STANDARD_INPUT:
        return loader.load_text(text, "standard input", surroundings())
    whole = path.resolve()
    return loader.load_text(text, str(whole), surroundings(whole.parent))


def _unreadable(source: str | Path, error: OSError | ValueError) -> InvalidSpec:
    reason = getattr(error, "strerror", None) or str(error)
    is_missing = isinstance(error, FileNotFoundError)
    is_path = is_missing and isinstance(source, Path)
    fix = "check the path" if is_path else "pass the path of a workflow, or YAML text"
    if is_missing and is_step_id(str(source)):
        fix += f"; a workflow of a cell is bound with `%%workflow {source} --as VAR`"
    return InvalidSpec(
        f"cannot read {source}: {reason}",
        fix=fix,
        code="spec_unreadable",
    )


def surroundings(*folders: Path) -> RelaySources:
    """Return the files around a relay workflow: custom steps of the first of `folders` that has some, else of the
    current one.
    """
    for folder in (*folders, Path()):
        try:
            with open_plain(folder / DEFINITIONS) as file:
                text = file.read(_DEFINITIONS_BYTES)
        except OSError:
            continue  # none there, or none that can be read: a step that uses one then says so
        return RelaySources(text.decode("utf-8", "replace"), os.environ)
    return RelaySources(None, os.environ)


def convert_source(source: Source) -> tuple[str, tuple[Problem, ...]]:
    """Convert a workflow to our YAML, with the notes of the reader of another format.

    It loads back to an equal workflow. Agents from role files stay there. Raises InvalidSpec, InvalidArguments.
    """
    loaded = _loaded(source)
    require_valid(adopt_roles(loaded, None), None)
    assert loaded.workflow is not None
    notes = loaded.source_map.notes
    from pixirnb.spec.yaml.writer import write

    return write(loaded.workflow, notes), notes


def require_valid(
    loaded: loader.Loaded,
    workspace: str | Path | None,
    functions: Mapping[str, str] | None = None,
) -> Workflow:
    """Return the workflow; its mistakes, in paths too, are all reported at once. Raises InvalidSpec."""
    try:
        return require(loaded)
    except InvalidSpec:
        salvage = None if loaded.salvage is None else loaded.salvage.workflow
        written = loaded.workflow or salvage
        if written is None:
            raise
        folder = workspace_of(written, workspace)
        known = notebook_functions(written) if functions is None else functions
        return require(loaded, survey(written, folder, known))


def edit_of(
    spec: Source | None,
    inputs: Mapping[str, Any] | None,
    functions: Mapping[str, str] | None,
) -> Edit:
    """Return the changes that a resume makes to a run. Raises InvalidSpec, InvalidArguments."""
    given = inputs_of(inputs) if inputs else None
    if spec is None:
        return Edit(None, given, functions)
    workflow = require_valid(read(spec, None), None, functions)
    known = notebook_functions(workflow) if functions is None else functions
    return Edit(workflow, given, known)


def inputs_of(inputs: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the inputs that a caller passed. Raises InvalidArguments if they are not a mapping."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise InvalidArguments(
            f"inputs must be a mapping, got {type_name(inputs)}",
            fix='pass a dict, such as {"n": 3}',
        )
    return inputs or {}


def notebook_functions(workflow: Workflow) -> dict[str, str]:
    """Return sources of the functions a workflow calls, from the workflow or `__main__`: `{":name": text}`."""
    names = {name for name in _called(workflow) if name.startswith(":")}
    main = sys.modules.get("__main__")
    functions: dict[str, str] = {}
    for name in sorted(names):
        function = getattr(main, name[1:], None)
        if not inspect.isfunction(function):
            continue
        try:
            source = inspect.getsource(function)
            # Dedenting empties blank lines, inside texts too: only a source that needs it is dedented.
            functions[name] = textwrap.dedent(source) if source[:1].isspace() else source
        except (OSError, TypeError):
            continue  # typed at a prompt that keeps no source: the plan then says the function is missing
    return {**functions, **called_sources(workflow, workflow.sources)}


def is_path(text: str) -> bool:
    """Return whether text is a file's name: one line, not blank."""
    return bool(text.strip()) and len(text.splitlines()) == 1 and not text.endswith("\n")


def called_sources(workflow: Workflow, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the known sources among those a workflow calls."""
    names = _called(workflow)
    return {name: source for name, source in sorted(sources.items()) if name in names}


def _called(workflow: Workflow) -> set[str]:
    """Return the functions that steps and checks call, as written."""
    steps = [step for _, step in workflow.find_keys("call", "verify")]
    names = {step.call for step in steps if isinstance(step, PythonStep)}
    return names | {check.python for step in steps for check in step.verify if check.python}
