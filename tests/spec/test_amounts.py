"""Amounts of resources: read as an author writes them, and written as an author may."""

from __future__ import annotations

import pytest

from pixirnb.spec.amounts import amounts, amounts_text


@pytest.mark.parametrize(
    "written", ["GPU: 1", "GPU: 0.5", "memory: 100GiB", "memory: 8TiB, GPU: 2", "disk: 1500000"]
)
def test_amounts_are_shown_as_they_may_be_written(written: str) -> None:
    pairs = dict(part.split(": ") for part in written.split(", "))
    read = amounts(
        {name: float(text) if text[-1].isdigit() else text for name, text in pairs.items()}
    )
    assert isinstance(read, dict)
    assert amounts_text(read) == written
