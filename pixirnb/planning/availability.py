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
_TELLING: Final = _LATER_KEYS | {"workspace", "cwd", "additional_paths"}


def check_availability(workflow: Workflow) -> Iterator[Mistake]:
    """Every use of what comes later, but for sets that name a repository: `check_patterns` reads those."""
    if workflow.repos:
        yield not_yet(("repos",), "`repos`", "keep to one repository")
    if "never_copy" in workflow.model_fields_set:
        yield not_yet(("never_copy",), "`never_copy`", "take it out: nothing is copied yet")
    for name, agent in workflow.agents.items():
        yield from _repo_uses(("agents", name, "cwd"), (agent.cwd or "",))
        yield from _repo_uses(("agents", name, "additional_paths"), agent.additional_paths)
    if workflow.defaults.model_fields_set:
        yield from _shared(("defaults",), workflow.defaults)
    for position, step in enumerate(workflow.steps):
        if not step.__pydantic_fields_set__.isdisjoint(_TELLING):
            yield from _shared(("steps", position), step)
        if type(step) is MergeStep:
            yield not_yet(("steps", position, "merge"), "`merge`", "let steps share the workspace")


def _shared(parts: PathParts, step: Shared) -> Iterator[Mistake]:
    written = step.model_fields_set
    if step.workspace == "isolated":
        yield not_yet((*parts, "workspace"), "`workspace: isolated`", "write `workspace: shared`")
    if not written.isdisjoint(_LATER_KEYS):
        for key in sorted(_LATER_KEYS & written):
            yield not_yet((*parts, key), f"`{key}`", f"take `{key}` out")
    if step.cwd is not None:
        yield from _repo_uses((*parts, "cwd"), (step.cwd,))
    yield from _repo_uses((*parts, "additional_paths"), step.additional_paths)


def _repo_uses(parts: PathParts, texts: tuple[str, ...]) -> Iterator[Mistake]:
    for place, text in enumerate(texts):
        if text.startswith("repos."):
            where = parts if parts[-1] == "cwd" else (*parts, place)
            yield not_yet(where, f"`{text}`", "keep to paths of the workspace")


def not_yet(parts: PathParts, what: str, fix: str) -> Mistake:
    """The mistake of using what comes later."""
    return Mistake("not_yet_available", parts, f"{what} is not yet available", fix)
