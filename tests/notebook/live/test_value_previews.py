"""A value that was loaded shows itself as richly as is safe, and never as markup."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pixirnb.notebook.live.value_previews import IMAGE_BYTES, rich_preview

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


def shown(value: Any) -> dict[str, Any]:
    """The preview, which is JSON and has what every one has."""
    found = rich_preview(value)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert {"form", "type", "bytes", "sentence", "can_load"} <= set(found)
    assert len(json.dumps(found)) < 4_000_000
    return found


class Drawn:
    """Draws itself in every way there is."""

    def __init__(self, png: Any = PNG) -> None:
        self.png = png

    def _repr_png_(self) -> Any:
        return self.png

    def _repr_html_(self) -> str:
        return "<script>alert(1)</script>"

    def _repr_svg_(self) -> str:
        return "<svg onload='alert(1)'/>"

    def __repr__(self) -> str:
        return "<drawn>"


class Hostile:
    """Fails at everything."""

    def __getattr__(self, name: str) -> Any:
        raise MemoryError(name)

    def __repr__(self) -> str:
        raise RecursionError("no")


@pytest.mark.parametrize("png", [PNG, (PNG, {"width": 3}), base64.b64encode(PNG).decode()])
def test_an_object_that_draws_itself_as_png_is_a_picture(png: Any) -> None:
    found = shown(Drawn(png))
    assert (found["form"], found["mime"]) == ("image", "image/png")
    assert base64.b64decode(found["data"]) == PNG


@pytest.mark.parametrize(
    "png", [None, b"", b"<svg/>", b"\x89PN", "not base64!", 7, PNG + b"x" * IMAGE_BYTES]
)
def test_what_is_no_png_or_too_large_is_text_and_never_html_or_svg(png: Any) -> None:
    found = shown(Drawn(png))
    assert (found["form"], found["text"]) == ("object", "<drawn>")


def test_an_object_that_fails_at_everything_is_named() -> None:
    found = shown(Hostile())
    assert found["form"] == "object"
    assert "Hostile" in found["text"]


def test_a_figure_is_drawn_without_a_window() -> None:
    from matplotlib.figure import Figure  # slow to load: not in every process that collects

    figure = Figure()
    figure.subplots().plot([1, 3, 2])
    assert base64.b64decode(shown(figure)["data"]).startswith(PNG[:8])


def test_a_secret_of_the_kernel_is_masked_in_frames_arrays_and_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_TOKEN", "tok-8f3ac91b77")
    held = "Bearer tok-8f3ac91b77"
    for value in (pd.DataFrame({held: [held]}), np.array([held]), {held}):
        text = json.dumps(shown(value))
        assert "8f3ac91b77" not in text
        assert "Bearer ***" in text


def test_frames_show_their_corner_and_their_size() -> None:
    wide = pd.DataFrame({f"c{n}": range(1_000) for n in range(40)})
    found = shown(wide)
    assert found["form"] == "frame"
    assert (len(found["rows"]), len(found["heads"]), len(found["types"])) == (50, 12, 12)
    assert (found["row_count"], found["column_count"]) == (1_000, 40)

    labelled = shown(pd.Series([1.5, None], index=["a", "b"], name="x"))
    assert labelled["heads"] == ["", "x"]
    assert labelled["rows"] == [["a", "1.5"], ["b", "NaN"]]
    assert shown(pa.table({"a": [1, None], "b": ["x", "y"]}))["rows"][1] == ["null", "y"]
    assert shown(pd.DataFrame())["rows"] == []


@pytest.mark.parametrize(
    ("array", "rows", "stats"),
    [
        (np.arange(6).reshape(2, 3), [["0", "1", "2"], ["3", "4", "5"]], ["0", "2.5", "5"]),
        (np.array([1.0, np.nan]), [["1.0"], ["NaN"]], ["1", "1", "1"]),
        (np.array(7), [["7"]], ["7", "7", "7"]),
        (np.float64(2.5), [["2.5"]], ["2.5", "2.5", "2.5"]),
        (np.array(["x", "y"]), [["x"], ["y"]], []),
        (np.zeros((0, 4)), [], []),
        (np.array([1 + 2j]), [["(1+2j)"]], []),
    ],
)
def test_arrays_show_their_corner_their_shape_and_their_extremes(
    array: Any, rows: list[list[str]], stats: list[str]
) -> None:
    found = shown(array)
    assert (found["form"], found["rows"]) == ("array", rows)
    assert [each["text"] for each in found["stats"]] == stats
    assert found["shape"] == list(np.shape(array))


def test_an_array_of_many_dimensions_shows_its_first_rows() -> None:
    found = shown(np.ones((30, 20, 50)))
    assert (len(found["rows"]), len(found["heads"])) == (50, 12)
    assert found["shape"] == [30, 20, 50]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("text", "text"),
        ({"a": [1]}, "json"),
        ([{"a": 1}, {"a": 2}], "table"),
        ({1: "a"}, "object"),
        ({"a": (1, 2)}, "object"),
        (float("nan"), "object"),
        ({1, 2}, "object"),
        (None, "json"),
    ],
)
def test_plain_data_is_shown_as_what_it_is(value: Any, form: str) -> None:
    assert shown(value)["form"] == form


def test_a_text_without_end_is_cut_and_says_by_how_much() -> None:
    found = shown("x" * 100_000)
    assert found["cut"] == 80_000
    assert len(found["text"]) == 20_000
    assert shown(["y" * 100_000])["cut"] > 0
