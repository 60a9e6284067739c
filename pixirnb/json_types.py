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
