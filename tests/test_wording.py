"""Names in a sentence: the first of them, and how many more there are; texts that are bounded, or on one line."""

from __future__ import annotations

from pixirnb.wording import cut, join_names, on_one_line


def test_all_are_named_up_to_the_limit_and_the_rest_is_counted() -> None:
    assert join_names([], 2) == ""
    assert join_names(["a", "b"], 2) == "a, b"
    assert join_names(["a", "b", "c"], 2, "`{}`".format) == "`a`, `b` and 1 more"


def test_names_may_be_the_first_of_more_than_are_at_hand() -> None:
    assert join_names(["a"], 5, count=1) == "a"
    assert join_names(["a", "b"], 5, count=1_234) == "a, b and 1232 more"
    assert join_names(["a", "b"], 1, count=1_235, group=",") == "a and 1,234 more"


def test_a_text_is_cut_at_its_limit_and_no_blank_stands_before_the_mark() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("ab cd", 4) == "ab…"
    assert cut("abc", 0) == "…"
    assert on_one_line(" a\n\x1b[b\u2028c ") == "a [b c"
