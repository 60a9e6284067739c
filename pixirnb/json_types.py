"""JSON with keys that pixirnb does not define: written by users, agents, models and other programs.

A document with keys of pixirnb has a TypedDict in the module that builds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SCHEMA_VERSION: Final = 1
"""Version of the documents' keys: keys are added within a version, and never renamed or removed."""

JsonObject = dict[str, Any]
"""A JSON object with any keys."""
JsonMapping = Mapping[str, Any]
"""A JSON object with any keys, read only."""
PageObject = dict[str, Any]
"""A document for the page of a live view; its only reader is JavaScript."""


def deep_copy(value: Any) -> Any:
    """Return JSON data that shares no list and no dict with `value`: what others change in it changes nothing here."""
    if type(value) is not dict and type(value) is not list:
        return value
    mine = value.copy()
    queue: list[Any] = [mine]
    while queue:  # without recursion: users decide the depth
        outer = queue.pop()
        for key, inner in outer.items() if type(outer) is dict else enumerate(outer):
            if type(inner) is dict or type(inner) is list:
                outer[key] = inner.copy()
                queue.append(outer[key])
    return mine
