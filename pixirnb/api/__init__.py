"""The public API of `import pixirnb`, in modules that are loaded when they are used. Connects floors, decides nothing.

A workflow may be a path, YAML text, a mapping or a `Workflow`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixirnb.api.listing import RunRef, locate_run, runs
    from pixirnb.api.runs import expect, open_run, plan_resume, resume, run, start, wait
    from pixirnb.api.workflows import load, plan

_HOMES = {
    "pixirnb.api.listing": ("locate_run", "runs"),
    "pixirnb.api.runs": ("expect", "open_run", "plan_resume", "resume", "run", "start", "wait"),
    "pixirnb.api.workflows": ("load", "plan"),
}
