"""Where the Chromium is that the browser tests drive: `$CHROME`, else the first known name on PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SCREENSHOTS: Final = ROOT / "build" / "screenshots"
MENDING: Final = (
    "no Chromium to drive: run `make browser-setup` as root on Debian or Ubuntu, or install Chromium or Chrome "
    "and have it on PATH, or name it: CHROME=/path/to/chromium make test"
)
_NAMES: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)


def chromium() -> str | None:
    """The path of an executable browser; None where there is none, or where CHROME names none."""
    named = os.environ.get("CHROME")
    if named:
        return shutil.which(named)
    return next((path for name in _NAMES if (path := shutil.which(name))), None)
