"""The parts HTML views are made of: header, chips, bar, table, actions, warnings, and the card around them.

Every function takes run data as it is and escapes it here or through `markup`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from pixirnb.machine.next_actions import NextAction
from pixirnb.views.basics.icons import icon
from pixirnb.views.basics.markup import code, prose, text
from pixirnb.views.basics.phrases import action_phrase, place_phrase
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.status_marks import WARNING, Mark
from pixirnb.views.basics.style import CARD, PALETTE

ROWS: Final = 200
"""Rows a table shows; the rest are counted."""
_ACTIONS: Final = 8
_WARNINGS: Final = 12


def card(*parts: str) -> str:
    """The whole view: one sheet, one box."""
    return (
        f"<style>{PALETTE}{CARD}</style>"
        f'<div class="pixirnb-view">{"".join(part for part in parts if part)}</div>'
    )


def top(mark: Mark, name: object, *, run_id: object = None, right: str = "") -> str:
    """Status word and icon first, then what it is about. `right` is markup."""
    run = code(run_id, 60) if run_id else ""
    aside = f'<span class="pixirnb-mute pixirnb-right">{right}</span>' if right else ""
    return (
        f'<div class="pixirnb-top"><span class="pixirnb-status pixirnb-{mark.tone}">'
        f"{icon(mark, 18)}{text(mark.word, 60)}</span>"
        f'<span class="pixirnb-flow">{text(name, 80)}</span>{run}{aside}</div>'
    )


def chips(counts: Iterable[tuple[Mark, int]]) -> str:
    """How many of each status, with the shapes the picture uses: its legend."""
    shown = "".join(
        f'<span class="pixirnb-nowrap pixirnb-{mark.tone}">{icon(mark)} <b>{count:,}</b> '
        f"{text(mark.word, 40)}</span>"
        for mark, count in counts
    )
    return f'<div class="pixirnb-chips">{shown}</div>' if shown else ""


def bar(counts: Sequence[tuple[Mark, int]]) -> str:
    """The same as a strip; says nothing that the chips do not."""
    shown = "".join(
        f'<span class="pixirnb-{mark.tone}{" pixirnb-faint" * (mark.key == "maybe")}" style="flex:{count}"></span>'
        for mark, count in counts
    )
    return f'<div class="pixirnb-bar" aria-hidden="true">{shown}</div>' if shown else ""


def scroll(svg: str) -> str:
    """A picture that may be wider than the page."""
    return f'<div class="pixirnb-scroll">{svg}</div>' if svg else ""


def status(mark: Mark) -> str:
    """A status in a table: shape and word."""
    return f'<span class="pixirnb-nowrap pixirnb-{mark.tone}">{icon(mark)} {text(mark.word, 40)}</span>'


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: frozenset[int] = frozenset(),
    count: int = 0,
) -> str:
    """A table of ready markup; `numeric` columns are set to the right. At most `ROWS` rows.

    `count`: how many rows there are, where only the first `ROWS` were made.
    """
    if not rows:
        return ""

    def cell(tag: str, place: int, content: str) -> str:
        kind = ' class="pixirnb-num"' if place in numeric else ""
        return f"<{tag}{kind}>{content}</{tag}>"

    head = "".join(cell("th", place, text(name)) for place, name in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(cell("td", place, part) for place, part in enumerate(row)) + "</tr>"
        for row in rows[:ROWS]
    )
    more = ""
    left = max(count, len(rows)) - ROWS
    if left > 0:
        more = f'<p class="pixirnb-mute">and {plural(left, "more row")}</p>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def disclosure(summary: str, content: str) -> str:
    """Content that opens on a click."""
    if not content:
        return ""
    return f"<details><summary>{text(summary)}</summary>{content}</details>"


def actions(entries: Sequence[NextAction], clashing: Collection[str] = ()) -> str:
    """What to do next, each with the cell to run. `clashing`: the steps that wait for a conflict to be solved."""
    if not entries:
        return ""
    rows = "".join(
        f"<li>{code(entry.get('cell', ''))} {text(action_phrase(entry, clashing))}</li>"
        for entry in entries[:_ACTIONS]
    )
    return f"<h4>Next</h4><ul>{rows}{_more(len(entries) - _ACTIONS)}</ul>"


def problems(title: str, entries: Sequence[Mapping[str, object]], mark: Mark = WARNING) -> str:
    """Warnings or mistakes: where, what, and what to do."""
    if not entries:
        return ""
    limit = ROWS if mark is not WARNING else _WARNINGS
    rows = "".join(
        f'<li><span class="pixirnb-{mark.tone}">{icon(mark)}</span> {_problem(entry)}</li>'
        for entry in entries[:limit]
    )
    return f"<h4>{text(title)}</h4><ul>{rows}{_more(len(entries) - limit)}</ul>"


def _problem(entry: Mapping[str, object]) -> str:
    place = place_phrase(entry)
    where = f'<span class="pixirnb-mute">{text(place)}</span> ' if place else ""
    fix = f" → {prose(entry['fix'], 300)}" if entry.get("fix") else ""
    return f"{where}{prose(entry.get('message', ''))}{fix} {code(entry.get('code', ''), 60)}"


def _more(count: int) -> str:
    return f'<li class="pixirnb-mute">and {count:,} more</li>' if count > 0 else ""
