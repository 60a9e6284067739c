"""What people read of a step: its title, with the id where it is needed for a command."""

from __future__ import annotations

import pytest

from pixirnb.views.basics.step_names import label, label_html, name_of, titles_of, width


def test_a_title_stands_before_the_id_and_an_id_alone_without_one() -> None:
    assert label("fetch", "Загрузка") == "Загрузка (fetch)"
    assert (label("fetch", ""), label("fetch", None)) == ("fetch", "fetch")
    assert (name_of("fetch", "Загрузка"), name_of("fetch", "")) == ("Загрузка", "fetch")


@pytest.mark.parametrize("title", ["x" * 120, "取" * 120, "取x" * 60, "👩" * 60, "e\u0301x" * 40])
@pytest.mark.parametrize("name", ["a", "b" * 30, "c" * 52])
def test_a_title_is_cut_to_the_columns_there_are_and_the_id_never(title: str, name: str) -> None:
    shown = label(name, title)
    assert shown.endswith(f"… ({name})")
    assert 60 <= width(shown) <= 64


def test_where_both_have_no_room_the_id_stands_alone() -> None:
    assert label("c" * 60, "Загрузка") == "c" * 60
    assert label("make", "Загрузка", 12) == "make"


def test_a_hostile_title_is_text() -> None:
    assert label("a", "x\x1b[31my\u202e\nz") == "xy z (a)"
    assert label("a", "\u3164\u200b") == name_of("a", "\u3164\u200b") == "a"
    markup = '<span>&lt;b&gt;&amp;</span> <span class="pixirnb-mute">(a)</span>'
    assert label_html("a", "<b>&") == markup
    assert label_html("a", "") == "<code>a</code>"


def test_titles_are_read_from_the_steps_of_a_document() -> None:
    document = {"steps": [{"step_id": "a", "title": "A"}, {"step_id": "b"}]}
    assert titles_of(document) == {"a": "A"}
    assert titles_of(None) == titles_of({}) == {}
