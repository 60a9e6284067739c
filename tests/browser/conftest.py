"""The bench of the browser tests: one Chromium and one server a front-end for all of them, a fresh page for each.

Without a Chromium there is one test, which fails and says how to mend it.
"""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.browser.chromium import chromium
from tests.browser.jupyter_servers import App, Server
from tests.browser.notebook_page import Notebook, Opening, written
from tests.browser.stage import PATIENCE_MS, Stage

WIDTH, HEIGHT = 1400, 1500
TEST_TIMEOUT_S = 240
_NUMBERS = itertools.count(1)
_OPEN = pytest.StashKey[list[Notebook]]()

collect_ignore = (
    [
        path.name
        for path in Path(__file__).parent.glob("test_*.py")
        if path.name != "test_chromium.py"
    ]
    if chromium() is None
    else []
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that has the stage in the stage's thread."""
    if "stage" not in pyfuncitem.fixturenames:
        return None
    stage: Stage = pyfuncitem._request.getfixturevalue("stage")
    names = pyfuncitem._fixtureinfo.argnames
    given = {name: pyfuncitem.funcargs[name] for name in names}

    def told() -> None:
        try:
            pyfuncitem.obj(**given)
        except BaseException as error:
            for notebook in pyfuncitem.stash.get(_OPEN, []):
                error.add_note(notebook.testimony(f"failed-{pyfuncitem.name}"))
            raise

    stage.perform(told)
    return True


@pytest.fixture(scope="session")
def _orderly_end() -> Iterator[None]:
    """A SIGTERM ends the session as Ctrl-C does: servers, kernels and browser first."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, leave)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def stage(_orderly_end: None) -> Iterator[Stage]:
    """The browser."""
    executable = chromium()
    assert executable is not None
    opened = Stage(executable)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def serve(
    tmp_path_factory: pytest.TempPathFactory, _orderly_end: None
) -> Iterator[Callable[[App], Server]]:
    """The server of a front-end, started when first asked for."""
    servers: dict[App, Server] = {}

    def serve(app: App) -> Server:
        if app not in servers:
            servers[app] = Server(app, tmp_path_factory.mktemp(app))
        return servers[app]

    yield serve
    for server in servers.values():
        server.close()


@pytest.fixture
def opened(
    request: pytest.FixtureRequest, stage: Stage, serve: Callable[[App], Server]
) -> Iterator[Opening]:
    """Opens notebooks, each in a folder and a fresh browser context of its own; watches that they stay quiet."""
    notebooks: list[Notebook] = []
    request.node.stash[_OPEN] = notebooks
    contexts: list[Any] = []

    def open_notebook(cells: Sequence[str], app: App = "lab") -> Notebook:
        server = serve(app)
        server.settle_settings()
        name = f"n{next(_NUMBERS)}"
        written(cells, server.root / name / f"{name}.ipynb")
        context = stage.browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        notebook = Notebook(context.new_page(), server, f"{name}/{name}.ipynb")
        notebooks.append(notebook)
        notebook.run_cell(0)
        return notebook

    def close() -> None:
        for context in contexts:
            context.close()

    yield open_notebook
    stage.perform(close)
    for notebook in notebooks:
        notebook.close()
    for notebook in notebooks:
        notebook.assert_quiet()
