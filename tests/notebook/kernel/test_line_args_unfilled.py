"""A `%pixir` line that names a run before there is one says so."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from pixirnb.notebook.kernel.line_args import words


def test_a_name_that_stands_for_nothing_yet_is_told_and_nothing_is_asked() -> None:
    with pytest.raises(UsageError, match=r"\{run\.id\}: variable `run` is not defined"):
        words("diff {run.id}", {})
    with pytest.raises(UsageError, match=r"\$nope: variable `nope` is not defined"):
        words("resume $nope", {})
    with pytest.raises(UsageError, match=r"\{run\.id\}: cannot be read from variable `run`"):
        words("diff {run.id}", {"run": "r-1"})
    for line in ("run x --input t=$nope", "run x --input=t=$nope", "run x --input t={nope.id}"):
        with pytest.raises(UsageError, match="variable `nope` is not defined"):
            words(line, {})
    assert words("resume $run", {"run": "r-1"}) == ["resume", "r-1"]


def test_what_is_known_and_what_is_no_name_is_left_alone() -> None:
    assert words("diff {name} --x {}", {"name": "r-1"}) == ["diff", "r-1", "--x", "{}"]
