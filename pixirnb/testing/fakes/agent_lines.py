"""An agent's line to an engine that is not there: its events, texts and reports are kept; its questions get prepared answers.

For a program of `runners.agents` run in the test's own process: no reaper, no pipes, no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pixirnb.runners.agents.channel import Channel
from pixirnb.sessions.events import Pair

Answering = Callable[[dict[str, Any]], dict[str, Any]]
"""A question's data to its answer."""


class TapedLine(Channel):
    """Everything in order, in `tape`; parts of it in the other attributes."""

    def __init__(self, answers: Mapping[str, Answering] | None = None) -> None:
        """`answers`: by question, `permit` and `call`. `commit` is always granted; what is not listed is refused."""
        # Not the parent's: it would open two pipes and listen at one of them.
        self._answering = dict(answers or {})
        self.tape: list[tuple[str, Any]] = []
        """`("tell", (kind, data))`, `("say", text)`, `("commit", None)`, `("ask", (question, data))`, `("report", data)`."""

    @property
    def events(self) -> list[Pair]:
        """The session's events."""
        return [what for how, what in self.tape if how == "tell"]

    @property
    def text(self) -> str:
        """The text that was shown as it came."""
        return "".join(what for how, what in self.tape if how == "say")

    @property
    def reports(self) -> list[dict[str, Any]]:
        """Structured reports, in order."""
        return [what for how, what in self.tape if how == "report"]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of the events of a kind."""
        return [data for name, data in self.events if name == kind]

    def tell(self, kind: str, **data: Any) -> None:
        """See `Channel.tell`."""
        self.tape.append(("tell", (kind, data)))

    def say(self, text: str) -> None:
        """See `Channel.say`."""
        self.tape.append(("say", text))

    def progress(self, message: str, fraction: float | None = None) -> None:
        """See `Channel.progress`."""
        self.tape.append(("progress", (message, fraction)))

    def report(self, data: dict[str, Any]) -> None:
        """See `Channel.report`."""
        self.tape.append(("report", data))

    def ask(self, question: str, data: dict[str, Any]) -> dict[str, Any]:
        """See `Channel.ask`. An answer that raises `Failed` is the engine's refusal."""
        if question == "commit":
            self.tape.append(("commit", None))
            return {"ok": True}
        self.tape.append(("ask", (question, data)))
        answering = self._answering.get(question)
        return (
            {"ok": False, "text": "nobody answers this"} if answering is None else answering(data)
        )
