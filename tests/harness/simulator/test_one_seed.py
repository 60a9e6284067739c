"""One seed is one world: the same bytes again, in another process, and under another hash seed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.simulator.campaign import judged, simulate
from harness.simulator.life import live
from harness.simulator.seeds import world
from harness.simulator.world import world_of
from tests.sweeps import first_of

SEEDS = (3, 17, 40, 141, 394)
"""With forks, deaths, detached threads and people."""
_ELSEWHERE = (
    "import sys; from test_one_seed import digest; print(*map(digest, map(int, sys.argv[1:])))"
)


def digest(seed: int) -> str:
    """Of every byte that a world leaves: logs and blobs of all its runs."""
    life = live(world(seed))
    seen = hashlib.blake2b(digest_size=16)
    for run_id in sorted(life.store.runs):
        run = life.store.runs[run_id]
        seen.update(run_id.encode() + bytes(run.data))
        for name in sorted(run.blobs.stored):
            seen.update(name.encode() + run.blobs.stored[name])
    return seen.hexdigest()


@pytest.mark.parametrize("seed", first_of(SEEDS))
def test_a_seed_leaves_the_same_bytes_again(seed: int) -> None:
    assert digest(seed) == digest(seed)


@pytest.mark.parametrize("hash_seed", first_of(["1", "4242"]))
def test_a_seed_leaves_the_same_bytes_in_another_process_under_another_hash_seed(
    hash_seed: str,
) -> None:
    paths = [str(Path(__file__).parent), *sys.path]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    told = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, *map(str, SEEDS)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == [digest(seed) for seed in SEEDS]


def test_a_world_written_down_is_lived_through_as_its_seed_was() -> None:
    drawn = world(17)
    again = world_of(json.loads(drawn.text()))
    assert again == drawn
    one, other = live(drawn), live(again)
    assert [one.log(run) for run in one.run_ids] == [other.log(run) for run in other.run_ids]


def test_two_seeds_are_two_worlds() -> None:
    assert digest(3) != digest(4)


def test_a_quiet_world_is_lived_through_beside_its_calm_twin() -> None:
    quiet = next(seed for seed in range(50) if world(seed).is_comparable)
    assert judged(world(quiet)).witness.counts["compared"] == 1


def test_simulate_tells_what_its_seeds_went_through() -> None:
    tally = simulate([3, 17])
    assert (tally.seeds, tally.failures) == (2, [])
    assert tally.document()["counts"]["courses"] >= 2
    assert tally.simulated_s > 10
