"""A workflow as the cells of a notebook write it so far: what a `%%workflow` cell says, and its `%%step` cells.

    WorkflowDraft ──workflow()──▶ what a run would be of      a step of a cell stands where it was first written
                  ──preview()───▶ what there is to draw       without what waits for cells that were not run yet

A draft never changes: every cell that is run makes a new one, and the registry keeps the last that is sound.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from pixirnb.errors import InvalidArguments, InvalidSpec, Problem
from pixirnb.json_types import JsonMapping
from pixirnb.notebook.cells.step_cell import StepCell, misfit
from pixirnb.notebook.cells.step_source import parameter, unseen_names
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import PlanReport, problems_of, report
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.loader import Loaded, load, load_mapping
from pixirnb.spec.problems import refusal
from pixirnb.spec.source_map import PathParts, SourceMap
from pixirnb.spec.steps import Step
from pixirnb.spec.workflow import Workflow
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import Code, Paragraph, next_blocks
from pixirnb.views.run.planned_view import planned_blocks
from pixirnb.wording import join_names

WAITING: Final = frozenset({"unknown_dependency", "reference_unknown_step", "unreachable"})
"""Errors of a step whose predecessor's cell may still come."""


class HeaderSourceMap(SourceMap, eq=False):
    """Lines of a `%%workflow` cell, in a workflow that has steps of other cells too: those have no line here."""

    own: int = 0
    """Number of the steps that are written in the cell."""

    def line(self, parts: PathParts) -> int | None:
        """Return the line as SourceMap does; None for steps behind the cell's own."""
        match parts:
            case ("steps", int(position), *_) if position >= self.own:
                return None
        return super().line(parts)


class WorkflowDraft(Struct, frozen=True):
    """Workflow as the cells have written it so far."""

    name: str
    header: Workflow | None = None
    """Part that the `%%workflow` cell wrote."""
    has_own_steps: bool = False
    """True if the header wrote steps; a header without steps has a stand-in."""
    cells: Mapping[str, StepCell] = field(default_factory=dict)
    """`%%step` cells by step, in the order they were first run."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Every step, in order."""
        own = dict.fromkeys(step.id for step in self.own_steps)
        return tuple({**own, **dict.fromkeys(self.cells)})

    @property
    def waits(self) -> dict[str, list[str]]:
        """Steps of cells that name missing steps, each with the missing ones."""
        known = set(self.ids)
        missing = {
            cell.id: [step for step in cell.after if step not in known]
            for cell in self.cells.values()
        }
        return {step: names for step, names in missing.items() if names}

    @property
    def _phases_wait(self) -> dict[str, list[str]]:
        """As `waits`, for the phases of a `%%workflow` cell that leaves its steps to others."""
        phases = () if self.header is None or self.has_own_steps else self.header.phases
        known = set(self.ids)
        missing = {phase.name: [s for s in phase.steps if s not in known] for phase in phases}
        return {phase: names for phase, names in missing.items() if names}

    @property
    def is_whole(self) -> bool:
        """True if it has steps, and nothing waits for a cell."""
        return bool(self.ids) and not self.waits and not self._phases_wait

    def with_cell(self, cell: StepCell) -> WorkflowDraft:
        """Return the draft with one more `%%step` cell, or one replaced by its id. Raises InvalidArguments (`name_twice`)."""
        for other in self.cells.values():
            if other.id != cell.id and other.call == cell.call:
                raise InvalidArguments(
                    f"steps `{cell.id}` and `{other.id}` differ only in - and _",
                    fix="rename one of them",
                    code="name_twice",
                    line=1,
                )
        return replace(self, cells={**self.cells, cell.id: cell})

    def without_cell(self, step_id: str) -> WorkflowDraft:
        """Return the draft without a `%%step` cell. Raises InvalidArguments (`unknown_step`)."""
        if step_id not in self.cells:
            is_own = any(step.id == step_id for step in self.own_steps)
            known = join_names([*self.cells], 6) or "none"
            raise InvalidArguments(
                f"workflow `{self.name}` has no %%step cell `{step_id}`",
                fix="remove the step from its %%workflow cell"
                if is_own
                else did_you_mean(step_id, self.cells, otherwise=f"%%step cells: {known}"),
                code="unknown_step",
                line=1,
            )
        cells = {name: cell for name, cell in self.cells.items() if name != step_id}
        return replace(self, cells=cells)

    def with_header(self, header: Workflow, *, has_own_steps: bool) -> WorkflowDraft:
        """Return the draft with another `%%workflow` cell. Raises InvalidSpec (`step_twice`) where both write a step."""
        draft = replace(self, header=header, has_own_steps=has_own_steps)
        problems = tuple(
            Problem(
                "step_twice",
                f"steps[{position}].id",
                f"step `{step.id}` is also defined by a %%step cell",
                f"remove it here, or run `%step {step.id} --workflow {self.name} --remove`",
                header.source_map.line(("steps", position)),
            )
            for position, step in enumerate(draft.own_steps)
            if step.id in self.cells
        )
        if problems:
            raise refusal(problems, "this cell")
        return draft

    def require_whole(self) -> None:
        """Raise InvalidSpec (`unknown_dependency`) if a step of a cell names steps that no cell defines."""
        if missing := {step: join_names(_quoted(names), 6) for step, names in self.waits.items()}:
            sentences = [f"`{step}` needs {names} (--after)" for step, names in missing.items()]
            raise InvalidSpec(
                f"{', '.join(sentences[:6])}, which no cell defines",
                fix="run the cell that defines it, or remove it from --after",
                code="unknown_dependency",
            )

    def required(self) -> Workflow:
        """Return the whole. Raises InvalidSpec as `workflow`, and (`missing_key`) if it has no steps."""
        if not self.ids:
            raise InvalidSpec(
                f"workflow `{self.name}` has no steps yet",
                fix=f"add `steps:`, or a cell that begins with %%step ID --workflow {self.name}",
                code="missing_key",
            )
        return self.workflow()

    def workflow(self) -> Workflow:
        """Return the whole workflow. Raises InvalidSpec for what a step's options or the header say wrongly."""
        return self._loaded(None).require()

    def preview(self) -> Workflow:
        """Return the workflow so far, without the steps that wait."""
        return self._loaded(set(self.ids)).require()

    def functions(self) -> dict[str, str]:
        """Return the pinned sources of its cells: `{":name": text}`."""
        return {cell.call: cell.source for cell in self.cells.values()}

    def checked(
        self, facts_of: Callable[[Workflow], Environment], cell: str | None = None
    ) -> Workflow:
        """Return the whole workflow, checked as a plan. Raises InvalidSpec with every mistake but those of steps that wait.

        `cell`: the step whose `%%step` cell is being run; its mistakes stand on the first line of that cell.
        """
        loaded = self._loaded(None)
        workflow, salvage = loaded.workflow, loaded.salvage
        if workflow is not None:
            errors = report(workflow, facts_of(workflow)).errors
        else:
            rest = None if salvage is None else salvage.workflow
            errors = problems_of(loaded, None if rest is None else facts_of(rest))
        waiting = {self.ids.index(step) for step in self.waits}
        errors_now = tuple(problem for problem in errors if not self._may_resolve(problem, waiting))
        if errors_now or workflow is None:
            shown = (
                tuple(map(_with_later_cells, errors_now))
                if cell is None
                else _seen_from(errors_now, self.ids.index(cell))
            )
            # What stands in this cell first, then what follows from it elsewhere.
            shown = tuple(sorted(shown, key=lambda p: (p.line is None, p.line or 0)))
            raise refusal(shown, "this cell")
        return workflow

    def so_far(
        self, facts_of: Callable[[Workflow], Environment]
    ) -> tuple[PlanReport, tuple[str, ...]]:
        """Return the plan of what there is, and a line for each step that waits for a cell."""
        notes = [_waiting(f"`{step}`", names) for step, names in self.waits.items()]
        notes += [_waiting(f"phase `{name}`", names) for name, names in self._phases_wait.items()]
        preview = self.preview()
        return report(preview, facts_of(preview)), tuple(notes)

    def _may_resolve(self, problem: Problem, waiting: set[int]) -> bool:
        """Return whether a later cell may mend a problem. `waiting`: positions of steps that wait for one."""
        if problem.code == "phase_unknown_step":
            return not self.has_own_steps
        if not waiting or problem.code not in WAITING:
            return False
        return problem.code == "unreachable" or any(
            problem.path.startswith(f"steps[{position}]") for position in waiting
        )

    @property
    def own_steps(self) -> tuple[Step, ...]:
        """The steps that the `%%workflow` cell wrote."""
        return self.header.steps if self.header is not None and self.has_own_steps else ()

    def _loaded(self, known: set[str] | None) -> Loaded:
        """Return all cells together; steps said to come after others than those `known` come first."""
        if not self.cells and self.header is not None:
            return load(self.header)
        header = {} if self.header is None else self.header.canonical()
        if known is not None and "phases" in header:
            header["phases"] = [
                {**phase, "steps": [step for step in phase.get("steps", ()) if step in known]}
                for phase in header["phases"]
            ]
        inputs = header.get("inputs", {})
        left = {step: cell.written(inputs, known) for step, cell in self.cells.items()}
        own = [left.pop(s.id) if s.id in left else s.canonical() for s in self.own_steps]
        loaded = load_mapping({**header, "name": self.name, "steps": [*own, *left.values()]})
        if loaded.workflow is not None:
            loaded.workflow.with_sources(self.functions())
            if self.header is not None:
                loaded.workflow.with_source_map(
                    HeaderSourceMap(**asdict(self.header.source_map), own=len(own))
                )
        return loaded


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def _waiting(who: str, names: list[str]) -> str:
    return f"{who} needs {', '.join(_quoted(names))}: run the cell that defines it"


def _with_later_cells(problem: Problem) -> Problem:
    if problem.code != "unknown_dependency":
        return problem
    return replace(problem, fix=f"{problem.fix}; if a %%step cell defines it, run that cell first")


def _seen_from(problems: tuple[Problem, ...], position: int) -> tuple[Problem, ...]:
    """Return mistakes as the `%%step` cell at `steps[position]` sees them: its own are on its first line."""
    prefix = f"steps[{position}]"
    return tuple(
        Problem(p.code, p.path.removeprefix(prefix).lstrip("."), p.message, p.fix, 1)
        if p.path.startswith(prefix)
        else p
        for p in problems
    )


def draft_bundle(
    draft: WorkflowDraft,
    facts_of: Callable[[Workflow], Environment],
    notes: Sequence[str] = (),
    *,
    inputs: JsonMapping | None = None,
    given: Sequence[str] | None = None,
    is_whole: bool = False,
) -> dict[str, str]:
    """Return the plan of what the cells have written so far; `notes` are lines of the cell that shows it.

    `inputs`: those to plan with, `given` as the cell has them; raises InvalidSpec for what a run refuses.
    `is_whole`: the cell defines the workflow, and says how to run it.
    """
    if not draft.ids:
        line = f"`{draft.name}` has no steps yet; write one with %%step ID --workflow {draft.name}"
        return mimebundle([Paragraph(line)])
    planned, waiting = draft.so_far(facts_of)
    lines = map(Paragraph, [*waiting, *notes])
    options = "".join(f" --input {shlex.quote(each)}" for each in given or ())
    start = (Code(f"%pixir run {draft.name}{options}", 200), "run the workflow")
    is_offered = is_whole and planned.ok and draft.is_whole
    return mimebundle(
        [
            *lines,
            *planned_blocks(planned.with_inputs(inputs or {})),
            *next_blocks([start] if is_offered else []),
        ]
    )


def unseen_notes(cell: StepCell, draft: WorkflowDraft, notebook: JsonMapping) -> list[str]:
    """Return a line for each name that a cell uses and will not see when it runs, with the fix."""
    outputs = {parameter(step): step for step in draft.ids if step != cell.id}
    notes = []
    for name, line in cell.unseen:
        fix = "import or define it in this cell"
        if name in outputs:
            fix = f"add --after {outputs[name]}"
        elif name != "inputs" and name in notebook and not _is_code(notebook[name]):
            wrong = misfit(notebook[name], name)
            fix = (
                f"pass it with --use {name}" if wrong is None else f"define it here, or {wrong[1]}"
            )
        notes.append(f"line {line}: `{name}` is not available in this step; {fix}")
    return notes


def function_notes(functions: Mapping[str, str], notebook: JsonMapping) -> list[str]:
    """Return a line for each name that a function of the notebook uses and will not see as a step, with the fix.

    `functions`: `{":name": source}`.
    """
    notes = []
    for call, source in functions.items():
        for name, line in unseen_names(source):
            fix = f"import or define it inside `{call[1:]}`, or use %%step"
            if name in notebook and misfit(notebook[name], name) is None:
                fix = "pass it with `with:`, or use %%step"
            notes.append(
                f"line {line} of `{call[1:]}`: `{name}` is not available when it runs as a step; {fix}"
            )
    return notes


def _is_code(value: object) -> bool:
    return callable(value) or type(value).__name__ == "module"
