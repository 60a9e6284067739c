"""A preview of the schedule: the steps that would start together if each took one unit of time.

A step starts when its dependencies are done, a slot is free, nothing it conflicts with runs, and no earlier ready
step it conflicts with waits. Steps with equal claims are checked as one, so that thousands of `**/*` writers cost no
more than a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

from msgspec import Struct, field

from pixirnb.planning.claims import Claim, ClaimIndex, ConflictReport, conflict_between
from pixirnb.planning.graph import Graph

Waves = list[list[int]]
MOST_CHECKS: Final = 100_000
"""Maximum number of claim checks; after that, nothing is started next to a contested step."""


class Schedule(Struct, frozen=True):
    """Waves of step indices, and the ready steps that had to wait for another."""

    waves: Waves
    serialized: list[tuple[int, int]]
    """A step, and the step after which it starts; in order of starting."""


def play(
    graph: Graph,
    claims: Sequence[Claim | None],
    conflicts: ConflictReport,
    max_concurrency: int,
) -> Schedule:
    """Return the waves of a plan. Steps on cycles, and all after them, start in none."""
    missing = [len(edges) for edges in graph.depends_on]
    ready = [step for step, count in enumerate(missing) if not count]
    if not conflicts.count:
        return Schedule(_free_waves(graph, missing, ready, max_concurrency), [])
    return _Contest(graph, claims, conflicts, max_concurrency).play(missing, ready)


def _free_waves(graph: Graph, missing: list[int], ready: list[int], limit: int) -> Waves:
    waves: Waves = []
    dependents = graph.dependents
    while ready:
        wave = ready if len(ready) <= limit else [heappop(ready) for _ in range(limit)]
        if wave is ready:
            wave.sort()
            ready = []
        waves.append(wave)
        for step in wave:
            for later in dependents[step]:
                missing[later] -= 1
                if not missing[later]:
                    heappush(ready, later)
    return waves


class _Group(Struct, eq=False):
    """Ready steps with equal claims; the first of them represents all."""

    claim: Claim
    excludes_itself: bool
    ready: list[int] = field(default_factory=list)


class _Contest:
    """The simulation for plans with conflicts."""

    def __init__(
        self,
        graph: Graph,
        claims: Sequence[Claim | None],
        conflicts: ConflictReport,
        limit: int,
    ) -> None:
        self.graph = graph
        self.limit = limit
        self.checks = 0
        self.free: list[int] = []
        self.groups: list[tuple[int, int, _Group]] = []
        """Heap of groups by their first ready step."""
        self.group_of: dict[int, _Group] = {}
        self.since: dict[int, int] = {}
        """The wave from which a contested step was ready."""
        self.blocker: dict[int, int] = {}
        # If all conflicts are listed, steps in none of them need no check.
        contested = conflicts.steps if conflicts.count <= len(conflicts.listed) else None
        known: dict[tuple[object, ...], _Group] = {}
        for step, claim in enumerate(claims):
            if claim is None or not (claim.reads or claim.writes):
                continue
            if contested is not None and step not in contested:
                continue
            key = (claim.reads, claim.writes, claim.shared)
            if key not in known:
                known[key] = _Group(claim, conflict_between(claim, claim) is not None)
            self.group_of[step] = known[key]

    def play(self, missing: list[int], ready: list[int]) -> Schedule:
        waves: Waves = []
        serialized: list[tuple[int, int]] = []
        for step in ready:
            self.admit(step, 0)
        while self.free or self.groups:
            wave, aside = self.start(len(waves), waves[-1] if waves else [])
            if not wave:
                continue  # nothing but stale entries was left
            serialized += [(step, self.blocker.pop(step)) for step in wave if step in self.blocker]
            waves.append(wave)
            for group in filter(lambda each: each.ready, aside):
                heappush(self.groups, (group.ready[0], id(group), group))
            for step in wave:
                for later in self.graph.dependents[step]:
                    missing[later] -= 1
                    if not missing[later]:
                        self.admit(later, len(waves))
        return Schedule(waves, serialized)

    def admit(self, step: int, wave: int) -> None:
        group = self.group_of.get(step)
        if group is None:
            heappush(self.free, step)
            return
        self.since[step] = wave
        heappush(group.ready, step)
        if group.ready[0] == step:
            # The group's older entry, if any, is left to be recognised as stale.
            heappush(self.groups, (step, id(group), group))

    def start(self, now: int, before: list[int]) -> tuple[list[int], list[_Group]]:
        """Return one wave, and the groups that have to be checked again in the next."""
        held, wave, aside = ClaimIndex(), list[int](), list[_Group]()
        checked: set[int] = set()
        while len(wave) < self.limit and (self.free or self.groups):
            if len(held) and self.checks > MOST_CHECKS:
                # Beyond the budget contested steps start one by one: never too many at once, perhaps too few.
                if not self.free:
                    break
                wave.append(heappop(self.free))
                continue
            if not self.groups or (self.free and self.free[0] < self.groups[0][0]):
                wave.append(heappop(self.free))
                continue
            head, _, group = heappop(self.groups)
            if id(group) in checked or not group.ready or group.ready[0] != head:
                continue
            self.checks += 1
            if held.conflicts(group.claim):
                held.add(head, group.claim)
            else:
                heappop(group.ready)
                if self.since.pop(head) < now:
                    self.remember_blocker(head, group, before)
                wave.append(head)
                held.add(head, group.claim)
                if group.ready and not group.excludes_itself:
                    heappush(self.groups, (group.ready[0], id(group), group))
                    continue
            checked.add(id(group))
            aside.append(group)
        return sorted(wave), aside

    def remember_blocker(self, step: int, group: _Group, before: list[int]) -> None:
        """Record the blocker of the later steps of a group, which were never checked: it ran in the previous wave."""
        for earlier in before:
            other = self.group_of.get(earlier)
            if other is not None and self.is_apart(group, other):
                self.blocker[step] = earlier
                return

    def is_apart(self, one: _Group, other: _Group) -> bool:
        """Return whether two groups may not run at once."""
        if one is other:
            return one.excludes_itself
        return conflict_between(one.claim, other.claim) is not None
