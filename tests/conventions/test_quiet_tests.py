"""What the tests themselves promise: a home of their own, and no socket but loopback."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80, 0, 0)])
def test_a_test_that_reaches_out_is_refused(address: tuple[str | int, ...]) -> None:
    family = socket.AF_INET6 if ":" in str(address[0]) else socket.AF_INET
    with (
        socket.socket(family, socket.SOCK_DGRAM) as caller,
        pytest.raises(AssertionError, match="loopback"),
    ):
        caller.connect(address)


def test_loopback_is_allowed() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))


def test_the_developer_home_is_out_of_sight() -> None:
    assert "pixirnb-home-" in str(Path.home())
