"""The last output of failed attempts, and its location: for a terminal, which has no panel for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.events import AttemptEnded
from pixirnb.ids import attempt_name
from pixirnb.operations.run import Run
from pixirnb.store.private_files import open_private
from pixirnb.views.basics.ansi import render_ansi
from pixirnb.views.basics.sanitize import line

_STEPS: Final = 6
_READ: Final = 16_384
"""Maximum number of bytes read of an output log, from its end."""
_STATUSES: Final = frozenset({"failed", "partial"})


def describe_last_output(run: Run, step: str | None = None) -> tuple[str, ...]:
    """Return a sentence for each failed or partial step with output, or for `step` alone."""
    return tuple(islice(_sentences(run, step), _STEPS))


def _sentences(run: Run, only: str | None) -> Iterator[str]:
    for name, state in run.state.steps.items():
        ended = state.ended
        if ended is None or ended["error"] is None:
            continue
        kind = ended["error"]["kind"]
        if only not in {None, name} or kind != state.error_kind:
            continue  # it ended well, or what it came to has another cause than its end
        if kind == PERMISSION_REQUIRED:
            continue
        # Not by the path that the log gives: a run folder that came from elsewhere may say anything.
        path = run.folder / "output" / f"{attempt_name(name, state.attempt)}.log"
        if state.checkpoint_status in _STATUSES and (last_lines := _last_lines(path)):
            yield f"{line(name, 64)} printed last: “{last_lines}”. {_where(run, path, ended)}"


def _where(run: Run, path: Path, ended: AttemptEnded) -> str:
    """Return the location of the output: one file, or its two ends here and all of standard output there."""
    log, output = ended.get("output_log"), ended.get("output")
    if log is None or not log["truncated"]:
        return f"All of it: {path}"
    digest = None if output is None else output.get("blob")
    whole = None if digest is None else run.store.blobs(run.id).path(digest)
    rest = "" if whole is None else f"; all of its standard output: {whole}"
    return f"Its beginning and its end: {path}{rest}"


def _last_lines(path: Path) -> str:
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _READ))
            tail = log.read(_READ)
    except OSError:
        return ""  # it is gone, which is the doctor's to tell
    lines = render_ansi(tail.decode("utf-8", errors="replace")).text.splitlines()
    # Two, because output of one stream often overtakes that of the other.
    return " / ".join(line(each, 200) for each in [each for each in lines if each.strip()][-2:])
