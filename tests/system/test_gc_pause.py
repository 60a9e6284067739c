"""The collector is held back while something large is built, and always let go again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import InvalidSpec
from pixirnb.system.gc_pause import gc_paused

SPEC = {"name": "w", "steps": [{"id": "a", "run": "true"}]}


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_nothing_is_collected_within_and_everything_after() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_lets_it_go_too() -> None:
    with pytest.raises(RuntimeError), gc_paused():
        raise RuntimeError
    assert gc.isenabled()


def test_the_outermost_block_lets_it_go() -> None:
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


def test_loading_and_planning_leave_it_as_it_was(tmp_path: Path) -> None:
    api.load(SPEC)
    api.plan(SPEC, workspace=tmp_path)
    with pytest.raises(InvalidSpec):
        api.load({"name": "w"})
    assert gc.isenabled()


def test_a_decorated_function_may_be_called_again_and_again() -> None:
    @gc_paused()
    def is_held() -> bool:
        return not gc.isenabled()

    assert [is_held(), is_held()] == [True, True]
    assert gc.isenabled()
