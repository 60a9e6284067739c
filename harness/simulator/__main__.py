"""python -m harness.simulator: seeds lived through, and the story of one.

    --seeds N [--from K] [--jobs J]   N seeds, with progress on one line and the figures at the end
    --seed S [--show]                 one seed; --show tells its story
    --world FILE [--show]             one world, as a failure printed it
    --until-breach                    stop at the first broken promise
    --json                            one JSON document instead

Exit code 0 when every promise was kept, 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.simulator.campaign import HANGS, RAISES, Failure, Tally, in_parallel, judged, simulate
from harness.simulator.seeds import world as world_of_seed
from harness.simulator.shrinking import shrunk
from harness.simulator.story import sentence, told
from harness.simulator.world import World, world_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    said = _parser().parse_args(arguments)
    if said.world is not None or said.seed is not None:
        return _one(said)
    seeds = range(said.start, said.start + said.seeds)
    tally = _all(seeds, said.jobs, until_breach=said.until_breach, is_quiet=said.json)
    if said.json:
        _print(json.dumps(tally.document()))
        return 1 if tally.failures else 0
    _print(_figures(tally))
    for failure in sorted(tally.failures, key=lambda failure: failure.seed)[:3]:
        _print("\n".join(_told(failure)))
    return 1 if tally.failures else 0


def _all(seeds: Sequence[int], jobs: int, *, until_breach: bool, is_quiet: bool) -> Tally:
    total = Tally()
    one_by_one = until_breach or jobs == 1
    parts = (simulate([s]) for s in seeds) if one_by_one else in_parallel(seeds, jobs)
    for part in parts:
        total.add(part)
        for failure in [] if is_quiet else part.failures:
            sys.stderr.write(f"seed {failure.seed} broke {', '.join(failure.rules)}\n")
        if not is_quiet and sys.stderr.isatty():
            sys.stderr.write(f"\r{total.seeds} of {len(seeds)} seeds ")
            sys.stderr.flush()
        if until_breach and total.failures:
            break
    if not is_quiet and sys.stderr.isatty():
        sys.stderr.write("\r")
    return total


def _figures(tally: Tally) -> str:
    breaches = sum(len(failure.breaches) for failure in tally.failures)
    counts = tally.counts
    lines = [
        f"seeds {tally.seeds} · courses {tally.courses} · events {tally.events}"
        f" · crashes {counts['crashes']}",
        f"simulated {tally.simulated_s:,.0f} s in {tally.real_s:.1f} s"
        f" · {tally.factor:.0f} times real time · breaches {breaches}",
    ]
    return "\n".join(lines)


def _told(failure: Failure) -> Iterator[str]:
    """A failure: what broke, how to see it again, and the smallest world in which it does."""
    yield f"seed {failure.seed} broke {', '.join(failure.rules)}"
    yield from (f"  {sentence(breach)}" for breach in failure.breaches[:5])
    yield f"  again: make simulate SEED={failure.seed}"
    if failure.rules[0] in (RAISES, HANGS):
        return
    small = shrunk(world_of_seed(failure.seed), failure.rules[0])
    yield "  the smallest world found that breaks the same rule (--world FILE):"
    yield json.dumps(small.document())


def _one(said: argparse.Namespace) -> int:
    world = _world_in(said.world) if said.world is not None else world_of_seed(said.seed)
    life = judged(world)
    if said.json:
        told_of = Failure(said.seed or 0, tuple(life.breaches)).document()
        _print(json.dumps(told_of))
    elif said.show:
        _print("\n".join(told(life)))
    else:
        _print(f"{life.courses} courses, {life.events} events, {len(life.breaches)} breaches")
        _print("\n".join(sentence(breach) for breach in life.breaches))
    if life.breaches and not said.json:
        small = shrunk(world, life.breaches[0].rule)
        _print("the smallest world found that breaks the same rule (--world FILE):")
        _print(json.dumps(small.document()))
    return 1 if life.breaches else 0


def _world_in(path: Path) -> World:
    return world_of(json.loads(path.read_text(encoding="utf-8")))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m harness.simulator")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--world", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--until-breach", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser


def _print(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
