"""Real Jupyter servers for the browser: JupyterLab and Notebook 7, each in folders of its own, on a free loopback port.

A server lives in a session of its own and is ended with its kernels, however the tests end.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from tests.browser.chromium import ROOT

App = Literal["lab", "notebook7"]
APPS: Final[tuple[App, ...]] = ("lab", "notebook7")
TOKEN: Final = "browser-tests"
PATIENCE_S: Final = 90.0
_MODULES: Final = {"lab": "jupyterlab", "notebook7": "notebook"}
_SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # A save happens when a test asks for it, never in between.
    "docmanager-extension/plugin": {"autosave": False},
}


class Server:
    """One Jupyter server, up when made. `root` is the folder whose notebooks it serves."""

    def __init__(self, app: App, folder: Path) -> None:
        self.app = app
        self.root = folder / "root"
        self.log = folder / "server.log"
        self.port = _free_port()
        places = {
            "HOME": folder / "home",
            "JUPYTER_CONFIG_DIR": folder / "config",
            "JUPYTER_DATA_DIR": folder / "data",
            "JUPYTER_RUNTIME_DIR": folder / "runtime",
            "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
            "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
            "IPYTHONDIR": folder / "ipython",
        }
        for place in (self.root, *places.values()):
            place.mkdir(parents=True)
        extensions = places["JUPYTER_DATA_DIR"] / "labextensions"
        extensions.mkdir()
        (extensions / "pixirnb").symlink_to(ROOT / "pixirnb" / "notebook" / "labextension")
        self._settings = folder / "settings"
        self.settle_settings()
        environment = {**os.environ, **{key: str(value) for key, value in places.items()}}
        environment["PYTHONPATH"] = str(ROOT)
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULES[app], *self._options()],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_up()
        except BaseException:
            self.close()
            raise

    def address(self, path: str) -> str:
        """Where the browser finds a notebook, `path` relative to the root."""
        page = f"lab/tree/{path}" if self.app == "lab" else f"notebooks/{path}"
        return f"http://127.0.0.1:{self.port}/{page}?token={TOKEN}&reset"

    def settle_settings(self) -> None:
        """Forget what was chosen in a page, such as a theme: the server keeps it for all that follow."""
        shutil.rmtree(self._settings)
        for name, values in _SETTINGS.items():
            file = self._settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))

    def kernel_of(self, path: str) -> str | None:
        """The id of the kernel a notebook has now."""
        with self._ask("api/sessions") as answer:
            sessions = json.load(answer)
        found = (s["kernel"]["id"] for s in sessions if s["path"] == path and s["kernel"])
        return next(found, None)

    def shut_down(self, kernel: str) -> None:
        """End a kernel and its runs."""
        try:
            self._ask(f"api/kernels/{kernel}", "DELETE").close()
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def close(self) -> None:
        """End the server and everything it started."""
        try:
            family = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        self._process.terminate()
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for process in family:
            try:
                process.kill()  # psutil makes sure that the pid is still the same process
            except psutil.NoSuchProcess:
                continue

    def _options(self) -> list[str]:
        exposed = "LabApp" if self.app == "lab" else "JupyterNotebookApp"
        return [
            "--allow-root",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            f"--IdentityProvider.token={TOKEN}",
            f"--{exposed}.expose_app_in_browser=True",
        ]

    def _ask(self, path: str, method: str = "GET") -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{path}",
            headers={"Authorization": f"token {TOKEN}"},
            method=method,
        )
        return urllib.request.urlopen(request, timeout=30)

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._ask("api/status").close()
                return
            except OSError as error:
                is_dead = self._process.poll() is not None
                if is_dead or time.monotonic() > deadline:
                    told = self.log.read_text(errors="replace")[-2_000:]
                    raise AssertionError(f"{self.app} did not come up: {told}") from error
                time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
