"""Blocking calls of the engine, made in a thread so that the loop goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread

T = TypeVar("T")


async def in_thread(call: Callable[..., T], *arguments: Any) -> T:
    """What the call returns, or raises. A cancellation waits until it is done."""
    return await anyio.to_thread.run_sync(call, *arguments)
