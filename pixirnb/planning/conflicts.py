"""Who may not run beside whom: claims, the conflicts of a whole plan, and the claims held right now.

Two writers conflict where their write sets overlap, in any workspace. A writer in the shared
workspace conflicts with a reader of what it writes; one in its own copy never does. A step that
depends on another, directly or not, never meets it.

Ten thousand `**/*` writers have fifty million pairs, so pairs are never looked at one by one: the
partners of a step are the bits of one integer, and counting them is one instruction a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from typing import Literal

from pixirnb.planning.graph import Graph, topological_levels
from pixirnb.planning.paths import Pattern, overlap
from pixirnb.planning.pattern_index import Entry, PatternIndex

Rule = Literal["writer_writer", "writer_reader"]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a step touches while it runs."""

    reads: tuple[Pattern, ...] = ()
    writes: tuple[Pattern, ...] = ()
    shared: bool = True
    """It writes into the shared workspace, where readers see it."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two steps that are not ordered and may not run at once; `a < b` in spec order."""

    a: int
    b: int
    rule: Rule
    paths: tuple[str, str]
    """The first patterns found to overlap, a's and b's, as written."""


@dataclass(frozen=True, slots=True)
class ConflictReport:
    """All conflicts of a plan, counted; the first of them in spec order, spelled out."""

    listed: tuple[Conflict, ...]
    count: int
    steps: frozenset[int]
    """Every step that the listed conflicts name."""


def find_conflicts(
    claims: Sequence[Claim | None],
    graph: Graph,
    *,
    levels: Sequence[Sequence[int]] | None = None,
    limit: int = 1000,
) -> ConflictReport:
    """Every pair of steps that conflict and are not ordered. `claims[i]` is step i's; None claims nothing.

    `levels` saves computing `topological_levels(graph)` again. Steps on cycles are left out: such a
    plan is refused anyway.
    """
    if levels is None:
        levels = topological_levels(graph)
    partners = _Partners(claims)
    if not any(partners.may_conflict(step) for step in partners.claiming):
        return ConflictReport((), 0, frozenset())
    first: list[tuple[int, int]] = []
    count = 0
    done = 0
    for step, ancestors in _with_ancestors(graph, levels):
        mask = partners.mask(step) & done
        if mask:
            mask &= ~ancestors
            count += mask.bit_count()
            _keep_first(first, step, mask, limit)
        if step in partners.claiming:
            done |= 1 << step
    pairs = sorted((-a, -b) for a, b in first)
    listed = tuple(_conflict(claims, a, b) for a, b in pairs)
    return ConflictReport(listed, count, frozenset(step for pair in pairs for step in pair))


def conflict_between(one: Claim, other: Claim) -> tuple[Rule, tuple[str, str]] | None:
    """The rule that keeps two claims apart and the patterns it found, one's first; None when none does."""
    if found := _first_overlap(one.writes, other.writes):
        return "writer_writer", found
    if one.shared and (found := _first_overlap(one.writes, other.reads)):
        return "writer_reader", found
    if other.shared and (found := _first_overlap(one.reads, other.writes)):
        return "writer_reader", found
    return None


class ClaimIndex:
    """The claims held at one moment, each under an integer key: what the scheduler asks before a start."""

    __slots__ = ("_claims", "_readers", "_shared_writers", "_universal", "_writers")

    def __init__(self) -> None:
        self._claims: dict[int, Claim] = {}
        self._writers = PatternIndex()
        self._shared_writers = PatternIndex()
        self._readers = PatternIndex()
        self._universal = 0

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, key: object) -> bool:
        return key in self._claims

    @property
    def is_universal_write(self) -> bool:
        """Whether something held writes everything in the shared workspace (`**/*`)."""
        return self._universal > 0

    def add(self, key: int, claim: Claim) -> None:
        """Hold `claim`. Raises ValueError when `key` holds one already."""
        if key in self._claims:
            raise ValueError(f"{key} already holds a claim.")
        self._claims[key] = claim
        self._universal += _is_universal(claim)
        for pattern in claim.writes:
            self._writers.add(pattern, key)
            if claim.shared:
                self._shared_writers.add(pattern, key)
        for pattern in claim.reads:
            self._readers.add(pattern, key)

    def remove(self, key: int) -> None:
        """Let go of what `key` holds. Raises KeyError when it holds nothing."""
        claim = self._claims.pop(key)
        self._universal -= _is_universal(claim)
        for pattern in dict.fromkeys(claim.writes):
            self._writers.remove(pattern, key)
            if claim.shared:
                self._shared_writers.remove(pattern, key)
        for pattern in dict.fromkeys(claim.reads):
            self._readers.remove(pattern, key)

    def conflicts(self, claim: Claim) -> bool:
        """Whether anything held conflicts with `claim`."""
        return any(True for _ in self._entries(claim))

    def conflicting(self, claim: Claim) -> list[int]:
        """The keys whose claims conflict with `claim`, ascending."""
        return sorted({key for entry in self._entries(claim) for key in entry.keys})

    def _entries(self, claim: Claim) -> Iterable[Entry]:
        for pattern in claim.writes:
            yield from self._writers.overlapping(pattern)
            if claim.shared:
                yield from self._readers.overlapping(pattern)
        for pattern in claim.reads:
            yield from self._shared_writers.overlapping(pattern)


def _is_universal(claim: Claim) -> bool:
    return claim.shared and any(
        pattern.repo is None and pattern.is_universal for pattern in claim.writes
    )


def _first_overlap(ours: Iterable[Pattern], theirs: Sequence[Pattern]) -> tuple[str, str] | None:
    for mine in ours:
        for other in theirs:
            if overlap(mine, other):
                return mine.text, other.text
    return None


def _conflict(claims: Sequence[Claim | None], a: int, b: int) -> Conflict:
    one, other = claims[a], claims[b]
    found = conflict_between(one, other) if one is not None and other is not None else None
    assert found is not None, "the index and the exact comparison agree"
    return Conflict(a, b, *found)


# --- all pairs at once ---

_MANY = 32
"""From so many on, the members of a group are worth a kept integer of bits."""


@dataclass(slots=True, eq=False)
class _Group:
    """Steps that name one pattern, by role, in spec order."""

    pattern: Pattern
    writers: list[int] = field(default_factory=list)
    shared_writers: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)
    overlapping: list[_Group] | None = None
    users: int = 0
    masks: dict[str, int] = field(default_factory=dict)
    """Role to the bits of this group's members."""
    partners: dict[str, int] = field(default_factory=dict)
    """Role to the bits of the members of all overlapping groups, for groups with many users."""


class _Partners:
    """For each step the set of all steps its claim conflicts with, ordered or not, as bits."""

    def __init__(self, claims: Sequence[Claim | None]) -> None:
        self.claims = claims
        self.size = len(claims)
        self.index = PatternIndex()
        self.groups: dict[Pattern, _Group] = {}
        self.by_number: list[_Group] = []
        self.claiming: dict[int, Claim] = {}
        for step, claim in enumerate(claims):
            if claim is None or not (claim.reads or claim.writes):
                continue
            self.claiming[step] = claim
            for pattern in dict.fromkeys(claim.writes):
                group = self.group(pattern)
                group.writers.append(step)
                if claim.shared:
                    group.shared_writers.append(step)
            for pattern in dict.fromkeys(claim.reads):
                self.group(pattern).readers.append(step)

    def group(self, pattern: Pattern) -> _Group:
        group = self.groups.get(pattern)
        if group is None:
            group = self.groups[pattern] = _Group(pattern)
            self.index.add(pattern, len(self.by_number))
            self.by_number.append(group)
        group.users += 1
        return group

    def overlapping(self, group: _Group) -> list[_Group]:
        if group.overlapping is None:
            group.overlapping = [
                self.by_number[number]
                for entry in self.index.overlapping(group.pattern)
                for number in entry.keys
            ]
        return group.overlapping

    def roles(self, claim: Claim) -> Iterable[tuple[_Group, str]]:
        """The groups of a claim, each with the role whose holders it conflicts with."""
        for pattern in claim.writes:
            yield self.groups[pattern], "writers"
            if claim.shared:
                yield self.groups[pattern], "readers"
        for pattern in claim.reads:
            yield self.groups[pattern], "shared_writers"

    def may_conflict(self, step: int) -> bool:
        """Whether the step has a partner at all, itself apart."""
        for group, role in self.roles(self.claiming[step]):
            for other in self.overlapping(group):
                members: list[int] = getattr(other, role)
                if len(members) > 1 or (members and members[0] != step):
                    return True
        return False

    def mask(self, step: int) -> int:
        """The bits of the step's partners; its own may be among them."""
        claim = self.claiming.get(step)
        if claim is None:
            return 0
        mask = 0
        for group, role in self.roles(claim):
            known = group.partners.get(role)
            if known is None:
                known = self.union(step, self.overlapping(group), role)
                if group.users >= _MANY:
                    group.partners[role] = known
            mask |= known
        return mask

    def union(self, step: int, groups: list[_Group], role: str) -> int:
        """The members of all `groups` in `role`, as bits; a lone member that is `step` may be left out."""
        mask = 0
        few: list[int] = []
        for group in groups:
            members: list[int] = getattr(group, role)
            if len(members) < _MANY:
                few += members
            else:
                if role not in group.masks:
                    group.masks[role] = self.bits(members)
                mask |= group.masks[role]
        return mask if few in ([], [step]) else mask | self.bits(few)

    def bits(self, steps: list[int]) -> int:
        if len(steps) < 4:
            return sum(1 << step for step in set(steps))
        octets = bytearray(self.size // 8 + 1)
        for step in steps:
            octets[step >> 3] |= 1 << (step & 7)
        return int.from_bytes(octets, "little")


def _with_ancestors(graph: Graph, levels: Sequence[Sequence[int]]) -> Iterable[tuple[int, int]]:
    """Each step of `levels` with the bits of all its ancestors, kept no longer than needed."""
    waiting = Counter[int]()
    for step, later in enumerate(graph.dependents):
        waiting[step] = len(later)
    masks: dict[int, int] = {}
    for level in levels:
        for step in level:
            ancestors = 0
            for earlier in graph.depends_on[step]:
                ancestors |= masks[earlier]
                waiting[earlier] -= 1
                if not waiting[earlier]:
                    del masks[earlier]
            yield step, ancestors
            if waiting[step]:
                masks[step] = ancestors | (1 << step)


def _keep_first(first: list[tuple[int, int]], step: int, mask: int, limit: int) -> None:
    """Put the pairs of `step` into `first`, a heap of the `limit` earliest pairs, negated."""
    bits = ""
    place = -1
    while mask and limit:
        if not bits:
            lowest = (mask & -mask).bit_length() - 1
            if len(first) == limit and (-min(step, lowest), -max(step, lowest)) <= first[0]:
                return
            bits = format(mask, "b")[::-1]
        place = bits.find("1", place + 1)
        if place < 0:
            return
        pair = (-min(step, place), -max(step, place))
        if len(first) < limit:
            heappush(first, pair)
        elif pair > first[0]:
            heapreplace(first, pair)
        else:
            return
