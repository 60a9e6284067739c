"""What holds for every test: a home of its own, no socket but loopback, no state left from another test run.

Everything here happens before the first import of pixirnb, so that no module sees the developer's own home.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.sweeps import examples

LOOPBACK = ("127.", "::1", "localhost")
GUARDED = frozenset({"socket.connect", "socket.bind", "socket.sendto"})

HOME = tempfile.mkdtemp(prefix="pixirnb-home-")
os.environ.update(
    HOME=HOME,
    XDG_CONFIG_HOME=os.path.join(HOME, ".config"),  # noqa: PTH118 - environment values are text
    GIT_CONFIG_NOSYSTEM="1",
    GIT_TERMINAL_PROMPT="0",
    TZ="UTC",
)
time.tzset()
for name in ("PIXIRNB_STATE", "PIXIRNB_MAX_AGENTS", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
    os.environ.pop(name, None)

# The state of a run is in the nearest `.pixirnb` upward: one above the tests' folders would take theirs.
for above in Path(tempfile.gettempdir(), "x").resolve().parents:
    if (above / ".pixirnb").exists():
        raise pytest.UsageError(f"remove {above / '.pixirnb'}: the tests would use it")

# Tests interrupt and hang up; a starter that ignores that (`nohup make test &`) would hand it on to all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No deadline: a shared machine pauses when it likes. No database: a run of the tests leaves nothing in the checkout.
settings.register_profile(
    "pixirnb",
    max_examples=examples(100),
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("pixirnb")


def _refuse_strangers(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in GUARDED:
        return
    address = arguments[1]
    if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
        raise AssertionError(f"a test wanted {event} with {address}: only loopback is allowed")


sys.addaudithook(_refuse_strangers)


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own folder is the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _the_home_goes_away() -> Iterator[None]:
    yield
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(autouse=True)
def _modules_of_their_own() -> Iterator[None]:
    """Forget the modules that steps of a test loaded: another test's of the same name are its own, in this process."""
    before = list(sys.path)
    yield
    added = tuple(f"{folder}{os.sep}" for folder in sys.path if folder not in before)
    if not added:
        return
    sys.path[:] = before
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(added):
            del sys.modules[name]
