"""Patterns indexed by their leading segments: finds all overlapping patterns without comparing with each.

A trie over segments, one root a repository. Patterns of equal spelling share an entry. The children of a large node
are also sorted by the plain characters they begin and end with, so that ten thousand `part-0001-*.csv` are not
compared with each other.

Literal paths are the quick proof that nothing conflicts.
Large workflows mostly name one folder a step (`out/17/**`). If all sets are literal paths and none is inside another,
no two claims can meet. Sorting shows that without comparing patterns.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, TypeVar

from msgspec import Struct

from pixirnb.planning.globs.pattern import Pattern
from pixirnb.planning.globs.segment import Glob, Segment, meet
from pixirnb.spec.fields import Texts

_PLAIN: Final = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)
_LONGEST: Final = 200
"""Maximum length of a name here; a longer one is left to the pattern parser."""


def plain_path(pattern: str) -> str | None:
    """Return the folder or file that a pattern without wildcards claims, with a slash at its end; None for other patterns."""
    path = pattern.removesuffix("/**")
    return path + "/" if len(path) < _LONGEST and _PLAIN.fullmatch(path) else None


class PlainSets:
    """The literal paths of one workflow, each pattern examined once."""

    def __init__(self) -> None:
        self.paths: dict[str, str | None] = {}
        """Every pattern of the workflow to its path, with a slash at its end; None if it is not literal."""

    def are_disjoint(self, sets: Iterable[tuple[Texts, Texts]]) -> bool:
        """Return whether literal paths alone prove that no two steps conflict.

        `sets` are reads and writes of each step.

        False means "not proven". Equal reads of different steps are no conflict; any other meeting is left to the
        exact comparison.
        """
        known = self.paths
        writes: list[str] = []
        reads: set[str] = set()
        for read_set, write_set in sets:
            for pattern in write_set:
                path = known.get(pattern)
                if path is None:
                    return False
                writes.append(path)
            for pattern in read_set:
                path = known.get(pattern)
                if path is None:
                    return False
                reads.add(path)
        if not writes:
            return True
        paths = [*writes, *reads]
        paths.sort()
        # All entries sorted between a folder and a path below it are also below it: comparing neighbours is enough.
        return not any(map(str.startswith, paths[1:], paths))


_FEW: int = 12
"""Maximum number of children that are compared one by one rather than looked up."""

T = TypeVar("T")


class PatternEntry(Struct, Generic[T], eq=False):
    """A pattern and its value."""

    pattern: Pattern
    value: T


class PatternIndex(Generic[T]):
    """A changing collection of patterns; `make` returns the value of a new one."""

    __slots__ = ("_entries", "_make", "_roots")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._entries: dict[Pattern, PatternEntry[T]] = {}
        self._roots: dict[str | None, _Node[T]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def at(self, pattern: Pattern) -> T:
        """Return the value of `pattern`, which is added if it is new."""
        entry = self._entries.get(pattern)
        if entry is None:
            entry = self._entries[pattern] = PatternEntry(pattern, self._make())
            root = self._roots.get(pattern.repo)
            if root is None:
                root = self._roots[pattern.repo] = _Node()
            for prefix in pattern.prefixes:
                node = root
                for segment in prefix:
                    node = node.children.get(segment) or node.enter(segment)
                node.ends.append(entry)
        return entry.value

    def remove(self, pattern: Pattern) -> None:
        """Remove `pattern`. Raises KeyError when it is missing."""
        entry = self._entries.pop(pattern)
        for prefix in pattern.prefixes:
            path = [self._roots[pattern.repo]]
            for segment in prefix:
                path.append(path[-1].children[segment])
            path[-1].ends.remove(entry)
            for depth in range(len(prefix), 0, -1):
                if path[depth].ends or path[depth].children:
                    break
                path[depth - 1].drop(prefix[depth - 1])

    def overlapping(self, pattern: Pattern) -> Iterator[T]:
        """Yield the value of every pattern that overlaps `pattern`, each once, lazily."""
        root = self._roots.get(pattern.repo)
        if root is None:
            return
        seen: set[int] = set()
        for prefix in pattern.prefixes:
            waiting = [(root, 0)]
            while waiting:
                node, depth = waiting.pop()
                while True:
                    for entry in node.ends:
                        if id(entry) not in seen:
                            seen.add(id(entry))
                            yield entry.value
                    if depth == len(prefix):
                        waiting += [(child, depth) for child in node.children.values()]
                        break
                    segment = prefix[depth]
                    depth += 1
                    if node.globs or not isinstance(segment, str):
                        waiting += [
                            (child, depth) for child in node.meeting(segment, is_first=depth == 1)
                        ]
                        break
                    # The common case, a plain name among plain names, is one look into a dict.
                    child = node.children.get(segment)
                    if child is None:
                        break
                    node = child


class _Node(Generic[T]):
    """A node of the trie. An entry that ends here claims all below."""

    __slots__ = ("by_head", "by_tail", "children", "ends", "globs")

    def __init__(self) -> None:
        self.children: dict[Segment, _Node[T]] = {}
        self.globs = 0
        self.ends: list[PatternEntry[T]] = []
        self.by_head: _Affixes | None = None
        self.by_tail: _Affixes | None = None

    def enter(self, segment: Segment) -> _Node[T]:
        """Add a child."""
        node: _Node[T] = _Node()
        self.children[segment] = node
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

    def meeting(self, segment: Segment, *, is_first: bool) -> Iterator[_Node[T]]:
        """Yield children that a name could enter by both segments."""
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
        """Return about how many segments would have to be compared."""
        shorter = sum(len(self.segments.get(affix[:length], ())) for length in range(len(affix)))
        longer = self.sorted[bisect_left(self.sorted, affix) : self._end(affix)]
        return shorter + (
            len(longer) if len(longer) > _FEW else sum(len(self.segments[key]) for key in longer)
        )

    def compatible(self, affix: str) -> Iterator[Segment]:
        """Yield segments whose characters continue, or are continued by, `affix`."""
        for length in range(len(affix)):
            yield from self.segments.get(affix[:length], ())
        for position in range(bisect_left(self.sorted, affix), self._end(affix)):
            yield from self.segments[self.sorted[position]]

    def _end(self, affix: str) -> int:
        """Return the position after the last segment that begins with `affix`."""
        size = len(affix)
        return bisect_right(self.sorted, affix, key=lambda other: other[:size])


def _head(segment: Segment) -> str:
    return segment if isinstance(segment, str) else segment.prefix


def _tail(segment: Segment) -> str:
    return segment[::-1] if isinstance(segment, str) else segment.suffix[::-1]
