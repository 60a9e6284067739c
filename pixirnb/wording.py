"""Parts of sentences for every floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal


def join_names(
    names: Sequence[Any],
    limit: int,
    show: Callable[[Any], str] = str,
    *,
    count: int | None = None,
    group: Literal["", ","] = "",
) -> str:
    """Return the first `limit` of some names and the number of the others: `a, b and 3 more`.

    `show` writes a name. `count`: of all, if `names` are only the first. `group`: separator of thousands.
    """
    shown = ", ".join(map(show, names[:limit]))
    more = (len(names) if count is None else count) - min(len(names), limit)
    return f"{shown} and {more:{group}} more" if more > 0 else shown


def cut(text: str, limit: int) -> str:
    """Return `text`, or its beginning and `…` in at most `limit` characters."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


NOT_JSON = "`output` requires JSON"


def not_json(text: str, error: Exception) -> str:
    """Return what was printed where a declared output requires JSON, and where it breaks, if it looks like JSON."""
    if not text.strip():
        return f"printed nothing; {NOT_JSON}"
    shown = cut(on_one_line(text[:200]).replace("`", "'"), 60)
    where = f" ({error})" if text.lstrip()[0] in '[{"' else ""
    return f"printed `{shown}`, which is not JSON{where}; {NOT_JSON}"


def error_text(error: BaseException) -> str:
    """Return `ValueError: …`; only the type where the error's own text cannot be made."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except BaseException:  # noqa: BLE001 - a user's `__str__` may raise anything, an exit too
        return name


def on_one_line(text: str) -> str:
    """Return the printable characters of `text`, with a single blank in place of all others."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def local_time(at: str) -> str:
    """Return an ISO 8601 moment in the zone of this machine, `2026-11-24 14:03:11 CET`; empty for any other text.

    Only people read it: logs and JSON keep UTC. Views are pure and know no zone: the command line and the notebook
    extension hand them this function.
    """
    try:
        moment = datetime.fromisoformat(at)
        # Without a zone it is no moment of a log; years at the calendar's ends have no local time.
        return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}" if moment.tzinfo else ""
    except (ValueError, OverflowError, OSError):
        return ""
