"""`python -m harness.crash_points`: try crash points and print what each shape under each fault came to.

Exits 1 where a promise was broken. A breach is printed with the name of its point: `--replay NAME` tries that one alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.crash_points.tap import Tap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from harness.crash_points.campaign import Tally
    from harness.crash_points.points import Found

_sweep_pair: Callable[[tuple[str, str]], Tally]
"""In a worker: the sweep of one shape under one fault."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit code."""
    tap = Tap()
    tap.install()  # before pixirnb's modules are imported, so that what they bind at import is tapped too
    from harness.crash_points import campaign, points
    from harness.crash_points.sample import sample
    from harness.crash_points.shapes import SHAPES

    parser = _parser(list(SHAPES), points.FAULTS)
    given = parser.parse_args(arguments)
    try:
        wanted = [points.Point.named(name) for name in given.replay or ()]
    except ValueError as error:
        parser.error(str(error))
    shapes = given.shapes or list(SHAPES)
    faults = given.faults or list(points.FAULTS)
    with tempfile.TemporaryDirectory(prefix="pixirnb-crashes-", dir=given.place) as folder:
        place = Path(given.keep or folder)
        bench = points.Bench(tap, place, keeps=given.keep is not None)
        if given.replay:
            found = [bench.tried(point) for point in wanted]
            for one in found:
                _say(one, is_loud=True)
            return int(any(one.breaches for one in found))
        quietly = partial(_say, is_loud=False)
        tallies: Iterable[Tally] = (
            campaign.over(bench, sample(bench, shapes, faults), quietly)
            if given.sample
            else _swept(tap, place, given, [(s, f) for s in shapes for f in faults])
        )
        done = []
        _print("" if given.json else campaign.HEADING)
        for tally in tallies:
            done.append(tally)
            _print("" if given.json else tally.line())
        _print(json.dumps([t.document() for t in done]) if given.json else campaign.total(done))
    return int(any(tally.failures for tally in done))


def _swept(
    tap: Tap, place: Path, given: argparse.Namespace, pairs: Sequence[tuple[str, str]]
) -> Iterator[Tally]:
    """Yield the sweep of each shape under each fault, in order; `jobs` of them at a time, each in a process of its own."""
    from harness.crash_points import campaign, points

    def sweep(pair: tuple[str, str]) -> Tally:
        own = place / "-".join(pair)
        own.mkdir()
        bench = points.Bench(tap, own, keeps=given.keep is not None)
        quietly = partial(_say, is_loud=False)
        return campaign.sweep(bench, *pair, given.stride, given.double_stride, quietly)

    workers = multiprocessing.get_context("fork")  # what is tapped stays tapped
    with workers.Pool(given.jobs, _keep, (sweep,), maxtasksperchild=1) as pool:
        yield from pool.imap(_sweep, pairs)


def _keep(sweep: Callable[[tuple[str, str]], Tally]) -> None:
    global _sweep_pair
    _sweep_pair = sweep


def _sweep(pair: tuple[str, str]) -> Tally:
    return _sweep_pair(pair)


def _parser(shapes: Sequence[str], faults: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("crash_points", description=__doc__)
    parser.add_argument("--shapes", nargs="+", choices=shapes, help="of the seven workflows (all)")
    parser.add_argument("--faults", nargs="+", choices=faults, help="what goes wrong (all)")
    parser.add_argument("--stride", type=int, default=1, help="try every so-manieth N (1)")
    parser.add_argument(
        "--double-stride", type=int, default=7, help="the same, for both numbers of doubles (7)"
    )
    parser.add_argument(
        "--sample", action="store_true", help="meet each fault with each kind of operation once"
    )
    parser.add_argument("--replay", nargs="+", metavar="NAME", help="try these points alone")
    parser.add_argument("--place", help="a folder for the worlds, on the disk to be tried")
    parser.add_argument("--keep", metavar="DIR", help="keep the worlds with breaches there")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (one for each core)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _say(found: Found, *, is_loud: bool) -> None:
    if not found.breaches and not is_loud:
        return
    struck = ", ".join(found.struck) or "not reached"
    verdict = "broken" if found.breaches else "held"
    lines = [f"{found.point.name}: {verdict} ({struck})"]
    lines += [f"    {breach.word}: {breach.said}" for breach in found.breaches]
    sys.stderr.write("\n".join(lines) + "\n")


def _print(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
