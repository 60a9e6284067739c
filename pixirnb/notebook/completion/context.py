"""Questions of a completion about the world outside its cell, answered by the notebook or by a test's fake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pixirnb.spec.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could stand at the cursor."""

    text: str
    """Takes the place of what is typed."""
    about: str = ""
    """One line for the one who chooses."""


class CompletionContext(Protocol):
    """Each answer comes at once, is bounded, and is empty where nothing is known. None raises."""

    def workflow_names(self) -> Sequence[str]:
        """Names of the workflows of this notebook."""
        ...

    def workflow(self, name: str) -> Workflow | None:
        """A workflow of this notebook."""
        ...

    def steps_in(self, name: str) -> Sequence[Candidate]:
        """Ids of the steps a workflow of this notebook has so far."""
        ...

    def runs(self) -> Sequence[Candidate]:
        """Ids of runs, newest first, with workflow and status."""
        ...

    def steps_of(self, run_id: str) -> Sequence[Candidate]:
        """Ids of a run's steps, with how they stand."""
        ...

    def seams_of(self, run_id: str) -> Sequence[Candidate]:
        """Ids of a run's open seams, with what they are about."""
        ...

    def choices_of(self, run_id: str, step: str) -> Sequence[Candidate]:
        """Answers of which a step waits for one, as `--value` takes them."""
        ...

    def workflow_of(self, run_id: str) -> Workflow | None:
        """The workflow of a run."""
        ...

    def checkpoints_of(self, run_id: str) -> Sequence[Candidate]:
        """Names of a run's checkpoints."""
        ...

    def variables(self) -> Sequence[Candidate]:
        """Names a cell has bound, with their types."""
        ...

    def functions(self) -> Sequence[Candidate]:
        """Functions a cell has defined, with their first sentences."""
        ...

    def within(self, folder: str) -> CompletionContext:
        """Return a context with another folder as its workspace."""
        ...

    def entries(self, folder: str) -> Sequence[str]:
        """Names in a folder, folders with a slash at their end. A relative one lies in the workspace, or outside by `..`."""
        ...
