"""The rest of a workflow with mistakes once the wrong keys are removed: enough to look for further mistakes.

salvage(value, error, validated)   removes key by key until the rest is valid
Salvage.hides(mistake)             whether a mistake of the rest is only an effect of what was removed
Salvage.skipped()                  what to fix first, if checks of steps were left out
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from pydantic import ValidationError

from pixirnb.spec import limits
from pixirnb.spec.fields import keys_of, shown
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts, SourceMap, path_text
from pixirnb.spec.steps import KIND_KEYS, StepBase
from pixirnb.spec.validation_errors import kind_slip, loc_parts, meant_key, step_keys
from pixirnb.spec.workflow import Workflow

_ROUNDS: Final = 5
"""Maximum number of rounds. One mistake can hide another: a step without an action is checked once it has one."""
_REMOVED: Final = "removed-by-salvage"
"""Text in the place of a wrong item of a list, so that the others keep their places."""
_STAND_INS: Final[dict[str, Any]] = {
    "run": "true",
    "call": "removed:removed",
    "task": "removed",
    "ask": {"question": "removed"},
    "merge": [_REMOVED],
}
"""Action key to a valid value for it."""
_ACTION: Final = "action"
"""Stands for the kind keys among removed keys, if the kind itself is unclear."""

_ORDER: Final = frozenset({"depends_on", "id", _ACTION})
_WORKSPACE: Final = frozenset(
    {"workspace", "posture", "write_set", "agent", "agents", "defaults", _ACTION}
)
_NEEDS: Final[dict[str, frozenset[str]]] = {
    "unreachable": _ORDER,
    "reference_not_ancestor": _ORDER,
    "merge_not_after": _ORDER,
    "merge_incomplete": _ORDER | _WORKSPACE,
    "merge_not_isolated": _WORKSPACE,
}
"""Code of a mistake that keys of other steps can cause, to those keys."""
_NEEDS_OF_STEP: Final[dict[str, frozenset[str]]] = {
    "agent_missing": frozenset({"agent", "defaults"}),
    "carry_without_isolation": _WORKSPACE,
    "cwd_not_isolated": _WORKSPACE,
    "isolation_not_taken": _WORKSPACE,
    "read_only_writes": _WORKSPACE,
    "checks_not_taken": frozenset({_ACTION}),
    "reference_no_item": frozenset({"for_each"}),
}
"""Code of a mistake that other keys of its own step can cause, to those keys."""
_COLLECTIONS: Final = {
    "agent_unknown": "agents",
    "reference_unknown_input": "inputs",
    "unknown_repo": "repos",
    "path_missing": "items",
    "path_escapes": "items",
    "tool_unknown": "items",
    "bad_carry": "items",
}
"""Code of a mistake to the collection of the name in it, if that is not the one of the steps."""
_CHECKED: Final = _ORDER | _WORKSPACE
"""Keys of a step without which some of its checks are left out."""


class Salvage(Struct, frozen=True):
    """A workflow without its wrong parts: enough to look for further mistakes, never to run."""

    workflow: Workflow
    removed: Mapping[int, Mapping[str, PathParts]]
    """Step to the keys of it that were removed or replaced, each with the path of the mistake."""
    lost: frozenset[tuple[str, str]]
    """Names that are in the text and not in the salvage, each with its collection: `steps`, `agents`, `inputs`, `repos`."""
    top: frozenset[str] = frozenset()
    """Keys of the workflow from which something was removed."""

    def hides(self, wrong: SpecProblem) -> bool:
        """Return whether a mistake may only be an effect of what was removed."""
        # A name that was removed is quoted, or part of a reference.
        collection = _COLLECTIONS.get(wrong.code, "steps")
        names = [name for where, name in self.lost if where == collection]
        if any(re.search(rf"[`.:]{re.escape(name)}(?![\w-])", wrong.message) for name in names):
            return True
        parts = wrong.parts
        own: frozenset[str] = frozenset()
        if len(parts) > 1 and parts[0] == "steps" and isinstance(parts[1], int):
            own = frozenset(self.removed.get(parts[1], ()))
            if len(parts) > 2 and _ACTION in own and parts[2] in KIND_KEYS:
                return True
        if not _NEEDS_OF_STEP.get(wrong.code, frozenset()).isdisjoint(own | self.top):
            return True
        needed = _NEEDS.get(wrong.code)
        return needed is not None and not needed.isdisjoint(self.top.union(*self.removed.values()))

    def skipped(self, source_map: SourceMap) -> Iterator[SpecProblem]:
        """Yield a note if checks of steps were left out: what to fix first."""
        causes = [
            (step, keys[min(wrong)])
            for step, keys in sorted(self.removed.items())
            if (wrong := _CHECKED & keys.keys())
        ]
        if not causes:
            return
        lines = sorted({line for _, parts in causes if (line := source_map.line(parts))})
        named = ", ".join(map(str, lines))
        if not lines:
            named = ", ".join(f"`{path_text(source_map.written(parts))}`" for _, parts in causes)
        many = "" if not lines else "line " if len(lines) == 1 else "lines "
        parts: PathParts = ("steps", causes[0][0]) if len(causes) == 1 else ("steps",)
        yield SpecProblem(
            "checks_skipped",
            parts,
            "more errors may appear",
            f"fix {many}{named} first",
            lines[0] if lines else None,
        )


def salvage(
    value: Mapping[str, Any],
    error: ValidationError,
    validated: Callable[[dict[str, Any]], Workflow],
) -> Salvage | None:
    """Return the workflow without the keys that `error` names; None if too little remains."""
    steps = value.get("steps")
    if not isinstance(steps, list | tuple) or not steps or len(steps) > limits.STEPS:
        return None
    rest = _Rest({**value, "steps": list(steps)})
    for _ in range(_ROUNDS):
        for raw in error.errors(include_url=False):
            if raw["type"] == "too_short" and raw["input"]:
                continue  # a list whose items are all wrong: they are replaced one by one
            parts = loc_parts(raw["loc"])
            if not parts:
                return None
            if parts[0] == "steps" and len(parts) > 1 and isinstance(parts[1], int):
                rest.repair_step(parts[1], parts[2:], raw["type"])
            else:
                rest.repair_top(parts)
        try:
            workflow = validated(rest.value)
        except ValidationError as further:
            error = further
            continue
        return Salvage(workflow, rest.removed, frozenset(rest.lost), frozenset(rest.top))
    return None


class _Rest:
    """A copy of what the author wrote, from which wrong parts are removed."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.removed: dict[int, dict[str, PathParts]] = {}
        self.lost = {("steps", _REMOVED), ("items", _REMOVED)}
        self.top: set[str] = set()

    def repair_step(self, index: int, parts: PathParts, kind: str) -> None:
        """Remove or replace the part of a step at `parts`."""
        steps = self.value["steps"]
        step = dict(steps[index]) if isinstance(steps[index], Mapping) else {}
        steps[index] = step
        removed = self.removed.setdefault(index, {})
        key = str(parts[0]) if parts else None
        whole: PathParts = ("steps", index, *parts)
        if key == "id" or not isinstance(step.get("id"), str):
            if "id" in step:
                self.lost.add(("steps", shown(step["id"]).strip("'")))
            step["id"] = f"unnamed-{index}"
            self.lost.add(("steps", step["id"]))
            removed["id"] = ("steps", index, "id")
        if key is None or kind == "step_kind":
            if not _recover_action(step):
                removed[_ACTION] = whole
        elif key != "id" and key in step:
            left = _without(step[key], parts[1:], {"exit_code": 0}) if parts[1:] else None
            if left is not None and kind != "missing":
                step[key] = left
            elif key in KIND_KEYS:
                step[key] = _STAND_INS[key]
            else:
                del step[key]
            named = key if key in step_keys() else _stands_for(key)
            removed.setdefault(key if named in step else named, whole)

    def repair_top(self, parts: PathParts) -> None:
        """Remove the part of the workflow at `parts`."""
        key = str(parts[0])
        inner = self.value.get(key)
        self.top.add(key)
        if key == "name":
            self.value["name"] = "unnamed"
        elif len(parts) > 1 and isinstance(inner, Mapping) and key != "defaults":
            self.lost.add((key, str(parts[1])))
            self.value[key] = {name: item for name, item in inner.items() if name != parts[1]}
        elif (
            len(parts) > 1
            and (left := _without(inner, parts[1:], {"name": f"unnamed-{parts[1]}"})) is not None
        ):
            self.value[key] = left
        else:
            if isinstance(inner, Mapping):
                self.lost.update((key, str(name)) for name in inner)
            self.value.pop(key, None)


def _recover_action(step: dict[Any, Any]) -> bool:
    """Give a step one action, and return whether it is the one the author meant: written under another word."""
    written = [key for key in KIND_KEYS if key in step]
    slip = kind_slip(step)
    if not written and slip is not None:
        step[_stands_for(slip)] = step.pop(slip)
        return True
    for word in [*written[1:], *(() if written else ("with", "agent"))]:
        step.pop(word, None)
    if not written:
        step["run"] = "true"
    return False


def _stands_for(key: str) -> str:
    """Return the key of a step that an unknown one most likely stands for, else the key itself."""
    return meant_key(key, [*KIND_KEYS, *keys_of(StepBase), "with", "agent"]) or key


def _without(value: Any, parts: PathParts, stand_in: Mapping[str, Any]) -> Any:
    """Return a mapping without its wrong key, a list with a stand-in for its wrong item; None if neither is possible."""
    part = parts[0]
    if isinstance(value, Mapping) and part in value:
        return {key: item for key, item in value.items() if key != part}
    if isinstance(value, list | tuple) and isinstance(part, int) and part < len(value):
        is_mapping = len(parts) > 1 or isinstance(value[part], Mapping)
        return [*value[:part], stand_in if is_mapping else _REMOVED, *value[part + 1 :]]
    return None
