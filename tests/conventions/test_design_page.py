"""The picture of the house is the house: the floors that are drawn are those that imports are held to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
LAYERS: list[str] = next(
    contract["layers"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    if contract["type"] == "layers"
)


def drawn() -> list[str]:
    """The first column of the drawing, from the top down."""
    section = DESIGN.split("## The floors\n")[1].split("```")[1]
    lines = section.strip().splitlines()
    return [re.split(r" {2,}", line)[0] for line in lines if not line.startswith(" ")]


def test_the_floors_drawn_are_those_of_the_import_contract_in_their_order() -> None:
    assert drawn() == LAYERS


@pytest.mark.parametrize("floor", [name for layer in LAYERS for name in layer.split(" | ")])
def test_every_floor_that_is_drawn_is_there(floor: str) -> None:
    assert (ROOT / "pixirnb" / floor).is_dir() or (ROOT / "pixirnb" / f"{floor}.py").is_file()


def test_every_decision_that_the_design_refers_to_has_a_page() -> None:
    named = re.findall(r"\((adr/[^)#]+)", DESIGN)
    assert named
    assert [name for name in named if not (ROOT / "docs" / name).is_file()] == []
