"""The plan of a resume: history and edited plan compared, with an action and its reason for each step.

    pinned_plan(…)       the plan of the workflow a run has pinned
    plan_resumption(…)   the resume of a history, planned
    history_at(…)        the part of a history up to a named checkpoint: the start of a fork

Nothing here writes. Source: contract.md §6.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec import Struct

from pixirnb import value_codec
from pixirnb.errors import InvalidArguments, LogDamaged
from pixirnb.history.bundles import stored_output
from pixirnb.history.codec import storable
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, ResumeReason, ResumeStep
from pixirnb.history.file_state import open_seams
from pixirnb.history.run_state import RunState, fold
from pixirnb.json_types import JsonObject
from pixirnb.machine.expansion import with_items
from pixirnb.machine.outcome_reasons import seams_of
from pixirnb.machine.required_steps import required_steps
from pixirnb.machine.resume import (
    Selection,
    asking,
    by_number,
    is_no_op,
    plan_resume,
)
from pixirnb.machine.resume_forecast import foresee
from pixirnb.machine.resume_requirements import require_answers, require_startable
from pixirnb.machine.settlement import missing_verdicts
from pixirnb.operations.workflow_source import Edit, called_sources
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan
from pixirnb.protocols.ports import Blobs, Contents, LogContents
from pixirnb.spec.expressions.conditions import is_same
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.workflow import Workflow
from pixirnb.system.process_marks import can_mark
from pixirnb.wording import join_names
from pixirnb.workspace.read_digest import contents_digest, read_digest
from pixirnb.workspace.survey import survey


class ResumePlan(Struct, frozen=True):
    """A planned resume."""

    plan: Plan
    run: RunState
    inputs: JsonObject
    repos: dict[str, str]
    steps: list[ResumeStep]
    is_no_op: bool
    selection: Selection = Selection()
    """The selection, with items by their numbers."""
    verdicts: Sequence[EventDraft] = ()
    """Verdicts that a death tore off: to be recorded before the resume. `run` has them."""

    def preview(self) -> list[ResumeStep]:
        """Return the steps for a person: see `foresee`; with titles, and those that ask first or are new marked."""
        asks = asking(self.plan, self.run, self.steps)
        shown = foresee(
            self.plan, self.run, self.steps, self.inputs, asks, only=self.selection.only
        )
        if self.is_no_op:
            # A `when` that was false is so still, also where what it asks about is not loaded here.
            shown = [_skipped(entry) if entry["action"] == "rerun" else entry for entry in shown]
        for at, entry in enumerate(shown):
            step = self.plan.steps[self.plan.index[entry["step_id"].partition("@")[0]]]
            if entry["action"] == "rerun" and (
                entry["step_id"] in asks or self._asks_of_item(entry)
            ):
                shown[at] = {**entry, "asks": True}
            elif entry["reason"] == "spec_changed" and not self.run.step(entry["step_id"]).attempt:
                shown[at] = {**entry, "new": True}
            if title := step.spec.title:
                shown[at] = {**shown[at], "title": title}
        return shown

    def _asks_of_item(self, entry: ResumeStep) -> bool:
        name, at, _ = entry["step_id"].partition("@")
        template = self.plan.steps[self.plan.index[name]].template
        if not at or template is None or template.spec.rerun != "ask":
            return False
        may_have_run = self.run.step(entry["step_id"]).doubt is not None
        return entry["reason"] == "in_flight" or (may_have_run and entry["reason"] != "selected")


def _skipped(entry: ResumeStep) -> ResumeStep:
    name = entry["step_id"]
    return {"step_id": name, "action": "hold", "reason": "held", "because": [], "skipped": True}


def plan_resumption(
    reading: LogContents,
    blobs: Blobs,
    edit: Edit | None = None,
    selection: Selection | None = None,
    *,
    contents: Contents = contents_digest,
) -> ResumePlan:
    """Return the plan to resume a history. Raises LogDamaged, InvalidSpec, InvalidArguments."""
    edit, selection = edit or Edit(), selection or Selection()
    events = sound_events(reading)
    run = fold(events)
    verdicts = _add_verdicts(run, events[-1].at)
    workflow = edit.workflow or load_mapping(run.spec).require()
    sources = {**run.sources, **called_sources(workflow, edit.sources or {})}
    facts, repos = replace(pinned_facts(run), tells_children=can_mark()), run.repos
    if edit.workflow is not None:
        facts = survey(workflow, Path(run.workspace), sources)
        repos = pinned_repos(facts)
    plan = with_items(compile_plan(workflow, facts, sources), run)
    inputs = dict(run.inputs)
    if edit.workflow is not None or edit.inputs:
        kept = {name: value for name, value in run.inputs.items() if name in workflow.inputs}
        inputs = resolve_inputs(workflow, {**kept, **(edit.inputs or {})})
    selection = by_number(selection, run)
    planned = partial(
        plan_resume,
        plan,
        run,
        inputs=inputs,
        repos=repos,
        unusable=_unusable(plan, run, blobs),
        reads=_reads(plan, contents),
    )
    steps = planned(selection)
    require_startable(
        plan,
        run,
        selection,
        steps,
        () if selection.only is None else _unselected(plan, run, planned(Selection()), inputs),
    )
    if edit.workflow is not None:
        require_answers(plan, run, steps)
    completed = run.finished is not None and run.finished["status"] == "completed"
    finished = completed and not open_seams(seams_of(plan, run))  # what resolved them may be undone
    relevant = steps
    is_pinned = edit.workflow is None or spec_digest(workflow) == run.spec_digest
    if is_pinned and is_same(inputs, run.inputs):
        # What a false `when` holds would be held again: it was asked about the same spec and inputs.
        needed = {plan.steps[index].id for index in required_steps(plan, run)}
        relevant = [
            entry for entry in steps if entry["step_id"] in needed or "@" in entry["step_id"]
        ]
    nothing = finished and is_pinned and selection.is_empty and is_no_op(relevant)
    return ResumePlan(plan, run, inputs, repos, steps, nothing, selection, verdicts)


def _unselected(
    plan: Plan, run: RunState, steps: list[ResumeStep], inputs: JsonObject
) -> list[ResumeStep]:
    """Return what a resume that selects all would do with each step and item; of those that it skips, that it does."""
    known = {step["step_id"]: step for step in steps}
    foreseen = foresee(plan, run, steps, inputs, asking(plan, run, steps))
    return [
        known.get(entry["step_id"], entry)
        if entry["action"] == "hold" and not entry.get("skipped")
        else entry
        for entry in foreseen
    ]


def _add_verdicts(run: RunState, at: str) -> list[EventDraft]:
    """Return the verdicts that ended attempts lack, and fold them into the run."""
    if not any(state.stage == "ended" for state in run.steps.values()):
        return []
    drafts = missing_verdicts(pinned_plan(run), run)
    for draft in drafts:
        run.apply(Event(run.seq + 1, at, draft.kind, storable(draft.data)))
    return drafts


def history_at(reading: LogContents, checkpoint: str) -> list[Event]:
    """Return the events up to the last checkpoint of that name, itself included. Raises InvalidArguments, LogDamaged."""
    events = sound_events(reading)
    named = [event for event in events if event.kind == "checkpoint_saved"]
    positions = [event.seq for event in named if event.data.get("name") == checkpoint]
    if not positions:
        names = dict.fromkeys(str(event.data.get("name")) for event in reversed(named))
        raise InvalidArguments(
            f"unknown checkpoint `{checkpoint}`",
            fix="use one of: " + join_names(list(names), 6)
            if names
            else "the run has no checkpoints",
            code="unknown_checkpoint",
        )
    return events[: positions[-1]]


def pinned_plan(run: RunState) -> Plan:
    """Return the plan of the workflow a run has pinned, with the items it knows; its paths are not surveyed again."""
    return with_items(written_plan(run), run)


def written_plan(run: RunState) -> Plan:
    """Return the plan of the workflow a run has pinned, without items: that of every run of this workflow."""
    return compile_plan(load_mapping(run.spec).require(), pinned_facts(run), run.sources)


def pinned_facts(run: RunState) -> Environment:
    """Return the folders of a run as it has pinned them, without a survey, so without complaints."""
    workspace = os.path.realpath(run.workspace)
    repos = {name: os.path.realpath(Path(workspace, path)) for name, path in run.repos.items()}
    known = {name: _there(folder) for name, folder in repos.items()}
    return Environment(workspace, repos=known, is_pinned=True)


def pinned_repos(facts: Environment) -> dict[str, str]:
    """Return the repositories relative to the workspace, so that a moved project finds them again."""
    return {
        name: os.path.relpath(fact.resolved, facts.workspace) for name, fact in facts.repos.items()
    }


def _there(folder: str) -> PathFact:
    return PathFact(
        exists=True,
        is_directory=True,
        is_writable=True,
        is_git=True,
        is_inside=True,
        resolved=folder,
    )


def is_edited(plan: Plan, workflow: Workflow, sources: Mapping[str, str]) -> bool:
    """Return whether a workflow, or a function it calls, is not as a run has pinned it."""
    now, pinned = workflow.canonical(), plan.workflow.canonical()
    for written in (now, pinned):
        written.pop("max_concurrency", None)  # `run -j N` pins another one
    known = plan.sources.keys() & sources.keys()
    return now != pinned or any(plan.sources[name] != sources[name] for name in known)


def sound_events(reading: LogContents) -> list[Event]:
    """Return the events of a log that is whole except for a torn end. Raises LogDamaged."""
    if reading.damage is not None and reading.damage.code != "torn_tail":
        raise LogDamaged(
            f"the log is damaged: {reading.damage.message}",
            fix="resume with `--recover`: it moves the damaged rest aside and continues from there",
            details={"line": reading.damage.line, "damage": reading.damage.code},
        )
    return reading.events


def _unusable(plan: Plan, run: RunState, blobs: Blobs) -> dict[str, ResumeReason]:
    """Return ready steps whose stored value cannot be loaded here, or is lost, and why: they have to run again."""
    steps: dict[str, ResumeReason] = {}
    for step in plan.steps:
        state = run.steps.get(step.id)
        if state is None or "checkpoint_ready" not in {state.checkpoint_status, state.kept}:
            continue
        stored = stored_output(state)
        digest = stored.get("blob")
        if digest is not None and not blobs.is_whole(digest):
            steps[step.id] = "blob_damaged" if blobs.has(digest) else "blob_missing"
            continue
        if stored["format"] != "pickle":
            continue
        data = None if digest is None else blobs.get(digest)
        if not value_codec.is_trusted(stored, data, value_codec.user_key()):
            steps[step.id] = "value_not_trusted"
    return steps


def _reads(plan: Plan, contents: Contents) -> dict[str, str]:
    """Return digests of the files that steps with `reuse: reads` would read now."""
    return {
        step.id: read_digest(contents, plan.roots, step.read_set)
        for step in plan.steps
        if step.spec.reuse == "reads"
    }
