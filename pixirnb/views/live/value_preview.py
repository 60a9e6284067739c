"""A value small enough to look at: what a step left, as a document that a panel can show whatever it is.

Every preview is `{form, type, bytes, sentence, can_load, …}`; the forms stand in docs/internals/live-view.md. Nothing here
opens a blob or calls anything of a value's own: what the log itself holds is shown, the rest is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pixirnb.history.events import StoredValue
from pixirnb.json_types import PageObject
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.show_value import rows_of, shown

ROWS: Final = 50
COLUMNS: Final = 12
TEXT: Final = 20_000
"""Characters of a text or of JSON."""
_CELL: Final = 200

_FORMS: Final = {"npy": "array", "parquet": "frame", "pickle": "pickle"}
_SENTENCES: Final = {
    "npy": "An array, stored outside the log.",
    "parquet": "A data frame, stored outside the log.",
    "pickle": "A Python object. Loading it runs code; only objects signed by this user are loaded.",
}


def stored_preview(stored: StoredValue) -> PageObject:
    """Return the part of a StoredValue that can be seen without its blob."""
    form = stored.get("format")
    about: PageObject = {"type": line(stored.get("type") or "", 120), "bytes": _count(stored)}
    if form == "none":
        return preview("none", sentence="No value.", **about)
    if "blob" not in stored:
        return {**value_preview(stored.get("value")), **about}
    if form in _FORMS:
        known: PageObject = {}
        if form != "pickle":
            known = {"heads": [], "rows": [], "row_count": None, "column_count": None}
            known |= {"types": []} if form == "parquet" else {"shape": [], "dtype": "", "stats": []}
        sentence = _SENTENCES[str(form)]
        return preview(_FORMS[str(form)], sentence=sentence, can_load=True, **about, **known)
    sentence = "Too large for the log; stored in a file."
    return preview("large", sentence=sentence, can_load=True, **about)


def value_preview(value: Any) -> PageObject:
    """Return a value of plain data: a table where it is one, else text or JSON."""
    if isinstance(value, str):
        return text_preview("text", value)
    rows = rows_of(value[:ROWS] if isinstance(value, list) else value)
    if rows is not None:
        heads, cells = rows
        return table_preview("table", heads, cells, row_count=len(value), column_count=len(heads))
    return text_preview("json", shown(value, indent=2, limit=4 * TEXT))


def text_preview(form: str, text: str, **about: Any) -> PageObject:
    """Return a text, cut at its limit."""
    return preview(form, text=plain(text, TEXT), cut=max(0, len(text) - TEXT), **about)


def table_preview(
    form: str,
    heads: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    *,
    row_count: int,
    column_count: int,
    **about: Any,
) -> PageObject:
    """Return the first rows and columns of a table; its cells become text."""
    return preview(
        form,
        heads=[line(shown(head), _CELL) for head in heads[:COLUMNS]],
        rows=[[line(shown(cell), _CELL) for cell in row[:COLUMNS]] for row in rows[:ROWS]],
        row_count=row_count,
        column_count=column_count,
        **about,
    )


def preview(form: str, **about: Any) -> PageObject:
    """Return a preview with what every one has."""
    return {"form": form, "type": "", "bytes": None, "sentence": "", "can_load": False, **about}


def _count(stored: StoredValue) -> int | None:
    size = stored.get("bytes")
    return size if isinstance(size, int) and not isinstance(size, bool) else None
