"""Output of a command while something goes on: a run of its own, a run to watch, a log to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixirnb.cli.interrupts import ignore_interrupts, raise_deferred
from pixirnb.cli.tail import Tail
from pixirnb.errors import EXIT_COMPLETED, EXIT_INTERRUPTED, Cannot, RunInterrupted
from pixirnb.verbs.activity import Watch
from pixirnb.verbs.answer_blocks import followed_lines
from pixirnb.verbs.answers import Answer, Following, Underway, Watching
from pixirnb.verbs.run_answers import (
    ended_answer,
    event_document,
    outcome_answer,
    outputs_of,
    write_junit,
)
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.basics.status_marks import run_mark

if TYPE_CHECKING:
    from pixirnb.cli.render import Screen
    from pixirnb.json_types import JsonObject
    from pixirnb.operations.run import Run


class LiveOutput:
    """The output of a command while something goes on."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.tail = Tail(screen)

    def show(self, result: Following | Underway | Watching) -> int:
        """Show it to its end; return the exit code."""
        match result:
            case Following():
                return self._follow(result)
            case Underway():
                return self._wait_for(result)
            case Watching():
                return self._watch(result)

    def _wait_for(self, underway: Underway) -> int:
        """Wait for a run to its rest; an interrupt ends it and is its outcome."""
        run = underway.run
        if not underway.is_quiet:
            for line in underway.warnings:
                self.screen.note(line)
            did = "Resumed" if underway.is_resumed else "Started"
            self.screen.note(
                f"{did} {run.id} (Ctrl-C to stop; resume with `pixirnb resume {run.id}`)"
            )
        try:
            raise_deferred()
            self.tail.wait_for(
                run,
                is_attended=self.screen.is_attended(),
                is_quiet=underway.is_quiet,
                asks_last=underway.form == "github",
            )
            ignore_interrupts()
        except KeyboardInterrupt:
            ignore_interrupts()
            if run.is_live_here:
                run.interrupt()  # first: whoever reads our words may read no more
            self.screen.note("Interrupted: stopping the run …")
        run.wait()
        ignore_interrupts()
        answer = ended_answer(underway)
        if underway.is_quiet and underway.form == "text" and not self.screen.is_json:
            ended = run.outcome
            word = run_mark(ended.status).word
            self.screen.line(plain(f"{run.id} · {ended.workflow}: {word}. {ended.summary}"))
        else:
            self.screen.answer(answer)
        try:
            if underway.junit is not None:
                write_junit(run, underway.junit)
        except Cannot as error:  # the outcome is the document of stdout
            self.screen.note(f"{error.one_line()} [{error.code}]")
            return error.exit_code
        return answer.exit_code

    def _watch(self, watching: Watching) -> int:
        """Show a run that any process drives until it finishes or pauses; its outcome decides the exit code.

        Drawn in place on a terminal, one line for each change in a pipe.
        """
        run = watching.run
        try:
            if self.screen.out.isatty() and not self.screen.is_json:
                self._draw_live(Watch(run))
            else:
                for lines in Watch(run).changes():
                    for line in [] if self.screen.is_json else lines:
                        self.screen.line(line)
        except KeyboardInterrupt:
            return self._stopped("watching", run)
        answer = outcome_answer(run, is_json=watching.is_json)
        self.screen.answer(answer)
        return answer.exit_code

    def _draw_live(self, watch: Watch) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(file=self.screen.out, highlight=False)
        with Live(console=console, auto_refresh=False, transient=True) as live:
            for lines in watch.changes():
                for line in lines:
                    console.print(Text(line), soft_wrap=True)
                drawn = "\n".join(self.screen.drawn(watch.blocks()))
                live.update(Text.from_ansi(drawn, no_wrap=True, overflow="crop"), refresh=True)

    def _follow(self, following: Following) -> int:
        try:
            return self._followed(following)
        except KeyboardInterrupt:
            return self._stopped("following", following.run)

    def _stopped(self, doing: str, run: Run) -> int:
        """Print that an interrupt ended only this command."""
        if self.screen.is_json:
            error = RunInterrupted(f"stopped {doing} {run.id}; the run continues")
            self.screen.error(error.document())
            return error.exit_code
        self.screen.note(f"Stopped {doing} {run.id}. The run continues.")
        return EXIT_INTERRUPTED

    def _followed(self, following: Following) -> int:
        run, step = following.run, following.step
        if not following.is_json:
            for text in followed_lines(following):
                self.screen.line(text)
            return EXIT_COMPLETED
        if step is None:
            events = [event_document(event) for event in run.follow()]
            document: JsonObject = {"run_id": run.id, "events": events, "damage": None}
            self.screen.answer(Answer("log", document, is_json=True))
            return EXIT_COMPLETED
        list(followed_lines(following))  # to its end
        document = outputs_of(run, step, following.attempt)
        self.screen.answer(Answer("output", document, is_json=True))
        return EXIT_COMPLETED
