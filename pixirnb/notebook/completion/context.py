"""Questions of a completion about the world outside its cell, answered by the notebook or by a test's fake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from pixirnb.spec.workflow import Workflow


class Candidate(Struct, frozen=True):
    """Text that could stand at the cursor."""

    text: str
    """Takes the place of what is typed."""
    about: str = ""
    """One line for the one who chooses."""


class CompletionContext(Protocol):
    """Answers about a notebook: each comes at once, is bounded, and is empty where nothing is known. None raises."""

    def workflow_names(self) -> Sequence[str]:
        """Return names of the workflows of this notebook."""
        ...

    def workflow(self, name: str) -> Workflow | None:
        """Return a workflow of this notebook."""
        ...

    def steps_in(self, name: str) -> Sequence[Candidate]:
        """Return ids of the steps a workflow of this notebook has so far."""
        ...

    def runs(self) -> Sequence[Candidate]:
        """Return ids of runs, newest first, with workflow and status."""
        ...

    def steps_of(self, run_id: str) -> Sequence[Candidate]:
        """Return ids of a run's steps, with how they stand."""
        ...

    def seams_of(self, run_id: str) -> Sequence[Candidate]:
        """Return ids of a run's open seams, with what they are about."""
        ...

    def choices_of(self, run_id: str, step: str) -> Sequence[Candidate]:
        """Return answers of which a step waits for one, as `--value` takes them."""
        ...

    def workflow_of(self, run_id: str) -> Workflow | None:
        """Return the workflow of a run."""
        ...

    def checkpoints_of(self, run_id: str) -> Sequence[Candidate]:
        """Return names of a run's checkpoints."""
        ...

    def variables(self) -> Sequence[Candidate]:
        """Return names a cell has bound, with their types."""
        ...

    def functions(self) -> Sequence[Candidate]:
        """Return functions a cell has defined, with their first sentences."""
        ...

    def within(self, folder: str) -> CompletionContext:
        """Return a context with another folder as its workspace."""
        ...

    def entries(self, folder: str) -> Sequence[str]:
        """Return names in a folder, folders with a slash at their end. A relative one is in the workspace, or `..`."""
        ...
