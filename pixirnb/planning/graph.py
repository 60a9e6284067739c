"""The dependency graph of a workflow, as lists of integers: levels, cycles, ancestors, critical path.

Built from ids and names of dependencies; errors are returned as data, so that all are reported at once. Indices are
positions in spec order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from msgspec import Struct, field

Steps = Sequence[tuple[str, Sequence[str]]]
"""For each step its id and the ids it depends on."""


class Duplicate(Struct, frozen=True):
    """An id that an earlier step already has."""

    step: int
    first: int
    id: str


class Unknown(Struct, frozen=True):
    """A dependency on a step that does not exist."""

    step: int
    index: int
    """Position in the step's `depends_on`."""
    name: str
    near: tuple[str, ...]
    """Similar ids, the likeliest first."""


class Graph(Struct, frozen=True, eq=False):
    """Steps and the edges between them, without unknown and repeated dependencies."""

    ids: tuple[str, ...]
    index: dict[str, int]
    """Id to position; of duplicates the first."""
    depends_on: list[list[int]]
    dependents: list[list[int]]
    duplicates: tuple[Duplicate, ...]
    unknown: tuple[Unknown, ...]
    _ancestors: dict[int, bytearray] = field(default_factory=dict)

    def is_ancestor(self, earlier: int, later: int) -> bool:
        """Return whether `later` depends on `earlier`, directly or through others. A step is not its own ancestor.

        The first query for a `later` walks over all its ancestors; the result, a byte a step, is cached for the last
        few.
        """
        if earlier in self.depends_on[later]:
            return True
        seen = self._ancestors.get(later)
        if seen is None:
            seen = self._ancestors_of(later)
            if len(self._ancestors) >= 64:
                self._ancestors.pop(next(iter(self._ancestors)))
            self._ancestors[later] = seen
        return seen[earlier] == 1

    def _ancestors_of(self, step: int) -> bytearray:
        seen = bytearray(len(self.ids))
        waiting = list(self.depends_on[step])
        while waiting:
            earlier = waiting.pop()
            if not seen[earlier]:
                seen[earlier] = 1
                waiting += self.depends_on[earlier]
        return seen


def build_graph(steps: Steps) -> Graph:
    """Resolve names to positions. Never raises for what an author can write."""
    ids = tuple(id_ for id_, _ in steps)
    index: dict[str, int] = {}
    duplicates: list[Duplicate] = []
    for step, id_ in enumerate(ids):
        first = index.setdefault(id_, step)
        if first != step:
            duplicates.append(Duplicate(step, first, id_))
    depends_on: list[list[int]] = []
    dependents: list[list[int]] = [[] for _ in ids]
    unknown: list[Unknown] = []
    for step, (_, names) in enumerate(steps):
        edges: list[int] = []
        for at, name in enumerate(names):
            earlier = index.get(name)
            if earlier is None:
                unknown.append(Unknown(step, at, name, _near(name, ids, len(unknown))))
            elif earlier not in edges:
                edges.append(earlier)
                dependents[earlier].append(step)
        depends_on.append(edges)
    return Graph(ids, index, depends_on, dependents, tuple(duplicates), tuple(unknown))


def topological_levels(graph: Graph) -> list[list[int]]:
    """Return generations: each step is one level below the deepest of its dependencies.

    Each level is in spec order. Steps on a cycle, and all after them, are in no level.
    """
    missing = [len(edges) for edges in graph.depends_on]
    dependents = graph.dependents
    level = [step for step, count in enumerate(missing) if not count]
    levels: list[list[int]] = []
    while level:
        levels.append(level)
        following: list[int] = []
        for step in level:
            for later in dependents[step]:
                missing[later] -= 1
                if not missing[later]:
                    following.append(later)
        following.sort()
        level = following
    return levels


def find_cycles(graph: Graph) -> list[list[int]]:
    """Return one cycle of each strongly connected component: `[a, b, a]` when a → b → a.

    Each begins and ends with the component's first step in spec order, follows `depends_on` and is as short as any
    through that step. Components are in spec order.
    """
    cycles = []
    for knot in _knots(graph):
        first = min(knot)
        members = set(knot)
        before: dict[int, int] = {}
        layer = [first]
        while first not in before:
            following: list[int] = []
            for step in layer:
                for earlier in graph.depends_on[step]:
                    if earlier in members and earlier not in before:
                        before[earlier] = step
                        following.append(earlier)
            layer = following
        path = [first, before[first]]
        while path[-1] != first:
            path.append(before[path[-1]])
        cycles.append(path[::-1])
    return sorted(cycles)


def cycle_text(graph: Graph, cycle: Sequence[int]) -> str:
    """Return a cycle for people: `a → b → a`, each waiting for the next."""
    return " → ".join(graph.ids[step] for step in cycle)


def _near(name: str, ids: Sequence[str], reported: int) -> tuple[str, ...]:
    # Likeness costs a look at every id: past the first mistakes and in huge workflows only a
    # different case is worth telling.
    if reported < 20 and len(ids) <= 20_000:
        return tuple(get_close_matches(name, ids, n=3))
    return tuple(id_ for id_ in ids if id_.lower() == name.lower())[:1] if reported < 1000 else ()


def _knots(graph: Graph) -> Iterator[list[int]]:
    """Yield strongly connected components that have a cycle: Tarjan's algorithm, without recursion."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    in_levels = {step for level in topological_levels(graph) for step in level}
    for root in range(len(graph.ids)):
        if root in number or root in in_levels:
            continue
        walk = [(root, iter(graph.depends_on[root]))]
        number[root] = low[root] = len(number)
        open_.append(root)
        is_open.add(root)
        while walk:
            step, edges = walk[-1]
            for edge in edges:
                if edge not in number:
                    number[edge] = low[edge] = len(number)
                    open_.append(edge)
                    is_open.add(edge)
                    walk.append((edge, iter(graph.depends_on[edge])))
                    break
                if edge in is_open:
                    low[step] = min(low[step], number[edge])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[step])
                if low[step] == number[step]:
                    knot: list[int] = []
                    while not knot or knot[-1] != step:
                        knot.append(open_.pop())
                        is_open.discard(knot[-1])
                    if len(knot) > 1 or step in graph.depends_on[step]:
                        yield knot
