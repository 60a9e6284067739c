"""Digests of plain JSON values: the same value, however it was spelled or ordered, has the same digest.

Digests are tagged with what made them: `b2:` is BLAKE2b with 32 bytes, in hex.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixirnb.spec.workflow import Workflow


def json_digest(value: Any) -> str:
    """`b2:<64 hex>` of a JSON value: sorted keys, no blanks, UTF-8. Raises ValueError for NaN and infinity."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text_digest(text)


def text_digest(text: str) -> str:
    """`b2:<64 hex>` of a text's UTF-8; halves of characters count as what they are."""
    return (
        "b2:" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
    )


def spec_digest(workflow: Workflow) -> str:
    """What identifies a workflow as written, whatever text, dict or objects it came from."""
    return json_digest(workflow.canonical())
