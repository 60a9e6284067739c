"""A `%pixir` line that names a run before there is one says so."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from pixirnb.notebook.kernel.line_args import fill_placeholders


def test_a_name_that_stands_for_nothing_yet_is_told_and_nothing_is_asked() -> None:
    with pytest.raises(UsageError, match=r"\{run\.id\}: variable `run` is not defined"):
        fill_placeholders("diff {run.id}", {})
    with pytest.raises(UsageError, match=r"\$nope: variable `nope` is not defined"):
        fill_placeholders("resume $nope", {})
    assert fill_placeholders("resume $run", {"run": "r-1"}) == ["resume", "r-1"]


def test_what_is_known_and_what_is_no_name_is_left_alone() -> None:
    assert fill_placeholders("diff {name} --x {}", {"name": "r-1"}) == ["diff", "r-1", "--x", "{}"]
