"""One command of pixirnb in this process, as a shell would run it: what it printed where, and its exit code."""

from __future__ import annotations

import contextlib
import io
import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixirnb.cli.app import perform
from pixirnb.cli.interrupts import SIGNALS


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a command."""

    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


def command(*tokens: str | Path) -> Said:
    """`pixirnb TOKENS…`."""
    out, err = io.StringIO(), io.StringIO()
    kept = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = perform([str(token) for token in tokens])
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    return Said(code, out.getvalue(), err.getvalue())


def written(folder: Path, text: str, name: str = "flow.yaml") -> Path:
    """A workflow's file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
