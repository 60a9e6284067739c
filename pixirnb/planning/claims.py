"""Claims: the conflicts of a whole plan, and the claims held now.

Two writers conflict where their write sets overlap, in any workspace. A writer in the shared workspace conflicts with
a reader of what it writes; a writer in its own copy never does. Ordered steps (one depends on the other, directly or
not) never conflict.

Ten thousand `**/*` writers have fifty million pairs, so pairs are never compared one by one: the partners of a step
are the bits of one integer, and counting them is one instruction a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappush, heapreplace
from typing import Literal

from msgspec import Struct

from pixirnb.planning.globs.index import PatternIndex
from pixirnb.planning.globs.pattern import Pattern, overlap
from pixirnb.planning.graph import Graph, topological_levels
from pixirnb.spec import limits

Rule = Literal["writer_writer", "writer_reader"]


class Claim(Struct, frozen=True):
    """The paths a step reads and writes while it runs."""

    reads: tuple[Pattern, ...] = ()
    writes: tuple[Pattern, ...] = ()
    shared: bool = True
    """True if it writes into the shared workspace, where readers see it."""


class ClaimConflict(Struct, frozen=True):
    """Two unordered steps that may not run at once; `a < b` in spec order."""

    a: int
    b: int
    rule: Rule
    paths: tuple[str, str]
    """The first overlapping patterns of a and b, as written."""


class ConflictReport(Struct, frozen=True):
    """All conflicts of a plan, counted; the first of them, in spec order, in full."""

    listed: tuple[ClaimConflict, ...]
    count: int
    steps: frozenset[int]
    """Every step that the listed conflicts name."""


def find_conflicts(
    claims: Sequence[Claim | None],
    graph: Graph,
    *,
    levels: Sequence[Sequence[int]] | None = None,
    limit: int = limits.CONFLICTS_LISTED,
) -> ConflictReport:
    """Return every pair of steps that conflict and are not ordered. `claims[i]` is step i's; None claims nothing.

    `levels` saves computing `topological_levels(graph)` again. Steps on cycles are left out: that plan is refused
    anyway.
    """
    if levels is None:
        levels = topological_levels(graph)
    partners = _Partners(claims)
    meeting = partners.meeting
    if not meeting:
        return ConflictReport((), 0, frozenset())
    first: list[tuple[int, int]] = []
    count = 0
    done = 0
    for bit, ancestors in _with_ancestors(graph, levels, partners.bit_of):
        mask = partners.mask(meeting[bit]) & done & ~ancestors
        if mask:
            count += mask.bit_count()
            _keep_first(first, bit, mask, limit)
        done |= 1 << bit
    pairs = sorted((meeting[-a], meeting[-b]) for a, b in first)
    listed = tuple(_conflict(claims, a, b) for a, b in pairs)
    return ConflictReport(listed, count, frozenset(step for pair in pairs for step in pair))


def conflict_between(one: Claim, other: Claim) -> tuple[Rule, tuple[str, str]] | None:
    """Return the rule that keeps two claims apart and the overlapping patterns, one's first; None if there is no conflict."""
    if patterns := _first_overlap(one.writes, other.writes):
        return "writer_writer", patterns
    if one.shared and (patterns := _first_overlap(one.writes, other.reads)):
        return "writer_reader", patterns
    if other.shared and (patterns := _first_overlap(one.reads, other.writes)):
        return "writer_reader", patterns
    return None


class ClaimIndex:
    """The claims held at one moment, each under an integer key: the scheduler queries them before a start."""

    __slots__ = ("_claims", "_readers", "_shared_writers", "_writers")

    def __init__(self) -> None:
        self._claims: dict[int, Claim] = {}
        self._writers: PatternIndex[set[int]] = PatternIndex(set)
        self._shared_writers: PatternIndex[set[int]] = PatternIndex(set)
        self._readers: PatternIndex[set[int]] = PatternIndex(set)

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, key: object) -> bool:
        return key in self._claims

    def add(self, key: int, claim: Claim) -> None:
        """Hold `claim`. Raises ValueError when `key` holds one already."""
        if key in self._claims:
            raise ValueError(f"{key} already holds a claim.")
        self._claims[key] = claim
        for pattern in claim.writes:
            self._writers.at(pattern).add(key)
            if claim.shared:
                self._shared_writers.at(pattern).add(key)
        for pattern in claim.reads:
            self._readers.at(pattern).add(key)

    def remove(self, key: int) -> None:
        """Release the claim of `key`. Raises KeyError when there is none."""
        claim = self._claims.pop(key)
        for pattern in dict.fromkeys(claim.writes):
            _let_go(self._writers, pattern, key)
            if claim.shared:
                _let_go(self._shared_writers, pattern, key)
        for pattern in dict.fromkeys(claim.reads):
            _let_go(self._readers, pattern, key)

    def conflicts(self, claim: Claim) -> bool:
        """Return whether a held claim conflicts with `claim`."""
        return any(True for _ in self._holders(claim))

    def conflicting(self, claim: Claim) -> list[int]:
        """Return the keys whose claims conflict with `claim`, ascending."""
        return sorted(set().union(*self._holders(claim)))

    def _holders(self, claim: Claim) -> Iterator[set[int]]:
        for pattern in claim.writes:
            yield from self._writers.overlapping(pattern)
            if claim.shared:
                yield from self._readers.overlapping(pattern)
        for pattern in claim.reads:
            yield from self._shared_writers.overlapping(pattern)


def _let_go(index: PatternIndex[set[int]], pattern: Pattern, key: int) -> None:
    keys = index.at(pattern)
    keys.remove(key)
    if not keys:
        index.remove(pattern)


def _first_overlap(ours: Iterable[Pattern], theirs: Sequence[Pattern]) -> tuple[str, str] | None:
    for mine in ours:
        for other in theirs:
            if overlap(mine, other):
                return mine.text, other.text
    return None


def _conflict(claims: Sequence[Claim | None], a: int, b: int) -> ClaimConflict:
    one, other = claims[a], claims[b]
    conflict = conflict_between(one, other) if one is not None and other is not None else None
    assert conflict is not None, "the index and the exact comparison agree"
    return ClaimConflict(a, b, *conflict)


# --- all pairs at once ---

_MANY = 32
"""Minimum size of a group for which an integer of bits is cached."""


class _Group:
    """Steps that name one pattern, by role, in spec order."""

    __slots__ = ("bits", "members", "overlapping", "partner_bits", "users")

    def __init__(self) -> None:
        self.members: tuple[list[int], list[int], list[int]] = ([], [], [])
        """Writers, shared writers, readers."""
        self.users = 0
        self.overlapping: list[_Group] = []
        """Overlapping groups, this one included."""
        self.bits: dict[int, int] | None = None
        """Role to the bits of its own members, if they are many."""
        self.partner_bits: dict[int, int] | None = None
        """Role to the bits of the members of all overlapping groups, if it has many users."""


_WRITERS, _SHARED_WRITERS, _READERS = 0, 1, 2


class _Partners:
    """Partners of each step: all steps whose claims conflict with its own, ordered or not.

    Only steps that have such a partner, `meeting`, are given a bit; bits keep spec order.
    """

    def __init__(self, claims: Sequence[Claim | None]) -> None:
        index: PatternIndex[_Group] = PatternIndex(_Group)
        roles: list[list[tuple[_Group, int]]] = []
        groups: list[tuple[Pattern, _Group]] = []

        def used(pattern: Pattern) -> _Group:
            group = index.at(pattern)
            if not group.users:
                groups.append((pattern, group))
            group.users += 1
            return group

        for step, claim in enumerate(claims):
            against: list[tuple[_Group, int]] = []
            roles.append(against)
            if claim is None:
                continue
            for pattern in claim.writes:
                group = used(pattern)
                group.members[_WRITERS].append(step)
                against.append((group, _WRITERS))
                if claim.shared:
                    group.members[_SHARED_WRITERS].append(step)
                    against.append((group, _READERS))
            for pattern in claim.reads:
                group = used(pattern)
                group.members[_READERS].append(step)
                against.append((group, _SHARED_WRITERS))
        for pattern, group in groups:
            group.overlapping = list(index.overlapping(pattern))
        self.roles = roles
        """Step to its patterns, each with the role whose holders it conflicts with."""
        self.meeting = [step for step, against in enumerate(roles) if _meets(step, against)]
        self.bit_of = [-1] * len(claims)
        for bit, step in enumerate(self.meeting):
            self.bit_of[step] = bit

    def mask(self, step: int) -> int:
        """Return the bits of the step's partners; its own may be among them."""
        mask = 0
        for group, role in self.roles[step]:
            known = group.partner_bits.get(role) if group.partner_bits else None
            if known is None:
                known = self.union(group.overlapping, role)
                if group.users >= _MANY:
                    group.partner_bits = {**(group.partner_bits or {}), role: known}
            mask |= known
        return mask

    def union(self, groups: list[_Group], role: int) -> int:
        """Return the members of all `groups` in `role`, as bits."""
        mask = 0
        few: list[int] = []
        for group in groups:
            members = group.members[role]
            if len(members) < _MANY:
                few += members
            else:
                if group.bits is None:
                    group.bits = {}
                if role not in group.bits:
                    group.bits[role] = self.bits(members)
                mask |= group.bits[role]
        return mask | self.bits(few)

    def bits(self, steps: list[int]) -> int:
        # A lone partner of itself has no bit.
        positions = {self.bit_of[step] for step in steps} - {-1}
        if len(positions) < 4:
            return sum(1 << position for position in positions)
        octets = bytearray(len(self.meeting) // 8 + 1)
        for position in positions:
            octets[position >> 3] |= 1 << (position & 7)
        return int.from_bytes(octets, "little")


def _meets(step: int, against: list[tuple[_Group, int]]) -> bool:
    """Return whether the step has a partner other than itself."""
    for group, role in against:
        if group.users == 1 and len(group.overlapping) == 1:
            continue
        for other in group.overlapping:
            members = other.members[role]
            if members and (members[0] != step or members[-1] != step):
                return True
    return False


def _with_ancestors(
    graph: Graph, levels: Sequence[Sequence[int]], bit_of: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield each step that has a bit, as its bit and those of all its ancestors, kept while needed."""
    waiting = [len(later) for later in graph.dependents]
    masks: dict[int, int] = {}
    for level in levels:
        for step in level:
            ancestors = 0
            for earlier in graph.depends_on[step]:
                ancestors |= masks[earlier]
                waiting[earlier] -= 1
                if not waiting[earlier]:
                    del masks[earlier]
            bit = bit_of[step]
            if bit >= 0:
                yield bit, ancestors
            if waiting[step]:
                masks[step] = ancestors if bit < 0 else ancestors | (1 << bit)


def _keep_first(first: list[tuple[int, int]], bit: int, mask: int, limit: int) -> None:
    """Put the pairs of `bit` into `first`, a heap of the `limit` earliest pairs, negated."""
    if not limit:
        return
    lowest = (mask & -mask).bit_length() - 1
    if len(first) == limit and (-min(bit, lowest), -max(bit, lowest)) <= first[0]:
        return
    digits = format(mask, "b")[::-1]
    position = digits.find("1")
    while position >= 0:
        pair = (-min(bit, position), -max(bit, position))
        if len(first) < limit:
            heappush(first, pair)
        elif pair > first[0]:
            heapreplace(first, pair)
        else:
            return
        position = digits.find("1", position + 1)
