"""Blocks as a card of HTML: self-contained, without script or link; nothing of a run stands in an attribute.

Nothing but the status `completed` of a run is painted as success.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

from pixirnb.views.basics.icons import icon, share_shapes
from pixirnb.views.basics.markup import block as several_lines
from pixirnb.views.basics.markup import code, prose, text, verbatim, whole
from pixirnb.views.basics.phrases import position_phrase
from pixirnb.views.basics.sanitize import group_digits, plain_lines, plural
from pixirnb.views.basics.show_value import rows_of, shown
from pixirnb.views.basics.status_marks import Mark
from pixirnb.views.basics.step_names import label_html
from pixirnb.views.basics.style import CARD, FRAME, PALETTE, SCROLL, used_rules
from pixirnb.views.blocks.model import (
    ROWS,
    Block,
    Chart,
    Code,
    Counts,
    Details,
    ErrorLine,
    Graphic,
    Heading,
    Items,
    LineKind,
    Marked,
    Names,
    Paragraph,
    Part,
    PatchLines,
    Phrase,
    Preformatted,
    Problems,
    Quotation,
    Section,
    Status,
    Table,
    Value,
    Word,
)
from pixirnb.views.blocks.text_renderer import draw_text

_FAILED: Final = Mark("failed", "", "✗", "bad")
_LINE: Final = 2_000
_QUOTED: Final = 6_000
"""Characters of a quoted text: a page stays as it is, and is mailed around."""
_LINES: Final[Mapping[LineKind, str]] = {
    "added": "ready",
    "deleted": "bad",
    "remark": "mute",
    "hunk": "mute",
}


def draw_html(blocks: Sequence[Block]) -> str:
    """Return the blocks as a card with its own style sheet."""
    body = share_shapes(body_html(blocks))
    # MathJax would set what stands between two dollars in a command.
    kind = "pixirnb-view tex2jax_ignore mathjax_ignore"
    card = f'<div class="{kind}" style="{FRAME}">{body}</div>'
    return f"<style>{used_rules(PALETTE + CARD, card)}</style>{card}"


def body_html(blocks: Sequence[Block]) -> str:
    """Return the blocks without a card around them, for a page that has one."""
    return "".join(map(_draw, blocks))


def phrase_html(phrase: Phrase) -> str:
    """Return a phrase as markup."""
    parts = phrase if isinstance(phrase, tuple) else (phrase,)
    return " ".join(filter(None, map(_part, parts)))


def _part(part: Part) -> str:
    match part:
        case str():
            return prose(part, _LINE)
        case Code(value, limit, title):
            if title:
                return label_html(value, title)
            return code(value, limit) if value is not None and value != "" else ""
        case Status(mark) | Word(mark):
            return _toned(mark, text(mark.word, 60))
        case Marked(_, name, title):
            return label_html(name, title)
        case Counts(counts):
            return " ".join(_toned(mark, text(group_digits(count)), 12) for mark, count in counts)
        case Names(names, more, separator):
            words = [
                whole(name.value) if isinstance(name, Code) and not name.title else _part(name)
                for name in names
            ]
            return separator.join([*words, *[f"and {more:,} more"] * (more > 0)])
        case _:
            assert_never(part)


def _draw(block: Block) -> str:
    match block:
        case Heading():
            return _heading(block)
        case ErrorLine(name, message, position):
            heading = _heading(Heading(_FAILED, aside=position), text(name, 60))
            return f"{heading}<p>{several_lines(message, 2_000)}</p>"
        case Problems(title, entries, mark, more):
            items = [_problem(entry, mark) for entry in entries]
            return f"<h4>{text(title)}</h4>{_list(items, more)}" if items else ""
        case Paragraph(phrase, tone):
            words = phrase_html(phrase)
            kind = f' class="pixirnb-{tone}"' if tone else ""
            return f"<p{kind}>{words}</p>" if words else ""
        case Section(title, blocks):
            inner = body_html(blocks)
            return f"<h4>{_large(phrase_html(title))}</h4>{inner}" if title and inner else inner
        case Table():
            return _table(block)
        case Items(items, more):
            return _list(map(phrase_html, items), more) if items else ""
        case Chart(counts, has_legend):
            return _bar(counts) + (_legend(counts) if has_legend else "")
        case Graphic(draw):
            drawn = draw()
            return f'<div class="pixirnb-scroll" style="{SCROLL}">{drawn}</div>' if drawn else ""
        case Details(summary, blocks):
            inner = body_html(blocks)
            if not inner:
                return f'<p class="pixirnb-mute">{text(summary, 600)}</p>'
            return f"<details><summary>{text(summary, 600)}</summary>{inner}</details>"
        case Value(value):
            return _value(value)
        case Preformatted(words, limit):
            rows = "\n".join(map(verbatim, plain_lines(words, limit)))
            return f"<pre>{rows}</pre>" if words.strip() else ""
        case Quotation():
            return _quoted(block)
        case PatchLines(lines):
            return f"<pre>{''.join(_line(kind, row) for kind, row in lines)}</pre>" if lines else ""
        case _:
            assert_never(block)


def _heading(heading: Heading, word: str = "") -> str:
    mark = heading.mark
    run = code(heading.run_id, 60) if heading.run_id else ""
    aside = text(heading.aside) if heading.aside else ""
    right = f'<span class="pixirnb-mute pixirnb-right">{aside}</span>' if aside else ""
    parts = (
        f'<b class="pixirnb-status pixirnb-{mark.tone}">{_icon(mark, 18)}{word or text(mark.word, 60)}</b>',
        f'<b class="pixirnb-flow">{text(heading.name, 80)}</b>',
        run,
        right,
    )
    return f'<div class="pixirnb-top">{" ".join(filter(None, parts))}</div>'


def _icon(mark: Mark, size: int = 14) -> str:
    """Return the icon, and the symbol that stands for it where icons and style sheets are dropped."""
    return f'{icon(mark, size)}<span class="pixirnb-symbol">{text(mark.symbol)} </span>'


def _toned(mark: Mark, words: str, size: int = 14) -> str:
    return f'<span class="pixirnb-nowrap pixirnb-{mark.tone}">{_icon(mark, size)} {words}</span>'


def _legend(counts: Sequence[tuple[Mark, int]]) -> str:
    """Return how many of each status, with the shapes that the picture uses."""
    shown_counts = " ".join(
        _toned(mark, f"<b>{count:,}</b> {text(mark.counted(count), 40)}") for mark, count in counts
    )
    return f'<div class="pixirnb-chips">{shown_counts}</div>' if shown_counts else ""


def _bar(counts: Sequence[tuple[Mark, int]]) -> str:
    parts = "".join(
        f'<span class="pixirnb-{mark.tone}{" pixirnb-faint" * (mark.key == "maybe")}" style="flex:{count}"></span>'
        for mark, count in counts
    )
    return f'<div class="pixirnb-bar" aria-hidden="true">{parts}</div>' if parts else ""


def _table(block: Table) -> str:
    if not block.rows:
        return ""

    limit = min(block.limit, ROWS)

    def row_html(tag: str, cells: Iterable[str]) -> str:
        kinds = (' class="pixirnb-num"' * (column in block.numeric) for column in range(100))
        return "".join(
            f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, kinds, strict=False)
        )

    head = row_html("th", (text(name) for name in block.heads)) if any(block.heads) else ""
    shown = [row[::-1] if block.is_next else row for row in block.rows[:limit]]
    rows = "".join(f"<tr>{row_html('td', map(phrase_html, row))}</tr>" for row in shown)
    left = max(block.count, len(block.rows)) - limit
    more = f'<p class="pixirnb-mute">and {plural(left, "more row")}</p>' if left > 0 else ""
    heads = f"<thead><tr>{head}</tr></thead>" if head else ""
    kind = ' class="pixirnb-next"' if block.is_next else ""
    return f"<table{kind}>{heads}<tbody>{rows}</tbody></table>{more}"


def _list(items: Iterable[str], more: int) -> str:
    left = f'<li class="pixirnb-mute">and {more:,} more</li>' if more > 0 else ""
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}{left}</ul>"


def _problem(entry: Mapping[str, object], mark: Mark) -> str:
    position = position_phrase(entry)
    where = f'<span class="pixirnb-mute">{text(position)}</span> ' if position else ""
    fix = f" → {prose(entry['fix'], 300)}" if entry.get("fix") else ""
    markup = f"{where}{prose(entry.get('message') or '')}{fix} {code(entry.get('code') or '', 60)}"
    return f'<span class="pixirnb-{mark.tone}">{_icon(mark)}</span> {markup}'


def _value(value: object) -> str:
    columns = rows_of(value)
    if columns is None:
        return f"<pre>{several_lines(shown(value, indent=2))}</pre>"
    heads, rows = columns
    return _table(Table(heads, [[shown(cell, limit=200) for cell in row] for row in rows]))


def _quoted(quote: Quotation) -> str:
    if not quote.text.strip():
        return ""
    left = max(0, len(quote.text) - _QUOTED) + quote.cut
    more = f'<p class="pixirnb-mute">{plural(left, "more character")}</p>' if left else ""
    return f"<pre>{several_lines(quote.text[:_QUOTED], _QUOTED)}</pre>{more}"


def _line(kind: LineKind, row: str) -> str:
    tone = _LINES.get(kind)
    markup = f"<b>{verbatim(row)}</b>" if kind == "head" else verbatim(row)
    return f'<span class="pixirnb-{tone}">{markup}</span>\n' if tone else f"{markup}\n"


def _large(markup: str) -> str:
    """Return a title that begins with a capital letter, unless it begins with an id."""
    return markup if markup.startswith("<") else markup[:1].upper() + markup[1:]


def mimebundle(blocks: Sequence[Block]) -> dict[str, str]:
    """Return `{"text/plain": …, "text/html": …}`."""
    return {"text/plain": draw_text(blocks), "text/html": draw_html(blocks)}
