"""What a step printed is shown as a terminal would show it: colours by name, overwrites done, nothing else obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.views.basics.ansi import LIMIT, WORDS, render_ansi
from pixirnb.views.basics.sanitize import plain

PIECES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            *("\x1b[31m", "\x1b[1;4;48;5;20m", "\x1b[38;2;1;2;3m", "\x1b[m", "\x1b[K", "\x1b[2K"),
            *("\r", "\n", "\r\n", "\b", "\t", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\"),
            *("\x1b[", "\x1b", "\x90", "\u202e", "\u200b", "\ud800", "\x1b[38;5m", "\x9b1m"),
            *("\x1b[38;5;999m", "\x9d", "\x1b[2J"),
        ]
    ),
)


@given(st.lists(PIECES, max_size=60).map("".join))
def test_whatever_was_printed_only_text_and_known_styles_come_out(printed: str) -> None:
    shown = render_ansi(printed)

    assert all(set(style.split()) <= WORDS for style, _ in shown.segments)
    assert all(letter == "\n" or letter.isprintable() or ord(letter) > 159 for letter in shown.text)
    assert plain(shown.text, LIMIT) == shown.text
    assert all(
        a != b for (a, _), (b, _) in zip(shown.segments, shown.segments[1:], strict=False)
    )  # neighbours differ, so there are no more segments than changes


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_letters_come_out_as_they_went_in(printed: str) -> None:
    assert render_ansi(printed).text == printed


@pytest.mark.parametrize(
    ("printed", "segments"),
    [
        ("\x1b[31mred\x1b[0m on", [("red", "red"), ("", " on")]),
        ("\x1b[1;91;44mx", [("b bright-red bg-blue", "x")]),
        ("\x1b[38;5;196mx\x1b[39my", [("bright-red", "x"), ("", "y")]),
        ("\x1b[38;2;0;0;250mx", [("blue", "x")]),
        ("\x1b[38;5;7;1mx", [("b white", "x")]),
        ("\x1b[1;2;3mx\x1b[22my\x1b[23mz", [("b d i", "x"), ("i", "y"), ("", "z")]),
        ("\x1b[999;;71mx", [("", "x")]),
        ("\x9b32mx", [("green", "x")]),
        ("\x1b[31mred\nstill", [("red", "red\nstill")]),
    ],
)
def test_colours_and_weights_are_named(printed: str, segments: list[tuple[str, str]]) -> None:
    assert list(render_ansi(printed).segments) == segments


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("10%\r 50%\r100%\ndone", "100%\ndone"),
        ("long line\rshort", "shortline"),
        ("long line\r\x1b[Kshort", "short"),
        ("long line\x1b[2K\rnew", "new"),
        ("spin|\b/\b-", "spin-"),
        ("\b\b\bx", "x"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("a\x0bb\u2028c", "a\nb\nc"),
        ("a\tb", "a    b"),
    ],
)
def test_a_line_shows_what_was_written_to_it_last(printed: str, text: str) -> None:
    assert render_ansi(printed).text == text


@pytest.mark.parametrize(
    "sequence",
    [
        *("\x1b[2J", "\x1b[10;3H", "\x1b]0;pwned\x07", "\x1b]52;c;Zm9v\x07", "\x1bPq\x1b\\"),
        *("\x1b]8;;http://evil.example\x1b\\", "\x1b(0", "\x1bc", "\x9b2J", "\x1b[?25l"),
        *("\u202e", "\u2066", "\x07"),
    ],
)
def test_no_other_sequence_says_anything(sequence: str) -> None:
    assert render_ansi(f"be{sequence}fore").text == "before"


def test_a_sequence_that_never_ends_hides_nothing_of_what_follows() -> None:
    assert render_ansi("\x1b]0;and so\non").text == "0;and so\non"
    assert render_ansi("\x1b[31mred\x1b[3").text == "red"


def test_of_a_long_text_the_end_is_shown_from_a_whole_line_on_and_what_is_cut_is_counted() -> None:
    printed = "".join(f"\x1b[32mline {place}\x1b[0m\n" for place in range(20_000))
    shown = render_ansi(printed)

    assert shown.text.startswith("line ")
    assert shown.text.endswith("line 19999\n")
    assert printed[shown.cut :].startswith("\x1b[32mline ")
    assert len(printed) - shown.cut <= LIMIT


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b]",
        "\x9d",
        "\x90a",
        "\x1b[",
        "\x1b[1",
        "\r",
        "\n",
        "a\b",
        "ab\r",
        "\x1b[31mx",
        "x\x1b[2K",
    ],
)
def test_a_text_full_of_openers_is_read_in_one_go(hostile: str) -> None:
    """Looking again at what follows from each of them would take hours here, and end this test by its time-out."""
    length = 600_000
    shown = render_ansi(hostile * (length // len(hostile)), limit=length)

    assert len(shown.text) <= length
    assert len(plain(hostile * 40_000, 64_000)) <= 64_000
