"""One step of a run as `run["a"]` gives it, and all of them as `run.steps`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pixirnb.machine.document_access import Attributes
from pixirnb.machine.outcome import StepDocument, StepOutcome
from pixirnb.operations.record import RunRecord
from pixirnb.views.basics.status_marks import at_rest
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.listings import Sentences
from pixirnb.views.run.outcome_view import steps_table
from pixirnb.views.run.self_display import Bundle, evidence_blocks


@dataclass(frozen=True, slots=True, repr=False)
class RunStep:
    """One step of a run, as it is now.

    Example:
        >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> _ = run.wait()
        >>> run["hello"].status, run["hello"].value, run["hello"].attempts
        ('checkpoint_ready', 'hello', 1)
    """

    _run: RunRecord
    id: str
    """The step's id."""

    @property
    def outcome(self) -> StepOutcome:
        """Return its outcome, with every fact as an attribute."""
        return self._run.outcome.step(self.id)

    @property
    def status(self) -> str:
        """Return its checkpoint status, such as `checkpoint_ready` or `failed`; before it has one, `queued` or `running`."""
        outcome = self.outcome
        return outcome.checkpoint_status or outcome.subagent_status

    @property
    def is_skipped(self) -> bool:
        """Return True if it is `held` because its `when` is false, or because only skipped steps hold it."""
        return self.outcome.skipped

    @property
    def value(self) -> Any:
        """Return its typed value. Raises Cannot (`no_value`) if the step is not ready."""
        return self._run.value(self.id)

    @property
    def output(self) -> str:
        """Return the printed text of its last attempt, also of a failed one."""
        return self._run.output(self.id)

    @property
    def error(self) -> Attributes | None:
        """Return its error: `kind`, `message` and `details`, as attributes and keys. None if it has none."""
        error = self.outcome.error
        return None if error is None else Attributes(error)

    @property
    def traceback(self) -> str:
        """Return the Python traceback of its error, or of the check that raised; empty if there is none."""
        error = self.outcome.error
        return "" if error is None else str(error["details"].get("traceback", ""))

    @property
    def attempts(self) -> int:
        """Return the number of attempts so far."""
        return self.outcome.attempt

    @property
    def bundle(self) -> Bundle | None:
        """Return its Checkpoint Bundle; None if it has no usable result: then the checks are in `error.details`."""
        return self._run.bundle(self.id)

    def explain(self) -> Sentences:
        """Return why it ran, waits, was held, reused or rerun."""
        return self._run.explain(self.id)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        outcome = self._run.outcome
        document = outcome.step(self.id).document()
        return mimebundle(evidence_blocks(document, is_over=outcome.status != "running"))

    def __repr__(self) -> str:
        return f"<RunStep {self.id}: {'skipped' if self.outcome.skipped else self.status}>"


class RunSteps(Mapping[str, RunStep]):
    """The steps of a run by id, in the order of the workflow. In a cell it displays itself as a table."""

    def __init__(self, run: RunRecord) -> None:
        self._run = run

    def __getitem__(self, step: str) -> RunStep:
        return RunStep(self._run, self._run.require_step(step))

    def __iter__(self) -> Iterator[str]:
        return iter(self._run.compiled().index)

    def __len__(self) -> int:
        return len(self._run.compiled().index)

    def __contains__(self, step: object) -> bool:
        return step in self._run.compiled().index

    def _ipython_key_completions_(self) -> list[str]:
        return [*self]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle([steps_table(self._documents())])

    def __repr__(self) -> str:
        return draw_text([steps_table(self._documents())])

    def _documents(self) -> list[StepDocument]:
        return at_rest(self._run.outcome.document())["steps"]
