"""Rich previews of values that were loaded: frames and arrays as tables, figures and images as PNG, the rest as text.

A preview calls methods of an object (its `repr`, its picture), code of the author of its class; objects come this far only
where no code was needed to read them, or where a person clicked and the signature held.
"""

from __future__ import annotations

import base64
import io
import json
import pprint
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from pixirnb.json_types import PageObject
from pixirnb.runners.output.mask import mask_here
from pixirnb.views.live.value_preview import (
    COLUMNS,
    ROWS,
    preview,
    table_preview,
    text_preview,
    value_preview,
)

IMAGE_BYTES: Final = 2 * 1024 * 1024
_RESOLUTIONS: Final = (110, 60, 30)
"""Dots an inch that a figure is tried with until it is small enough."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PLAIN: Final = (str, int, float, bool, list, dict, type(None))
_MEASURED: Final = 10_000_000
"""Numbers up to which an array is measured as a whole."""


def rich_preview(value: Any) -> PageObject:
    """Return the best preview of a value, secrets masked. Never raises, whatever its class does."""
    return cast("PageObject", mask_here({}).value(_preview(value)))


def _preview(value: Any) -> PageObject:
    if type(value) in _PLAIN and _tried(_is_json, value):
        return value_preview(value)
    for look in (_frame, _array, _figure, _picture):
        # A foreign object may raise anything, and the next look may still work.
        preview = _tried(look, value)
        if preview is not None:
            return {**preview, "type": _type_of(value)}
    printed = _tried(pprint.pformat, value)
    text = printed if isinstance(printed, str) else f"<{_type_of(value)}>"
    return text_preview("object", text, type=_type_of(value))


def _is_json(value: Any) -> bool:
    """Return whether JSON holds a value without loss: not if keys are no texts, or a tuple is inside."""
    return isinstance(value, str) or bool(json.loads(json.dumps(value)) == value)


def _tried(look: Callable[[Any], Any], value: Any) -> Any:
    try:
        return look(value)
    except Exception:  # noqa: BLE001 - code of a foreign class; what it cannot do is shown as less, never as our failure
        return None


def _frame(value: Any) -> PageObject | None:
    pandas, arrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if arrow is not None and isinstance(value, arrow.Table):
        types = [str(kind) for kind in value.schema.types]
        corner = value.slice(0, ROWS).select(value.column_names[:COLUMNS])
        rows = [list(row.values()) for row in corner.to_pylist()]
        size = (value.num_rows, value.num_columns)
        return _table(value.column_names, rows, types, size)
    if pandas is None or not isinstance(value, pandas.DataFrame | pandas.Series):
        return None
    frame = value.to_frame() if isinstance(value, pandas.Series) else value
    heads, types = [str(name) for name in frame.columns], [str(kind) for kind in frame.dtypes]
    corner = frame.iloc[:ROWS, :COLUMNS]
    rows = [list(row) for row in corner.itertuples(index=False, name=None)]
    if not isinstance(frame.index, pandas.RangeIndex):
        heads, types = [str(frame.index.name or ""), *heads], [str(frame.index.dtype), *types]
        rows = [[label, *row] for label, row in zip(corner.index, rows, strict=True)]
    return _table(heads, rows, types, (len(frame), frame.shape[1]))


def _table(
    heads: Sequence[str], rows: list[list[Any]], types: list[str], size: tuple[int, int]
) -> PageObject:
    cells = [[_cell(cell) for cell in row] for row in rows]
    count = {"row_count": size[0], "column_count": size[1]}
    return table_preview("frame", heads, cells, **count, types=types[:COLUMNS])


def _array(value: Any) -> PageObject | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray | numpy.generic):
        return None
    whole = numpy.asarray(value)
    flat = whole.reshape(-1, whole.shape[-1]) if whole.ndim > 1 else whole.reshape(-1, 1)
    corner = flat[:ROWS, :COLUMNS].tolist()
    stats = []
    if whole.dtype.kind in "biuf" and 0 < whole.size <= _MEASURED:
        measured = {"min": numpy.nanmin, "mean": numpy.nanmean, "max": numpy.nanmax}
        with numpy.errstate(all="ignore"):
            stats = [{"name": n, "text": f"{of(whole):.6g}"} for n, of in measured.items()]
    return table_preview(
        "array",
        [str(column) for column in range(flat.shape[1])][:COLUMNS],
        [[_cell(cell) for cell in row] for row in corner],
        row_count=flat.shape[0],
        column_count=flat.shape[1],
        shape=[int(size) for size in whole.shape],
        dtype=str(whole.dtype),
        stats=stats,
        bytes=int(whole.nbytes),
    )


def _figure(value: Any) -> PageObject | None:
    figures = sys.modules.get("matplotlib.figure")
    if figures is None or not isinstance(value, figures.Figure):
        return None
    for resolution in _RESOLUTIONS:
        drawn = io.BytesIO()
        # To a file of pixels it draws without a window, on whichever thread this is.
        value.savefig(drawn, format="png", dpi=resolution, bbox_inches="tight")
        if len(drawn.getvalue()) <= IMAGE_BYTES:
            return _image(drawn.getvalue())
    return None


def _picture(value: Any) -> PageObject | None:
    """Return the picture that an object draws of itself, if that is PNG.

    Its HTML and SVG are code to a browser, and are not requested.
    """
    drawn = getattr(value, "_repr_png_", lambda: None)()
    if isinstance(drawn, tuple):
        drawn = drawn[0]
    if isinstance(drawn, str):
        drawn = base64.b64decode(drawn)
    if not isinstance(drawn, bytes) or not drawn.startswith(_PNG) or len(drawn) > IMAGE_BYTES:
        return None
    return _image(drawn)


def _image(png: bytes) -> PageObject:
    data = base64.b64encode(png).decode("ascii")
    return preview("image", mime="image/png", data=data, bytes=len(png))


def _cell(value: Any) -> Any:
    return value if type(value) in _PLAIN else str(value)


def _type_of(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"[:120]
