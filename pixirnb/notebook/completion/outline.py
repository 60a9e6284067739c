"""What a body names: its steps and who waits on whom, agents, phases, inputs, repositories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pixirnb.json_types import JsonObject
from pixirnb.notebook.completion.context import Candidate
from pixirnb.notebook.completion.tokens import MARK
from pixirnb.spec.steps import KIND_KEYS


@dataclass(frozen=True, slots=True)
class Outline:
    """Reads a sketch's value; answers are empty where it says nothing of the kind."""

    value: Any
    steps: dict[str, JsonObject]
    """The steps that have an id, by it, in order."""

    @classmethod
    def of(cls, value: Any) -> Outline:
        """The outline of a sketch's value."""
        found = value.get("steps") if isinstance(value, dict) else None
        items = found if isinstance(found, list) else []
        steps = {
            step["id"]: step
            for step in items
            if isinstance(step, dict) and _is_name(step.get("id"))
        }
        return cls(value, steps)

    def step_at(self, place: object) -> str | None:
        """The id of the step at a position."""
        found = self._part("steps")
        if not (isinstance(found, list) and isinstance(place, int) and place < len(found)):
            return None
        step = found[place]
        name = step.get("id") if isinstance(step, dict) else None
        return name if _is_name(name) else None

    def names(self, part: str) -> list[Candidate]:
        """Names under `agents`, `inputs` or `repos`, with a word on each."""
        found = self._part(part)
        if not isinstance(found, dict):
            return []
        return [Candidate(name, _word_on(said)) for name, said in found.items() if _is_name(name)]

    def phases(self) -> list[Candidate]:
        """The phases named in `phases` or by steps."""
        found = self._part("phases")
        items = found if isinstance(found, list) else []
        listed = [item.get("name") for item in items if isinstance(item, dict)]
        told = [step.get("phase") for step in self.steps.values()]
        return [
            Candidate(name, "phase")
            for name in dict.fromkeys([*listed, *told])
            if isinstance(name, str) and _is_name(name)
        ]

    def ancestors(self, step: str) -> set[str]:
        """All a step waits on, directly or not."""
        before = {name: _listed(said.get("depends_on")) for name, said in self.steps.items()}
        return _reached(step, before)

    def descendants(self, step: str) -> set[str]:
        """All that wait on a step."""
        after: dict[str, list[str]] = {}
        for name, said in self.steps.items():
            for before in _listed(said.get("depends_on")):
                after.setdefault(before, []).append(name)
        return _reached(step, after)

    def kind(self, step: str) -> str:
        """A word on a step: its kind, and what it does where that is short."""
        said = self.steps.get(step, {})
        key = next((key for key in KIND_KEYS if key in said), None)
        if key is None:
            return "step"
        about = said.get("description") or said[key]
        about = " ".join(about.split()) if isinstance(about, str) and MARK not in about else ""
        return f"{KIND_KEYS[key]}: {_short(about)}" if about else f"{KIND_KEYS[key]} step"

    def _part(self, key: str) -> Any:
        return self.value.get(key) if isinstance(self.value, dict) else None


def _is_name(text: object) -> bool:
    return isinstance(text, str) and text != "" and MARK not in text


def _listed(said: object) -> list[str]:
    items: Iterable[object] = said if isinstance(said, list) else [said]
    return [item for item in items if isinstance(item, str) and MARK not in item]


def _reached(start: str, edges: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(edges.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += edges.get(name, ())
    return found


def _word_on(said: object) -> str:
    if isinstance(said, str):
        return _short(said)
    if not isinstance(said, dict):
        return ""
    told = (said.get(key) for key in ("runner", "type", "posture", "description", "role"))
    return _short(" · ".join(word for word in told if isinstance(word, str) and _is_name(word)))


def _short(text: str) -> str:
    text = " ".join(text.replace(MARK, "").split())
    return text if len(text) <= 60 else text[:59] + "…"
