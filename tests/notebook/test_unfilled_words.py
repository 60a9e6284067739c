"""A `%pixir` line that names a run before there is one says so."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from pixirnb.notebook.words import filled


def test_a_name_that_stands_for_nothing_yet_is_told_and_nothing_is_asked() -> None:
    with pytest.raises(UsageError, match=r"\{run\.id\} was not filled in: there is no `run`"):
        filled("diff {run.id}", {})


def test_what_is_known_and_what_is_no_name_is_left_alone() -> None:
    assert filled("diff {name} --x {}", {"name": "r-1"}) == ["diff", "r-1", "--x", "{}"]
