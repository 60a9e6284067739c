"""pixirnb: workflows in a notebook that end honestly.

Names are imported when they are first used, so that `import pixirnb` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pixirnb.system.gc_pause import gc_paused

if (
    TYPE_CHECKING
):  # what a type checker and an editor see; at run time `__getattr__` below does the same, lazily
    from pixirnb.api.listing import runs
    from pixirnb.api.running import expect, open_run, plan_resume, resume, run, start
    from pixirnb.api.workflows import load, plan
    from pixirnb.errors import (
        Cannot,
        HeldByAnother,
        InternalError,
        InvalidArguments,
        InvalidSpec,
        LogDamaged,
        LogWriteFailed,
        PixirnbError,
        Problem,
        RunInterrupted,
        RunNotCompleted,
        StateUnusable,
        UnknownRun,
    )
    from pixirnb.machine.outcome import RunOutcome, StepOutcome
    from pixirnb.notebook.extension import load_ipython_extension, unload_ipython_extension
    from pixirnb.operations.run import Run
    from pixirnb.planning.report import PlanReport
    from pixirnb.runners.python.progress import progress
    from pixirnb.spec.workflow import Workflow
    from pixirnb.views.session.session_view import SessionView

_HOMES = {
    "pixirnb.api.listing": ("runs",),
    "pixirnb.api.running": ("expect", "open_run", "plan_resume", "resume", "run", "start"),
    "pixirnb.api.workflows": ("load", "plan"),
    "pixirnb.errors": (
        "Cannot",
        "HeldByAnother",
        "InternalError",
        "InvalidArguments",
        "InvalidSpec",
        "LogDamaged",
        "LogWriteFailed",
        "PixirnbError",
        "Problem",
        "RunInterrupted",
        "RunNotCompleted",
        "StateUnusable",
        "UnknownRun",
    ),
    "pixirnb.operations.run": ("Run",),
    "pixirnb.machine.outcome": ("RunOutcome", "StepOutcome"),
    "pixirnb.notebook.extension": ("load_ipython_extension", "unload_ipython_extension"),
    "pixirnb.planning.report": ("PlanReport",),
    "pixirnb.runners.python.progress": ("progress",),
    "pixirnb.spec.workflow": ("Workflow",),
    "pixirnb.views.session.session_view": ("SessionView",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Cannot",
    "HeldByAnother",
    "InternalError",
    "InvalidArguments",
    "InvalidSpec",
    "LogDamaged",
    "LogWriteFailed",
    "PixirnbError",
    "PlanReport",
    "Problem",
    "Run",
    "RunInterrupted",
    "RunNotCompleted",
    "RunOutcome",
    "SessionView",
    "StateUnusable",
    "StepOutcome",
    "UnknownRun",
    "Workflow",
    "expect",
    "load",
    "load_ipython_extension",
    "open_run",
    "plan",
    "plan_resume",
    "progress",
    "resume",
    "run",
    "runs",
    "start",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'pixirnb' has no attribute {name!r}")
    with gc_paused():  # what is loaded stays, and is not walked meanwhile
        value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
