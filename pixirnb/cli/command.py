"""One command line: parse, perform, show, and return the exit code. Source: contract.md §9.

With `--json` stdout carries exactly one JSON document, error or answer; everything else goes to stderr. An interrupt
(Ctrl-C, or a polite SIGTERM) ends the run in good order first: its log records it, and it can be resumed.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from typing import TextIO

from pixirnb.cli.interrupts import (
    defer_interrupts,
    handle_interrupts,
    ignore_interrupts,
    raise_deferred,
)
from pixirnb.cli.render import Screen, Unheard
from pixirnb.cli.tail import Tail
from pixirnb.engine.engine import engine
from pixirnb.errors import (
    EXIT_CANNOT,
    EXIT_COMPLETED,
    EXIT_INTERRUPTED,
    Cannot,
    InternalError,
    PixirnbError,
    RunInterrupted,
)
from pixirnb.json_types import JsonObject
from pixirnb.operations.run import Run
from pixirnb.system.inherited_signals import restore_sigchld
from pixirnb.verbs.activity import Watch
from pixirnb.verbs.answer_blocks import followed_lines
from pixirnb.verbs.answers import (
    Answer,
    Desk,
    Following,
    Result,
    Underway,
    Watching,
    outcome_answer,
)
from pixirnb.verbs.answers import event_document as document_of
from pixirnb.verbs.app import perform as perform_verb
from pixirnb.verbs.formats import ended_answer, write_junit
from pixirnb.verbs.options import outputs_of
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.basics.status_marks import run_mark
from pixirnb.views.basics.times import show_times
from pixirnb.wording import local_time


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
    tail = Tail(screen)
    desk = Desk(listeners=tail.listeners, is_attended=_is_attended, before_start=defer_interrupts)
    try:
        handle_interrupts()
        result = perform_verb(desk, tokens)
        return EXIT_COMPLETED if result is None else _show(result, screen, tail)
    except PixirnbError as error:
        return _refuse(error, screen)
    except KeyboardInterrupt:
        fix = "runs of this command were stopped and recorded; see `pixirnb runs`"
        return _refuse(RunInterrupted("interrupted before the command finished", fix), screen)
    except SystemExit as end:
        if end.code != 1:
            raise
        return (
            EXIT_COMPLETED  # rich ends so when the reader of a help page has gone (`--help | head`)
        )
    except Unheard:
        raise  # by `perform`, as when it is an error that cannot be told
    except Exception as error:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EPIPE}:
            raise Unheard(str(error)) from error  # a help page, which rich prints
        return _refuse(_bug(error), screen)
    finally:
        ignore_interrupts(60.0)
        engine().close()  # within that time: live runs record their end


def _is_attended() -> bool:
    """Return whether a person is at the terminal: one can run `pixirnb approve` in another."""
    return sys.stdin is not None and sys.stdin.isatty()


def _show(result: Result, screen: Screen, tail: Tail) -> int:
    match result:
        case Answer():
            screen.answer(result)
            return result.exit_code
        case Following():
            return _follow(result, screen)
        case Underway():
            return _wait_for(result, screen, tail)
        case Watching():
            return _watch(result, screen)


def _wait_for(underway: Underway, screen: Screen, tail: Tail) -> int:
    """Wait for a run to its rest; an interrupt ends it and is its outcome."""
    run = underway.run
    if not underway.is_quiet:
        for line in underway.warnings:
            screen.note(line)
        screen.note(f"Started {run.id} (Ctrl-C to stop; resume with `pixirnb resume {run.id}`)")
    try:
        raise_deferred()
        tail.wait_for(
            run,
            is_attended=_is_attended(),
            is_quiet=underway.is_quiet,
            asks_last=underway.form == "github",
        )
        ignore_interrupts()
    except KeyboardInterrupt:
        ignore_interrupts()
        screen.note("Interrupted: stopping the run …")
        if run.is_live_here:
            run.interrupt()
    run.wait()
    ignore_interrupts()
    answer = ended_answer(underway)
    if underway.is_quiet and underway.form == "text" and not screen.is_json:
        ended = run.outcome
        word = run_mark(ended.status).word
        screen.line(plain(f"{run.id} · {ended.workflow}: {word}. {ended.summary}"))
    else:
        screen.answer(answer)
    try:
        if underway.junit is not None:
            write_junit(run, underway.junit)
    except Cannot as error:  # the outcome is the document of stdout
        screen.note(f"{error.one_line()} [{error.code}]")
        return error.exit_code
    return answer.exit_code


def _watch(watching: Watching, screen: Screen) -> int:
    """Show a run that any process drives until it finishes or pauses; its outcome decides the exit code.

    Drawn in place on a terminal, one line for each change in a pipe.
    """
    run = watching.run
    try:
        if screen.out.isatty() and not screen.is_json:
            _draw_live(Watch(run), screen)
        else:
            for lines in Watch(run).changes():
                for line in [] if screen.is_json else lines:
                    screen.line(line)
    except KeyboardInterrupt:
        return _stopped("watching", run, screen)
    answer = outcome_answer(run, is_json=watching.is_json)
    screen.answer(answer)
    return answer.exit_code


def _draw_live(watch: Watch, screen: Screen) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=screen.out, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for lines in watch.changes():
            for line in lines:
                console.print(Text(line), soft_wrap=True)
            drawn = "\n".join(screen.drawn(watch.blocks()))
            live.update(Text.from_ansi(drawn, no_wrap=True, overflow="crop"), refresh=True)


def _follow(following: Following, screen: Screen) -> int:
    try:
        return _followed(following, screen)
    except KeyboardInterrupt:
        return _stopped("following", following.run, screen)


def _stopped(doing: str, run: Run, screen: Screen) -> int:
    """Print that an interrupt ended only this command."""
    if screen.is_json:
        return _refuse(RunInterrupted(f"stopped {doing} {run.id}; the run continues"), screen)
    screen.note(f"Stopped {doing} {run.id}. The run continues.")
    return EXIT_INTERRUPTED


def _followed(following: Following, screen: Screen) -> int:
    run, step = following.run, following.step
    if not following.is_json:
        for text in followed_lines(following):
            screen.line(text)
        return EXIT_COMPLETED
    if step is None:
        events = [document_of(event) for event in run.follow()]
        document: JsonObject = {"run_id": run.id, "events": events, "damage": None}
        screen.answer(Answer("log", document, is_json=True))
        return EXIT_COMPLETED
    list(followed_lines(following))  # to its end
    document = outputs_of(run, step, following.attempt)
    screen.answer(Answer("output", document, is_json=True))
    return EXIT_COMPLETED


def _refuse(error: PixirnbError, screen: Screen) -> int:
    screen.error(error.document())
    return error.exit_code


def _bug(error: Exception) -> InternalError:
    if os.environ.get("PIXIRNB_DEBUG"):
        traceback.print_exception(error)
    return InternalError(
        f"pixirnb failed: {type(error).__name__}: {error}",
        fix="set PIXIRNB_DEBUG=1 for a traceback, and please report it; logs on disk are intact",
    )
