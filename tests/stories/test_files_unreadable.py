"""Files that may not be read, in the user's folder or left by a step: who did what is said, and nothing lies about."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stories.filestory import isolated, plant
from tests.stories.storyline import spec

pytestmark = pytest.mark.story

_CAPS = "-dac_override,-dac_read_search"
DROP = ["setpriv", "--bounding-set", _CAPS, "--inh-caps", _CAPS] if os.geteuid() == 0 else []
"""What makes modes count for a superuser's tests too."""


def ran(home: Path) -> tuple[dict[str, Any], Path]:
    """The only step of a run of `story.json`, and where the copies of runs lie."""
    done = subprocess.run(
        [*DROP, sys.executable, "-m", "pixirnb", "run", "story.json", "--json"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(done.stdout)
    [step] = (said.get("outcome") or said)["steps"]
    found: dict[str, Any] = step
    return found, home / ".pixirnb" / "isolated"


def test_a_folder_of_the_users_that_may_not_be_read_is_named_as_it_is_and_leaves_no_copy(
    tmp_path: Path,
) -> None:
    home = plant(tmp_path, {"sec/s": "s\n", "a": "a\n"})
    (home / "story.json").write_text(json.dumps(spec(isolated("one", "true", write_set=["a"]))))
    (home / "sec").chmod(0)
    step, copies = ran(home)
    (home / "sec").chmod(0o700)
    assert step["error"]["kind"] == "snapshot_unreadable"
    assert f"`sec` in `{home}`" in step["error"]["message"]
    assert not copies.exists() or list(copies.iterdir()) == []


def test_a_step_that_leaves_what_may_not_be_read_is_told_what_it_did(tmp_path: Path) -> None:
    home = plant(tmp_path, {"a": "a\n"})
    text = "mkdir v; echo z > v/z; chmod 0 v/z"
    (home / "story.json").write_text(json.dumps(spec(isolated("one", text, write_set=["v/**"]))))
    step, copies = ran(home)
    told = step["error"]["message"]
    assert step["error"]["kind"] == "snapshot_unreadable"
    assert "cannot read `v/z`, which the step wrote: Permission denied" in told
    assert "make the files readable in the step" in told
    [aside] = copies.glob("*/one.1.kept")
    assert str(aside) in told
    assert f"{aside.with_name('one.1')}/" not in told, "it is not there any more"
