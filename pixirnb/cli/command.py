"""One command line: parse, perform, show, and return the exit code. Source: contract.md §9.

With `--json` stdout carries exactly one JSON document, error or answer; everything else goes to stderr. An interrupt
(Ctrl-C, or a polite SIGTERM) ends the run in good order first: its log records it, and it can be resumed.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from contextlib import nullcontext, redirect_stdout
from functools import cache
from typing import TYPE_CHECKING, TextIO

from pixirnb.cli.interrupts import defer_interrupts, handle_interrupts, ignore_interrupts
from pixirnb.cli.render import Screen, Unheard
from pixirnb.errors import (
    EXIT_CANNOT,
    EXIT_COMPLETED,
    EXIT_INTERRUPTED,
    Cannot,
    InternalError,
    PixirnbError,
    RunInterrupted,
)
from pixirnb.system.inherited_signals import restore_sigchld
from pixirnb.verbs.answers import Answer, Desk
from pixirnb.verbs.app import perform as perform_verb
from pixirnb.views.basics.times import show_times
from pixirnb.wording import local_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pixirnb.cli.live import LiveOutput


def perform(tokens: Sequence[str]) -> int:
    """Perform one command; return its exit code."""
    show_times(local_time)
    screen = Screen(is_json="--json" in tokens, words=tokens)
    # Under `--json` stdout is the document's alone: a thread that a step left behind may print for as long as we live.
    aside = redirect_stdout(sys.stderr) if screen.is_json else nullcontext()
    try:
        with aside:
            return _perform(tokens, screen)
    except Unheard:
        # The reader of our output has gone, or the disk is full; an error could not be shown either.
        for stream in (sys.stdout, sys.stderr):
            _forget(stream)
        return EXIT_CANNOT
    except KeyboardInterrupt:  # the second, while the end was shown: its reader may have stopped
        return EXIT_INTERRUPTED


def _forget(stream: TextIO | None) -> None:
    """Discard the buffer of a stream that cannot be written."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _perform(tokens: Sequence[str], screen: Screen) -> int:
    restore_sigchld()

    @cache
    def live() -> LiveOutput:
        from pixirnb.cli.live import LiveOutput  # for what runs alone

        return LiveOutput(screen)

    desk = Desk(
        listeners=lambda is_tailed: live().tail.listeners(is_tailed),  # noqa: PLW0108 - live is loaded by a run
        is_attended=screen.is_attended,
        before_start=defer_interrupts,
    )
    try:
        handle_interrupts()
        result = perform_verb(desk, tokens)
        if result is None:
            return EXIT_COMPLETED
        if not isinstance(result, Answer):
            return live().show(result)
        screen.answer(result)
        return result.exit_code
    except PixirnbError as error:
        return _refuse(error, screen)
    except KeyboardInterrupt:
        return _refuse(_interrupted(), screen)
    except SystemExit as end:
        if end.code != 1:
            raise
        return (
            EXIT_COMPLETED  # rich ends so when the reader of a help page has gone (`--help | head`)
        )
    except MemoryError:
        return _refuse(_out_of_memory(), screen)
    except Unheard:
        raise  # by `perform`, as when it is an error that cannot be told
    except Exception as error:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EPIPE}:
            raise Unheard(str(error)) from error  # a help page, which rich prints
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return _refuse(_out_of_memory(), screen)  # what imports say of it
        # Raised in pydantic's compiled code, an interrupt comes out as an error of that code, which quotes it.
        is_interrupt = "KeyboardInterrupt" in str(error)
        return _refuse(_interrupted() if is_interrupt else _bug(error), screen)
    finally:
        ignore_interrupts(60.0)
        if (loaded := sys.modules.get("pixirnb.engine.engine")) is not None:
            loaded.engine().close()  # within that time: live runs record their end


def _refuse(error: PixirnbError, screen: Screen) -> int:
    screen.error(error.document())
    return error.exit_code


def _interrupted() -> RunInterrupted:
    fix = "runs of this command were stopped and recorded; see `pixirnb runs`"
    return RunInterrupted("interrupted before the command finished", fix)


def _out_of_memory() -> Cannot:
    fix = "free memory, or raise the limit (`ulimit -v`); logs on disk are intact"
    return Cannot("out of memory", fix=fix, code="out_of_memory")


def _bug(error: Exception) -> InternalError:
    if os.environ.get("PIXIRNB_DEBUG"):
        traceback.print_exception(error)
    return InternalError(
        f"pixirnb failed: {type(error).__name__}: {error}",
        fix="set PIXIRNB_DEBUG=1 for a traceback, and please report it; logs on disk are intact",
    )
