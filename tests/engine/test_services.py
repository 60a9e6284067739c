"""Calls that block run on a thread of their own, and whatever they raise is an error of the call."""

from __future__ import annotations

import anyio
import pytest

from pixirnb.engine.services import in_thread


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(3)])
def test_an_exit_in_a_call_is_an_error_of_the_call_and_does_not_end_the_loop(
    error: BaseException,
) -> None:
    def call() -> None:
        raise error

    with pytest.raises(RuntimeError, match=f"{type(error).__name__}: 3"):
        anyio.run(in_thread, call)
