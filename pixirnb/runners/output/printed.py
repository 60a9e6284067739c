"""Printed output of an attempt: in memory if it is short, else in a file that is read in pieces.

The functions below are called as a step's function in a process of its own: endless work can be killed, and uses the
child's memory. A text is passed to them as `{"text": …}` or `{"path": …}`.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from pydantic_core import from_json

from pixirnb.json_types import JsonObject
from pixirnb.spec.limits import OFFERED_BYTES
from pixirnb.system.system_calls import open_plain
from pixirnb.wording import cut

SEARCHED_BYTES: Final = 64 * 1024 * 1024
"""Maximum number of bytes of text searched with a pattern."""
VALUE_MEMORY: Final = 48 * 1024 * 1024
"""Maximum number of bytes in memory of a value parsed from printed text."""
_CHUNK: Final = 1024 * 1024


class Printed(Struct, frozen=True):
    """Standard output without its last line break, or an agent's messages."""

    size: int
    """Size in bytes."""
    text: str | None = None
    """The text if it is short."""
    data: bytes = b""
    """The bytes of short standard output, as they were printed: what is no UTF-8 is no JSON."""
    path: Path | None = None
    """Else the file with it."""
    is_whole: bool = True
    """False if more was printed than is kept."""

    @classmethod
    def of(cls, data: bytes) -> Printed:
        """Return short output; bytes that are not UTF-8 become U+FFFD."""
        return cls(len(data), data.decode("utf-8", errors="replace"), data)

    @classmethod
    def words(cls, text: str) -> Printed:
        """Return an agent's messages."""
        return cls(len(text.encode("utf-8", errors="replace")), text)

    @property
    def is_offered(self) -> bool:
        """Return whether it may be the value of the step."""
        return self.is_whole and self.size <= OFFERED_BYTES

    @property
    def argument(self) -> dict[str, str]:
        """Return the argument for a function in a child."""
        return {"text": self.text or ""} if self.path is None else {"path": str(self.path)}

    def read(self) -> str:
        """Return all of it, for values. Blocking. Raises OSError."""
        return _read(self.argument)

    def ending(self, limit: int) -> str:
        """Return at most its last `limit` bytes, as text. Blocking. Raises OSError."""
        if self.path is None:
            data = (self.text or "").encode("utf-8", errors="replace")[-limit:]
        else:
            with open_plain(self.path) as file:
                file.seek(max(0, self.size - limit))
                data = file.read(limit)
        return data.decode("utf-8", errors="replace")


def contains(printed: dict[str, str], text: str) -> bool:
    """Return whether a text contains another one. Reads in pieces."""
    if "path" not in printed:
        return text in printed["text"]
    needle = text.encode("utf-8", errors="replace")
    kept = b""
    with open_plain(Path(printed["path"])) as file:
        while chunk := file.read(_CHUNK):
            kept += chunk
            if needle in kept:
                return True
            kept = kept[-(len(needle) - 1) :] if len(needle) > 1 else b""
    return not needle


def first_match(pattern: str, printed: dict[str, str]) -> str | None:
    """Return the first 200 characters of the first match; None if there is none."""
    match = re.search(pattern, _read(printed))
    return None if match is None else match.group(0)[:200]


def json_problems(
    printed: dict[str, str], schema: JsonObject | None = None, model: str | None = None
) -> list[str]:
    """Return why a text is not JSON, or does not match; empty if it does. Sentences."""
    from pixirnb.spec.schemas import schema_problems

    try:
        value = from_json(_bytes(printed), allow_inf_nan=False)
        json.dumps(value, allow_nan=False)  # 1e400 reads as infinity, which no log can hold
    except (ValueError, RecursionError) as error:
        return [f"not valid JSON: {error}"]
    size = memory_of(value)
    if size > VALUE_MEMORY:
        return [
            f"as a value the output needs {size} bytes of memory, more than the limit of {VALUE_MEMORY}"
        ]
    if model is not None:
        return model_problems(model, value)
    return [] if schema is None else schema_problems(value, schema)


def model_problems(model: str, value: Any) -> list[str]:
    """Return why `value` does not match a `package.module:Model` of the user, one sentence each; empty when it does.

    Raises ImportError or AttributeError if the model does not exist.
    """
    from pydantic import TypeAdapter, ValidationError

    module, _, name = model.partition(":")
    declared: Any = importlib.import_module(module)
    for part in name.split("."):
        declared = getattr(declared, part)
    try:
        TypeAdapter(declared).validate_python(value)
    except ValidationError as error:
        return [
            cut(f"{'.'.join(map(str, error_detail['loc'])) or 'value'}: {error_detail['msg']}", 300)
            for error_detail in error.errors()[:5]
        ]
    return []


def memory_of(value: Any) -> int:
    """Return about how many bytes of memory JSON data needs. Walks without recursion."""
    size, queue = 0, [value]
    while queue:
        item = queue.pop()
        size += sys.getsizeof(item)
        if isinstance(item, dict):
            queue.extend(item.keys())
            queue.extend(item.values())
        elif isinstance(item, list):
            queue.extend(item)
    return size


def _read(printed: dict[str, str]) -> str:
    if "path" not in printed:
        return printed["text"]
    return _bytes(printed).decode("utf-8", errors="replace")


def _bytes(printed: dict[str, str]) -> bytes:
    if "path" not in printed:
        return printed["text"].encode()
    with open_plain(Path(printed["path"])) as file:
        return file.read()
