"""Permission requests of an ACP agent: their form for people, their digest, and the writes that an approval covers.

    shown     title, the files it names, its input, and its change as a diff; the agent's words, cut where long
    digest    of all of it in full, with the texts before and after: another content is another call
    approval  a call that edits allows one write of each of its files; if it gave the text, only that text

The agent's own actions are not compared with its requests. Source: contract.md §7 (permissions).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.acp.updates import AgentToolCall, ProposedEdit
from pixirnb.runners.agents.tools.files import EDIT_LIMIT
from pixirnb.sessions.permissions import digest_of

READING: Final = frozenset({"read", "search", "think", "fetch"})
"""Kinds of tool that change nothing, unless they bring an edit; any other, unknown ones too, counts as a change."""
WRITING: Final = frozenset({"edit", "delete", "move"})

_HERE: Final = "\0"
"""Placeholder for its working folder; no path has it."""
_OUTCOMES: Final = 16
"""Maximum number of texts that a sequence of edits may lead to."""


def is_reading(call: AgentToolCall) -> bool:
    """Return whether a call changes nothing, by its kind and its edits."""
    return call.kind in READING and not call.changes


def permission_request(
    call: AgentToolCall,
    paths: Sequence[str],
    folders: Iterable[str],
    roots: Mapping[str, str] | None = None,
) -> tuple[JsonObject, str]:
    """Return a call as shown to a person, and its digest.

    `paths`: of `call.paths`, by their names for people; `folders`: all names of the working folder; `roots`: folders
    by the name of their root.
    """
    shown = {**call.args, "paths": list(paths)} if paths else call.args
    if call.input is None and not call.changes and call.output:
        shown["content"] = call.output  # nothing else says what it is about
    whole: JsonObject = {"title": call.title, "paths": call.paths, "input": call.input}
    whole["changes"] = [[change.path, change.before, change.after] for change in call.changes]
    whole["content"] = shown.get("content")
    return shown, digest_of(f"acp:{call.kind}", _placed(whole, folders, roots or {}))


class OpenRequests:
    """The requests of an agent that are not answered yet."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()
        """Set while there is none."""
        self.answered.set()
        self._count = 0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count one more, until it is answered."""
        self._count += 1
        self.answered.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self.answered.set()


class WriteGrant(Struct):
    """A permission for one write of one file."""

    path: str
    changes: tuple[ProposedEdit, ...]
    """The edits in its request; empty if it gave none."""

    def covers(self, path: str, before: str, content: str) -> bool:
        """Return whether the permission covers a write of `content` to a file that holds `before`."""
        if path != self.path:
            return False
        return not self.changes or content in _outcomes(self.changes, before, len(content))


class WriteGrants(Struct, eq=False):
    """The writes that an agent may still make in this turn without a request. Belongs to one thread."""

    _open: list[WriteGrant] = field(default_factory=list)
    _vague: set[str] = field(default_factory=set)
    """Digests of used permissions whose calls gave no edits."""

    def give(self, call: AgentToolCall, digest: str, locations: dict[str, str]) -> None:
        """Add an allowed call. `locations`: its paths, as the agent names them, to their names in the rules."""
        if call.kind != "edit" or (not call.changes and digest in self._vague):
            return  # whoever was not told the content said yes to one write of it, however often the call is made
        if not call.changes:
            self._vague.add(digest)
        edits: dict[str, list[ProposedEdit]] = {}
        if not call.changes:
            edits = {path: [] for path in locations.values()}
        for change in call.changes:
            edits.setdefault(locations[change.path], []).append(change)
        self._open += [WriteGrant(path, tuple(changes)) for path, changes in edits.items()]

    def use(self, path: str, before: str, content: str) -> bool:
        """Use up a permission for this write; return whether there was one."""
        for grant in self._open:
            if grant.covers(path, before, content):
                self._open.remove(grant)
                return True
        return False


def _outcomes(changes: Sequence[ProposedEdit], before: str, size: int) -> list[str]:
    """Return the texts that a file may have after the edits: some agents give a passage, some the whole text.

    If a text before is given, the text after replaces that text only: an edit of a passage allows nothing for the
    rest of the file. `size`: characters of the expected text; much longer intermediate texts are not followed.
    """
    texts = [before]
    longest = max(size, len(before)) + EDIT_LIMIT
    for change in changes:
        old, growth = change.before, len(change.after) - len(change.before or "")
        if not old:
            texts = [change.after]
            continue
        made = [
            text.replace(old, change.after, times)
            for text in texts
            for times in sorted({1, text.count(old)} - {0})
            if len(text) + times * growth <= longest
        ]
        texts = list(dict.fromkeys(made))[:_OUTCOMES]
    return texts


def _placed(value: Any, folders: Iterable[str], roots: Mapping[str, str]) -> Any:
    """Return plain data in which all names of the working folder are one: an approval is valid in another copy too."""
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
            return pattern.sub(lambda match: marks[match[0]], doubled)
        if isinstance(item, dict):
            return {name: placed(part) for name, part in item.items()}
        if isinstance(item, list):
            return [placed(part) for part in item]
        return item

    return placed(value)
