"""Files of an attempt that outlive it, as events name them, and a list of paths in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from pixirnb.history.file_events import PathList

from pixirnb.wording import join_names


class ArtifactData(TypedDict):
    """A file that a step declared, as it is kept."""

    path: str
    """From the workspace, or `repos.NAME:path`."""
    blob: NotRequired[str]
    """Digest of its bytes."""
    bytes: NotRequired[int]
    """How many."""


class OutputLog(TypedDict):
    """Where the printed output of an attempt lies, relative to the run folder."""

    path: str
    """From the run folder."""
    bytes: int
    """How many were printed."""
    truncated: bool
    """Some of it is not in the file."""


def list_paths(paths: PathList) -> str:
    """The first five of a `PathList`, and how many more."""
    return join_names(paths["paths"], 5, count=paths["count"])
