"""The public API of `import pixirnb`, in modules that are loaded when they are used. Connects floors, decides nothing.

A workflow may be a path, YAML text, a mapping or a `Workflow`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixirnb.api.listing import locate_run, runs
    from pixirnb.api.running import expect, open_run, plan_resume, resume, run, start, wait
    from pixirnb.api.workflows import load, plan

__all__ = [
    "expect",
    "load",
    "locate_run",
    "open_run",
    "plan",
    "plan_resume",
    "resume",
    "run",
    "runs",
    "start",
    "wait",
]
_OTHERS = {"load": "workflows", "locate_run": "listing", "plan": "workflows", "runs": "listing"}
"""Functions that are not in `running`, and their modules."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pixirnb.api' has no attribute {name!r}")
    return getattr(import_module(f"pixirnb.api.{_OTHERS.get(name, 'running')}"), name)
