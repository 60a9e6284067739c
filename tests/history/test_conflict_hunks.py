"""A text in conflict is chosen hunk by hunk, as far as its markers can be told from its lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.history.conflict_hunks import HUNKS_LIMIT, chosen_text, is_hunk_choice, parts_of
from pixirnb.ids import digest_of

HUNK = b"<<<<<<< ours\nmine\n=======\nits\n>>>>>>> theirs\n"
TWO = b"top\n" + HUNK + b"between\n" + HUNK.replace(b"mine\n", b"") + b"end"


def chosen(marked: bytes, *hunks: str, of: str | None = None) -> bytes | None:
    choice = {"hunks": list(hunks), "of": of or digest_of(marked)}
    assert is_hunk_choice(choice, {"workspace", "a", "b"})
    return chosen_text(marked, choice, ours={"workspace", "a"}, theirs="b")


def test_each_hunk_is_what_was_chosen_for_it() -> None:
    assert parts_of(TWO) == [b"top\n", (b"mine\n", b"its\n"), b"between\n", (b"", b"its\n"), b"end"]
    assert chosen(TWO, "workspace", "a") == b"top\nmine\nbetween\nend"
    assert chosen(TWO, "b", "workspace") == b"top\nits\nbetween\nend"
    assert chosen(TWO, "b+a", "a+b") == b"top\nits\nmine\nbetween\nits\nend"


def test_line_ends_stay_as_they_are() -> None:
    marked = HUNK.replace(b"\n", b"\r\n")
    assert chosen(marked, "a+b") == b"mine\r\nits\r\n"


def test_a_choice_holds_for_the_text_it_was_made_of_and_its_versions() -> None:
    assert chosen(TWO, "b", "b", of=digest_of(HUNK)) is None
    assert chosen(TWO, "b") is None
    choice: Any = {"hunks": ["other", "b"], "of": digest_of(TWO)}
    assert chosen_text(TWO, choice, ours={"a"}, theirs="b") is None


@pytest.mark.parametrize(
    "marked",
    [
        b"no conflict\n",
        HUNK.replace(b"mine", b"======="),
        HUNK.replace(b"its", b"======="),
        HUNK.replace(b"its", b">>>>>>> other"),
        HUNK + b"<<<<<<< other\n",
        HUNK[:-20],
        HUNK * (HUNKS_LIMIT + 1),
    ],
)
def test_where_a_line_may_be_a_marker_only_the_whole_file_is_chosen(marked: bytes) -> None:
    assert parts_of(marked) is None
    assert chosen(marked, "b") is None


def test_a_heading_outside_of_a_hunk_is_no_marker() -> None:
    assert chosen(b"Title\n=======\n" + HUNK, "b") == b"Title\n=======\nits\n"


@given(st.lists(st.binary() | st.sampled_from([HUNK, b"=======\n", b"<<<<<<< ours\n"])))
def test_any_text_has_parts_of_itself_or_none(pieces: list[bytes]) -> None:
    marked = b"".join(pieces)
    for part in parts_of(marked) or []:
        assert all(text in marked for text in ([part] if isinstance(part, bytes) else part))


@pytest.mark.parametrize(
    "value",
    [
        "a",
        {"hunks": ["a"]},
        {"hunks": [], "of": "x"},
        {"hunks": "a", "of": "x"},
        {"hunks": ["a+b+a"], "of": "x"},
        {"hunks": ["a+a"], "of": "x"},
        {"hunks": ["c"], "of": "x"},
        {"hunks": [["a"]], "of": "x"},
        {"hunks": ["a"], "of": 1},
        {"hunks": ["a"], "of": "x", "more": 1},
        {"hunks": ["a"] * (HUNKS_LIMIT + 1), "of": "x"},
    ],
)
def test_what_is_no_choice_is_told(value: Any) -> None:
    assert not is_hunk_choice(value, {"a", "b"})
