"""Requests about a run's files: to bring changes back, to take a merge back, to choose the side of a conflict that counts.

Pure: whether a request can be granted, and what it means exactly. The engine carries it out. Source: contract.md §8.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, NotRequired, TypedDict, cast

from msgspec import Struct, field

from pixirnb.errors import InvalidArguments
from pixirnb.history.bundles import BundleChanges, no_changes
from pixirnb.history.file_events import CONFLICT, ConflictSide, MergeConflicted, WorkspaceCaptured
from pixirnb.history.file_state import last_merge
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonMapping
from pixirnb.machine.conflict_sides import MINE, Sides, are_sides, no_side
from pixirnb.machine.next_actions import mergeable
from pixirnb.planning.plan import Plan, ancestors
from pixirnb.spec.steps import MergeStep
from pixirnb.wording import join_names


class MergeRequest(Struct, frozen=True):
    """Changes to bring into the user's files, or a merge to take back."""

    steps: tuple[str, ...]
    """Steps whose changes are brought, in the order of the plan; empty: there is nothing to bring."""
    sides: Sides
    undoes: str | None
    """The merge to take back."""
    by: str
    request_id: str


def parse_request(
    arguments: JsonMapping, plan: Plan, run: RunState, *, by: str, request_id: str
) -> MergeRequest:
    """Return the request that `{steps, undo, sides}` stands for. Raises InvalidArguments."""
    if arguments.get("undo"):
        if arguments.get("sides"):
            raise InvalidArguments(
                "`--undo` cannot be combined with steps or `--side`",
                fix="remove `--side`; resolve conflicts in your files first",
                code="not_a_side",
            )
        last = last_merge(run.merges)
        if last is None:
            raise InvalidArguments(
                "nothing to undo: no merge of this run is applied",
                fix=f"show the merges: `pixirnb diff {run.run_id}`",
                code="nothing_to_undo",
            )
        if last["merge"] in run.inherited and run.forked is not None:
            source = run.forked["run_id"]
            raise InvalidArguments(
                f"merge {last['merge']} is not of this run, but of {source}, from which it was forked",
                fix=f"undo it there: `pixirnb merge {source} --undo`; a resume of this run notices it",
                code="merge_inherited",
            )
        return MergeRequest((), None, last["merge"], by, request_id)
    steps, sides = select_steps(arguments.get("steps"), plan, run), arguments.get("sides")
    names = {MINE, *steps}
    if steps and not are_sides(sides, names):
        raise no_side(sides, names)
    return MergeRequest(steps, sides, None, by, request_id)


def select_steps(named: Any, plan: Plan, run: RunState) -> tuple[str, ...]:
    """Return the steps whose changes are to be brought back: the named ones, or all possible ones. Raises InvalidArguments.

    Steps that are merged already are left out: merging twice changes nothing.
    """
    possible = mergeable(plan, run)
    if not named:
        return tuple(possible)
    named_steps = [str(name) for name in named] if isinstance(named, list | tuple) else [str(named)]
    requested = [each for name in named_steps for each in plan.carriers(name)]
    for name in requested:
        _require_changes(name, plan, run)
    steps = tuple(name for name in possible if name in requested)
    for name in steps:
        missing = [
            other for other in run.step(name).built_on if other in possible and other not in steps
        ]
        if missing:
            listed = ", ".join(missing)
            raise InvalidArguments(
                f"`{name}` builds on changes of {listed}, which are not merged",
                fix=f"merge {listed} with it, or all: `pixirnb merge {run.run_id}`",
                code="merge_incomplete",
            )
    return steps


def require_step(name: Any, plan: Plan) -> str:
    """Return the name of a step of the run. Raises InvalidArguments for any other value."""
    if not isinstance(name, str) or name not in plan.index:
        raise InvalidArguments(
            f"unknown step `{name}`",
            fix="use one of: " + join_names(list(plan.index), 6),
            code="unknown_step",
        )
    return name


def _require_changes(name: str, plan: Plan, run: RunState) -> None:
    require_step(name, plan)
    state, step = run.step(name), plan.steps[plan.index[name]]
    if step.workspace != "isolated":
        raise InvalidArguments(
            f"`{name}` works in the shared workspace; its changes are already there",
            fix="merge isolated steps",
            code="merge_not_isolated",
        )
    if state.checkpoint_status != "checkpoint_ready":
        stands, fix = _unready(name, run.run_id, state)
        raise InvalidArguments(
            f"cannot merge `{name}`: it {stands}", fix=fix, code="merge_not_ready"
        )


def _unready(name: str, run_id: str, state: StepState) -> tuple[str, str]:
    """Return how a step stands that is not ready, and what would make it so."""
    again = f"run it again: `pixirnb resume {run_id} --from {name}`"
    accept = f"`pixirnb decide {run_id} {name} accept`"
    match state.checkpoint_status:
        case None:
            is_begun = state.stage not in {"idle", "settled"}
            return (
                "has not ended" if is_begun else "has not run yet",
                "merge it when it is ready",
            )
        case "failed":
            return ("was rejected" if state.decided else "failed"), again
        case "held":
            if holder := state.holder:
                return (
                    f"waits for `{holder}`",
                    f"check `{holder}` first: `pixirnb show {run_id} {holder}`",
                )
            return "was held", f"show the reason: `pixirnb show {run_id} {name}`"
        case "needs_orchestrator" if state.open_requests:
            return (
                "waits for a permission",
                f"approve it: `pixirnb approve {state.open_requests[0]}`",
            )
        case "needs_orchestrator" | "partial" if not state.awaits_human:
            return (
                "has a decision that is not applied",
                f"resume the run: `pixirnb resume {run_id}`",
            )
        case "needs_orchestrator" if state.error_kind == CONFLICT:
            return (
                "has a merge conflict",
                f"resolve the conflict in your files, then {accept}",
            )
        case "partial":
            return "is partial", f"accept it: {accept}; or run it again: `--from {name}`"
        case _:
            return "waits for a decision", f"check its result, then accept it: {accept}"


class PreviewedChanges(BundleChanges):
    """Changes that a merge would make, of which nothing is stored."""

    patch_text: str | None
    patch_cut: int
    """Bytes of the patch that are not in its text."""


class ReportedConflict(TypedDict):
    """A file in conflict, with its text."""

    path: str
    kind: str
    sides: list[ConflictSide]
    marked_text: str | None
    """Both sides in one text, with markers; None where the file is no text."""
    marked: NotRequired[str | None]
    """Digest of that text, where a choice by hunk names it."""


class MergeDocument(TypedDict, total=False):
    """The JSON of a `MergeReport`. Views read it as it comes: no member is guaranteed."""

    ok: bool
    run_id: str
    status: str
    steps: list[str]
    merge: str | None
    undoes: str | None
    preview: bool
    changes: BundleChanges | PreviewedChanges
    between: list[str]
    conflicts: list[ReportedConflict]
    unmatched: list[str]


class MergeReport(Struct, frozen=True):
    """The result of a merge, or of a preview of one."""

    run_id: str
    status: Literal["merged", "clean", "nothing", "conflict", "undone"]
    """Done · a preview that could be done · all is merged already · two sides changed a file in different ways · taken back."""
    steps: list[str]
    merge: str | None = None
    """Name of the merge in the run; None where nothing was changed."""
    undoes: str | None = None
    preview: bool = False
    changes: BundleChanges | PreviewedChanges = field(default_factory=no_changes)
    """Changes to the user's files, as a bundle has them."""
    between: list[str] = field(default_factory=list)
    """The sides in conflict."""
    conflicts: list[ReportedConflict] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    """Files for which a side was named and that are not in conflict."""

    @property
    def ok(self) -> bool:
        """Return whether the merge was done or can be done."""
        return self.status != "conflict"

    def document(self) -> MergeDocument:
        """Return the report as JSON, as `--json` prints it."""
        members = {name: getattr(self, name) for name in self.__struct_fields__}
        return cast("MergeDocument", {"ok": self.ok, **members})

    def __repr__(self) -> str:
        return f"<MergeReport {self.run_id}: {self.status}>"


class ConflictResolution(Struct, frozen=True):
    """A person's resolution of a conflict, as far as it holds for the merge to come."""

    clash: MergeConflicted | None = None
    """The conflict, whose edited files are solved; None: there was none, or it is out of date."""
    sides: Sides = None
    decided_on: Mapping[str, str] | None = None
    """The user's files, by root, for which a side was chosen. It counts where they are unchanged; None: chosen just now."""
    held: Mapping[str, str] | None = None
    """The user's files, by root, that a person confirmed. Edits count where they are unchanged; None: confirmed just now."""


def resolution_for(run: RunState, state: StepState) -> ConflictResolution:
    """Return the resolution of a step's conflict, as far as it is still between the same two sides, also after a resume.

    A side is chosen for a file as it was in the conflict, or as a person's merge of one of the two left it. A confirmation of
    edited files covers the files as the next attempt finds them; a later attempt knows these only where that attempt recorded
    the files it began from.
    """
    clash, solution = state.clash, state.solution
    if clash is None or _has_begun_again(clash, state.clash_seq, run):
        return ConflictResolution()
    is_first = solution is not None and state.attempt <= solution["attempt"] + 1
    if merged := _merged(clash["between"], run):
        # What was chosen is in the user's files by now, for the attempt that follows the choice.
        value = solution["value"] if solution is not None and is_first else None
        if sides := _as_workspace(value, {MINE, *merged}):
            return ConflictResolution(sides=sides, decided_on=_left_by_merge(merged, run))
        return ConflictResolution()
    if solution is None:
        return ConflictResolution(
            {**clash, "roots": []}
        )  # nobody has said that what was edited is what is meant
    seen = {root["root"]: root["seen"] for root in clash["roots"]}
    held = None if is_first else state.solved_at or {}
    return ConflictResolution(clash, solution.get("value") or None, seen, held)


def _has_begun_again(clash: MergeConflicted, seq: int, run: RunState) -> bool:
    """Return whether one of the steps in a conflict began again since."""
    return any((run.steps.get(name) or StepState()).scheduled_seq > seq for name in clash["steps"])


def _merged(names: Iterable[str], run: RunState) -> list[str]:
    """Return the steps whose changes are in the user's files."""
    return [name for name in names if (run.steps.get(name) or StepState()).merged_by is not None]


def _left_by_merge(names: Iterable[str], run: RunState) -> dict[str, str]:
    """Return the user's files, by root, as the last merge that brought one of these steps left them."""
    brought = {run.steps[name].merged_by for name in names}
    last = next(merge for merge in reversed(run.merges) if merge["merge"] in brought)
    return {root["root"]: root["after"] for root in last["roots"]}


def _as_workspace(value: Any, merged: Collection[str]) -> Sides:
    """Return a choice of versions as the choice of the user's own files, as far as these hold what was chosen."""
    if isinstance(value, Mapping):
        return {path: MINE for path, name in value.items() if name in [*merged]} or None
    return MINE if isinstance(value, str) and value in merged else None


def captures_before(plan: Plan, run: RunState, index: int) -> list[WorkspaceCaptured]:
    """Return the `workspace_captured` of every isolated step before this one whose changes are ready and not in the user's
    files.

    Those that others build on come first.
    """
    return captures(plan, run, ancestors(plan, index))


def captures_to_merge(plan: Plan, run: RunState, index: int) -> list[WorkspaceCaptured]:
    """Return, like `captures_before`, the captures of the steps that a merge step names."""
    spec = plan.steps[index].spec
    assert isinstance(spec, MergeStep)
    return captures(
        plan, run, {plan.index[each] for name in spec.merge for each in plan.carriers(name)}
    )


def captures(plan: Plan, run: RunState, indices: Collection[int]) -> list[WorkspaceCaptured]:
    """Return the changes of these steps that are ready and not in the user's files, in the order they build on each other."""
    ready: list[WorkspaceCaptured] = []
    for step in sorted((plan.steps[i] for i in indices), key=lambda s: (s.wave, s.index)):
        state = run.steps.get(step.id)
        if state is None or state.captured is None or state.merged_by is not None:
            continue
        if state.checkpoint_status == "checkpoint_ready" and state.captured["changes"]["count"]:
            ready.append(state.captured)
    return ready
