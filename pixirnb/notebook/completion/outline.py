"""Names in a body: its steps and who waits on whom, agents, phases, inputs, repositories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from pixirnb.json_types import JsonObject
from pixirnb.notebook.completion.context import Candidate
from pixirnb.notebook.completion.flow_style import MARK
from pixirnb.spec.steps import KIND_KEYS


class Outline(Struct, frozen=True):
    """Outline of a sketch's value; answers are empty where it says nothing of the kind."""

    value: Any
    steps: dict[str, JsonObject]
    """The steps that have an id, by it, in order."""

    @classmethod
    def of(cls, value: Any) -> Outline:
        """Return the outline of a sketch's value."""
        written = value.get("steps") if isinstance(value, dict) else None
        items = written if isinstance(written, list) else []
        steps = {
            step["id"]: step
            for step in items
            if isinstance(step, dict) and _is_name(step.get("id"))
        }
        return cls(value, steps)

    def step_at(self, position: object) -> str | None:
        """Return the id of the step at a position."""
        steps = self._part("steps")
        if not (isinstance(steps, list) and isinstance(position, int) and position < len(steps)):
            return None
        step = steps[position]
        name = step.get("id") if isinstance(step, dict) else None
        return name if _is_name(name) else None

    def names(self, part: str) -> list[Candidate]:
        """Return names under `agents`, `inputs` or `repos`, with a word on each."""
        entries = self._part(part)
        if not isinstance(entries, dict):
            return []
        return [
            Candidate(name, _word_on(entry)) for name, entry in entries.items() if _is_name(name)
        ]

    def phases(self) -> list[Candidate]:
        """Return the phases named in `phases` or by steps."""
        phases = self._part("phases")
        items = phases if isinstance(phases, list) else []
        listed = [item.get("name") for item in items if isinstance(item, dict)]
        named = [step.get("phase") for step in self.steps.values()]
        return [
            Candidate(name, "phase")
            for name in dict.fromkeys([*listed, *named])
            if isinstance(name, str) and _is_name(name)
        ]

    def ancestors(self, step: str) -> set[str]:
        """Return all a step waits on, directly or not."""
        before = {name: _listed(entry.get("depends_on")) for name, entry in self.steps.items()}
        return _reached(step, before)

    def descendants(self, step: str) -> set[str]:
        """Return all that wait on a step."""
        after: dict[str, list[str]] = {}
        for name, entry in self.steps.items():
            for before in _listed(entry.get("depends_on")):
                after.setdefault(before, []).append(name)
        return _reached(step, after)

    def kind(self, step: str) -> str:
        """Return a word on a step: its kind, and what it does where that is short."""
        entry = self.steps.get(step, {})
        key = next((key for key in KIND_KEYS if key in entry), None)
        if key is None:
            return "step"
        about = entry.get("title") or entry.get("description") or entry[key]
        about = " ".join(about.split()) if isinstance(about, str) and MARK not in about else ""
        return f"{KIND_KEYS[key]}: {_short(about)}" if about else f"{KIND_KEYS[key]} step"

    def _part(self, key: str) -> Any:
        return self.value.get(key) if isinstance(self.value, dict) else None


def _is_name(text: object) -> bool:
    return isinstance(text, str) and text != "" and MARK not in text


def _listed(value: object) -> list[str]:
    items: Iterable[object] = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and MARK not in item]


def _reached(start: str, edges: dict[str, list[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(edges.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += edges.get(name, ())
    return reached


def _word_on(entry: object) -> str:
    if isinstance(entry, str):
        return _short(entry)
    if not isinstance(entry, dict):
        return ""
    words = (entry.get(key) for key in ("runner", "type", "posture", "description", "role"))
    return _short(" · ".join(word for word in words if isinstance(word, str) and _is_name(word)))


def _short(text: str) -> str:
    text = " ".join(text.replace(MARK, "").split())
    return text if len(text) <= 60 else text[:59] + "…"
