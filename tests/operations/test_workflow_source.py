"""A workflow is read as far as it may be long, whatever stands in the place of its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.spec import limits
from tests.stories.storyline import python

BOUNDED = ("sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh")
"""A process that dies of what it reads before the machine does."""


@pytest.mark.parametrize("source", ["long.yaml", "/dev/zero", "-"])
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_what_is_longer_than_a_workflow_may_be_is_refused_and_not_read(
    tmp_path: Path, verb: str, source: str
) -> None:
    with (tmp_path / "long.yaml").open("wb") as file:
        file.truncate(100 * limits.SPEC_TEXT_BYTES)
    with Path("/dev/zero").open("rb") as endless:
        child = python("-m", "pixirnb", verb, source, cwd=tmp_path, by=BOUNDED, stdin=endless)
        _, said = child.communicate(timeout=60)
    assert (child.returncode, "[limit_exceeded]" in said) == (2, True), said
