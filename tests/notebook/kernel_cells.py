"""A real kernel, and the cells one runs in it: nothing here stands in for Jupyter."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

import pixirnb

ROOT = Path(pixirnb.__file__).parents[1]
"""Of the package under test, which may be a copy with a bug."""
PATIENCE_S = 60


@dataclass
class Cell:
    """What came of a cell."""

    status: str
    outputs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def errors(self) -> list[list[str]]:
        """The lines of each error output."""
        return [o["traceback"] for o in self.outputs if o["type"] == "error"]

    @property
    def printed(self) -> str:
        return "".join(o["text"] for o in self.outputs if o["type"] == "stream")

    @property
    def shown(self) -> list[dict[str, str]]:
        """Mime bundles as first displayed."""
        return [o["data"] for o in self.outputs if o["type"] in {"display_data", "execute_result"}]

    @property
    def saved(self) -> list[dict[str, str]]:
        """Mime bundles as a saved notebook holds them: updates applied."""
        last: dict[str, dict[str, str]] = {}
        for number, output in enumerate(self.outputs):
            if "data" in output:
                name = output.get("transient", {}).get("display_id", f"#{number}")
                last[name] = output["data"]
        return list(last.values())

    @property
    def text(self) -> str:
        """Every text it shows."""
        return "\n".join(bundle["text/plain"] for bundle in self.saved)

    @property
    def told(self) -> str:
        """What it printed, and every text it shows."""
        return f"{self.printed}\n{self.text}"


class Notebook:
    """A kernel in a folder, spoken to as a notebook does: as one that a program runs, or one that a person watches."""

    def __init__(self, folder: Path, *, is_attended: bool = False) -> None:
        self.folder = folder
        # A TCP port that was free when the manager chose it may be taken when the kernel binds it.
        self._sockets = TemporaryDirectory(prefix="kernel-")  # a socket's path is short
        connection = str(Path(self._sockets.name, "kernel.json"))
        self.manager = KernelManager(
            kernel_name="python3", transport="ipc", connection_file=connection
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.manager.start_kernel(cwd=str(folder), env=environment)
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.allow_stdin = is_attended
        self.client.wait_for_ready(timeout=PATIENCE_S)
        self.run("%load_ext pixirnb")

    @property
    def pid(self) -> int:
        provisioner = self.manager.provisioner
        assert provisioner is not None
        return int(provisioner.pid)  # type: ignore[attr-defined]  # a local kernel's provisioner has one

    def send(self, source: str) -> str:
        """Queue a cell; the id to `collect` it by."""
        return str(self.client.execute(source))

    def run(self, source: str) -> Cell:
        """Run a cell to its end."""
        return self.collect(self.send(source))

    def collect(self, message_id: str) -> Cell:
        """What a queued cell came to."""
        outputs: list[dict[str, Any]] = []
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind in {"stream", "error", "display_data", "update_display_data", "execute_result"}:
                outputs.append({"type": kind, **content})
        while True:
            reply = self.client.get_shell_msg(timeout=PATIENCE_S)
            if reply["parent_header"].get("msg_id") == message_id:
                return Cell(reply["content"]["status"], outputs)

    def next_update(self) -> dict[str, str]:
        """The next change of an output already shown."""
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
            if message["msg_type"] == "update_display_data":
                data: dict[str, str] = message["content"]["data"]
                return data

    def wait_for(self, text: str) -> None:
        """Until an output says it."""
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE_S)
            data = message["content"].get("data") or {}
            if text in data.get("text/plain", "") + message["content"].get("text", ""):
                return

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def restart(self) -> None:
        """As the button does."""
        self.manager.restart_kernel(now=False)
        self.client.wait_for_ready(timeout=PATIENCE_S)
        self.run("%load_ext pixirnb")

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self._sockets.cleanup()
