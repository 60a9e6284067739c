"""The console script `pixirnb VERB …`, and `--version`, which needs nothing else to be loaded."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from pixirnb.cli.interrupts import handle_interrupts, hold_interrupts
from pixirnb.system.system_calls import fill_standard_descriptors

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> NoReturn:
    """Run the console script."""
    fill_standard_descriptors()
    hold_interrupts()
    # What is loaded stays. A tenth of a command's time went into walking it.
    gc.set_threshold(200_000)
    tokens = _with_json(sys.argv[1:])
    if "--json" in tokens:
        _keep_stdout_for_the_document()
    _leave(perform(tokens))


def _with_json(tokens: Sequence[str]) -> list[str]:
    """Return the words of a command with `--json` for `--format json`."""
    words: list[str] = []
    for word in tokens:
        if word == "json" and words[-1:] == ["--format"]:
            words[-1] = "--json"
        else:
            words.append("--json" if word == "--format=json" else word)
    return words


def _leave(code: int) -> NoReturn:
    """End this process as the interpreter does, but without waiting for threads: a step may have left some in a pool."""
    atexit._run_exitfuncs()  # noqa: SLF001 - the engine's among them; there is no public name
    for stream in (sys.stdout, sys.stderr):
        # It is closed or was never there; or nobody reads it, and an interrupt ends the attempt.
        with contextlib.suppress(OSError, ValueError, AttributeError, KeyboardInterrupt):
            stream.flush()
    os._exit(code)


def _keep_stdout_for_the_document() -> None:
    """Redirect descriptor 1 to stderr, for processes of steps in threads and output past Python."""
    with contextlib.suppress(OSError):  # one of the two is closed: there is nothing to mix
        document = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
        os.dup2(2, 1)
        sys.stdout = document


def perform(tokens: Sequence[str]) -> int:
    """Perform one command; return its exit code."""
    if list(tokens) == ["--version"]:
        from pixirnb.system.version import release

        return _printed(f"{release()}\n")
    if (options := os.environ.get("_PIXIRNB_COMPLETE")) is not None:
        from pixirnb.cli.complete import candidates

        # A workflow with errors, no such run: nothing to offer, and no place for a message.
        with contextlib.suppress(Exception, KeyboardInterrupt):
            handle_interrupts()
            sys.stdout.writelines(f"{each}\n" for each in candidates(tokens, options))
        return 0
    # These modules take half a second to load: `--version` does not wait for them.
    from pixirnb.cli import command

    return command.perform(tokens)


def _printed(text: str) -> int:
    """Print a text; return the exit code."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        from pixirnb.errors import EXIT_CANNOT

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CANNOT
    return 0
