"""Context of a cell in this kernel: names of the notebook, runs of its state folder, files of its workspace.

It answers while somebody types: everything is bounded in number, size and time, and what cannot be known at once is left out.
"""

from __future__ import annotations

import inspect
import itertools
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, ParamSpec, TypeVar

from pixirnb import api
from pixirnb.errors import PixirnbError
from pixirnb.history.file_state import open_seams
from pixirnb.ids import LAST
from pixirnb.json_types import JsonMapping
from pixirnb.machine.next_actions import value_argument
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.machine.outcome_summary import run_row
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.completion.context import Candidate
from pixirnb.operations.locations import store_of
from pixirnb.operations.run import Run
from pixirnb.operations.run_names import find_run
from pixirnb.planning.globs.segment import RESERVED
from pixirnb.spec.workflow import Workflow
from pixirnb.store.run_index import Catalogue
from pixirnb.views.files.seams import seam_phrase

MOST_ENTRIES: Final = 200
"""Names of a folder that are offered."""
MOST_RUNS: Final = 50
_MOST_READ: Final = 5_000
"""Names of a folder that are looked at."""
_LARGEST_LOG: Final = 2 * 1024 * 1024
"""Bytes of a log that is read while somebody waits."""
_PATIENCE_S: Final = 0.2
"""How long the list of runs may take; those not reached are named without a word on them."""
_OF_VARIABLE: Final = re.compile(r"\{([A-Za-z_]\w*)\.id\}|\$([A-Za-z_]\w*)")

P = ParamSpec("P")
T = TypeVar("T")


def _kept(call: Callable[P, Sequence[T]]) -> Callable[P, Sequence[T]]:
    """Return a call that answers nothing where it fails: who types has asked no question that deserves an error."""

    def answer(*args: P.args, **kwargs: P.kwargs) -> Sequence[T]:
        try:
            return call(*args, **kwargs)
        except (PixirnbError, OSError, ValueError):
            return ()

    return answer


class Neighbourhood:
    """The Surroundings of a notebook's cells."""

    def __init__(self, names: JsonMapping, hidden: JsonMapping, folder: str = "") -> None:
        """`names` are the notebook's globals, `hidden` those that are IPython's own."""
        self._names, self._hidden, self._folder = names, hidden, folder

    def within(self, folder: str) -> Neighbourhood:
        """Return a context with another folder as its workspace."""
        return Neighbourhood(self._names, self._hidden, os.path.expanduser(folder))  # noqa: PTH111 - Path raises

    # --- names of the notebook ----------------------------------------------------------------------------------

    def workflow_names(self) -> Sequence[str]:
        """Return names of the workflows of this notebook."""
        return [*dict.fromkeys([*REGISTRY.workflows, *REGISTRY.drafts])]

    def workflow(self, name: str) -> Workflow | None:
        """Return a workflow of this notebook."""
        return REGISTRY.workflows.get(name)

    def steps_in(self, name: str) -> Sequence[Candidate]:
        """Return ids of the steps a workflow of this notebook has so far; without a name, the one that a cell wrote last."""
        name = name or next(reversed(REGISTRY.drafts), "")
        workflow = REGISTRY.workflows.get(name)
        known = {step.id: step for step in workflow.steps} if workflow is not None else {}
        ids = dict.fromkeys([*known, *REGISTRY.draft(name).ids])
        return [
            Candidate(
                each, known[each].title or known[each].description or f"{known[each].kind} step"
            )
            if each in known
            else Candidate(each, "step")
            for each in ids
        ]

    def variables(self) -> Sequence[Candidate]:
        """Return data the notebook's cells have bound: no modules, functions or classes."""
        return [
            Candidate(name, type(value).__name__)
            for name, value in self._bound()
            if not isinstance(value, ModuleType | type) and not callable(value)
        ]

    def functions(self) -> Sequence[Candidate]:
        """Return functions a cell has defined, with their first sentences."""
        return [
            Candidate(name, (inspect.getdoc(value) or "function").partition("\n")[0])
            for name, value in self._bound()
            if isinstance(value, FunctionType) and value.__module__ == "__main__"
        ]

    def _bound(self) -> Iterator[tuple[str, Any]]:
        for name, value in [*self._names.items()]:
            if not name.startswith("_") and name not in self._hidden:
                yield name, value

    # --- runs ---------------------------------------------------------------------------------------------------

    @_kept
    def runs(self) -> Sequence[Candidate]:
        """Return ids of runs, newest first, with workflow and status as far as they are known at once."""
        store = store_of(Path.cwd(), None)
        deadline = time.monotonic() + _PATIENCE_S
        memo = Catalogue(store.state)
        live = {run.id: name for name, run in REGISTRY.runs.items() if run.is_live_here}
        runs = []
        for run_id in store.run_ids()[:MOST_RUNS]:
            row = None if run_id in live else memo.row(run_id)
            if run_id in live:
                about = f"{live[run_id]} · running"
            elif row is not None:
                about = f"{row['workflow']} · {row['status']}"
            else:
                about = self._word_on(run_id) if time.monotonic() < deadline else "run"
            runs.append(Candidate(run_id, about))
        return runs

    def _word_on(self, run_id: str) -> str:
        run = self._run(run_id)
        if run is None:
            return "run"
        try:
            return f"{run.state.workflow} · {run.status}"
        except PixirnbError as error:
            return error.code

    @_kept
    def steps_of(self, run_id: str) -> Sequence[Candidate]:
        """Return ids of a run's steps, with how they stand."""
        run = self._run(run_id)
        if run is None:
            return ()
        if run.is_live_here:
            return [Candidate(step.id, "step") for step in run.compiled().workflow.steps]
        return [
            Candidate(
                step.step_id, f"{step.checkpoint_status or step.subagent_status} · {step.kind}"
            )
            for step in run.outcome.steps
        ]

    @_kept
    def seams_of(self, run_id: str) -> Sequence[Candidate]:
        """Return ids of a run's open seams, with what they are about."""
        run = self._run(run_id)
        seams = [] if run is None else open_seams(run.state.seams)
        return [Candidate(seam["id"], f"seam · {seam_phrase(seam)}") for seam in seams]

    @_kept
    def choices_of(self, run_id: str, step: str) -> Sequence[Candidate]:
        """Return answers of which a step waits for one, as `--value` takes them."""
        run = self._run(run_id)
        choices = [] if run is None else run.state.step(step).choices
        return [Candidate(value_argument(choice), "answer") for choice in choices]

    def workflow_of(self, run_id: str) -> Workflow | None:
        """Return the workflow of a run."""
        try:
            run = self._run(run_id)
            return None if run is None else run.compiled().workflow
        except (PixirnbError, OSError):
            return None

    @_kept
    def checkpoints_of(self, run_id: str) -> Sequence[Candidate]:
        """Return names of a run's checkpoints, newest first."""
        run = self._run(run_id)
        saved = [] if run is None else reversed(run.state.checkpoints)
        named = {str(each.get("name")): str(each.get("at") or "checkpoint") for each in saved}
        return [Candidate(name, about) for name, about in named.items()]

    def _run(self, text: str) -> Run | None:
        """Find a run by what stands for it on a line, if it can be read at once. `{run.id}` is looked up, never evaluated."""
        named = _OF_VARIABLE.fullmatch(text)
        value = None if named is None else self._names.get(named[1] or named[2])
        if isinstance(value, Run):
            text = value.id
        elif isinstance(value, str):
            text = value
        if not text:
            return None
        known = REGISTRY.runs.get(text) or REGISTRY.run(text)
        if known is not None:
            return known
        try:
            run = api.open_run(self._run_id(text))
            size = os.stat(run.folder / "log.jsonl").st_size  # noqa: PTH116 - as everywhere beside a log
        except (PixirnbError, OSError):
            return None
        return run if size <= _LARGEST_LOG else None

    def _run_id(self, name: str) -> str:
        """Return the id that a name stands for, as far as that is known at once. Raises PixirnbError."""
        store = store_of(Path.cwd(), None)
        memo, deadline = Catalogue(store.state), time.monotonic() + _PATIENCE_S

        def rows() -> Iterator[RunRow]:
            for each in store.run_ids()[:MOST_RUNS]:
                if (row := memo.row(each)) is not None:
                    yield row
                elif time.monotonic() < deadline and (run := self._run(each)) is not None:
                    yield run_row(each, run.state, "", {})

        return find_run(store, LAST if name == "-" else name, lambda: list(rows()))

    # --- files --------------------------------------------------------------------------------------------------

    @_kept
    def entries(self, folder: str) -> Sequence[str]:
        """Return names in a folder, folders with a slash at their end: at most 200, none of git's or ours.

        Links that lead out of the workspace are not followed; `..` and a full path were typed on purpose and are.
        """
        root = os.path.normpath(os.path.join(Path.cwd(), self._folder))  # noqa: PTH118 - text in, text out
        directory = os.path.normpath(os.path.join(root, os.path.expanduser(folder)))  # noqa: PTH111, PTH118
        if _is_below(directory, root) and not _is_below(
            os.path.realpath(directory), os.path.realpath(root)
        ):
            return ()
        if RESERVED & set(Path(directory).parts[len(Path(root).parts) :]):
            return ()
        with os.scandir(directory) as listing:
            names = [
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in itertools.islice(listing, _MOST_READ)
                if entry.name not in RESERVED and entry.name.isprintable()
            ]
        return sorted(names)[:MOST_ENTRIES]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
