"""Folders that a call names: the workspace, and the store of its state folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pixirnb.errors import InvalidArguments
from pixirnb.store.state_folder import find_state

if TYPE_CHECKING:
    from pixirnb.spec.workflow import Workflow
    from pixirnb.store.file_store import FileStore


def workspace_of(workflow: Workflow | None, workspace: str | Path | None) -> Path:
    """Return the folder a workflow works in: as given, else that of its file, else the current one.

    Raises InvalidArguments.
    """
    if workspace is not None:
        folder = typed_path(workspace)
        if not os.path.isdir(folder):  # noqa: PTH112 - a name too long is no folder either; Path raises for it
            raise InvalidArguments(
                f"workspace {folder} is not a folder",
                fix="use an existing folder",
                code="workspace_missing",
            )
        return folder.resolve()
    source = None if workflow is None else workflow.source_map.source
    if source is not None and Path(source).is_file():
        return Path(source).resolve().parent
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise InvalidArguments(
            "the current folder was deleted",
            fix="change to an existing folder, or pass a workspace",
            code="workspace_missing",
        ) from error


def require_utf8(workspace: Path) -> None:
    """Raise InvalidArguments for a path that no log can hold: a resume would not find the folder."""
    try:
        str(workspace).encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments(
            f"the path of the workspace is not UTF-8: {str(workspace)!a}",
            fix="rename the folder",
            code="workspace_not_utf8",
        ) from error


def store_of(workspace: Path, state: str | Path | None) -> FileStore:
    """Return the store of a workspace's state folder."""
    from pixirnb.store.file_store import FileStore  # a plan needs none

    return FileStore(find_state(workspace, None if state is None else Path(state)))


def typed_path(path: str | Path) -> Path:
    """Return a path as a person typed it; `~nobody` stays unchanged instead of raising."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path raises where there is no such home


def type_name(value: object) -> str:
    """Return the name of a value's type for a message: `None` for None."""
    return "None" if value is None else type(value).__name__
