"""The process that looks for a regular expression: one that never ends can be ended with it. Standard library only.

Started as `python -I -S regex_child.py`. It is sent a length and a JSON header `{pattern, flags, most}`, then a length and
the bytes of one file at a time, and answers each with a line of JSON: `{error}` first, then `[[line number, line], ...]`.
"""

from __future__ import annotations

import json
import re
import sys
from typing import BinaryIO

LINE_LIMIT = 300
"""Characters of a line that are shown."""


def main() -> None:
    """Answer until nothing more is sent."""
    asked = _sent(sys.stdin.buffer)
    if asked is None:
        return
    header = json.loads(asked)
    try:
        pattern = re.compile(header["pattern"], header["flags"])
    except (re.error, OverflowError, RecursionError) as error:
        _answer({"error": str(error)})
        return
    _answer({"error": None})
    while (data := _sent(sys.stdin.buffer)) is not None:
        found: list[tuple[int, str]] = []
        for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), start=1):
            if pattern.search(line):
                found.append((number, line[:LINE_LIMIT]))
                if len(found) >= header["most"]:
                    break
        _answer(found)


def _sent(stream: BinaryIO) -> bytes | None:
    length = stream.read(8)
    return stream.read(int.from_bytes(length, "big")) if len(length) == 8 else None


def _answer(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
