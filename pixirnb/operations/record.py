"""The class `RunRecord`: the readable facts of a run, live here, live elsewhere or over.

It holds no truth: it reads the log, or asks the loop. Reading executes nothing and needs no lock.
`operations.run.Run` is a record that can also be watched and controlled.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.engine.engine import find_live
from pixirnb.engine.live_run import LiveRun
from pixirnb.engine.step_outputs import Outputs
from pixirnb.errors import InvalidArguments, UnknownRun
from pixirnb.history.bundles import BundleChanges, changes
from pixirnb.history.run_state import RunState, fold
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.machine.diagnosis import Diagnosis
from pixirnb.machine.items import step_named
from pixirnb.machine.outcome import RunOutcome, as_damaged, outcome
from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.machine.permission_answers import open_requests
from pixirnb.operations.doctor import diagnose
from pixirnb.operations.export import publish
from pixirnb.operations.outcome_details import no_value, outcome_in_memory, with_details
from pixirnb.operations.resume_plan import pinned_plan
from pixirnb.operations.run_summary import read_started, require_beginning
from pixirnb.planning.documents import PlanDocument
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import PlanReport, report
from pixirnb.protocols.ports import Damage, LogContents
from pixirnb.runners.output.mask import mask_contents
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.store.file_store import FileStore
from pixirnb.store.log import LOG_NAME
from pixirnb.store.private_files import read_output
from pixirnb.system import gc_pause
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.files.changes import diff_document
from pixirnb.views.files.diff import Diff
from pixirnb.views.picture.dot import dot
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.picture.mermaid import mermaid
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.explain import explain
from pixirnb.views.run.exports import digraph, frame
from pixirnb.views.run.listings import History, Sentences
from pixirnb.views.run.self_display import Bundle, unsafe_reason
from pixirnb.views.session.session_view import Sessions, SessionView, Standing
from pixirnb.wording import join_names

if TYPE_CHECKING:  # named in signatures only; imported where a frame or a graph is asked for
    import networkx as nx
    import pandas as pd
    from distributed import Client


TICK_S: Final = 0.1
"""Seconds between two looks at a run that another process drives."""


class RunRecord(Struct, eq=False):
    """One run as its log records it, or, while this process drives it, as its loop does."""

    id: str
    store: FileStore
    live: LiveRun | None = None
    """The live run while, and after, this process drives it."""
    is_no_op: bool = False
    """True if a resume had nothing to do: the run was completed and nothing has changed."""
    _cached: tuple[int, RunState, Plan] | None = None
    _mark: tuple[int, int, int] | None = None
    """Inode, size and change time of the log when it was read."""

    # --- how it stands ------------------------------------------------------------------------------------------

    @property
    @gc_pause.gc_paused()
    def outcome(self) -> RunOutcome:
        """Return the outcome, final or so far."""
        if (live := self._live_run()) is not None:
            return outcome_in_memory(live, lambda: self.folder)
        mark, reading = self._mark_of_log(), self._reading()
        run, plan = self._folded(reading)
        self._mark = mark
        is_live = reading.owner is not None
        result = with_details(outcome(plan, run, is_live=is_live, folder=self.folder), self.folder)
        return result if reading.damage is None else as_damaged(result, reading.damage)

    @property
    def status(self) -> str:
        """Return one word: `running`, `completed`, `partial`, …"""
        return self.outcome.status

    @property
    def state(self) -> RunState:
        """Return the folded history. Read it, do not change it."""
        if (live := self._live_run()) is not None:
            return fold(live.events())
        return self._known_run()[0]

    @property
    @gc_pause.gc_paused()
    def plan(self) -> PlanReport:
        """Return the plan of the pinned workflow."""
        planned = report(self.compiled().workflow, Environment(is_pinned=True))
        return replace(planned, inputs=self.state.inputs)

    @property
    def damage(self) -> Damage | None:
        """Return the position from which the log is damaged; None for a sound one."""
        return None if self._live_run() is not None else self._reading().damage

    @property
    def folder(self) -> Path:
        """Return the run folder: it can be zipped, moved and opened elsewhere."""
        return self.store.folder(self.id)

    @property
    def is_live_here(self) -> bool:
        """Return whether this process drives it now."""
        return self.live_here() is not None

    def live_here(self) -> LiveRun | None:
        """Return the live run while this process drives it."""
        live = self._live_run()
        return None if live is None or live.ended.is_set() else live

    def nothing_done(self, since: int, *, is_edited: bool = False) -> str:
        """Return the sentence for a resume that had nothing to do; `since`: the last event before it.

        `is_edited`: the notebook has another definition, which was not asked for.
        """
        parts = [
            str(event.data.get("message"))
            for event in self.history()
            if event.seq > since and event.kind == "warning_raised"
        ]
        if parts or is_edited:
            return " ".join([*parts, "Nothing to do: the run is completed."])
        return "Nothing to do: the run is completed and nothing has changed."

    def compiled(self) -> Plan:
        """Return the plan that the machine uses."""
        if (live := self._live_run()) is not None:
            return live.scheduler.plan
        return self._known_run()[1]

    # --- what it left -------------------------------------------------------------------------------------------

    def history(self) -> History:
        """Return every event on disk, in order: a list. Of a run driven here never more than `state` has."""
        if (live := self.live_here()) is not None:
            return History(live.events())
        return History(self._reading().events)

    def value(self, step: str, *, trust: bool = False) -> Any:
        """Return the typed value of a ready step.

        The printed text of a failed step is `output`.

        Args:
            step: the id of the step.
            trust: load a pickle of another user: it can run code.

        Raises:
            InvalidArguments: `unknown_step`.
            Cannot: `no_value` if the step is not ready: it failed, was not run or has not finished; `value_not_trusted`.

        Example:
            >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
            >>> _ = run.wait()
            >>> run.value("hello")
            'hello'
        """
        state, run = self._step(step)
        if state.checkpoint_status != "checkpoint_ready":
            raise no_value(self.outcome, step)
        return Outputs(run, self.store.blobs(self.id)).value(state, trust=trust)

    def output(self, step: str, attempt: int | None = None) -> str:
        """Return the printed output of an attempt, as kept in its output log; empty if it printed nothing.

        Args:
            step: the id of the step.
            attempt: the number of the attempt; by default the last.

        Raises:
            InvalidArguments: `unknown_step`, `unknown_attempt`.
            StateUnusable: the file is a link (`symlink_refused`).
        """
        path = self.output_path(step, attempt)
        return read_output(path).decode("utf-8", errors="replace")

    def output_path(self, step: str, attempt: int | None = None) -> Path:
        """Return the path of the output log of an attempt; there is no file if it printed nothing.

        Args:
            step: the id of the step.
            attempt: the number of the attempt; by default the last.

        Raises:
            InvalidArguments: `unknown_step`, `unknown_attempt`.
        """
        step = self.require_step(step)
        state, _ = self._step(step)
        number = state.attempt if attempt is None else attempt
        if attempt is not None and not 1 <= number <= state.attempt:
            raise InvalidArguments(
                f"`{step}` has no attempt {number}; it has {plural(state.attempt, 'attempt')}",
                fix="omit --attempt for the last one",
                code="unknown_attempt",
            )
        return self.folder / "output" / f"{attempt_name(step, number)}.log"

    def follow_output(self, step: str, attempt: int | None = None) -> Iterator[str]:
        """Iterate over the printed lines of an attempt as they reach the disk, until the attempt is over. Blocks.

        Args:
            step: the id of the step.
            attempt: the number of the attempt; by default the last.

        Raises:
            InvalidArguments: `unknown_step`, `unknown_attempt`.
        """
        step = self.require_step(step)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        begin, rest = 0, ""
        while True:
            attempt = attempt or self._step(step)[0].attempt or None  # a retry is another attempt
            is_over = self._reading().owner is None or self._has_ended(step, attempt)
            data = read_output(self.output_path(step, attempt), begin)
            begin += len(data)
            *lines, rest = (rest + decoder.decode(data, final=is_over)).split("\n")
            yield from lines
            if is_over:
                if rest:
                    yield rest
                return
            time.sleep(TICK_S)

    def _has_ended(self, step: str, attempt: int | None) -> bool:
        state, _ = self._step(step)
        is_older = attempt is not None and attempt < state.attempt
        return is_older or state.stage in {"ended", "settled"}

    def bundle(self, step: str) -> Bundle | None:
        """Return the Checkpoint Bundle of a step; None if it has no usable result.

        Args:
            step: the id of the step.

        Raises:
            InvalidArguments: `unknown_step`.
        """
        stands = self.outcome.step(self.require_step(step))
        bundle = stands.checkpoint
        return None if bundle is None else Bundle(bundle, unsafe_reason(stands.document()))

    def changes(self, step: str) -> BundleChanges:
        """Return the files that an isolated step changed, or a merge brought into the user's: `{patch, files, count, more}`.

        `files` are `{path, change, added, deleted}` and `mode` if it differs; `patch` names a blob for `git apply`.

        Args:
            step: the id of the step.

        Raises:
            InvalidArguments: `unknown_step`.
        """
        state, _ = self._step(step)
        return changes(state)

    def diff(self, of: str | None = None, *more: str, stat: bool = False) -> Diff:
        """Return the changes of a step, or of a merge such as `m1`; by default of every isolated step with changes.

        Displays itself.

        Args:
            of: the id of the step, or the name of the merge.
            more: not supported: one step at a time.
            stat: leave the patches out.

        Raises:
            InvalidArguments: `unknown_step`.
            LogDamaged: a patch is missing.
        """
        if more or not isinstance(of, str | None):
            raise InvalidArguments(
                "diff() takes one step, or none for all of them",
                fix="call run.diff('a') or run.diff()",
            )
        plan, read = self.compiled(), mask_contents(self.store.blobs(self.id).beginning)
        try:
            return Diff(diff_document(plan, self.state, of, read, with_patch=not stat))
        except KeyError:
            raise InvalidArguments(
                f"{self.id} has no step or merge `{of:.80}`",
                fix=self._known(plan),
                code="unknown_step",
            ) from None

    def session(self, step: str, attempt: int | None = None) -> SessionView:
        """Return the session of an agent's attempt; also while it is written.

        Args:
            step: the id of the step.
            attempt: the number of the attempt; by default the last that has a session.

        Raises:
            InvalidArguments: `unknown_step`.
            UnknownRun: there is no such session (`unknown_session`).
        """
        step = self.require_step(step)
        known = self.store.session_ids(self.id)
        attempts = sorted(
            int(n) for whose, _, n in (i.rpartition(".") for i in known) if whose == step
        )
        number = attempt if attempt is not None else attempts[-1] if attempts else None
        if number not in attempts:
            whose = f"`{step}`" if number is None else f"attempt {number} of `{step}`"
            raise UnknownRun(
                f"{self.id} has no session of {whose}",
                fix=f"sessions: {join_names(known, 6)}"
                if known
                else "only agent steps that have started have sessions",
                code="unknown_session",
                details={"sessions": known[:100]},
            )
        return self._session(step, number)

    def sessions(self) -> Sessions:
        """Return the sessions of its agents, in the order of the steps: a list that displays itself."""
        order = self.compiled().index
        known = [name.rpartition(".") for name in self.store.session_ids(self.id)]
        views = sorted(
            (order.get(step, len(order)), step, int(number)) for step, _, number in known
        )
        return Sessions(self._session(step, number) for _, step, number in views)

    def explain(self, step: str) -> Sentences:
        """Return why the step ran, waits, was held, reused or rerun: a list, a sentence each.

        Args:
            step: the id of the step.

        Raises:
            InvalidArguments: `unknown_step`.
        """
        step, run = self.require_step(step), self.state
        is_live = self.outcome.status == "running"
        return Sentences(explain(self.compiled(), run, step, is_live=is_live))

    def diagnose(self, *, cluster: str | Client | None = None) -> Diagnosis:
        """Return what is sound and what is not: chain, blobs, lease, strays, evidence, each finding with the next action.

        Args:
            cluster: where to look for strays, too, as in `run`.

        Raises:
            Cannot: `dask_missing`, `cluster_unreachable`.
            InvalidArguments: `bad_cluster`.
        """
        return diagnose(self.store, self.id, cluster=cluster)

    # --- to go on with elsewhere --------------------------------------------------------------------------------

    def _parts(self) -> tuple[PlanDocument, RunDocument, list[tuple[str, str]]]:
        """Return what a picture is drawn from: plan, outcome and edges."""
        outcome = self.outcome.document()  # reads the log: what follows need not
        return self.plan.document(), outcome, edges_of(self.compiled())

    def to_mermaid(self) -> str:
        """Return the run as a mermaid flowchart."""
        return mermaid(*self._parts())

    def to_dot(self) -> str:
        """Return the run as a DOT graph."""
        return dot(*self._parts())

    def to_svg(self) -> str:
        """Return the run as the notebook draws it: an SVG document that loads nothing.

        Large runs are folded in the notebook's way.
        """
        return picture(*self._parts())

    def save_picture(self, path: str | Path) -> Path:
        """Write the run as a picture for print, laid out by Graphviz: `.svg`, `.png` or `.pdf`, by the suffix of `path`.

        An existing file is replaced. Nothing is folded: thousands of steps take minutes.

        Args:
            path: the file to write.

        Raises:
            InvalidArguments: `picture_format`.
            Cannot: `dot_missing` if Graphviz is not installed, `picture_failed`, `file_unwritable`.
        """
        plan, outcome, edges = self._parts()
        return publish(path, lambda resolution: dot(plan, outcome, edges, resolution=resolution))

    def to_networkx(self) -> nx.DiGraph[str]:
        """Return the run as a networkx graph of step ids; see `views.picture.digraph`."""
        return digraph(self.outcome.document(), edges_of(self.compiled()))

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row a step: status, attempt, times in ms. Raises Cannot (`extra_missing`) if pandas is not installed."""
        return frame(self.outcome.document())

    # --- inside -------------------------------------------------------------------------------------------------

    def _session(self, step: str, attempt: int) -> SessionView:
        name = attempt_name(step, attempt)

        def is_open() -> bool:
            state = self.state.steps.get(step)
            if state is None or state.attempt != attempt:
                return False
            return state.stage in {"scheduled", "running"} and self.status == "running"

        def standing() -> Standing:
            run = self.state
            state = run.steps.get(step)
            if state is None or state.attempt != attempt:
                return Standing()
            return Standing(
                state.checkpoint_status,
                tuple(open_requests(run, state)),
                tuple(self.outcome.step(step).next_actions),
            )

        def read() -> LogContents:
            return self.store.read_session(self.id, name)

        return SessionView(self.id, name, read, is_open, standing)

    def _known(self, plan: Plan) -> str:
        """Return the names that can be shown, for an error."""
        message = f"steps: {join_names([*plan.index], 6)}"
        merges = [merge["merge"] for merge in self.state.merges][-6:]
        return f"{message}; merges: {', '.join(merges)}" if merges else message

    def _live_run(self) -> LiveRun | None:
        live = self.live
        if live is None or live.ended.is_set():
            if (again := find_live(self.id, lambda: self.folder)) is not None:
                live = self.live = again  # taken up again here, whoever asked for it
            elif live is not None and live.is_outdated():
                live = self.live = None  # taken up again elsewhere: the log knows more
        return live

    def _reading(self) -> LogContents:
        return read_started(self.store, self.id)

    @gc_pause.gc_paused()
    def _known_run(self) -> tuple[RunState, Plan]:
        """Return the run from its log, which is read again only if it was replaced or has grown."""
        if self._cached is None or self._mark is None or self._mark != self._mark_of_log():
            mark = self._mark_of_log()
            folded = self._folded(self._reading())
            self._mark = mark
            return folded
        return self._cached[1], self._cached[2]

    def _mark_of_log(self) -> tuple[int, int, int] | None:
        try:
            status = (self.folder / LOG_NAME).stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _folded(self, reading: LogContents) -> tuple[RunState, Plan]:
        count = len(reading.events)
        if self._cached is None or self._cached[0] != count:
            require_beginning(self.id, reading.events)
            run = fold(reading.events)
            self._cached = (count, run, pinned_plan(run))
        return self._cached[1], self._cached[2]

    def require_step(self, step: object) -> str:
        """Return the id of a step. Raises InvalidArguments (`unknown_step`)."""
        if not isinstance(step, str):
            raise InvalidArguments(
                f"expected a step id, got {type(step).__name__}",
                fix='pass an id as text, such as run.value("a")',
                code="unknown_step",
            )
        known = self.compiled().index
        if step not in known and "@" in step:
            live = self._live_run()  # it has items that are not on disk yet, as `known` has
            step = step_named(self.state if live is None else live.scheduler.board.run, step)
        if step not in known:
            raise InvalidArguments(
                f"{self.id} has no step `{step:.80}`",
                fix=did_you_mean(step, known, otherwise=f"steps: {join_names([*known], 6)}"),
                code="unknown_step",
            )
        return step

    def _step(self, step: str) -> tuple[StepState, RunState]:
        run = self.state
        return run.step(self.require_step(step)), run
