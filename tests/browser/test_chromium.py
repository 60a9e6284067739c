"""That there is a browser: the one test that fails, and says why, where there is none."""

from __future__ import annotations

from tests.browser.chromium import MENDING, chromium


def test_there_is_a_chromium_to_drive() -> None:
    assert chromium() is not None, MENDING
