"""JSON whose keys are not ours to know: what users, agents, models and other programs wrote.

A document with keys of our own has a TypedDict where it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]
"""Any object of JSON."""
JsonMapping = Mapping[str, Any]
"""Any object of JSON, to be read only."""
PageObject = dict[str, Any]
"""What the page of a live view is sent: its reader is JavaScript."""
