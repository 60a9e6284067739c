"""A process that matches regular expressions: one that never ends can be killed. Standard library only.

Started as `python -I -S regex_child.py`. It reads a length and a JSON header `{pattern, flags, most}`, then a length
and the bytes of one file at a time, and answers each with a line of JSON: `{error}` first, then `[[line number,
line], ...]`.
"""

from __future__ import annotations

import json
import re
import sys
from typing import BinaryIO

LINE_LIMIT = 300
"""Maximum number of characters of a line in a result."""


def main() -> None:
    """Answer until the input ends."""
    sent = _sent(sys.stdin.buffer)
    if sent is None:
        return
    header = json.loads(sent)
    try:
        pattern = re.compile(header["pattern"], header["flags"])
    except (re.error, OverflowError, RecursionError) as error:
        _answer({"error": str(error)})
        return
    _answer({"error": None})
    while (data := _sent(sys.stdin.buffer)) is not None:
        hits: list[tuple[int, str]] = []
        for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), start=1):
            if pattern.search(line):
                hits.append((number, line if len(line) <= LINE_LIMIT else f"{line[:LINE_LIMIT]}…"))
                if len(hits) >= header["most"]:
                    break
        _answer(hits)


def _sent(stream: BinaryIO) -> bytes | None:
    length = stream.read(8)
    return stream.read(int.from_bytes(length, "big")) if len(length) == 8 else None


def _answer(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
