"""One attempt from intent to events: resolve the work, run it, collect its results, make its checks, record its end.

Nothing here decides anything: the machine decides what an end means. An attempt never raises; a bug of ours becomes an
`internal_error` of the step, with its traceback in the details.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from pixirnb.engine import artifacts, isolation, merge
from pixirnb.engine.agent_slots import Slot
from pixirnb.engine.agent_text import declared_by, extract_message
from pixirnb.engine.artifacts import Artifacts, Kept
from pixirnb.engine.attempt_files import AttemptFiles, GitCalls
from pixirnb.engine.attempt_result import (
    Payload,
    Products,
    Results,
    bug,
    check_payload,
    end_data,
    loggable_drafts,
    loggable_report,
)
from pixirnb.engine.broadcast import STEP_OUTPUT, STEP_PROGRESS, Live
from pixirnb.engine.check_run import CheckRuns
from pixirnb.engine.gathered_items import gather
from pixirnb.engine.output_capture import Capture
from pixirnb.engine.pickled_values import PlainParts, read_pickled
from pixirnb.engine.resolve_work import Assignment, assign, lookup_of
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.engine.session import Session
from pixirnb.engine.session_continuation import continue_session, is_continued
from pixirnb.errors import LogWriteFailed, PixirnbError, StateUnusable
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import CheckResult
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonObject
from pixirnb.machine.readiness import has_no_result
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import (
    AgentEvent,
    AgentWork,
    Ended,
    Output,
    Progress,
    PythonWork,
    Report,
    RunnerEvent,
    Started,
    Work,
    WorkRefused,
)
from pixirnb.runners.checks import CheckInput, find_heads, looks_at_output, perform_checks
from pixirnb.runners.output.mask import mask_here, secret_values
from pixirnb.workspace.git.command import STOPPED


async def perform_attempt(
    attempt: Attempt, state: StepState, context: RunContext
) -> list[EventDraft]:
    """Run the attempt to its end; return `verification_recorded` (if checks were made) and `attempt_ended`."""
    performance = _Performance(attempt, state, context)
    try:
        # One on a cluster takes no place in this process.
        takes_slot = attempt.step.kind == "agent" and attempt.step.placement == "local"
        if takes_slot and not await performance.turn():
            drafts = [performance.ended(Ended(attempt.stop.reason or "cancelled"))]
        else:
            drafts = await performance.run()
    except (LogWriteFailed, StateUnusable) as error:
        message = f"results could not be stored: {error.one_line()}"
        drafts = await performance.broken_off(Ended("failed", "output_not_kept", message))
    except PixirnbError as error:
        ended = Ended("failed", error.code, error.one_line())
        if error.code in {artifacts.STOPPED, STOPPED} and attempt.stop.reason is not None:
            ended = Ended(attempt.stop.reason, message=error.one_line())
        drafts = await performance.broken_off(ended)
    except Exception as error:  # noqa: BLE001 - our bug must end the step visibly, not the run silently
        drafts = await performance.broken_off(bug(error))
    finally:
        performance.close()
        left = await performance.files.close()
    return loggable_drafts([*left, *drafts], attempt)


class _Performance:
    def __init__(self, attempt: Attempt, state: StepState, context: RunContext) -> None:
        self.attempt = attempt
        self.state = state
        self.context = context
        self.offload = context.offload
        self.step = attempt.step
        self.report: JsonObject | None = None
        self.capture: Capture | None = None
        self.session: Session | None = None
        self.heads: dict[str, str] = {}
        """By folder of the user's: the commit that git was at when it began."""
        self.artifacts: Artifacts | None = None
        self.slot = Slot(context.slots)
        self.git = GitCalls(
            attempt, context.log, context.offload, context.supervisor, context.grace_s
        )
        self.files = AttemptFiles(attempt, context, self.git)
        self.mask = mask_here({})
        lookup = lookup_of(self.step, context)
        self.parts = PlainParts(lookup, self._read_pickled, context.offload)
        self.check_runs = CheckRuns(context, self.parts, self._job, self._stir)

    async def turn(self) -> bool:
        """Wait for an agent's turn in the engine; return False where it is to end before that."""
        if is_taken := await self.slot.acquire(self.attempt.stop):
            self.context.on_begun(self.attempt)
        return is_taken

    async def broken_off(self, ended: Ended) -> list[EventDraft]:
        """Return the events of an attempt that we could not finish; its session is closed as far as the disk allows."""
        closing = [] if self.session is None else [await self.session.break_off(ended)]
        return [*closing, self.ended(ended)]

    async def run(self) -> list[EventDraft]:
        if self.step.kind == "merge":
            drafts, ended = await self.git.call(
                merge.merger_of(self.context).of_step, self.attempt, self.state
            )
            return [*drafts, self.ended(ended)]
        if self.step.kind == "for_each":
            return [self.ended(*await gather(self.attempt, self.context, self.mask))]
        if conflict := await self.files.open(self.state):
            drafts, ended = conflict
            return [*drafts, self.ended(ended)]
        drafts = await self._run()
        outside = await self.files.find_undeclared(self.mask)
        if outside is not None:
            drafts[-1].data["outside"] = outside
        return drafts

    async def _run(self) -> list[EventDraft]:
        step, context = self.step, self.context
        try:
            # A value may have to be read from a blob; an item is at hand.
            refers = step.references if step.item is None else step.refers_to_steps
            may_read = refers or (step.kind == "agent" and step.depends_on)
            assignment = await self.parts.resolve(self._assign) if may_read else self._assign()
        except WorkRefused as refused:
            if self.attempt.stop.reason is not None:
                return [self.ended(Ended(self.attempt.stop.reason))]
            return [self.ended(Ended("failed", refused.kind, str(refused)))]
        assignment = await self._continued(assignment)
        self.mask.add(secret_values(assignment.env))
        self.capture = Capture(
            context.printed_path(self.attempt),
            context.log.blobs,
            self.mask,
            self._live,
            require_hold=context.log.require_hold,
            has_value=step.kind != "python" or looks_at_output(step.spec.verify),
        )
        if isinstance(assignment.work, AgentWork):
            self.session = Session(self.attempt, assignment.work, context, self.mask, self.slot)
        if step.spec.artifacts:
            ground = self.files.folders.ground(assignment.cwd, kept=True)
            self.artifacts = Artifacts(step.spec.artifacts, ground, context.log.blobs)
            await self.offload(self.artifacts.look, lambda: self.attempt.stop.reason is not None)
        if step.spec.verify and not self.files.are_own:
            ground = self.files.folders.ground(assignment.cwd)
            nested = self.check_runs.of(assignment, self.mask)
            self.heads = await find_heads(step.spec.verify, ground, nested)
        job = self._job(assignment.work, assignment.sent(), self._on_event)
        ended = await self._performed(job)
        self.mask.refresh()
        captured = await self.files.capture(self.mask)
        self.capture.finish()
        if self.capture.refusal and ended.status == "completed":
            message = f"output could not be stored: {self.capture.refusal}"
            ended = replace(ended, status="failed", error_kind="output_not_kept", message=message)
            return [*captured, *await self.broken_off(ended)]
        return [*captured, *await self._conclude(ended, assignment)]

    async def _continued(self, assignment: Assignment) -> Assignment:
        """Return the work of an agent whose attempt before waited for a permission: its session may go on."""
        work, run, step = assignment.work, self.context.run, self.step.id
        if not isinstance(work, AgentWork) or not is_continued(step, self.state, run):
            return assignment
        work = await self.offload(continue_session, work, step, self.state, run, self.context.log)
        return replace(assignment, work=work)

    async def _conclude(self, ended: Ended, assignment: Assignment) -> list[EventDraft]:
        capture, step = self.capture, self.step
        assert capture is not None
        printed = capture.printed()
        drafts: list[EventDraft] = []
        if self.session is not None:
            message, shown, work = self.session.final_text, self.session.shown, assignment.work
            printed, text = await self.offload(extract_message, message, printed, work, shown)
            self.report = declared_by(self.report, text)
            drafts.append(await self.session.close(ended, text))
        kept: Kept = {}
        if self.artifacts is not None:
            kept = await self.offload(
                self.artifacts.collect, ended.status == "completed", self.git.is_over
            )
        results = Results(assignment.step, self.mask, self.report, self.context)
        payload: Payload | None = None
        checks: list[CheckResult] = []
        is_judged = ended.status == "completed" and not has_no_result(self.report)
        if is_judged and (step.spec.output is not None or step.spec.verify):
            value = await self.offload(results.typed_value, ended)
            nested = self.check_runs.of(assignment, self.mask)
            payload = await check_payload(results, value, printed, nested, self.offload)
            left = CheckInput(
                ground=self.files.folders.ground(assignment.cwd),
                exit_code=ended.exit_code,
                printed=printed,
                value=value if payload is None else payload.value,
                sources=dict(self.context.sources),
                offload=self.offload,
                is_json=payload is not None and payload.is_parsed,
                merged_in=isolation.merged_in(step, self.context.run),
                changed=self.files.changed,
                heads=self.heads,
            )
            checks = await perform_checks(step.spec.verify, left, nested)
        output = await results.output(ended, printed, capture, payload)
        if ended.status == "completed" and self.attempt.stop.reason is not None:
            # What is done for it counts against its time; the thread of a check cannot be ended either.
            ended = Ended("detached" if self.check_runs.goes_on else self.attempt.stop.reason)
        elif checks:
            record = {"step": step.id, "attempt": self.attempt.number, "checks": checks}
            drafts.append(EventDraft("verification_recorded", self.mask.member(record, "checks")))
        is_proven = all(check["passed"] for check in checks)
        drafts.append(self.ended(ended, Products(output, kept, payload, is_proven)))
        return drafts

    async def _performed(self, job: Job) -> Ended:
        runner = self.context.runners.of(self.step)
        if self.session is None:
            return await runner.perform(job)
        async with self.session.kept():
            return await runner.perform(replace(job, ask=self.session.answer))

    # --- the job and its nested ones ----------------------------------------------------------------------------

    def _assign(self) -> Assignment:
        context = self.context
        return assign(
            self.step,
            self.state,
            context.run,
            self.parts.plain,
            self.files.folders,
            typed=self.parts.lookup,
            sources=context.sources,
            facts=context.facts(self.attempt),
            depth=context.depth,
            surface=() if context.delegate is None else context.delegate.definitions,
        )

    def _job(self, work: Work, assignment: Assignment, emit: Callable[[RunnerEvent], None]) -> Job:
        return Job(
            run_id=self.context.run.run_id,
            step=self.step.id,
            attempt=self.attempt.number,
            work=work,
            cwd=assignment.cwd,
            workspace=assignment.workspace,
            env=assignment.env,
            stop=self.attempt.stop,
            emit=emit,
            on_thread_returned=self._thread_returned,
            grace_s=self.context.grace_s,
            limit_s=self.attempt.limit_s,
            draft=self.context.log.blobs.draft,
            pace=None if self.session is None else self.session.pace,
            state=self.context.state_folder,
            resources=self.step.spec.resources,
            copies=self.files.copies,
        )

    def _thread_returned(self) -> None:
        """Note, on its own thread, that a thread which outlived its work has returned."""
        self.check_runs.thread_returned()
        self.context.on_thread_returned(self.step)

    async def _read_pickled(self, work: PythonWork) -> Ended:
        return await read_pickled(work, self.attempt, self.context, self.files.folders.workspace)

    # --- what it says while it runs -----------------------------------------------------------------------------

    def _on_event(self, event: RunnerEvent) -> None:
        assert self.capture is not None
        self._stir(event)
        self.mask.refresh()
        match event:
            case Started():
                self.context.on_started(self.attempt, event)
            case Output():
                self.capture.take(event)
            case Progress(fraction, message):
                data = {"fraction": fraction, "message": self.mask.text(message)}
                self._publish(STEP_PROGRESS, data)
            case Report("checkpoint", data):
                self.report = loggable_report(data)
                self._tell("checkpoint_reported", data)
            case Report(_, data):
                if self.session is not None:
                    self.session.tell_tool(data)
                news = {"fraction": None, "message": f"tool {data.get('name')}"}
                self._publish(STEP_PROGRESS, news)
            case AgentEvent(kind, data):
                self._tell(kind, data)

    def _stir(self, event: RunnerEvent) -> None:
        """Record a sign of life."""
        self.attempt.stir(self.context.clock.now(), is_output=isinstance(event, Output))

    def _tell(self, kind: str, data: JsonObject) -> None:
        if self.session is not None:
            self.session.tell(kind, data)

    def _live(self, stream: str, chunk: bytes) -> None:
        text = chunk.decode("utf-8", errors="replace")
        if self.session is not None and stream == "stdout":
            self.session.on_output(text)
        self._publish(STEP_OUTPUT, {"stream": stream, "chunk": text})

    def _publish(self, topic: str, data: JsonObject) -> None:
        self.context.publish(Live(topic, self.step.id, self.attempt.number, data))

    # --- what it left -------------------------------------------------------------------------------------------

    def ended(self, ended: Ended, products: Products | None = None) -> EventDraft:
        """Return the event of the end."""
        products, attempt, context = products or Products(), self.attempt, self.context
        data = end_data(attempt, ended, products, context, self.mask, self.report, self.capture)
        if self.session is not None:
            data["session_id"] = self.session.id
        return EventDraft("attempt_ended", data)

    def close(self) -> None:
        """Release the files, and the agent's turn."""
        self.slot.release()
        if self.capture is not None:
            self.capture.close()
        if self.session is not None:
            self.session.give_back()
