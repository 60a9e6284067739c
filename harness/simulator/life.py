"""A world lived through: its acts one after another, an audit after each, and at the end whatever it takes to come to rest.

    live(world) -> Life     everything that was seen, and every promise that was broken

When the acts are over nobody interferes any more: plain resumes and accepted questions must bring each run to a fixpoint in
a few courses, whatever happened before.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from harness.auditor.breaches import Breach
from harness.simulator.files import WORKSPACE, Disk
from harness.simulator.forecasts import compare, dry_run
from harness.simulator.loop import Stuck, VirtualClock, VirtualLoop, breathe
from harness.simulator.person import Operator
from harness.simulator.process import Process, Surroundings
from harness.simulator.records import Records
from harness.simulator.requests_at_rest import RequestsAtRest
from harness.simulator.resting import has_no_rest, is_at_rest, is_same, item_ways, statuses
from harness.simulator.succession import Succession
from harness.simulator.trees import Registry, SimulatedFiles
from harness.simulator.witness import Witness
from harness.simulator.world import Document, World, choice_of, shape, workflow_of
from pixirnb.engine.prepared_run import PreparedRun
from pixirnb.errors import (
    HeldByAnother,
    InvalidArguments,
    InvalidSpec,
    LogWriteFailed,
    PixirnbError,
)
from pixirnb.history.file_state import open_seams
from pixirnb.history.run_state import RunState
from pixirnb.machine.outcome import RunOutcome
from pixirnb.machine.outcome_reasons import seams_of
from pixirnb.machine.resume import Selection
from pixirnb.operations import prepare
from pixirnb.operations.run_environment import RunEnvironment
from pixirnb.spec.workflow import Workflow
from pixirnb.testing.fakes.memory_store import MemoryStore

LAST_COURSES: Final = 24
"""So many courses a run may need to come to rest once nobody is in its way."""


@dataclass(slots=True, eq=False)
class Life:
    """What became of a world."""

    world: World
    store: MemoryStore
    witness: Witness
    breaches: list[Breach] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    """The first run, and its forks in the order of their birth."""
    courses: int = 0
    simulated_s: float = 0.0
    ends: dict[str, dict[str, str]] = field(default_factory=dict)
    """Run to step to checkpoint status, when all was over."""

    @property
    def events(self) -> int:
        """Events on disk, of all runs."""
        return sum(run.data.count(b"\n") for run in self.store.runs.values())

    def log(self, run_id: str) -> bytes:
        """A run's log as it is on disk."""
        return bytes(self.store.runs[run_id].data)


def live(world: World) -> Life:
    """Live a world through. Raises InvalidSpec for one whose workflow is none."""
    workflow = workflow_of(world.workflow)
    loop = VirtualLoop()
    try:
        return _Player(world, loop).play(workflow)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class _Player:
    def __init__(self, world: World, loop: VirtualLoop) -> None:
        clock = VirtualClock(loop)
        self.store = MemoryStore(instance="simulated")
        self.disk = Disk()
        self.shelf = Registry(self.disk)
        self.witness = Witness(self.store, clock.now)
        self.around = Surroundings(
            world, loop, clock, self.store, self.witness, self.disk.contents, self.disk
        )
        self.world = world
        self.loop = loop
        self.clock = clock
        self.life = Life(world, self.store, self.witness, self.witness.breaches)
        self.processes = 0
        self.process = self._born()
        self.ids = world.chance("ids")
        self.has_just_died = False
        self.records = Records(self.store, self.witness, self.shelf.trees)
        self.requests = RequestsAtRest(self.store, self.records, self.witness, self._place)

    def play(self, workflow: Workflow) -> Life:
        """All acts, then the way to rest."""
        started = self.clock.now()
        try:
            for act in self.world.acts:
                if self.life.breaches:
                    break
                self._act(act, workflow)
            if not self.life.run_ids and not self.life.breaches:
                self._act({"form": "start"}, workflow)
            for run_id in list(self.life.run_ids):
                if not self.life.breaches:
                    self._come_to_rest(run_id)
                    self.records.audit(run_id, None)
                    self.records.count(run_id)
        except Stuck as stuck:
            self.witness.breach("course_ends", str(stuck))
            self.process.die("stuck")
        self._look_at_files()
        self.process.leave()
        self.loop.run_until_complete(breathe(self.loop))
        self.life.simulated_s = self.clock.now() - started
        return self.life

    # --- acts ---------------------------------------------------------------------------------------------------

    def _act(self, act: Document, workflow: Workflow) -> None:
        runs = self.life.run_ids
        if not runs:
            # Whatever began before left nothing: it begins again.
            act = {key: act[key] for key in act if key not in {"flags", "workflow", "inputs"}}
            act["form"] = "start"
        run_id = runs[int(act.get("run", 0)) % len(runs)] if runs else ""
        self._between(act, run_id)
        form = act["form"]
        self.witness.note(f"act: {form} {act.get('flags') or ''} by p{self.process.number}")
        try:
            if form == "record":
                self.requests.record(act, run_id)
                return
            if form == "merge":
                self.requests.merge(act, run_id)
                return
            foreseen = dry_run(self.store, run_id, act, self.disk.contents)
            course = self._begun(act, run_id, workflow)
        except (InvalidArguments, InvalidSpec) as refused:
            self.witness.count("acts refused")
            self.witness.note(f"refused: {refused.code} {refused.message}")
            return
        except PixirnbError as error:
            self.witness.breach("taken_up", f"{form} was not possible: {error.code} {error}")
            return
        if course is None:
            self._was_no_op(run_id)
            compare(self.witness, foreseen or (), [], self.records.outcome(run_id))
            return
        if form in {"start", "fork"}:
            runs.append(course.log.run_id)
            if course.run.forked is not None:
                origin = course.run.forked
                self.witness.follow(course.log.run_id, origin["run_id"], origin["seq"])
        self.witness.count(f"form: {shape(act)}")
        self._drive(course, act)
        if foreseen is not None and not self.life.breaches and course.stop is None:
            found, events = self.records.outcome(run_id), self.store.read(run_id).events
            compare(self.witness, foreseen, events, found)

    def _between(self, act: Document, run_id: str) -> None:
        if act.get("fresh") and not self.process.is_dead:
            self.process.leave()
        if self.process.is_dead:
            self.process = self._born()
        self.loop.run_until_complete(asyncio.sleep(float(act.get("gap", 1.0))))
        self.disk.touch(act.get("touch") or [])
        self.disk.is_in_the_way = bool(act.get("disturb"))
        if "lose_blob" in act and run_id:
            self.records.lose_blob(run_id, int(act["lose_blob"]))
        if "damage" in act and run_id:
            self.records.damage(run_id, int(act["damage"]))

    def _begun(self, act: Document, run_id: str, workflow: Workflow) -> PreparedRun | None:
        place = self._place()
        if act["form"] == "start":
            return prepare.prepare_start(
                workflow,
                self.world.inputs,
                workspace=WORKSPACE,
                store=self.store,
                sources={},
                environment=place,
            )
        edit, selection = choice_of(act)
        if act["form"] == "fork":
            name = self.records.checkpoint(run_id, int(act.get("pick", 0)))
            return prepare.prepare_fork(
                self.store, run_id, name, edit=edit, selection=selection, environment=place
            )
        request = None
        if act["form"] == "decide":
            request = self.requests.decision(act, run_id)
            selection = Selection(is_decision=True)
        return prepare.prepare_resume(
            self.store,
            run_id,
            edit=edit,
            selection=selection,
            request=request,
            recover="damage" in act,
            environment=place,
        )

    def _drive(self, course: PreparedRun, act: Document, *, is_last: bool = False) -> None:
        run_id = course.log.run_id
        self.life.courses += 1
        self.witness.count("courses")
        self.witness.see("acquired", run_id, detail=self.process.name)
        if act.get("rival"):
            self._rival(run_id)
        succession = Succession(self.process, run_id, self._born, self._place)
        operator = Operator(self.process, run_id, partial(self._rival, run_id), succession.open)
        operator.plan(act.get("ops") or ())
        self.process, live = self.loop.run_until_complete(succession.drive(course, act))
        operator.leave()
        self.store.fail_after(None)
        found: RunOutcome | None = None
        try:
            found = None if self.process.is_dead else live.outcome()
        except LogWriteFailed:
            self.witness.count("nothing kept")
        if found is not None and live.scheduler.write_error is None:
            self.witness.count(f"ended {found.status}")
        if not self.store.runs[run_id].data.count(b"\n"):
            self.witness.count("never begun")
            self.life.run_ids.remove(run_id)
            return
        if self.process.is_dead:
            if self.has_just_died:
                self.witness.count("double crashes")
            self.has_just_died = True
        else:
            self.has_just_died = False
        self.witness.note(f"over: {'the process died' if self.process.is_dead else found}")
        if not is_last:
            self.records.audit(run_id, found if live.scheduler.write_error is None else None)

    # --- what happens beside ------------------------------------------------------------------------------------

    def _rival(self, run_id: str) -> None:
        self.witness.count("rivals")
        try:
            prepare.prepare_resume(self.store, run_id, environment=self._place())
        except HeldByAnother:
            return
        self.witness.breach("one_winner", "Two processes took the run up at once.")

    def _was_no_op(self, run_id: str) -> None:
        self.witness.count("no-ops")
        found = self.records.outcome(run_id)
        has_seam = any(seam["state"] == "open" for seam in found.seam_obligations)
        if not found.ok and not has_seam:
            message = f"A resume of a run that is {found.status} found nothing to do."
            self.witness.breach("no_op_is_complete", message)

    def _look_at_files(self) -> None:
        """Once all is over: what was done to files is on record, and no folder of an attempt is left untold."""
        if self.life.breaches:
            return
        for rule, told in self.shelf.untold(self.records.told):
            self.witness.breach(rule, told)

    # --- to rest ------------------------------------------------------------------------------------------------

    def _come_to_rest(self, run_id: str) -> None:
        """Plain resumes and accepted questions, until nothing changes any more."""
        before: dict[str, str] | None = None
        seen: list[dict[str, str]] = []
        while len(seen) < LAST_COURSES + item_ways(self.world, self.records.known(run_id)[0]):
            self._answer_all(run_id)
            self._between({}, run_id)
            try:
                course = prepare.prepare_resume(self.store, run_id, environment=self._place())
            except PixirnbError as error:
                self.witness.breach("taken_up", f"a plain resume was refused: {error.code} {error}")
                return
            if course is None:
                self._was_no_op(run_id)
                self.life.ends[run_id] = statuses(self.records.outcome(run_id))
                return
            self._drive(course, {"form": "resume"}, is_last=True)
            if self.life.breaches:
                return
            found = self.records.outcome(run_id)
            now = statuses(found)
            is_settled = is_same(self.world, now, before) and is_at_rest(self.world, found)
            goes_round = now in seen and not self.world.is_comparable
            seen.append(now)
            if is_settled or (
                (found.ok or goes_round) and has_no_rest(*self.records.known(run_id))
            ):
                self.life.ends[run_id] = now
                return
            before = now
        self.witness.breach("comes_to_rest", f"It did not come to rest in {len(seen)} courses.")

    def _answer_all(self, run_id: str) -> None:
        if self.world.is_comparable:
            return
        _, run = self.records.known(run_id)
        for _ in run.open_permissions():
            self.requests.record({"pick": 0, "verdict": "accept", "form": "record"}, run_id)
        plan, run = self.records.known(run_id)
        for step in plan.steps:
            if run.step(step.id).awaits_human and run.step(step.id).checkpoint_status != "partial":
                act = {"step": step.id, "pick": 0, "verdict": "accept"}
                self.requests.record({**act, "form": "record"}, run_id)
        for _ in open_seams(seams_of(plan, run)):
            self.requests.record({"pick": 1, "seam": True, "form": "record"}, run_id)

    def _place(self, process: Process | None = None) -> RunEnvironment:
        return RunEnvironment(
            wall=self.clock.wall,
            chance=self.ids.randbytes,
            owner=lambda: (process or self.process).owner,
            end_strays=self._sweep,
            contents=self.disk.contents,
            files=lambda _log, roots, _never: SimulatedFiles(self.shelf, roots),
            cluster=lambda _plan, _left: None,  # the process has one for every run
        )

    def _sweep(self, run: RunState) -> None:
        self.process.end_running(run.run_id)
        for name in self.around.strays.pop(run.run_id, []):
            step, _, attempt = name.rpartition(".")
            self.witness.count("strays swept")
            self.witness.note(f"swept {step}.{attempt}")

    def _born(self) -> Process:
        self.processes += 1
        return Process(self.around, self.processes)
