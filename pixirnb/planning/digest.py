"""Digests of plain JSON values: equal values have equal digests, in whatever spelling or order.

Digests have a tag for the algorithm: `b2:` is BLAKE2b with 32 bytes, in hex.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixirnb.spec.workflow import Workflow


def json_digest(value: Any) -> str:
    """Return `b2:<64 hex>` of a JSON value: sorted keys, no blanks, UTF-8. Raises ValueError for NaN and infinity."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text_digest(text)


def text_digest(text: str) -> str:
    """Return `b2:<64 hex>` of a text's UTF-8; lone surrogates are encoded as themselves."""
    return (
        "b2:" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
    )


def spec_digest(workflow: Workflow) -> str:
    """Return the digest of a workflow as written, independent of its source: text, dict or objects."""
    return json_digest(workflow.canonical())
