"""Titles: names of a workflow and of its steps as people write them, in any script. Files and commands use ids."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, WithJsonSchema

from pixirnb.spec import limits
from pixirnb.spec.fields import mistake

_REFUSED: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line separators and marks that change the direction of a text, which no view shows."""


def title_flaw(text: str) -> tuple[str, str, str] | None:
    """Return why a text cannot be a title, as code, message and fix; None if it can."""
    if not text.strip():
        return "empty", "`title` is blank", "write a text, or remove `title`"
    if (refused := _REFUSED.search(text)) is not None:
        message = f"`title` contains the character U+{ord(refused[0]):04X}"
        return "bad_text", message, "remove it; a title is one line of text"
    if len(text) > limits.TITLE:
        message = f"`title` has {len(text)} characters, more than the limit of {limits.TITLE}"
        return "limit_exceeded", message, f"use at most {limits.TITLE} (limit: title)"
    return None


def _title(text: str) -> str:
    if (flaw := title_flaw(text)) is not None:
        raise mistake(*flaw)
    return text


Title = Annotated[
    str,
    AfterValidator(_title),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": limits.TITLE}),
]
"""One line of text in any script."""
