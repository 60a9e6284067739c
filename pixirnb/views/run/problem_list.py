"""Errors and warnings of a document, and a whole error, as blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pixirnb.errors import ErrorDocument
from pixirnb.views.basics.phrases import position_phrase
from pixirnb.views.basics.status_marks import REFUSED, WARNING
from pixirnb.views.blocks.model import Block, ErrorLine, Paragraph, Problems, Section

_SHOWN: Final = 50


def mistakes(entries: Sequence[Mapping[str, object]]) -> Problems:
    """Return the errors of a workflow, below the line that counts them."""
    return Problems("Errors", entries[:_SHOWN], REFUSED, len(entries) - _SHOWN, is_apart=False)


def warnings(entries: Sequence[Mapping[str, object]] | None) -> Problems:
    """Return the warnings of a document."""
    listed = entries or ()
    return Problems("Warnings", listed[:_SHOWN], WARNING, len(listed) - _SHOWN)


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
