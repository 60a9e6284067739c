"""One step of a run as `run["a"]` gives it, all of them as `run.steps`, and why a step has no value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pixirnb.errors import Cannot
from pixirnb.machine.document_access import Attributes
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.views.basics.phrases import held_phrase, why
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.listings import Sentences
from pixirnb.views.run.outcome_view import steps_table
from pixirnb.views.run.self_display import Bundle, evidence_blocks

if TYPE_CHECKING:
    from pixirnb.planning.plan import Plan


class StepReader(Protocol):
    """Reader of a run's steps: `RunRecord`, and so every `Run`."""

    @property
    def outcome(self) -> RunOutcome: ...
    def compiled(self) -> Plan: ...
    def require_step(self, step: str) -> str: ...
    def value(self, step: str) -> Any: ...
    def output(self, step: str) -> str: ...
    def bundle(self, step: str) -> Bundle | None: ...
    def explain(self, step: str) -> Sentences: ...


@dataclass(frozen=True, slots=True, repr=False)
class RunStep:
    """One step of a run, as it is now.

    Example:
        >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> _ = run.wait()
        >>> run["hello"].status, run["hello"].value, run["hello"].attempts
        ('checkpoint_ready', 'hello', 1)
    """

    _run: StepReader
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
        """Return the Python traceback of its error; empty if there is none."""
        error = self.outcome.error
        return "" if error is None else str(error["details"].get("traceback", ""))

    @property
    def attempts(self) -> int:
        """Return the number of attempts so far."""
        return self.outcome.attempt

    @property
    def bundle(self) -> Bundle | None:
        """Return its Checkpoint Bundle; None if it has no usable result."""
        return self._run.bundle(self.id)

    def explain(self) -> Sentences:
        """Return why it ran, waits, was held, reused or rerun."""
        return self._run.explain(self.id)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle(evidence_blocks(self.outcome.document()))

    def __repr__(self) -> str:
        return f"<RunStep {self.id}: {self.status}>"


class RunSteps(Mapping[str, RunStep]):
    """The steps of a run by id, in the order of the workflow. In a cell it displays itself as a table."""

    def __init__(self, run: StepReader) -> None:
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

    def _documents(self) -> list[Any]:
        return [step.document() for step in self._run.outcome.steps]


def no_value(outcome: RunOutcome, step_id: str) -> Cannot:
    """Return the error that says why a step that is not ready has no value, and what to read instead."""
    step = outcome.step(step_id)
    reason = why(step.document(), 200).removesuffix(".")
    held = step.held_by
    match step.checkpoint_status:
        case "held" if held is not None and held["kind"] == "dependency":
            cause = f"it was not run (held by `{held['step']}`)"
            fix = f"see run.explain({step_id!r})"
        case "held":
            verb = "skipped" if held is not None and held["kind"] == "when" else "not run"
            cause = f"it was {verb} ({held_phrase(held, attempt=step.attempt)})"
            fix = f"see run.explain({step_id!r})"
        case "failed":
            has_traceback = step.error is not None and step.error["details"].get("traceback")
            fix = f"print(run[{step_id!r}].{'traceback' if has_traceback else 'output'}) shows more"
            cause = f"it failed ({reason})"
        case "partial":
            cause = f"it is partial ({reason})"
            fix = f"read run.bundle({step_id!r}), or accept it: run.accept({step_id!r})"
        case "needs_orchestrator":
            cause = "it needs a decision"
            fix = f"run.accept({step_id!r}) or run.reject({step_id!r})"
        case _:
            cause = "it has not finished" if step.attempt else "it has not started"
            fix = (
                "wait for the run: run.wait()"
                if outcome.status == "running"
                else "continue the run: run.resume()"
            )
    details = {"step": step_id, "status": step.checkpoint_status or step.subagent_status}
    return Cannot(f"`{step_id}` has no value: {cause}", fix=fix, code="no_value", details=details)
