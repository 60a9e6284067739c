"""What a world can see of a person's words on conflicts, and no log tells: whether the files are those they were said of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.simulator.files import Content
from pixirnb.history.events import Event
from pixirnb.history.file_events import CONFLICT


def misapplied(events: Iterable[Event], trees: Mapping[str, Content]) -> str | None:
    """The first file that a merge step settled by a side which was named for another content of the user's file.

    That content is the file as it was in the conflict, or as a person's merge of one of the two sides left it.
    """
    clashes: dict[str, dict[str, Any]] = {}
    meant: dict[str, dict[str, Content]] = {}
    said: dict[str, Any] = {}
    words: dict[str, Any] = {}
    for event in events:
        data, step = event.data, str(event.data.get("step"))
        match event.kind:
            case "merge_conflicted":
                clashes[step] = data
                meant[step] = {"": _tree(data, "seen", trees)}
                words.pop(step, None)
            case "decision_recorded":
                said[step] = data["value"]
            case "retry_planned" if data["retry_class"] == CONFLICT:
                words[step] = said.get(step)
            case "merge_applied" if data["step"] is not None and step in clashes:
                seen, before = [*meant[step].values()][-1], _tree(data, "before", trees)
                for path in data["solved"]:
                    if _named(words.get(step), path) and seen.get(path) != before.get(path):
                        return f"{data['merge']} settled {path} by a word that was said of another content."
            case "merge_applied":
                for name, clash in clashes.items():
                    meant[name].pop(str(data["undoes"]), None)
                    if data["undoes"] is None and set(clash["between"]) & set(data["attempts"]):
                        meant[name][data["merge"]] = _tree(data, "after", trees)
            case _:
                pass
    return None


def _named(word: Any, path: str) -> Any:
    return word.get(path) if isinstance(word, Mapping) else word


def _tree(data: Mapping[str, Any], key: str, trees: Mapping[str, Content]) -> Content:
    return next((trees[root[key]] for root in data["roots"] if root["root"] == "."), {})
