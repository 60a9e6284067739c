"""Replies of a provider on loopback to a request: an answer, streamed, or a refusal. Values; nothing here acts.

    Answer(("It ", "works."))                         two frames of text and a clean end
    Answer(calls=(Call("read", {"path": "a.txt"}),))  the model wants a tool
    Answer(("It ", "wor"), cut_after=2)               the connection breaks after two frames
    Refusal(429, "slow down", retry_after=0.2)        no answer at all

Sequences may be of any kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A tool the model wants to use."""

    name: str
    arguments: Mapping[str, Any] | str
    """An object, or text as it is: broken JSON too."""
    call_id: str | None = None
    """None: the server numbers its calls."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A streamed response of a model, clean unless `cut_after` breaks it."""

    text: Sequence[str] | str = ()
    """Its text, a frame each."""
    calls: Sequence[Call] = ()
    """Tool calls after the text; arguments come in two frames each."""
    reasoning: Sequence[str] = ()
    """Its reasoning before the text, a frame each."""
    usage: tuple[int, int] | None = (11, 7)
    """Tokens in and out, in the last frame."""
    finish: str | None = "auto"
    """The reason it ends with; `auto`: `stop`, or `tool_calls` where it calls. None: it never says that it has ended."""
    delay_s: float = 0.0
    """Seconds before every frame."""
    cut_after: int | None = None
    """The connection breaks after so many frames of content."""
    garbage_after: int | None = None
    """After so many frames of content comes one that is no JSON."""
    fault: tuple[int, str] | None = None
    """After so many frames of content, an error object with this message inside the stream: `(frames, message)`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error instead of an answer."""

    status: int
    message: str = "refused"
    code: str | None = None
    """The provider's own word for it, like `context_length_exceeded`."""
    retry_after: float | None = None
    """Seconds, in the `Retry-After` header."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A 200 answer that is no stream: what a proxy or a login page says. Empty: the connection is closed without a word."""

    body: bytes = b""


Reply = Answer | Refusal | Plain
ScriptedReply = Reply | Callable[[Mapping[str, Any]], Reply]
"""A reply, or a function of the request's body that makes one."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came in."""

    path: str
    model: str
    body: Mapping[str, Any]
    raw: bytes
    """The bytes of the body, for comparing what was sent."""
    headers: Mapping[str, str]
    """Names in lower case."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as it was sent."""
        return list(self.body.get("messages") or self.body.get("input") or [])

    def has(self, text: str) -> bool:
        """Return whether `text` stands anywhere in the request."""
        return text in self.raw.decode("utf-8", errors="replace")
