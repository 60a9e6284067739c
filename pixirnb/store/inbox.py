"""Requests of other processes to whoever drives a run, as files in its `inbox/` folder.

    <id>.json     left by who asks: temporary name, then renamed
    <id>.taken    renamed by the driver, which handles it now
    <id>.answer   the driver's reply, fetched and removed by who asked

A rename decides between the driver who takes a request and the asker who gives up waiting: exactly one of them succeeds. What
lies here longer than anybody waits is old news and is removed unread, so that a course that begins later never obeys a wish
meant for the one before. Files are 0600, links and foreign files are refused. Source: contract.md §3.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from pathlib import Path
from typing import Any, Final

from pixirnb.durability import let_go
from pixirnb.machine.requests import Request
from pixirnb.store.folders import make_private, open_private, unusable

PATIENCE_S: Final = 10.0
"""How long an asker waits for the driver, and how long a request is worth answering."""
REQUEST_LIMIT: Final = 64 * 1024
"""Bytes of a request or a reply: a note and a value at their limits, and room."""
_NAME: Final = re.compile(r"[0-9a-f]{16}\.(json|taken|answer)", re.ASCII)


class FileInbox:
    """The inbox of one run folder. Askers and the driver may be different processes, on different hosts."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the run's `inbox`; it is made with the first request where it is missing."""
        self._folder = folder

    # --- the asker's side ---------------------------------------------------------------------------------------

    def leave(self, request: Request) -> None:
        """Put a request where the driver looks. Raises StateUnusable where it cannot be left."""
        said = {
            "id": request.id,
            "verb": request.verb,
            "arguments": request.arguments,
            "by": request.by,
            "is_awaited": request.is_awaited,
        }
        try:
            make_private(self._folder)
            self._write(f"{request.id}.json", said)
        except OSError as error:
            raise unusable(self._folder, error) from error

    def reply(self, request_id: str) -> dict[str, Any] | None:
        """The driver's reply, fetched once; None while there is none."""
        path = self._folder / f"{request_id}.answer"
        found = self._read(path)
        if found is not None:
            path.unlink(missing_ok=True)
        return found

    def withdraw(self, request_id: str) -> bool:
        """Take a request back. False when the driver has it already: what becomes of it is in the log."""
        try:
            (self._folder / f"{request_id}.json").unlink()
        except OSError:
            return False
        return True

    # --- the driver's side --------------------------------------------------------------------------------------

    def take(self) -> list[Request]:
        """Requests that arrived since the last look, oldest first. What cannot be read is answered and removed."""
        taken: list[tuple[float, Request]] = []
        for name in self._names():
            path = self._folder / name
            try:
                age = time.time() - path.lstat().st_mtime
                if age > PATIENCE_S:
                    # Answers wait a little longer: their asker may just be looking.
                    if name.endswith(".json") or age > 6 * PATIENCE_S:
                        path.unlink()
                    continue
                if not name.endswith(".json"):
                    continue
                claimed = path.with_suffix(".taken")
                path.rename(claimed)
            except OSError:
                continue  # withdrawn, or not ours to touch
            request_id = name.partition(".")[0]
            request = _request(request_id, self._read(claimed))
            if request is None:
                self.answer(request_id, _UNREADABLE)
            else:
                taken.append((age, request))
        return [request for _, request in sorted(taken, key=lambda found: -found[0])]

    def answer(self, request_id: str, reply: dict[str, Any] | None) -> None:
        """Leave a reply; None where nobody waits for one. Never raises: an asker who finds none looks at the log."""
        try:
            if reply is not None:
                self._write(f"{request_id}.answer", reply)
            (self._folder / f"{request_id}.taken").unlink(missing_ok=True)
        except OSError:
            return

    def waiting(self) -> list[str]:
        """Ids of requests nobody has answered, for whoever looks after the run."""
        return sorted({n.partition(".")[0] for n in self._names() if not n.endswith(".answer")})

    # --- files --------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - four times a second: names are all that is needed
        except OSError:
            return []
        return [name for name in names if _NAME.fullmatch(name)]

    def _write(self, name: str, document: dict[str, Any]) -> None:
        aside = self._folder / f".{name}.{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            with os.fdopen(open_private(aside, flags), "w", encoding="utf-8") as file:
                json.dump(document, file, ensure_ascii=True)
            aside.rename(self._folder / name)
        except BaseException:
            let_go(aside)
            raise

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
                data = file.read(REQUEST_LIMIT + 1)
            found = json.loads(data) if len(data) <= REQUEST_LIMIT else None
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


_UNREADABLE: Final[dict[str, Any]] = {
    "ok": False,
    "error": {
        "code": "request_unreadable",
        "message": "The request could not be read.",
        "fix": "Ask again with this release of pixirnb.",
    },
}


def _request(request_id: str, said: dict[str, Any] | None) -> Request | None:
    if said is None or said.get("id") != request_id:
        return None
    verb, arguments, by = said.get("verb"), said.get("arguments"), said.get("by")
    if not isinstance(verb, str) or not isinstance(arguments, dict) or not isinstance(by, str):
        return None
    return Request(request_id, verb, arguments, by, said.get("is_awaited") is not False)
