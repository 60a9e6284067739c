"""A drawing that fits a page: fan-outs become stacks, and what is still too long or too wide becomes boxes that count the rest.

drawing ──▶ fold_fan_outs ──▶ stacks, and next to each the steps of it that failed or ask ──▶ within bounds
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from pixirnb.views.basics.sanitize import line, plural
from pixirnb.views.basics.status_marks import LOUD, PLANNED, tally
from pixirnb.views.picture.drawing import Drawing, Node
from pixirnb.views.picture.label import shared_letters

STACK: Final = 8
"""Steps of one column with equal neighbours from which they are drawn as one stack."""
PEELED: Final = 8
"""Steps of a stack that are drawn next to it at most, those that ask first."""
ROWS: Final = 60
COLUMNS: Final = 60
BOXES: Final = 1_200
"""Boxes in a static picture, about 1 kB each."""
_NUMBERED: Final = re.compile(r"\d+")


def fold_drawing(
    whole: Drawing, *, rows: int = ROWS, columns: int = COLUMNS, boxes: int = BOXES
) -> Drawing:
    """Return a drawing with at most `rows` boxes in a column, `columns` columns and about `boxes` boxes in all."""
    every_node = whole.nodes
    whole = fold_fan_outs(whole)
    every = whole.columns
    shown = min(len(every), columns)
    rows = min(rows, max(8, boxes // max(shown, 1)))
    if len(every) <= columns and all(len(column) <= rows for column in every):
        return whole
    stand_in: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    cut: list[list[str]] = []

    def box(name: str, hidden: Sequence[str], column: list[str], what: str) -> None:
        steps = list(dict.fromkeys(s for each in hidden for s in whole.nodes[each].steps or [each]))
        nodes[name] = _standing_for(every_node, name, steps, f"… {len(steps):,} more{what}")
        stand_in.update(dict.fromkeys(hidden, name))
        column.append(name)

    last = shown if len(every) <= columns else shown - 1
    for number, each in enumerate(every[:last]):
        keep = each if len(each) <= rows else each[: rows - 1]
        column = list(keep)
        nodes.update((step, whole.nodes[step]) for step in keep)
        if len(keep) < len(each):
            box(f"+{number}", each[len(keep) :], column, "")
        cut.append(column)
    if last < len(every):
        rest = [step for column in every[last:] for step in column]
        cut.append([])
        box("+rest", rest, cut[-1], f" in {plural(len(every) - last, 'column')}")
    return _folded(whole, nodes, cut, stand_in)


def fold_fan_outs(whole: Drawing) -> Drawing:
    """Return a drawing in which steps of one column with equal dependencies and dependents are one stack."""
    stand_in: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    columns: list[list[str]] = []
    for column, stacks in zip(whole.columns, _fan_outs(whole), strict=True):
        first = {stack[0]: stack for stack in stacks}
        hidden = {step for stack in stacks for step in stack}
        columns.append([])
        for step in column:
            if step in first:
                name = f"+{step}"
                node = _standing_for(whole.nodes, name, first[step], _series(first[step]))
                nodes[name] = replace(node, is_stack=True)
                apart = _peeled(whole, first[step])
                columns[-1] += [name, *apart]
                nodes.update((each, whole.nodes[each]) for each in apart)
                stand_in.update((each, name) for each in first[step] if each not in apart)
            elif step not in hidden:
                columns[-1].append(step)
                nodes[step] = whole.nodes[step]
    return _folded(whole, nodes, columns, stand_in) if stand_in else whole


def _fan_outs(whole: Drawing) -> Iterator[list[list[str]]]:
    """Yield the groups of each column that are drawn as a stack."""
    before: dict[str, list[str]] = {step: [] for step in whole.nodes}
    after: dict[str, list[str]] = {step: [] for step in whole.nodes}
    for a, b in whole.edges:
        after[a].append(b)
        before[b].append(a)
    phase = {s: number for number, (_, steps) in enumerate(whole.phases) for s in steps}
    for column in whole.columns:
        groups: dict[object, list[str]] = {}
        for step in column:
            neighbours = (frozenset(before[step]), frozenset(after[step]))
            # Steps that nothing joins are several things, unless their ids number them.
            series = "" if any(neighbours) else _NUMBERED.sub("", step)
            groups.setdefault((neighbours, series, phase.get(step)), []).append(step)
        yield [group for group in groups.values() if len(group) >= STACK]


def _peeled(whole: Drawing, steps: Sequence[str]) -> list[str]:
    loud = [step for step in steps if whole.nodes[step].mark.key in LOUD]
    first = sorted(loud, key=lambda step: whole.nodes[step].mark.tone != "ask")[:PEELED]
    return [step for step in loud if step in first]


def _standing_for(nodes: Mapping[str, Node], name: str, steps: Sequence[str], label: str) -> Node:
    counts = tally(nodes[step].mark for step in steps)
    return Node(name, PLANNED, label=label, stands_for=tuple(counts), steps=tuple(steps))


def _series(steps: Sequence[str]) -> str:
    """Return `part-000 … 149`: the first id, and the last without the words in front that all have in common."""
    ids = [line(step, 64) for step in steps]
    common = ids[0][: min(shared_letters(ids[0], each) for each in ids)]
    words = re.sub(r"[^-_.]*$", "", common) or re.sub(r"\d+$", "", common)
    return f"{ids[0]} … {ids[-1].removeprefix(words)}"


def _folded(
    whole: Drawing,
    nodes: Mapping[str, Node],
    columns: Sequence[Sequence[str]],
    stand_in: Mapping[str, str],
) -> Drawing:
    holds = _moved(whole.holds, stand_in)
    # A stack is of one phase; a box that counts the rest may be of several.
    stacks = {step: name for step, name in stand_in.items() if nodes[name].is_stack}
    phases = [
        (name, dict.fromkeys(stacks.get(s, s) for s in steps)) for name, steps in whole.phases
    ]
    return replace(
        whole,
        nodes=nodes,
        columns=columns,
        edges=_moved(whole.edges, stand_in),
        holds=[pair for pair in holds if not pair[1].startswith("+")],
        phases=[(name, [each for each in drawn if each in nodes]) for name, drawn in phases],
    )


def _moved(edges: Sequence[tuple[str, str]], stand_in: Mapping[str, str]) -> list[tuple[str, str]]:
    moved = ((stand_in.get(a, a), stand_in.get(b, b)) for a, b in edges)
    return list(dict.fromkeys((a, b) for a, b in moved if a != b))
