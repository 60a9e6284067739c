"""`pixirnb VERB …`: the console script, and the one question that needs nothing else to be loaded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def main() -> NoReturn:
    """The console script."""
    sys.exit(perform(sys.argv[1:]))


def perform(tokens: Sequence[str]) -> int:
    """One command, start to end; its exit code."""
    if list(tokens) == ["--version"]:
        from pixirnb.release import release

        sys.stdout.write(f"{release()}\n")
        return 0
    # Half a second's worth of modules: whoever asks for the version does not wait for them.
    from pixirnb.cli import sitting

    return sitting.perform(tokens)
