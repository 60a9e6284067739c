"""Filter of a list of runs: by workflow, status, start, name and tag."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, get_args

from msgspec import Struct

from pixirnb.errors import InvalidArguments
from pixirnb.history.events import RunStatus
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.durations import parse_duration

LISTED: Final = (*get_args(RunStatus), "never_began", "unreadable")
"""Statuses that a row can have."""
_DAYS: Final = re.compile(r"(?:([0-9]{1,5})d)?(.*)", re.DOTALL)


class RunFilter(Struct, frozen=True):
    """A filter; every part that is set must match."""

    workflow: str | None = None
    statuses: tuple[str, ...] = ()
    since: str | None = None
    """Earliest start, as in a row."""
    name: str | None = None
    tags: tuple[str, ...] = ()
    """All of them."""

    def matches(self, row: RunRow) -> bool:
        """Return whether a row is of a run that is asked for."""
        return (
            self.workflow in {None, row["workflow"]}
            and (not self.statuses or row["status"] in self.statuses)
            and (self.since is None or (row["started_at"] or "") >= self.since)
            and self.name in {None, row.get("name")}
            and set(self.tags) <= set(row.get("tags") or ())
        )


def status_fix(word: str, known: Sequence[str]) -> str:
    """Return the fix for an unknown status; views show `needs_orchestrator` as a decision that is needed."""
    meant = "needs_orchestrator" if "decision" in word else word
    return did_you_mean(meant, known, otherwise=f"use one of: {', '.join(known)}")


def statuses_of(given: str | Sequence[str], known: Sequence[str] = LISTED) -> tuple[str, ...]:
    """Return statuses given one by one, or in a text with commas. Raises InvalidArguments (`not_a_choice`)."""
    texts = (given,) if isinstance(given, str) else given
    named = tuple(word.strip() for text in texts for word in text.split(",") if word.strip())
    if texts and not named:
        raise InvalidArguments(
            f"invalid status `{given}`", fix=status_fix("", known), code="not_a_choice"
        )
    for word in named:
        if word not in known:
            raise InvalidArguments(
                f"invalid status `{word}`", fix=status_fix(word, known), code="not_a_choice"
            )
    return named


def filter_of(
    workflow: str | None,
    status: str | Sequence[str],
    since: str | None,
    name: str | None,
    tags: Sequence[str],
) -> RunFilter:
    """Return a filter by what a person gave. Raises InvalidArguments (`bad_duration`, `not_a_choice`)."""
    start = None if since is None else start_after(since)
    return RunFilter(workflow, statuses_of(status), start, name, tuple(tags))


_FIX: Final = "use a duration such as 30d, 12h or 1d12h"
_FIX_SINCE: Final = "use a duration such as 2d, or a date such as 2026-11-20"


def span_s(text: str, option: str, fix: str = _FIX) -> float:
    """Return the seconds of `30d`, `2d12h`, `90m`; any number of days. Raises InvalidArguments (`bad_duration`)."""
    match = _DAYS.fullmatch(text)
    days, rest = (match[1], match[2]) if match else (None, text)
    try:
        milliseconds = parse_duration(rest, allow_zero=True) if rest or days is None else 0
    except ValueError as error:
        raise InvalidArguments(
            f"invalid {option} `{text}`", fix=fix, code="bad_duration"
        ) from error
    return int(days or 0) * 86_400 + milliseconds / 1000


def start_after(text: str, *, now: Callable[[], float] = time.time) -> str:
    """Return the time that `2d` (before now) or a date stands for, as rows have it; a date without a zone is local.

    Raises InvalidArguments (`bad_duration`).
    """
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        moment = _before(now() - span_s(text, "--since", _FIX_SINCE), text)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _before(at_s: float, text: str) -> datetime:
    try:
        return datetime.fromtimestamp(max(0.0, at_s), UTC)
    except (OverflowError, ValueError) as error:  # no calendar reaches that far
        raise InvalidArguments(
            f"invalid --since `{text}`", fix=_FIX_SINCE, code="bad_duration"
        ) from error
