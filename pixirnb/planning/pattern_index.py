"""Patterns indexed by their leading segments: whom a pattern overlaps, without asking each.

A trie over segments, one root a repository. Patterns of one spelling share an entry. Where many
children stand under one node, they are also sorted by the plain characters they begin and end
with, so that ten thousand `part-0001-*.csv` are not compared with each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from pixirnb.planning.paths import Pattern
from pixirnb.planning.segments import Glob, Segment, meet

_FEW: int = 12
"""So many children are faster asked one by one than looked up."""


@dataclass(slots=True, eq=False)
class Entry:
    """A pattern and the keys of those who hold it, in order of arrival."""

    pattern: Pattern
    keys: dict[int, None] = field(default_factory=dict)


class PatternIndex:
    """A changing collection of patterns, each held by any number of integer keys."""

    __slots__ = ("_entries", "_roots")

    def __init__(self) -> None:
        self._entries: dict[Pattern, Entry] = {}
        self._roots: dict[str | None, _Node] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, pattern: Pattern, key: int) -> Entry:
        """Let `key` hold `pattern`; twice is once."""
        entry = self._entries.get(pattern)
        if entry is None:
            entry = self._entries[pattern] = Entry(pattern)
            root = self._roots.setdefault(pattern.repo, _Node())
            for prefix in pattern.prefixes:
                node = root
                for segment in prefix:
                    node = node.child(segment)
                node.ends.append(entry)
        entry.keys[key] = None
        return entry

    def remove(self, pattern: Pattern, key: int) -> None:
        """Let go of it. Raises KeyError when `key` does not hold `pattern`."""
        entry = self._entries[pattern]
        del entry.keys[key]
        if entry.keys:
            return
        del self._entries[pattern]
        for prefix in pattern.prefixes:
            path = [self._roots[pattern.repo]]
            for segment in prefix:
                path.append(path[-1].children[segment])
            path[-1].ends.remove(entry)
            for depth in range(len(prefix), 0, -1):
                if path[depth].ends or path[depth].children:
                    break
                path[depth - 1].drop(prefix[depth - 1])

    def overlapping(self, pattern: Pattern) -> Iterator[Entry]:
        """Every entry whose pattern overlaps `pattern`, each once, lazily."""
        root = self._roots.get(pattern.repo)
        if root is None:
            return
        seen: set[int] = set()
        for prefix in pattern.prefixes:
            waiting = [(root, 0)]
            while waiting:
                node, depth = waiting.pop()
                for entry in node.ends:
                    if id(entry) not in seen:
                        seen.add(id(entry))
                        yield entry
                if depth < len(prefix):
                    waiting += [
                        (child, depth + 1)
                        for child in node.meeting(prefix[depth], is_first=depth == 0)
                    ]
                else:
                    waiting += [(child, depth) for child in node.children.values()]


class _Node:
    """A place in the trie. An entry that ends here claims all below."""

    __slots__ = ("by_head", "by_tail", "children", "ends", "globs")

    def __init__(self) -> None:
        self.children: dict[Segment, _Node] = {}
        self.globs = 0
        self.ends: list[Entry] = []
        self.by_head: _Affixes | None = None
        self.by_tail: _Affixes | None = None

    def child(self, segment: Segment) -> _Node:
        """The child of that segment, made if missing."""
        node = self.children.get(segment)
        if node is None:
            node = self.children[segment] = _Node()
            self.globs += isinstance(segment, Glob)
            if self.by_head is not None and self.by_tail is not None:
                self.by_head.add(_head(segment), segment)
                self.by_tail.add(_tail(segment), segment)
        return node

    def drop(self, segment: Segment) -> None:
        del self.children[segment]
        self.globs -= isinstance(segment, Glob)
        if self.by_head is not None and self.by_tail is not None:
            self.by_head.remove(_head(segment), segment)
            self.by_tail.remove(_tail(segment), segment)

    def meeting(self, segment: Segment, *, is_first: bool) -> Iterator[_Node]:
        """Children that some name leads into by both segments."""
        if isinstance(segment, str) and not self.globs:
            child = self.children.get(segment)
            if child is not None:
                yield child
            return
        for candidate in self._candidates(segment):
            if meet(candidate, segment, is_first=is_first):
                yield self.children[candidate]

    def _candidates(self, segment: Segment) -> Iterator[Segment]:
        if len(self.children) <= _FEW:
            return iter(self.children)
        if self.by_head is None or self.by_tail is None:
            self.by_head, self.by_tail = _Affixes(), _Affixes()
            for child in self.children:
                self.by_head.add(_head(child), child)
                self.by_tail.add(_tail(child), child)
        head, tail = _head(segment), _tail(segment)
        if self.by_head.cost(head) <= self.by_tail.cost(tail):
            return self.by_head.compatible(head)
        return self.by_tail.compatible(tail)


class _Affixes:
    """Segments by the plain characters at one of their ends."""

    __slots__ = ("segments", "sorted")

    def __init__(self) -> None:
        self.segments: dict[str, dict[Segment, None]] = {}
        self.sorted: list[str] = []

    def add(self, affix: str, segment: Segment) -> None:
        if affix not in self.segments:
            self.segments[affix] = {}
            insort(self.sorted, affix)
        self.segments[affix][segment] = None

    def remove(self, affix: str, segment: Segment) -> None:
        del self.segments[affix][segment]
        if not self.segments[affix]:
            del self.segments[affix]
            del self.sorted[bisect_left(self.sorted, affix)]

    def cost(self, affix: str) -> int:
        """How many would have to be asked, roughly."""
        shorter = sum(len(self.segments.get(affix[:length], ())) for length in range(len(affix)))
        longer = self.sorted[bisect_left(self.sorted, affix) : self._end(affix)]
        return shorter + (
            len(longer) if len(longer) > _FEW else sum(len(self.segments[key]) for key in longer)
        )

    def compatible(self, affix: str) -> Iterator[Segment]:
        """Those of which one's characters continue the other's."""
        for length in range(len(affix)):
            yield from self.segments.get(affix[:length], ())
        for place in range(bisect_left(self.sorted, affix), self._end(affix)):
            yield from self.segments[self.sorted[place]]

    def _end(self, affix: str) -> int:
        """Behind the last one that begins with `affix`."""
        size = len(affix)
        return bisect_right(self.sorted, affix, key=lambda other: other[:size])


def _head(segment: Segment) -> str:
    return segment if isinstance(segment, str) else segment.prefix


def _tail(segment: Segment) -> str:
    return segment[::-1] if isinstance(segment, str) else segment.suffix[::-1]
