"""What an ACP agent asks leave for, as a person is shown it and as it is told from any other; and what that leave is good for.

    shown     title, the files it names, its input, and what it would change as a diff; the agent's words, cut where long
    digest    of all of it and whole, with the texts before and after: another content is another call
    leave     a call that edits is good for one write of each of its files; where it said what it would write, for that alone

What the agent does by its own hand is nowhere compared with what it said. Source: contract.md §7 (permissions).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pixirnb.runners.agents.acp.updates import AgentToolCall, ProposedEdit
from pixirnb.runners.agents.tools.files import EDIT_LIMIT
from pixirnb.sessions.permissions import digest_of

READING: Final = frozenset({"read", "search", "think", "fetch"})
"""Kinds of tool that change nothing, unless they bring a change; any other, unknown ones too, is taken to change something."""
WRITING: Final = frozenset({"edit", "delete", "move"})

_HERE: Final = "\0"
"""Stands for the folder it works in; no path has it."""
_OUTCOMES: Final = 16
"""Texts that changes one after another may come to."""


def is_reading(call: AgentToolCall) -> bool:
    """Whether a call changes nothing, by its kind and by what it brings."""
    return call.kind in READING and not call.changes


def wish(
    call: AgentToolCall,
    paths: Sequence[str],
    folders: Iterable[str],
    roots: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], str]:
    """What a person is shown of a call, and its digest.

    `paths`: of `call.paths`, as a person knows them; `folders`: the one it works in, by all its names; `roots`: folders by the
    name of the root they are.
    """
    shown = {**call.args, "paths": list(paths)} if paths else call.args
    if call.input is None and not call.changes and call.output:
        shown["content"] = call.output  # nothing else says what it is about
    whole: dict[str, Any] = {"title": call.title, "paths": call.paths, "input": call.input}
    whole["changes"] = [[change.path, change.before, change.after] for change in call.changes]
    whole["content"] = shown.get("content")
    return shown, digest_of(f"acp:{call.kind}", _placed(whole, folders, roots or {}))


@dataclass(slots=True)
class WriteGrant:
    """Good for one write of one file."""

    path: str
    changes: tuple[ProposedEdit, ...]
    """What was said of it; none: nothing was."""

    def covers(self, path: str, before: str, content: str) -> bool:
        """Whether a write of `content` to a file that holds `before` is what leave was given for."""
        if path != self.path:
            return False
        return not self.changes or content in _outcomes(self.changes, before, len(content))


@dataclass(slots=True, eq=False)
class WriteGrants:
    """What an agent may still write in this turn without being asked about it. Belongs to one thread."""

    _open: list[WriteGrant] = field(default_factory=list)
    _vague: set[str] = field(default_factory=set)
    """Digests of calls that did not say what they write, and were good for a write already."""

    def give(self, call: AgentToolCall, digest: str, places: dict[str, str]) -> None:
        """A call was allowed. `places`: its paths, as the agent names them, to what the rules call them."""
        if call.kind != "edit" or (not call.changes and digest in self._vague):
            return  # whoever was not told the content said yes to one write of it, however often the call is made
        if not call.changes:
            self._vague.add(digest)
        wanted: dict[str, list[ProposedEdit]] = {}
        if not call.changes:
            wanted = {place: [] for place in places.values()}
        for change in call.changes:
            wanted.setdefault(places[change.path], []).append(change)
        self._open += [WriteGrant(place, tuple(changes)) for place, changes in wanted.items()]

    def use(self, path: str, before: str, content: str) -> bool:
        """Whether leave was given for this write; it is used up."""
        for leave in self._open:
            if leave.covers(path, before, content):
                self._open.remove(leave)
                return True
        return False


def _outcomes(changes: Sequence[ProposedEdit], before: str, size: int) -> list[str]:
    """What a file may hold once it was changed as told: some agents tell a passage, some the whole text.

    Where a text before is told, the text after stands for that alone: of a passage, it is no word on the rest of the file.

    `size`: characters of what is looked for; much longer texts on the way are not followed.
    """
    found = [before]
    longest = max(size, len(before)) + EDIT_LIMIT
    for change in changes:
        old, growth = change.before, len(change.after) - len(change.before or "")
        if not old:
            found = [change.after]
            continue
        made = [
            text.replace(old, change.after, times)
            for text in found
            for times in sorted({1, text.count(old)} - {0})
            if len(text) + times * growth <= longest
        ]
        found = list(dict.fromkeys(made))[:_OUTCOMES]
    return found


def _placed(value: Any, folders: Iterable[str], roots: Mapping[str, str]) -> Any:
    """Plain data in which the folders it works in have one name: what is allowed once is the same in another copy."""
    marks = {folder.rstrip("/"): f"{_HERE}{name}" for name, folder in roots.items()}
    marks |= {folder.rstrip("/"): _HERE for folder in folders}
    names = sorted((re.escape(folder) for folder in marks if folder), key=len)
    if not names:
        return value
    # Longest first, and only whole names: `/a/work` is no part of `/b/a/work`, nor of `/a/workshop`.
    pattern = re.compile(rf"(?<![\w.~/-])(?:{'|'.join(reversed(names))})(?![\w.~-])")

    def placed(item: Any) -> Any:
        if isinstance(item, str):
            doubled = item.replace(_HERE, _HERE * 2)
            return pattern.sub(lambda found: marks[found[0]], doubled)
        if isinstance(item, dict):
            return {name: placed(part) for name, part in item.items()}
        if isinstance(item, list):
            return [placed(part) for part in item]
        return item

    return placed(value)
