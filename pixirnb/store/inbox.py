"""Requests of other processes to the owner of a run, as files in its `inbox/` folder.

    <id>.json     written by the asker: temporary name, then renamed
    <id>.taken    renamed by the owner, which handles it now
    <id>.answer   the owner's reply, read and removed by the asker
    door          how to reach the socket of the owner (see door.py)

A rename decides between the owner that takes a request and the asker that gives up: exactly one of them succeeds. A
new owner removes old requests, so that it never obeys one meant for an earlier owner; an asker that still waits
writes its request again. No clock is compared: those of two hosts differ. Files are 0600, links and foreign files are
refused. Source: contract.md §3, §11.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pixirnb.errors import StateUnusable
from pixirnb.json_types import JsonObject
from pixirnb.machine.requests import Request, Sender
from pixirnb.store.door import Door, Witness, knock
from pixirnb.store.private_files import make_private, open_private, unusable
from pixirnb.system.atomic_files import let_go

PATIENCE_S: Final = 10.0
"""Seconds that an asker waits for the owner."""
_ANSWER_LASTS_S: Final = 60.0
"""Seconds that a reply is kept for an asker that may be gone."""
REQUEST_LIMIT: Final = 64 * 1024
"""Maximum number of bytes of a request or a reply: a note and a value at their limits, and a margin."""
_NAME: Final = re.compile(r"[0-9a-f]{16}\.(json|taken|answer)", re.ASCII)


def _unproven(_pid: int) -> Sender:
    return "unproven"


class FileInbox:
    """The inbox of one run folder. Askers and the owner may be different processes, on different hosts."""

    def __init__(self, folder: Path, witness: Witness = _unproven) -> None:
        """Open the run's `inbox` folder, which is made with the first request if missing. `witness` is the owner's."""
        self._folder = folder
        self._witness = witness
        self._door: Door | None = None
        self._has_begun = False
        self._answered: dict[str, float] = {}
        """Times of replies, by our own monotonic clock."""
        self._knocking: socket.socket | None = None

    # --- the asker's side ---------------------------------------------------------------------------------------

    def leave(self, request: Request, *, only_proven: bool = False) -> bool:
        """Vouch for a request and write it; return whether it is there. Raises StateUnusable if it cannot be written.

        `only_proven`: do not write it if no owner listens on this machine.
        """
        document = {
            "id": request.id,
            "verb": request.verb,
            "arguments": request.arguments,
            "by": request.by,
            "is_awaited": request.is_awaited,
        }
        data = json.dumps(document, ensure_ascii=True).encode()
        try:
            make_private(self._folder)
            self.wait_no_more()
            # First the proof, then the file: an owner that sees the file can already have the proof.
            if request.is_awaited:
                self._knocking = knock(self._folder, request.id, data)
            if only_proven and self._knocking is None:
                return False
            self._write(f"{request.id}.json", data)
        except OSError as error:
            raise unusable(self._folder, error) from error
        return True

    def is_left(self, request_id: str) -> bool:
        """Return whether a request still exists, in any stage; False if it was removed unread."""
        # In the order in which it goes through them, so that it is not missed between two looks.
        stages = ("json", "taken", "answer")
        return any(os.path.lexists(self._folder / f"{request_id}.{stage}") for stage in stages)

    def is_taken(self, request_id: str) -> bool:
        """Return whether the owner has taken the request and has not answered."""
        return os.path.lexists(self._folder / f"{request_id}.taken")

    def wait_no_more(self) -> None:
        """Withdraw the proof of the asker. Safe to call twice."""
        if self._knocking is not None:
            self._knocking.close()
            self._knocking = None

    def reply(self, request_id: str) -> JsonObject | None:
        """Return the owner's reply, once; None if there is none yet."""
        path = self._folder / f"{request_id}.answer"
        document = _parsed(self._read(path))
        if document is not None:
            self.wait_no_more()
            path.unlink(missing_ok=True)
        return document

    def withdraw(self, request_id: str) -> bool:
        """Remove a request. False if it is gone: taken by the owner, or removed unread."""
        self.wait_no_more()
        try:
            (self._folder / f"{request_id}.json").unlink()
        except OSError:
            return False
        return True

    # --- the driver's side --------------------------------------------------------------------------------------

    def take(self) -> list[Request]:
        """Return requests that arrived since the last call, oldest first. Unreadable ones are answered and removed."""
        if not self._has_begun:
            self._begin()
        self._forget_answers()
        names = [name for name in self._names() if name.endswith(".json")]
        if self._door is not None:
            self._door.listen()
        taken: list[tuple[int, Request]] = []
        for name in names:
            path = self._folder / name
            claimed = path.with_suffix(".taken")
            try:
                left_at = path.lstat().st_mtime_ns  # they are put in order by it, and nothing else
                path.rename(claimed)
            except OSError:
                continue  # withdrawn, or not ours to touch
            request_id = name.partition(".")[0]
            data = self._read(claimed)
            request = _request(request_id, _parsed(data), self._sender_of(request_id, data))
            if request is None:
                self.answer(request_id, _UNREADABLE)
            else:
                taken.append((left_at, request))
        return [request for _, request in sorted(taken, key=lambda entry: entry[0])]

    def answer(self, request_id: str, reply: Mapping[str, object] | None) -> None:
        """Write a reply; None if no asker waits for one. Never raises: an asker without a reply reads the log."""
        try:
            if reply is not None:
                self._write(f"{request_id}.answer", json.dumps(reply, ensure_ascii=True).encode())
                self._answered[request_id] = time.monotonic()
            (self._folder / f"{request_id}.taken").unlink(missing_ok=True)
        except OSError:
            return

    def close(self) -> None:
        """Accept no more requests: the owner ends. Safe to call twice."""
        if self._door is not None:
            self._door.close()

    def waiting(self) -> list[str]:
        """Return ids of unanswered requests, for the next owner."""
        return sorted({n.partition(".")[0] for n in self._names() if not n.endswith(".answer")})

    def _begin(self) -> None:
        """Remove old requests, which were meant for an earlier owner: an asker that still waits writes its request again."""
        self._has_begun = True
        for name in self._names():
            let_go(self._folder / name)
        try:
            make_private(self._folder)
            self._door = Door(self._folder, self._witness)
        except (OSError, StateUnusable):
            self._door = None  # nobody can prove anything here, and is told so

    def _forget_answers(self) -> None:
        now = time.monotonic()
        for request_id, left_at in list(self._answered.items()):
            if now - left_at > _ANSWER_LASTS_S:
                del self._answered[request_id]
                let_go(self._folder / f"{request_id}.answer")

    def _sender_of(self, request_id: str, data: bytes | None) -> Sender:
        if self._door is None or data is None:
            return "unproven"
        return self._door.sender_of(request_id, data)

    # --- files --------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - four times a second: names are all that is needed
        except OSError:
            return []
        return [name for name in names if _NAME.fullmatch(name)]

    def _write(self, name: str, data: bytes) -> None:
        aside = self._folder / f".{name}.{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            with os.fdopen(open_private(aside, flags), "wb") as file:
                file.write(data)
            aside.rename(self._folder / name)
        except BaseException:
            let_go(aside)
            raise

    def _read(self, path: Path) -> bytes | None:
        """Return the content of a file; None if it is unreadable or too long."""
        try:
            with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
                data = file.read(REQUEST_LIMIT + 1)
        except OSError:
            return None
        return data if len(data) <= REQUEST_LIMIT else None


def _parsed(data: bytes | None) -> JsonObject | None:
    try:
        value = None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_UNREADABLE: Final[Mapping[str, object]] = {
    "ok": False,
    "error": {
        "code": "request_unreadable",
        "message": "the request could not be read",
        "fix": "repeat it with this release of pixirnb",
    },
}


def _request(request_id: str, document: JsonObject | None, sender: Sender) -> Request | None:
    if document is None or document.get("id") != request_id:
        return None
    verb, arguments, by = document.get("verb"), document.get("arguments"), document.get("by")
    if not isinstance(verb, str) or not isinstance(arguments, dict) or not isinstance(by, str):
        return None
    return Request(request_id, verb, arguments, by, document.get("is_awaited") is not False, sender)
