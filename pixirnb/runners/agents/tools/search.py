"""Tool `search` of our own agents: lines with a text or a match of a regular expression, limited in time, size and hits.

An agent's expression may take for ever on some line, so it runs in a process that can be killed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from pixirnb.json_types import JsonMapping
from pixirnb.runners.agents.tools.confinement import (
    ConfinedPath,
    Confinement,
    Refused,
    errors_as_refusals,
    shown,
)
from pixirnb.runners.agents.tools.excerpt import OUTPUT_LIMIT
from pixirnb.runners.agents.tools.listing import files_below

LIMIT_S: Final = 10.0
_HITS: Final = 200
_FILE_LIMIT: Final = 4 * 1024 * 1024
_CHILD: Final = Path(__file__).with_name("regex_child.py")


def search(confinement: Confinement, args: JsonMapping, *, limit_s: float = LIMIT_S) -> str:
    """Return hits as `path:line: text`. `limit_s`: seconds for all of it. Raises Refused."""
    location = confinement.location(args.get("path") or ".")
    limits = confinement.limits
    deadline = time.monotonic() + limit_s
    if location.is_folder():
        refused = limits.look_refusal(location.path)
        files = files_below(location, limits, deadline)
    else:
        refused = limits.read_refusal(location.path)
        files = iter((location,))
    if refused is not None:
        raise Refused(refused.code, refused.message)
    if not location.is_folder():
        with location.opened_parent() as parent:
            os.close(location.open_file(parent))
    text = args["pattern"] if args.get("regex") else re.escape(args["pattern"])
    flags = re.IGNORECASE if args.get("ignore_case") else 0
    glob = args.get("glob") or "*"
    lines: list[str] = []
    looked, skipped, room = 0, 0, OUTPUT_LIMIT - 400
    is_full = False
    with _finder(text, int(flags), deadline) as finder:
        for file in files:
            if not fnmatchcase(file.parts[-1], glob):
                continue
            data = _data(file)
            if data is None:
                skipped += 1
                continue
            hits = finder.find(data)
            if hits is None:
                break
            looked += 1
            for number, line in hits:
                line_text = f"{file.shown}:{number}: {line.rstrip()}"
                room -= len(line_text.encode("utf-8", errors="replace")) + 1
                is_full = room < 0 or len(lines) >= _HITS
                if is_full:
                    break
                lines.append(line_text)
            if is_full:
                break
    what = "hit" if len(lines) == 1 else "hits"
    where = "file" if looked == 1 else "files"
    line_text = f"{len(lines)} {what} in {looked:,} {where}"
    if is_full:
        line_text += "; more matches exist: narrow the pattern, the path or the glob"
    elif time.monotonic() >= deadline:
        line_text += f"; stopped after {limit_s:g} s before all files were searched: narrow it"
    if skipped:
        line_text += f"; {skipped:,} binary or too large files skipped"
    return "\n".join([*lines, f"[{line_text}]"])


class _Finder:
    """The process that searches."""

    def __init__(self, process: subprocess.Popen[bytes], most: int) -> None:
        self._process = process
        self._most = most

    def begin(self, pattern: str, flags: int) -> None:
        """Set the expression. Raises Refused if it is invalid."""
        header = {"pattern": pattern, "flags": flags, "most": self._most}
        answer = self._ask(json.dumps(header).encode())
        if answer is not None and answer["error"] is not None:
            raise Refused(
                "bad_pattern",
                f"The pattern is not a valid regular expression: {shown(answer['error'])}.",
            )

    def find(self, data: bytes) -> list[tuple[int, str]] | None:
        """Return matching lines with their numbers; None if its time was over."""
        answer = self._ask(data)
        return None if answer is None else [(number, line) for number, line in answer]

    def _ask(self, data: bytes) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: PT018 - both were asked for
        try:
            stdin.write(len(data).to_bytes(8, "big") + data)
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            return None
        return json.loads(line) if line.endswith(b"\n") else None


@contextmanager
def _finder(pattern: str, flags: int, deadline: float) -> Iterator[_Finder]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
    )
    end = threading.Timer(max(deadline - time.monotonic(), 0), process.kill)
    end.daemon = True
    end.start()
    try:
        finder = _Finder(process, _HITS + 1)
        finder.begin(pattern, flags)
        yield finder
    finally:
        end.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # what was being sent when it was ended


def _data(file: ConfinedPath) -> bytes | None:
    """Return the content of a file; None if it is not searched: binary, too large, gone, not regular."""
    try:
        with file.opened_parent() as parent:
            descriptor = file.open_file(parent)
        with errors_as_refusals(file), os.fdopen(descriptor, "rb") as opened:
            data = opened.read(_FILE_LIMIT + 1)
    except Refused:
        return None
    return None if len(data) > _FILE_LIMIT or b"\0" in data[:8192] else data
