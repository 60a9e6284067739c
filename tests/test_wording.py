"""Names in a sentence: the first of them, and how many more there are."""

from __future__ import annotations

from pixirnb.wording import join_names


def test_all_are_named_up_to_the_limit_and_the_rest_is_counted() -> None:
    assert join_names([], 2) == ""
    assert join_names(["a", "b"], 2) == "a, b"
    assert join_names(["a", "b", "c"], 2, "`{}`".format) == "`a`, `b` and 1 more"


def test_names_may_be_the_first_of_more_than_are_at_hand() -> None:
    assert join_names(["a"], 5, count=1) == "a"
    assert join_names(["a", "b"], 5, count=1_234) == "a, b and 1232 more"
    assert join_names(["a", "b"], 1, count=1_235, group=",") == "a and 1,234 more"
