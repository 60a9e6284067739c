"""The table of real agents has a row for every preset, made with the releases that are pinned; nothing in it is bad news."""

from __future__ import annotations

import re
from pathlib import Path

from pixirnb.runners.agents.presets import presets

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "real-agents.md").read_text(encoding="utf-8")
ROWS = {
    found[1]: [cell.strip() for cell in found[2].split("|")]
    for found in re.finditer(r"^\| `(\w+: \w+)` \|(.*)\|$", PAGE, re.MULTILINE)
}


def test_every_preset_has_its_row() -> None:
    assert set(ROWS) == {f"{preset.runner}: {preset.name}" for preset in presets().values()}


def test_the_releases_that_were_tried_are_those_that_are_pinned() -> None:
    pinned = re.findall(
        r'^    "(\S+)@([\d.]+)"$', (ROOT / ".ci" / "agents").read_text(), re.MULTILINE
    )
    tried = {cells[0] for cells in ROWS.values() if cells[0] != "–"}
    assert tried == {f"{name} {version}" for name, version in pinned}


def test_what_was_tried_keeps_to_its_permission_and_what_was_not_is_said_so() -> None:
    for name, (package, starts, writes, asks, keeps, cancels, tried) in ROWS.items():
        if package == "–":
            assert {starts, writes, asks, keeps, cancels} == {"not run"}, name
            continue
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", tried), name
        assert (starts, writes) == ("yes", "yes"), name
        assert asks in {"yes", "never, and writes nothing"}, name
        assert keeps in {"yes", "yes; a refusal ends its turn"}, name
        assert cancels == "yes", name
