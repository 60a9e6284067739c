"""Killed, refused or cut short at any operation, a run is finished by its resume, and no ready step is lost or done twice.

The short form: every fault meets every kind of operation at least once, in real processes on the real store. The long form,
every fault at every operation, is `make crashes`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.crash_points.faults import DEADLY, ERRORS, HARMLESS, KINDS
from harness.crash_points.points import DOUBLE, FAULTS, Point
from harness.crash_points.shapes import SHAPES
from tests.sweeps import first_of

ROOT = Path(__file__).parents[3]
GROUPS: dict[str, list[str]] = {
    "deaths": sorted(DEADLY),
    "double crashes": sorted(DOUBLE),
    "refusals": sorted(ERRORS),
    "interruptions": sorted(HARMLESS),
}
IN_RECOVERIES = {"truncate"}
"""A log is cut only where a torn tail is found."""


def crash_points(*arguments: str, place: Path) -> subprocess.CompletedProcess[str]:
    """The command, which needs a process of its own: it stands below `os` before pixirnb is imported."""
    command = [sys.executable, "-m", "harness.crash_points", "--place", str(place)]
    return subprocess.run(
        [*command, *arguments], check=False, cwd=ROOT, text=True, capture_output=True
    )


@pytest.mark.parametrize("group", first_of(GROUPS))
def test_no_fault_at_any_kind_of_operation_costs_a_ready_step(group: str, tmp_path: Path) -> None:
    done = crash_points("--sample", "--json", "--faults", *GROUPS[group], place=tmp_path)
    assert done.returncode == 0, done.stderr
    tallies: list[dict[str, Any]] = json.loads(done.stdout)
    assert {tally["fault"] for tally in tallies} == set(GROUPS[group])
    met = {kind for tally in tallies for kind in tally["struck"]}
    assert met >= (IN_RECOVERIES if group == "double crashes" else set(KINDS) - IN_RECOVERIES)


def test_every_fault_is_in_a_group() -> None:
    assert sorted(fault for group in GROUPS.values() for fault in group) == sorted(FAULTS)


def test_a_point_is_tried_again_by_its_name(tmp_path: Path) -> None:
    names = ["chain/die-before/rename.2", "gate/double/30/2", "chain/die-after/4000"]
    done = crash_points("--replay", *names, place=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in said] == names
    assert said[-1].endswith("held (not reached)")
    assert list(tmp_path.iterdir()) == []


def test_what_the_disk_does_not_delete_for_a_moment_is_deleted_then(tmp_path: Path) -> None:
    names = [f"files/enospc/unlink.{number}" for number in (18, 24, 30, 36, 42)]
    done = crash_points("--replay", *names, place=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "chain/die-before",
        "chain/die-before/x",
        "moon/die-before/1",
        "chain/die-before/step.1",
        "chain/double/1",
        "chain/eio/0",
    ],
)
def test_a_name_of_no_point_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="names no crash point"):
        Point.named(name)


def test_there_are_seven_shapes_of_three_to_six_steps() -> None:
    sizes = {name: len(shape.workflow["steps"]) for name, shape in SHAPES.items()}
    assert len(sizes) == 7
    assert all(3 <= size <= 6 for size in sizes.values()), sizes
