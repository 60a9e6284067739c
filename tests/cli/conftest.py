"""Commands are given in the test's own folder."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _everywhere(at_home: None) -> None:
    """Every test of this folder is at home."""
