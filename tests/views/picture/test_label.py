"""Names that are too long for their box are cut so that the boxes of a column differ."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pixirnb.views.picture.label import BOLD, length, tell_apart
from pixirnb.views.picture.svg import picture
from tests.views.pictures import written_out

REGIONS = ["north", "south", "east", "west", "centre", "islands", "abroad", "total"]
LONG = [f"extract-the-quarterly-sales-figures-of-the-region-{end}" for end in REGIONS]


def cut(names: list[str], room: float) -> list[str]:
    return tell_apart(names, [room] * len(names))


def names_in(svg: str) -> list[str]:
    return re.findall(r'class="pixirnb-name"[^>]*>([^<]*)<', svg)


def widths_in(svg: str) -> list[float]:
    return [
        float(each)
        for each in re.findall(r'class="pixirnb-box" width="([\d.]+)"', written_out(svg))
    ]


def drawn(waves: list[list[str]], edges: list[tuple[str, str]]) -> str:
    plan: Any = {"workflow": "w", "waves": waves, "phases": []}
    return picture(plan, None, edges)


def test_names_that_fit_stay_whole() -> None:
    assert cut(["lint", "unit-tests"], 100) == ["lint", "unit-tests"]


def test_names_that_differ_early_are_cut_at_the_end() -> None:
    labels = cut(["north-of-everything-that-is-long", "south-of-everything"], 90)
    assert [label[:5] for label in labels] == ["north", "south"]
    assert all(label.endswith("…") for label in labels)


def test_names_with_a_common_beginning_show_their_end() -> None:
    labels = cut(LONG, 120)
    assert all(label.endswith(f"…-{end}") for label, end in zip(labels, REGIONS, strict=True))
    assert all(label.startswith("extr") for label in labels)
    assert all(length(label, BOLD) <= 120 for label in labels)


def test_names_that_differ_in_the_middle_show_what_differs() -> None:
    names = [f"extract-the-figures-of-{region}-for-the-report" for region in REGIONS]
    labels = cut(names, 100)
    assert len(set(labels)) == len(names)


@given(st.lists(st.text("ab-", max_size=40), max_size=8), st.floats(60, 260))
def test_a_label_is_as_wide_as_its_room_at_most(names: list[str], room: float) -> None:
    labels = cut(names, room)
    assert len(labels) == len(names)
    assert all(length(label, BOLD) <= room for label in labels)


def test_eight_steps_of_one_column_with_long_ids_have_eight_labels() -> None:
    svg = drawn([LONG], [])
    assert len(set(names_in(svg))) == 8
    assert max(widths_in(svg)) == 260


def test_eight_steps_in_a_chain_with_long_ids_have_eight_labels() -> None:
    svg = drawn([[step] for step in LONG], list(pairwise(LONG)))
    assert len(set(names_in(svg))) == 8


def test_a_box_is_as_wide_as_the_longest_name_of_its_column() -> None:
    name = "a-name-of-some-length"
    svg = drawn([["a", "b"], [name, "c"]], [("a", "c"), ("b", name)])
    short, _, wide, other = widths_in(svg)
    assert (short, wide == other) == (112, True)
    assert length(name, BOLD) + 37 < wide < 260
