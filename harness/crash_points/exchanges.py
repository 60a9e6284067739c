"""Renames that Python has no call for, counted as the others are: `renameat2`, which trades two names at once.

They are asked of the C library through `ctypes`; whoever loads it is handed one whose `renameat2` is tapped.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable
from typing import Any, Final, Literal, Protocol

_CALL: Final = "renameat2"


class Tap(Protocol):
    """What counts the calls."""

    has_exchange: bool
    """Whether the system knows the call."""

    def performed_on(
        self, folder: int, name: bytes, kind: Literal["rename"], call: Callable[[], int]
    ) -> int:
        """Make one call on a name in a folder that is open."""


def install_exchange(tap: Tap) -> None:
    """Stand between Python and that call of every C library loaded from here on."""

    class Library(ctypes.CDLL):
        """A C library."""

        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__(name)
            return _Tapped(tap, found) if name == _CALL else found

    setattr(ctypes, "CDLL", Library)  # noqa: B010 - a plain assignment shadows the name for mypy


class _Tapped:
    """A function of the library; what is set on it is set on the true one."""

    def __init__(self, tap: Tap, call: Any) -> None:
        self._tap = tap
        self._call = call

    def __setattr__(self, name: str, value: Any) -> None:
        if name in {"_tap", "_call"}:
            object.__setattr__(self, name, value)
        else:
            setattr(self._call, name, value)

    def __call__(
        self, folder: int, name: bytes, other_folder: int, other: bytes, flags: int
    ) -> int:
        if not self._tap.has_exchange:
            ctypes.set_errno(errno.EINVAL)
            return -1
        try:
            return self._tap.performed_on(
                other_folder,
                other,
                "rename",
                lambda: self._call(folder, name, other_folder, other, flags),
            )
        except OSError as error:
            ctypes.set_errno(error.errno or 0)
            return -1
