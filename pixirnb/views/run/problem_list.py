"""Errors and warnings of a document, and a whole error, as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pixirnb.errors import PROBLEMS_SHOWN, ErrorDocument
from pixirnb.views.basics.phrases import position_phrase
from pixirnb.views.basics.status_marks import REFUSED, WARNING
from pixirnb.views.blocks.model import Block, ErrorLine, Paragraph, Problems, Section
from pixirnb.wording import join_names

_ALIKE: Final = 3
"""Warnings of one code up to which each has a line of its own."""
_NAMED: Final = 3


def mistakes(entries: Sequence[Mapping[str, object]]) -> Problems:
    """Return the errors of a workflow, below the line that counts them."""
    return Problems(
        "Errors", entries[:PROBLEMS_SHOWN], REFUSED, len(entries) - PROBLEMS_SHOWN, is_apart=False
    )


def warnings(entries: Sequence[Mapping[str, object]] | None) -> Problems:
    """Return the warnings of a document."""
    listed = [*gather_warnings(entries or ())]
    return Problems("Warnings", listed[:PROBLEMS_SHOWN], WARNING, len(listed) - PROBLEMS_SHOWN)


def gather_warnings(entries: Iterable[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    """Return warnings as a person reads them: of many with one code the first, which says where the others are."""
    alike: dict[object, list[Mapping[str, object]]] = {}
    listed = [*entries]
    for entry in listed:
        alike.setdefault(entry.get("code"), []).append(entry)
    for entry in listed:
        first, *others = alike[entry.get("code")]
        positions = _positions(others) if len(others) >= _ALIKE else ""
        if not positions:
            yield entry
        elif entry is first:
            yield {**entry, "message": f"{entry.get('message')}; also {positions}"}


def _positions(entries: Sequence[Mapping[str, object]]) -> str:
    """Return where warnings are, `lines 6, 7, 8 and 26 more`; empty where nothing tells them apart."""
    for key, name in (("line", "lines "), ("path", ""), ("step", "")):
        values = [str(entry.get(key) or "") for entry in entries]
        if all(values) and len({*values}) == len(values):
            return name + join_names(values, _NAMED)
    return ""


def error_blocks(document: ErrorDocument) -> list[Block]:
    """Return an error: what did not happen, each error and warning of a workflow, what to do."""
    error = document.get("error") or {}
    details = error.get("details") or {}
    listed = {
        key: [entry for entry in details.get(key) or () if isinstance(entry, Mapping)]
        if isinstance(details.get(key), list)
        else []
        for key in ("errors", "warnings")
    }
    code, reason = error.get("code") or "error", details.get("reason")
    name = f"{code} ({reason})" if reason and reason != code else code
    message, position, errors = error.get("message") or "", position_phrase(error), listed["errors"]
    if [entry.get("message") for entry in errors] == [message]:
        errors = []  # one fact once
    elif errors:
        message, position = f"{message}; nothing was run", ""
    return [
        ErrorLine(name, message, position),
        Section("", [mistakes(errors), warnings(listed["warnings"])]),
        Paragraph(f"→ {error['fix']}" if error.get("fix") else ""),
    ]
