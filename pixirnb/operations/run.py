"""The class `Run`: one run, to read, to watch and to control, in cells, scripts and the command line.

RunRecord      record.py          what the log says: outcome, steps, values, exports
RunWatch       run_watch.py       events as they happen, and waiting
RunRequests    run_requests.py    what a person asks of it: decide, approve, merge, cancel
RunStep, RunSteps                 `run["a"]`, and all of them as `run.steps`
Run                               all of these, and resume, retry, fork
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from pixirnb.engine.broadcast import Listener
from pixirnb.engine.engine import find_live
from pixirnb.engine.prepared_run import NO_WATCHERS, Watchers
from pixirnb.engine.step_outputs import Outputs
from pixirnb.errors import PixirnbError
from pixirnb.machine.resume import Selection
from pixirnb.operations import launch
from pixirnb.operations.run_requests import RunRequests
from pixirnb.operations.workflow_source import Edit, Source, edit_of
from pixirnb.store.file_store import FileStore
from pixirnb.system.gc_pause import gc_paused
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.run.outcome_view import outcome_blocks

if TYPE_CHECKING:  # named in a signature only
    import pandas as pd
    from distributed import Client
from collections.abc import Iterator

from pixirnb.machine.document_access import Attributes
from pixirnb.machine.outcome import StepOutcome
from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.operations.record import RunRecord
from pixirnb.views.basics.status_marks import at_rest
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.listings import Sentences
from pixirnb.views.run.self_display import Bundle, evidence_blocks
from pixirnb.views.run.steps_table import whole_table


class RunStep(Struct, frozen=True):
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
        return mimebundle([whole_table(self._documents())])

    def __repr__(self) -> str:
        return draw_text([whole_table(self._documents())])

    def _documents(self) -> list[StepDocument]:
        return at_rest(self._run.outcome.document())["steps"]


_INTERNAL: Final = frozenset(
    {
        "changes",
        "compiled",
        "interrupt",
        "is_live_here",
        "live",
        "live_here",
        "nothing_done",
        "require_step",
    }
    | {"state", "store", "wait_ended"}
)
"""Names that other rooms use and tab completion leaves out."""


class Run(RunRequests, eq=False):
    """One run of a workflow: a record that can be watched, controlled and resumed.

    Example:
        >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> run.wait().status, run["hello"].value
        ('completed', 'hello')
    """

    def __getitem__(self, step: str) -> RunStep:
        return RunStep(self, self.require_step(step))

    __iter__ = None  # else `for … in run` would ask for run[0]

    def __contains__(self, step: object) -> bool:
        return step in self.compiled().index

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.compiled().index]

    @property
    def steps(self) -> RunSteps:
        """Return its steps by id: `run.steps["a"]`, which is `run["a"]`, has `value`, `output`, `error` and more."""
        return RunSteps(self)

    @property
    def values(self) -> dict[str, Any]:
        """Return the values of all ready steps, by id. Raises Cannot as `value`."""
        run = self.state
        outputs = Outputs(run, self.store.blobs(self.id))
        states = {step: run.step(step) for step in self.compiled().index}
        return {
            step: outputs.value(state)
            for step, state in states.items()
            if state.checkpoint_status == "checkpoint_ready"
        }

    @property
    def df(self) -> pd.DataFrame:
        """Return a row for each step, as `to_dataframe`."""
        return self.to_dataframe()

    def resume(
        self,
        *,
        spec: Source | None = None,
        inputs: Mapping[str, Any] | None = None,
        from_step: str | None = None,
        only: str | None = None,
        until: str | None = None,
        take_over: bool = False,
        recover: bool = False,
        functions: Mapping[str, str] | None = None,
        listeners: Sequence[Listener] = (),
        attended: bool = False,
    ) -> Run:
        """Continue this run in the background; the arguments are those of `pixirnb.resume`.

        Args:
            spec: an edited workflow to continue with, instead of the pinned one.
            inputs: inputs to change, by name.
            from_step: rerun this step and everything after it.
            only: rerun this step alone.
            until: stop after this step.
            take_over: take the run over from an owner that is known to be gone.
            recover: continue before the damage in a damaged log.
            functions: sources of notebook functions, as for `pixirnb.plan`.
            listeners: called with every event of the run, on the engine's thread.
            attended: a person can be asked for permissions.

        Raises:
            HeldByAnother, LogDamaged, InvalidSpec, InvalidArguments: nothing was started.

        Example:
            >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "once", "run": "test -e x || ! touch x"}]})
            >>> run.wait().status
            'failed'
            >>> run.resume().wait().status
            'completed'
        """
        return continue_run(
            self,
            edit_of(spec, inputs, functions),
            Selection(from_step, only, until),
            take_over=take_over,
            recover=recover,
            watchers=Watchers(listeners, attended),
        )

    def retry(self, *steps: str) -> Run:
        """Rerun steps, ready or not, and everything after them; without arguments every step that is not ready.

        Args:
            steps: ids of steps.

        Raises:
            HeldByAnother, LogDamaged, InvalidArguments: nothing was started.

        Example:
            >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
            >>> _ = run.wait()
            >>> _ = run.retry("hello").wait()
            >>> run["hello"].attempts
            2
        """
        names = [self.require_step(step) for step in steps]
        return continue_run(self, selection=Selection(",".join(names) or None))

    def fork(
        self,
        checkpoint: str,
        *,
        spec: Source | None = None,
        inputs: Mapping[str, Any] | None = None,
        functions: Mapping[str, str] | None = None,
    ) -> Run:
        """Start a new run from a named checkpoint of this one, which stays as it is.

        Args:
            checkpoint: name of the checkpoint.
            spec: an edited workflow to continue with, instead of the pinned one.
            inputs: inputs to change, by name.
            functions: sources of notebook functions, as for `pixirnb.plan`.

        Raises:
            LogDamaged, InvalidSpec, InvalidArguments: nothing was started.

        Example:
            >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
            >>> _ = run.wait()
            >>> run.checkpoint("greeted")
            >>> fork = run.fork("greeted")
            >>> fork.wait().status, fork.id == run.id
            ('completed', False)
        """
        return fork_run(self, checkpoint, edit_of(spec, inputs, functions))

    @gc_paused()
    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        try:
            plan, outcome, edges = self._parts()
            return mimebundle(outcome_blocks(outcome, edges, plan=plan))
        except PixirnbError as error:  # removed since, or damaged from its first line on
            return {"text/plain": f"{self!r}\n{error}"}

    def __repr__(self) -> str:
        try:
            return f"<Run {self.id}: {self.status}>"
        except PixirnbError as error:
            return f"<Run {self.id}: {error.code}>"

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self)} - _INTERNAL)


def load_run(store: FileStore, run_id: str) -> Run:
    """Load a run, driven by this process or not. Raises UnknownRun."""
    folder = store.folder(run_id)
    return Run(run_id, store, find_live(run_id, lambda: folder))


def continue_run(
    run: Run,
    edit: Edit | None = None,
    selection: Selection | None = None,
    *,
    take_over: bool = False,
    recover: bool = False,
    watchers: Watchers = NO_WATCHERS,
    cluster: str | Client | None = None,
) -> Run:
    """Resume a run in the background; return it. Raises as `operations.launch.launch_resume`."""
    live = launch.launch_resume(
        run.store,
        run.id,
        edit=edit,
        selection=selection,
        take_over=take_over,
        recover=recover,
        watchers=watchers,
        cluster=cluster,
    )
    run.live, run.is_no_op = live or run.live, live is None
    return run


def fork_run(
    run: Run,
    checkpoint: str,
    edit: Edit | None = None,
    selection: Selection | None = None,
    *,
    watchers: Watchers = NO_WATCHERS,
    cluster: str | Client | None = None,
) -> Run:
    """Start a new run from a checkpoint of another; return it. Raises as `operations.launch.launch_fork`."""
    live = launch.launch_fork(
        run.store,
        run.id,
        checkpoint,
        edit=edit,
        selection=selection,
        watchers=watchers,
        cluster=cluster,
    )
    return Run(live.scheduler.log.run_id, run.store, live)
