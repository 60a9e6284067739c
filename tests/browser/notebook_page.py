"""A notebook in a browser, as a person has it before them: cells to run, outputs to look at, buttons to press.

Cells are run by the front-end's own commands; the stop button, the restart and the reload are the real ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from playwright.sync_api import ConsoleMessage, Dialog, Error, Locator, Page, Request

from tests.browser.chromium import SCREENSHOTS
from tests.browser.jupyter_servers import App, Server
from tests.browser.run_window import RunWindow
from tests.browser.stage import PATIENCE_MS

_PANEL: Final = """
const app = window.jupyterapp;
const panel = () => [...app.shell.widgets('main')].find(w => w.context && w.content && w.content.widgets);
const wait = ms => new Promise(done => setTimeout(done, ms));
const until = async what => { while (!what()) await wait(30); };
"""
# The indicator says "idle" before there is a kernel to be idle: only an answer of its own proves it is there.
_READY: Final = """
await app.restored;
await until(panel);
await panel().context.ready;
await panel().sessionContext.ready;
await until(() => panel().sessionContext.session?.kernel);
await panel().sessionContext.session.kernel.info;
// After a restart that answer is the old kernel's, and a request may be lost on the way: ask until one comes back.
const answer = () => panel().sessionContext.session.kernel.requestKernelInfo().catch(() => null);
while (!await Promise.race([answer(), wait(3000)])) await wait(30);
await until(() => panel().sessionContext.session?.kernel?.status === 'idle');
"""
_RUN: Final = """
const content = panel().content;
content.activeCellIndex = index;
content.deselectAll();
window.underWay = window.underWay ?? [];
window.underWay.push(app.commands.execute(command));
"""
# Each command's promise ends with its cells. A cell that runs after a reload has no promise: it has the kernel.
_IDLE: Final = """
await Promise.allSettled(window.underWay ?? []);
const kernel = () => panel().sessionContext.session?.kernel;
await until(() => kernel()?.status === 'idle');
"""
_NOISE: Final = (
    re.compile(r"Failed to load resource: .*(404|net::ERR_ABORTED)"),
    re.compile(r"'schema'"),  # Notebook 7 asks for a setting it does not ship
)
"""What the front-ends themselves say on a quiet day."""
_LOST: Final = "widget model not found"


class Notebook:
    """One notebook file, opened in `app`; its cells are counted from 0."""

    def __init__(self, page: Page, server: Server, path: str) -> None:
        self.page = page
        self.server = server
        self.path = path
        self.file = server.root / path
        self.complaints: list[str] = []
        """What the console took for errors."""
        self.dialogs: list[str] = []
        """Dialogs a script opened: never by a script of ours."""
        self.strangers: list[str] = []
        """Requests to anyone but this machine."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._complain(error.stack or str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", self._watch)
        page.goto(server.address(path))
        self._become_ready()

    @property
    def app(self) -> App:
        """Which front-end it is open in."""
        return self.server.app

    @property
    def folder(self) -> Path:
        """Where its kernel works."""
        return self.file.parent

    @property
    def stop_button(self) -> Locator:
        """The toolbar's own."""
        return self.page.locator('[data-jp-item-name="interrupt"]')

    def cell(self, index: int) -> Locator:
        """A code cell, source and outputs."""
        return self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"]')

    def output(self, index: int) -> Locator:
        """All that a cell has shown."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def window(self, index: int) -> RunWindow:
        """The live view in a cell's output."""
        return RunWindow(self.output(index))

    def start_cell(self, index: int) -> None:
        """Run a cell and do not wait for it."""
        self._in_page(_RUN, index=index, command="notebook:run-cell")

    def run_cell(self, index: int) -> None:
        """Run a cell to its end."""
        self.start_cell(index)
        self.wait_idle()

    def run_all(self) -> None:
        """Run every cell, and wait for the last."""
        self._in_page(_RUN, index=0, command="notebook:run-all-cells")
        self.wait_idle()

    def add_cell(self, source: str) -> int:
        """A new code cell at the end; its index."""
        index: int = self._in_page(
            "const content = panel().content;"
            "content.activeCellIndex = content.widgets.length - 1;"
            "await app.commands.execute('notebook:insert-cell-below');"
            "content.activeCell.model.sharedModel.setSource(source);"
            "return content.activeCellIndex;",
            source=source,
        )
        return index

    def run_new(self, source: str) -> Locator:
        """Add a cell, run it to its end; its output."""
        index = self.add_cell(source)
        self.run_cell(index)
        return self.output(index)

    def wait_idle(self) -> None:
        """Until every cell that was asked for is done, and the kernel too."""
        self._in_page(_IDLE)

    def interrupt(self) -> None:
        """Press the stop button."""
        self.stop_button.click()

    def restart_kernel(self) -> None:
        """As the menu does: the question is answered with its red button."""
        self._in_page(
            "window.restarted = app.commands.execute('notebook:restart-kernel'); return null;"
        )
        self.page.locator(".jp-Dialog .jp-mod-warn").click()
        self._in_page("await window.restarted;" + _READY)

    def reload(self) -> None:
        """Save, and load the page anew; the kernel goes on.

        A front-end that draws outputs before it is connected takes their widgets for lost, and does not look again
        (https://github.com/jupyter-widgets/ipywidgets/issues/3231). A person loads the page once more.
        """
        self.save()
        for is_last in (False, False, True):
            heard = len(self.complaints)
            self.page.reload()
            self._become_ready()
            self.wait_idle()
            if is_last or not any(_LOST in each for each in self.complaints[heard:]):
                return
            del self.complaints[heard:]

    def save(self) -> None:
        """Write the file."""
        self._in_page("await panel().context.save();")

    def saved(self) -> dict[str, Any]:
        """The notebook as the file holds it after a save."""
        self.save()
        document: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
        return document

    def saved_bundles(self, index: int) -> list[dict[str, str]]:
        """What the file holds of a cell's displays: text by mime type."""
        cells = [cell for cell in self.saved()["cells"] if cell["cell_type"] == "code"]
        bundles = [output["data"] for output in cells[index]["outputs"] if "data" in output]
        return [
            {mime: text if isinstance(text, str) else "".join(text) for mime, text in data.items()}
            for data in bundles
        ]

    def copy_output(self, index: int) -> Locator:
        """Make what the menu calls a new view of a cell's output, beside the notebook."""
        self._in_page(
            "panel().content.activeCellIndex = index;"
            "await app.commands.execute('notebook:create-output-view');",
            index=index,
        )
        return self.page.locator(".jp-LinkedOutputView")

    def use_theme(self, name: str) -> None:
        """`JupyterLab Light` or `JupyterLab Dark`."""
        self._in_page(
            "await app.commands.execute('apputils:change-theme', {theme: name});"
            "await until(() => document.body.dataset.jpThemeName === name);"
            # Each change has 200 ms in which another breaks the splash of the front-end.
            "await until(() => !document.getElementById('jupyterlab-splash'));",
            name=name,
        )

    def screenshot(self, name: str) -> None:
        """Keep what is to be seen, for people."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}-{self.app}.png")

    def testimony(self, name: str) -> str:
        """What there is to be seen when a test has failed: a picture of it, and as text."""
        try:
            self.screenshot(name)
            seen = self.page.locator(".jp-Notebook").first.inner_text(timeout=5_000)
        except Error as error:
            seen = f"nothing: {error.message}"
        return "\n".join([f"{self.app} shows", seen, "its console says", *self.complaints])

    def assert_quiet(self) -> None:
        """Nothing on the page opened a dialog, reached out, or broke."""
        assert self.dialogs == []
        assert self.strangers == []
        assert self.complaints == [], self.complaints

    def close(self) -> None:
        """End its kernel and all that runs in it."""
        kernel = self.server.kernel_of(self.path)
        if kernel is not None:
            self.server.shut_down(kernel)

    def _become_ready(self) -> None:
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=PATIENCE_MS)
        self._in_page(_READY)

    def _in_page(self, script: str, **given: Any) -> Any:
        names = ", ".join(given)
        return self.page.evaluate(f"async ({{{names}}}) => {{ {_PANEL} {script} }}", given)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complain(message.text)

    def _complain(self, said: str) -> None:
        if not any(noise.search(said) for noise in _NOISE):
            self.complaints.append(said)

    def _dismiss(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":
            dialog.accept()
            return
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _watch(self, request: Request) -> None:
        is_ours = request.url.startswith(
            (f"http://127.0.0.1:{self.server.port}/", "data:", "blob:")
        )
        if not is_ours:
            self.strangers.append(request.url)


class Opening(Protocol):
    """Opens a notebook with these cells below the one that loads the extension, which has run."""

    def __call__(self, cells: Sequence[str], app: App = "lab") -> Notebook: ...


def written(cells: Sequence[str], file: Path) -> Path:
    """A notebook file of code cells; the first loads the extension."""
    document = {
        "cells": [
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"cell-{number}",
                "metadata": {},
                "outputs": [],
                "source": source,
            }
            for number, source in enumerate(["%load_ext pixirnb", *cells])
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(document), encoding="utf-8")
    return file
