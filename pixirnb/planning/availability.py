"""What the language already has words for and this version cannot yet do. Said in the plan, before anything runs.

These keys are read and checked like all others, so that a workflow written for a later version says everything wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pixirnb.spec.mistakes import Mistake
from pixirnb.spec.places import PathParts
from pixirnb.spec.steps import MergeStep, Shared
from pixirnb.spec.workflow import Workflow

_LATER_KEYS: Final = frozenset({"carry", "seams"})
_TELLING: Final = _LATER_KEYS | {"workspace", "cwd", "additional_paths", "read_set", "write_set"}
_PATH_KEYS: Final = ("additional_paths", "read_set", "write_set")


def check_availability(workflow: Workflow) -> Iterator[Mistake]:
    """Every use of what comes later."""
    if workflow.repos:
        yield _later(("repos",), "`repos`", "keep to one repository")
    if "never_copy" in workflow.model_fields_set:
        yield _later(("never_copy",), "`never_copy`", "take it out: nothing is copied yet")
    for name, agent in workflow.agents.items():
        if agent.runner != "scripted":
            yield _later(
                ("agents", name, "runner"), f"the runner `{agent.runner}`", "use `scripted`"
            )
        yield from _repo_uses(("agents", name, "cwd"), (agent.cwd or "",))
        yield from _repo_uses(("agents", name, "additional_paths"), agent.additional_paths)
    if workflow.defaults.model_fields_set:
        yield from _shared(("defaults",), workflow.defaults)
    for position, step in enumerate(workflow.steps):
        if not step.model_fields_set.isdisjoint(_TELLING):
            yield from _shared(("steps", position), step)
        if isinstance(step, MergeStep):
            yield _later(
                ("steps", position, "merge"), "`merge`", "let steps share the workspace"
            )


def _shared(parts: PathParts, step: Shared) -> Iterator[Mistake]:
    written = step.model_fields_set
    if step.workspace == "isolated":
        yield _later((*parts, "workspace"), "`workspace: isolated`", "write `workspace: shared`")
    if not written.isdisjoint(_LATER_KEYS):
        for key in sorted(_LATER_KEYS & written):
            yield _later((*parts, key), f"`{key}`", f"take `{key}` out")
    if step.cwd is not None:
        yield from _repo_uses((*parts, "cwd"), (step.cwd,))
    for key in _PATH_KEYS:
        if key in written:
            texts = getattr(step, key)
            if texts and "repos." in "\n".join(texts):
                yield from _repo_uses((*parts, key), texts)


def _repo_uses(parts: PathParts, texts: tuple[str, ...]) -> Iterator[Mistake]:
    for place, text in enumerate(texts):
        if text.startswith("repos."):
            where = parts if parts[-1] == "cwd" else (*parts, place)
            yield _later(where, f"`{text}`", "keep to paths of the workspace")


def _later(parts: PathParts, what: str, fix: str) -> Mistake:
    return Mistake("not_yet_available", parts, f"{what} is not yet available", fix)
