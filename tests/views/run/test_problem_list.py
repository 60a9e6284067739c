"""Warnings are read by people: many of one kind are one line."""

from __future__ import annotations

from collections.abc import Mapping

from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.problem_list import gather_warnings, warnings


def _warning(code: str, line: int | None, step: int) -> Mapping[str, object]:
    return {"code": code, "line": line, "path": f"steps[{step}]", "message": f"{code} in {step}"}


def test_many_warnings_of_one_code_are_one_line_that_says_where_the_others_are() -> None:
    alike = [_warning("unverified", 5 + step, step) for step in range(30)]
    other = _warning("wide", 1, 0)

    shown = draw_text([warnings([alike[0], other, *alike[1:]])]).splitlines()

    assert shown == [
        "! line 5, steps[0]: unverified in 0; also lines 6, 7, 8 and 26 more [unverified]",
        "! line 1, steps[0]: wide in 0 [wide]",
    ]


def test_up_to_three_of_one_code_have_a_line_each() -> None:
    alike = [_warning("unverified", 5 + step, step) for step in range(3)]
    assert [*gather_warnings(alike)] == alike


def test_places_on_one_line_are_told_apart_by_their_paths() -> None:
    alike = [_warning("unverified", 1, step) for step in range(5)]
    assert [entry["message"] for entry in gather_warnings(alike)] == [
        "unverified in 0; also steps[1], steps[2], steps[3] and 1 more"
    ]


def test_warnings_that_nothing_tells_apart_stay_as_they_are() -> None:
    alike = [{"code": "lost", "message": f"request {n} was lost"} for n in range(5)]
    assert [*gather_warnings(alike)] == alike
