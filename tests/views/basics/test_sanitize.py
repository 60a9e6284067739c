"""Text, spans and moments: clean, bounded, and the same in two runs once the named patterns are blanked."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.views.basics.sanitize import escape_json, line, plain
from pixirnb.views.basics.step_names import width
from pixirnb.views.basics.times import moment, span
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.run.outcome_view import outcome_blocks
from tests.views.blanking import blanked
from tests.views.view_samples import PARTIAL_LOOKS, RELEASE, RUN, edges_of, plan, release


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x.example\x07text\x1b]8;;\x1b\\", "text"),
        ("\x1b]0;title\x1b\\after", "after"),
        ("\x1b]52;c;never ended", "52;c;never ended"),
        ("\x9b2Jgone", "gone"),
        ("\x1bPq payload \x1b\\kept", "kept"),
        ("\x1b[\x1b[0m31m", "31m"),
        ("a\u202eb\u2066c\u200fd", "abcd"),
        ("tab\tstop", "tab    stop"),
        ("over\rwritten", "over\nwritten"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
        ("nul\x00bell\x07", "nulbell"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("naïve 日本 ✓ 👩‍🔬", "naïve 日本 ✓ 👩‍🔬"),
    ],
)
def test_only_what_a_person_can_read_is_left(given_text: str, shown: str) -> None:
    assert plain(given_text) == shown


@given(st.text(st.characters(), max_size=300), st.integers(1, 50))
def test_text_is_bounded_and_cleaning_it_twice_changes_nothing(text: str, limit: int) -> None:
    assert len(plain(text, limit)) <= limit
    assert len(line(text, limit)) <= limit
    assert plain(plain(text)) == plain(text)
    assert "\n" not in line(text)


@given(st.text(st.characters() | st.sampled_from("\x7f\x9b\u202e\u2066\u2028\U000e0041")))
def test_json_for_a_terminal_hides_nothing_and_parses_to_the_same(text: str) -> None:
    shown = escape_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(shown) == {"text": text}
    assert not set("\x7f\x9b\u202e\u2066\u2028\U000e0041") & set(shown)


def test_a_flood_of_openers_is_cleaned_in_one_pass() -> None:
    assert plain("\x1b]" * 1_000_000, 100) == "…"
    assert len(plain("\x1b[" + "0;" * 1_000_000)) <= 2_000


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"),
        (12, "12 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (1_249, "1.2 s"),
        (1_250, "1.3 s"),
        (59_949, "59.9 s"),
        (59_950, "1 m 00 s"),
        (65_000, "1 m 05 s"),
        (3_599_499, "59 m 59 s"),
        (3_599_500, "1 h 00 m"),
        (3_720_000, "1 h 02 m"),
        (604_800_000, "168 h 00 m"),
        (None, ""),
        (-1, ""),
        (True, ""),
        ("<b>", ""),
        (float("nan"), ""),
        (float("inf"), ""),
    ],
)
def test_spans_read_as_a_person_would_say_them(milliseconds: object, shown: str) -> None:
    assert span(milliseconds) == shown


def test_moments_are_shown_to_the_second() -> None:
    assert moment("2026-11-21T22:03:44.123456Z") == "2026-11-21 22:03:44 UTC"
    assert moment(None) == moment("<script>") == ""


@given(st.lists(st.integers(0, 10_000_000), min_size=23, max_size=23), st.integers(0, 10_000_000))
def test_two_runs_look_the_same_once_ids_times_and_spans_are_blanked(
    spans: list[int], whole: int
) -> None:
    first, second = release("partial", PARTIAL_LOOKS), release("partial", PARTIAL_LOOKS)
    second["run_id"] = "r-20270102-030405-zzzzzz"
    second["elapsed_ms"] = whole
    for one, elapsed in zip(second["steps"], spans, strict=True):
        one["elapsed_ms"] = elapsed if one["elapsed_ms"] is not None else None

    views = [
        mimebundle(outcome_blocks(doc, edges_of(RELEASE), plan=plan(RELEASE)))
        for doc in (first, second)
    ]

    assert first["run_id"] == RUN
    for mime in ("text/plain", "text/html"):
        assert blanked(views[0][mime]) == blanked(views[1][mime])


def test_wide_letters_take_two_columns() -> None:
    assert width("日本") == 4
    assert width("e\u0301") == 1
