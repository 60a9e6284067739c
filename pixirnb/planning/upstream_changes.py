"""Changes seen by each step: the isolated writers before it, and those of them that a merge brought back. Pure.

Sets of steps are the bits of one integer, a bit for each isolated writer, and are kept only while a later step may
need them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from pixirnb.planning.graph import Graph
from pixirnb.planning.resolved_step import Resolved
from pixirnb.spec.steps import MergeStep


class Inherited(Struct, frozen=True):
    """The changes of others that one step sees. Lists are positions of isolated writers, in spec order."""

    step: int
    unseen: tuple[int, ...] = ()
    """Changes of earlier steps that no merge brought back, and that no step before it lacked; in the shared workspace only.
    """
    left_out: tuple[int, ...] = ()
    """For a merge: changes that its own build on, and that no merge brings back before."""


def changes_files(step: Resolved) -> bool:
    """Return whether a step makes changes to be merged: an isolated step that may write."""
    return step.workspace == "isolated" and step.posture != "read_only"


def inheritance(
    resolved: Sequence[Resolved], graph: Graph, levels: Sequence[Sequence[int]]
) -> Iterator[Inherited]:
    """Yield every step that lacks changes, in topological order. Steps on cycles are left out: that plan is refused."""
    writers = [position for position, step in enumerate(resolved) if changes_files(step)]
    bit_of = {position: 1 << bit for bit, position in enumerate(writers)}
    merged: set[int] = set()
    for step in resolved:
        if type(step.spec) is MergeStep:
            merged.update(graph.index[name] for name in step.spec.merge if name in graph.index)
    built_on: dict[int, int] = {}
    """For each step that is merged somewhere, the changes before it."""
    waiting = [len(later) for later in graph.dependents]
    known: dict[int, tuple[int, int, int]] = {}
    for level in levels:
        for position in level:
            step = resolved[position]
            before = back = reported = 0
            for earlier in graph.depends_on[position]:
                theirs = known[earlier]
                before |= theirs[0] | bit_of.get(earlier, 0)
                back |= theirs[1]
                reported |= theirs[2]
                waiting[earlier] -= 1
                if not waiting[earlier]:
                    del known[earlier]
            if position in merged:
                built_on[position] = before
            if type(step.spec) is MergeStep:
                brought = base = 0
                for name in step.spec.merge:
                    other = graph.index.get(name, -1)
                    brought |= bit_of.get(other, 0)
                    base |= built_on.get(other, 0) if bit_of.get(other, 0) & before else 0
                if left_out := base & ~brought & ~back:
                    yield Inherited(position, left_out=_positions(left_out, writers))
                back |= brought
            elif _looks_at_files(step) and (unseen := before & ~back & ~reported):
                yield Inherited(position, unseen=_positions(unseen, writers))
                reported |= unseen
            if waiting[position]:
                known[position] = before, back, reported


def _looks_at_files(step: Resolved) -> bool:
    if step.workspace == "isolated" or step.spec.kind == "decision":
        return False
    return step.spec.kind != "python" or bool(step.reads or step.writes)


def _positions(bits: int, writers: Sequence[int]) -> tuple[int, ...]:
    positions: list[int] = []
    while bits:
        lowest = bits & -bits
        positions.append(writers[lowest.bit_length() - 1])
        bits ^= lowest
    return tuple(positions)
