"""The one Chromium of a test session, driven from a thread of its own.

Playwright keeps an event loop running in the thread that drives it, between calls too: in the main thread, every later test
that runs a loop would be refused. So tests of this folder run in the stage's thread, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

import psutil
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

PATIENCE_MS: Final = 30_000.0
Given = ParamSpec("Given")
Made = TypeVar("Made")


class Stage:
    """`browser` may only be touched by what is handed to `perform`."""

    browser: Browser
    _playwright: Playwright

    def __init__(self, executable: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="browser")
        self._driver: list[psutil.Process] = []
        self.perform(self._open, executable)

    def perform(
        self, act: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs
    ) -> Made:
        """Do it in the stage's thread, and wait for it."""
        future = self._thread.submit(act, *args, **kwargs)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                self._abandon()  # interrupted or out of time: what waits for the browser must not keep us
            raise

    def close(self) -> None:
        """End the browser."""
        try:
            self.perform(self._close)
        finally:
            self._abandon()
            self._thread.shutdown()

    def _open(self, executable: str) -> None:
        before = set(psutil.Process().children())
        self._playwright = sync_playwright().start()
        self._driver = [child for child in psutil.Process().children() if child not in before]
        expect.set_options(timeout=PATIENCE_MS)
        self.browser = self._playwright.chromium.launch(
            executable_path=executable,
            # No name resolves: whatever a page asks of the network is seen, and goes nowhere.
            args=["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        )

    def _close(self) -> None:
        if self._is_driven():
            self.browser.close()
            self._playwright.stop()

    def _is_driven(self) -> bool:
        return all(process.is_running() for process in self._driver)

    def _abandon(self) -> None:
        for process in self._driver:
            try:
                process.kill()  # Chromium ends when the pipe to its driver closes
            except psutil.NoSuchProcess:
                continue
