"""Figures that were read: those of `make bench` (benchmarks/read.txt), and those beside peers (benchmarks/peers/read.json).

Bars have a logarithmic scale: a peer that writes nothing down would else leave no room for those that do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from math import log10
from pathlib import Path
from typing import Any, Final

BENCHMARKS: Final = Path(__file__).parents[2] / "benchmarks"
PROMISE: Final = re.compile(r"\s*(.+): (\S+(?: \S+)?) \(at most ([^)]+)\): (ok|MISSED)")
ROWS: Final = {"A": "a chain of 200", "B": "1, 500 side by side, 1", "C": "1,000 in layers"}
WIDTH: Final = 720
LEFT: Final = 150
LINE: Final = 20


def page(kind: str) -> str:
    """The figures of the `bench`, the curves of `growth` and `items`; of peers a `table`, `chart`, or `when` they were read."""
    if kind in {"bench", "growth", "items"}:
        text = (BENCHMARKS / "read.txt").read_text(encoding="utf-8")
        return "\n".join(_bench(text)) if kind == "bench" else _curve(text, f"bench_{kind}")
    read = json.loads((BENCHMARKS / "peers/read.json").read_text(encoding="utf-8"))
    if kind == "when":
        disk = [row["syncs_per_s"] for _, row in _rows(read["engines"])]
        machine = f"Python {read['python']} on {read['cores']} cores"
        rate = f"{min(disk):,.0f} to {max(disk):,.0f} syncs a second"
        return f"Read on {read['read_on']} with {machine}, one engine after another, on a disk of {rate}."
    return "\n".join(_table(read["engines"]) if kind == "table" else _chart(read["engines"]))


def _bench(text: str) -> Iterator[str]:
    """What was promised, by the bench that read it; a line above without a figure says of what."""
    head, *benches = text.split("\n\n")
    yield head.replace("\n", ", ").strip(", ") + "."
    yield ""
    yield "| figure | read | at most | |"
    yield "|---|---:|---:|---|"
    for bench in benches:
        name, *lines = bench.splitlines()
        of = ""
        for line in lines:
            if found := PROMISE.fullmatch(line):
                is_below = line.startswith(" ")
                said = f"{of}: {found[1]}" if is_below and of else found[1]
                verdict = "" if found[4] == "ok" else "**missed**"
                yield f"| {said} (`{name}`) | {found[2]} | {found[3]} | {verdict} |"
            elif not line.startswith(" "):
                of = line.partition(": ")[0]


def _curve(text: str, bench: str) -> str:
    """The curve of a bench, as it was printed."""
    curve = text.partition(f"\n{bench}\n")[2].partition("\n\n")[0]
    return "```text\n" + "\n".join(line for line in curve.splitlines() if "█" in line) + "\n```"


def _rows(engines: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for engine in engines:
        for row in ROWS:
            if "steps_per_s" in engine["rows"].get(row, {}):
                yield row, engine["rows"][row]


def _table(engines: list[dict[str, Any]]) -> Iterator[str]:
    heads = ["engine", "a finished step is"]
    heads += [f"{said}: steps/s (of the disk's syncs)" for said in ROWS.values()]
    heads += ["CPU a step of the chain", "bytes a step", "resumed, to its first step"]
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|" + "---:|" * (len(heads) - 2)
    for engine in engines:
        rows = engine["rows"]
        cells = [f"{engine['name']} {engine['version']}", engine["durability"]]
        for row in ROWS:
            read = rows.get(row, {})
            is_read = "steps_per_s" in read
            cells.append(f"{read['steps_per_s']:,.0f} ({read['of_disk']:.2f})" if is_read else "–")
        chain, resumed = rows.get("A", {}), rows.get("E", {})
        cells.append(f"{chain['cpu_us']:,.0f} µs" if "cpu_us" in chain else "–")
        cells.append(f"{chain['bytes']:,.0f}" if "bytes" in chain else "–")
        is_read = "first_step_ms" in resumed
        cells.append(f"{resumed['first_step_ms']:,.0f} ms" if is_read else "–")
        yield f"| {' | '.join(cells)} |"


def _chart(engines: list[dict[str, Any]]) -> Iterator[str]:
    most = max(row["steps_per_s"] for _, row in _rows(engines))
    scale = (WIDTH - LEFT - 70) / log10(most)
    top = 0
    for row, said in ROWS.items():
        top += LINE + 10
        yield f'<text x="0" y="{top}" class="head">{escape(said)}: steps a second</text>'
        for engine in engines:
            rate = engine["rows"].get(row, {}).get("steps_per_s")
            if rate is None:
                continue
            top += LINE
            length = scale * log10(max(rate, 1))
            kind = "ours" if engine["name"] == "pixirnb" else "peer"
            if "not synced" in engine["durability"]:
                kind = "unsynced"
            yield f'<text x="{LEFT - 8}" y="{top}" class="name">{escape(engine["name"])}</text>'
            yield f'<rect x="{LEFT}" y="{top - 11}" width="{length:.0f}" height="13" class="{kind}"/>'
            yield f'<text x="{LEFT + length + 6:.0f}" y="{top}">{rate:,.0f}</text>'
