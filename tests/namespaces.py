"""Programs in namespaces of their own, as in another container of this host."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pytest


def in_namespaces(*kinds: str) -> list[Any]:
    """Return the words before a command as the one parameter of a test; where the system refuses, its id says so.

    The promise is then kept in the namespaces of the test.
    """
    words = ["unshare", *kinds, "--fork", "--kill-child"]
    if os.geteuid() != 0:
        words.append("--map-root-user")
    is_refused = shutil.which("unshare") is None or (
        subprocess.run([*words, "true"], check=False, capture_output=True).returncode != 0
    )
    return [pytest.param([] if is_refused else words, id="refused" if is_refused else "own")]
