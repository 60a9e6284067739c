"""The live output of a run, in a terminal (one live line, output above it) or in a pipe (plain lines).

Source: contract.md §9.

Permission requests of agents are printed if a person can answer, tailed or not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

from pixirnb.engine.broadcast import (
    STEP_HEARTBEAT,
    STEP_OUTPUT,
    STEP_PROGRESS,
    STEP_STALLED,
    Listener,
    Live,
    News,
    NewsQueue,
)
from pixirnb.history.agent_events import PERMISSION_DECIDED, PERMISSION_REQUIRED
from pixirnb.history.events import DecisionRequested, Event
from pixirnb.machine.next_actions import decide_step
from pixirnb.verbs.activity import CHANGES
from pixirnb.views.basics.phrases import mark_placeholders
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.run.change_lines import ChangeLines
from pixirnb.views.run.outcome_view import progress_line
from pixirnb.views.run.permission_calls import call_lines
from pixirnb.views.session.permissions import request_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pixirnb.cli.render import Screen
    from pixirnb.machine.outcome_documents import RunDocument
    from pixirnb.operations.run import Run

_REQUESTED: Final = "decision_requested"
_TICK_S: Final = 0.05
_REFRESH_S: Final = 0.25
_MARGIN: Final = 4
"""Columns of the live line for the spinner, and for the last column, at which some terminals wrap."""


class Tail:
    """Printer of a run's news: collected on the engine's thread, printed on ours."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._news = NewsQueue()
        self._is_tailed = False
        self._lines = ChangeLines()
        self._partial: dict[tuple[str, str], str] = {}
        self._shown_requests: set[str] = set()

    def listeners(self, is_tailed: bool) -> Sequence[Listener]:
        """Return what keeps the news for `wait_for`: all of them, or only the questions."""
        self._is_tailed = is_tailed
        return (self._news.put if is_tailed else self._on_question,)

    def _on_question(self, news: News) -> None:
        if isinstance(news, Event) and news.kind == _REQUESTED:
            self._news.put(news)

    def wait_for(
        self,
        run: Run,
        *,
        is_attended: bool = False,
        is_quiet: bool = False,
        asks_last: bool = False,
    ) -> None:
        """Print what happens until the run comes to rest; requests of agents, if a person is there (`is_attended`).

        `asks_last`: the outcome does not show the questions with which the run ends; they are printed here. Requests for
        permissions always are: whether another step was still running makes no difference.
        """
        assert run.live is not None
        if self._screen.is_terminal and not is_quiet:
            from rich.console import Console
            from rich.text import Text

            console = Console(file=self._screen.err)

            def above(words: str) -> None:
                console.print(Text(words), soft_wrap=True)

            def live(document: RunDocument) -> Text:
                room = max(10, console.width - _MARGIN)
                progress = Text(progress_line(document, room))
                progress.truncate(room, overflow="ellipsis")  # wide letters take two columns
                return progress

            self._screen.ask = above
            if self._screen.out.isatty():
                # One terminal shows both: output goes above the live line, never through it.
                self._screen.say = above
            with console.status(live(run.outcome.document()), spinner="dots") as status:
                self._watch(
                    run,
                    lambda document: status.update(live(document)),
                    is_quiet=is_quiet,
                    is_attended=is_attended,
                )
        else:
            self._watch(run, None, is_quiet=is_quiet, is_attended=is_attended)
        self._screen.say = self._screen.ask = None
        self._print(run, is_quiet=is_quiet, is_listed_below=not (self._is_tailed or asks_last))
        for step, stream in list(self._partial):
            self._flush(step, stream)

    def _watch(
        self,
        run: Run,
        show: Callable[[RunDocument], None] | None,
        *,
        is_quiet: bool,
        is_attended: bool,
    ) -> None:
        assert run.live is not None
        refreshed = 0.0
        while not run.live.ended.wait(_TICK_S):
            self._print(run, is_quiet=is_quiet)
            is_due = time.monotonic() - refreshed > _REFRESH_S
            if not is_due or (show is None and not is_attended):
                continue
            document = run.outcome.document()
            refreshed = (
                time.monotonic()
            )  # not before: of thousands of steps the document takes a while
            if show is not None:
                show(document)
            if is_attended:
                self._ask(run, document)

    def _ask(self, run: Run, document: RunDocument) -> None:
        """Print each request once, from the state of the run, not from news: one may have waited since before we came.

        The outcome knows a request before it is on disk, the state only then: until it is printed, it is looked for again.
        """
        actions = [action for step in document["steps"] for action in step["next_actions"]]
        cells = [action["cell"] for action in actions if action["action"] == "approve_request"]
        waiting = {cell.rpartition(" ")[2] for cell in cells}
        if waiting <= self._shown_requests:
            return  # the state is folded anew for whoever asks: only where there is something to say
        for request in run.state.open_permissions():
            if request["request_id"] not in self._shown_requests:
                self._shown_requests.add(request["request_id"])
                self._screen.question(
                    "\n".join(
                        [
                            request_line(request),
                            *(f"    {row}" for _, row in call_lines(request.get("args"))),
                        ]
                    )
                )

    def _print(self, run: Run, *, is_quiet: bool, is_listed_below: bool = False) -> None:
        while not self._news.empty():
            news = self._news.get()
            if isinstance(news, Event) and news.kind == _REQUESTED:
                if not is_quiet:
                    request = cast("DecisionRequested", news.data)
                    step, plan = request["step"], run.compiled()
                    if request["reason"] == PERMISSION_REQUIRED:
                        for each in run.state.open_permissions(step):
                            self._screen.question(request_line(each))
                        continue
                    if is_listed_below:
                        continue
                    is_used = plan.steps[plan.index[step]].is_referenced
                    action = decide_step(run.id, step, request["choices"], takes_answer=is_used)
                    answer = mark_placeholders(plain(action["command"]))
                    question = plain(f"{step}: needs a decision: {request['question']}")
                    self._screen.question(f"◆ {question} → {answer}, or reject")
            elif isinstance(news, Event):
                if news.kind in CHANGES or news.data.get("event") == PERMISSION_DECIDED:
                    for line in self._lines.of(news):
                        self._screen.progress_line(line)
            else:
                self._live(news)

    def _live(self, news: Live) -> None:
        age_s, idle_s = (
            round(news.data.get(k, 0) / 1000) for k in ("last_output_age_ms", "idle_ms")
        )
        match news.topic:
            case t if t == STEP_OUTPUT:
                self._output(news.step, str(news.data["stream"]), str(news.data["chunk"]))
            case t if t == STEP_HEARTBEAT:
                self._screen.progress_line(
                    f"[{news.step}] still running; last output {age_s} s ago"
                )
            case t if t == STEP_STALLED:
                self._screen.progress_line(
                    f"[{news.step}] may be stalled: no activity for {idle_s} s"
                )
            case t if t == STEP_PROGRESS:
                fraction = news.data.get("fraction")
                share = "" if fraction is None else f"{fraction:.0%} "
                self._screen.progress_line(
                    f"[{news.step}] {share}{plain(str(news.data['message']))}"
                )
            case _:
                pass

    def _output(self, step: str, stream: str, chunk: str) -> None:
        key = (step, stream)
        *lines, rest = (self._partial.get(key, "") + chunk).split("\n")
        for line in lines:
            self._say(step, line)
        self._partial[key] = rest
        if len(rest) > 4096:
            self._flush(step, stream)

    def _flush(self, step: str, stream: str) -> None:
        rest = self._partial.pop((step, stream), "")
        if rest:
            self._say(step, rest)

    def _say(self, step: str, line: str) -> None:
        self._screen.progress_line(f"[{step}] {plain(line.rstrip(chr(13)))}")
