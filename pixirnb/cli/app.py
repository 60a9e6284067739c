"""`pixirnb VERB …`: the console script, and the one question that needs nothing else to be loaded."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from pixirnb.errors import EXIT_INTERRUPTED


def main() -> NoReturn:
    """The console script."""
    try:
        code = perform(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were loaded: nothing has begun
        code = EXIT_INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said; let the interpreter end in peace
    sys.exit(code)


def perform(tokens: Sequence[str]) -> int:
    """One command, start to end; its exit code."""
    if list(tokens) == ["--version"]:
        from pixirnb.release import release

        sys.stdout.write(f"{release()}\n")
        return 0
    # Half a second's worth of modules: whoever asks for the version does not wait for them.
    from pixirnb.cli import sitting

    return sitting.perform(tokens)
