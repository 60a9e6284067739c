"""Files of an attempt that outlive it, as `attempt_ended` names them."""

from __future__ import annotations

from typing import NotRequired, TypedDict


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
