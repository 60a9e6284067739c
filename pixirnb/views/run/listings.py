"""Lists that show themselves: what `runs()`, `history()`, `plan_resume()` and `explain()` return.

They are plain lists otherwise. A slice of one is one too, so that `run.history()[-20:]` reads as well as the whole. Printing
one shows what a terminal shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex, TypeVar, overload

from pixirnb.history.events import Event, ResumeStep
from pixirnb.views.basics.html_cards import card
from pixirnb.views.basics.markup import prose
from pixirnb.views.run.event_table import history_html, history_text
from pixirnb.views.run.mimebundle import mimebundle
from pixirnb.views.run.text import explain_text

T = TypeVar("T")


class Listing(list[T]):
    """A list that shows itself."""

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, place: slice, /) -> list[T]: ...
    def __getitem__(self, place: Any, /) -> Any:
        found = list.__getitem__(self, place)
        return self._like(found) if isinstance(place, slice) else found

    def _like(self, entries: list[T]) -> list[T]:
        return type(self)(entries)

    def _shown(self) -> dict[str, str]:
        raise NotImplementedError

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self._shown()

    def __repr__(self) -> str:
        return self._shown()["text/plain"]


class Rows(Listing[dict[str, Any]]):
    """The runs of a state folder."""

    def _shown(self) -> dict[str, str]:
        return mimebundle("runs", {"runs": list(self)})


class History(Listing[Event]):
    """The events of a run."""

    def _shown(self) -> dict[str, str]:
        return {"text/plain": history_text(self), "text/html": history_html(self)}


class Forecast(Listing[ResumeStep]):
    """What a resume would do with each step."""

    def __init__(self, steps: Iterable[ResumeStep] = (), run_id: str = "") -> None:
        super().__init__(steps)
        self.run_id = run_id

    def _like(self, entries: list[ResumeStep]) -> list[ResumeStep]:
        return Forecast(entries, self.run_id)

    def _shown(self) -> dict[str, str]:
        return mimebundle("resume", {"run_id": self.run_id, "steps": list(self)})


class Sentences(Listing[str]):
    """Sentences, a line each."""

    def _shown(self) -> dict[str, str]:
        told = "".join(f"<p>{prose(words)}</p>" for words in self)
        return {"text/plain": explain_text(self), "text/html": card(told)}
