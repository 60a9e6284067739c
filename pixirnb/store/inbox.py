"""Requests of other processes to whoever drives a run, as files in its `inbox/` folder.

    <id>.json     left by who asks: temporary name, then renamed
    <id>.taken    renamed by the driver, which handles it now
    <id>.answer   the driver's reply, fetched and removed by who asked
    door          where the driver listens for who vouches for a request (see door.py)

A rename decides between the driver who takes a request and the asker who gives up waiting: exactly one of them succeeds. A
driver that begins removes what it finds, so that it never obeys a wish meant for the course before; an asker that still waits
leaves its request anew. No clock is asked: those of two hosts differ. Files are 0600, links and foreign files are refused.
Source: contract.md §3, §11.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from pathlib import Path
from typing import Any, Final

from pixirnb.errors import StateUnusable
from pixirnb.machine.requests import Request, Sender
from pixirnb.store.door import Door, Witness, knock
from pixirnb.store.private_files import make_private, open_private, unusable
from pixirnb.system.atomic_files import let_go

PATIENCE_S: Final = 10.0
"""How long an asker waits for the driver."""
_ANSWER_LASTS_S: Final = 60.0
"""How long a reply waits for an asker that may be gone."""
REQUEST_LIMIT: Final = 64 * 1024
"""Bytes of a request or a reply: a note and a value at their limits, and room."""
_NAME: Final = re.compile(r"[0-9a-f]{16}\.(json|taken|answer)", re.ASCII)


def _nobody_can_tell(_pid: int) -> Sender:
    return "unproven"


class FileInbox:
    """The inbox of one run folder. Askers and the driver may be different processes, on different hosts."""

    def __init__(self, folder: Path, witness: Witness = _nobody_can_tell) -> None:
        """`folder` is the run's `inbox`; it is made with the first request where it is missing. `witness`: the driver's."""
        self._folder = folder
        self._witness = witness
        self._door: Door | None = None
        self._has_begun = False
        self._answered: dict[str, float] = {}
        """When replies were left, by our own monotonic clock."""
        self._knocking: socket.socket | None = None

    # --- the asker's side ---------------------------------------------------------------------------------------

    def leave(self, request: Request, *, only_proven: bool = False) -> bool:
        """Vouch for a request and put it where the driver looks; whether it is there. Raises StateUnusable where it cannot be.

        `only_proven`: not while no driver of this machine listens.
        """
        said = {
            "id": request.id,
            "verb": request.verb,
            "arguments": request.arguments,
            "by": request.by,
            "is_awaited": request.is_awaited,
        }
        data = json.dumps(said, ensure_ascii=True).encode()
        try:
            make_private(self._folder)
            self.wait_no_more()
            # First the word, then the file: who finds the file has been able to hear the word.
            if request.is_awaited:
                self._knocking = knock(self._folder, request.id, data)
            if only_proven and self._knocking is None:
                return False
            self._write(f"{request.id}.json", data)
        except OSError as error:
            raise unusable(self._folder, error) from error
        return True

    def is_left(self, request_id: str) -> bool:
        """Whether a request is still there, in any stage; False where somebody has removed it unread."""
        # In the order in which it goes through them, so that it is not missed between two looks.
        stages = ("json", "taken", "answer")
        return any(os.path.lexists(self._folder / f"{request_id}.{stage}") for stage in stages)

    def is_taken(self, request_id: str) -> bool:
        """Whether the driver has it, and has not answered."""
        return os.path.lexists(self._folder / f"{request_id}.taken")

    def wait_no_more(self) -> None:
        """Take the asker's word back. Safe to call twice."""
        if self._knocking is not None:
            self._knocking.close()
            self._knocking = None

    def reply(self, request_id: str) -> dict[str, Any] | None:
        """The driver's reply, fetched once; None while there is none."""
        path = self._folder / f"{request_id}.answer"
        found = _parsed(self._read(path))
        if found is not None:
            self.wait_no_more()
            path.unlink(missing_ok=True)
        return found

    def withdraw(self, request_id: str) -> bool:
        """Take a request back. False when it is not there: the driver has it already, or somebody has removed it unread."""
        self.wait_no_more()
        try:
            (self._folder / f"{request_id}.json").unlink()
        except OSError:
            return False
        return True

    # --- the driver's side --------------------------------------------------------------------------------------

    def take(self) -> list[Request]:
        """Requests that arrived since the last look, oldest first. What cannot be read is answered and removed."""
        if not self._has_begun:
            self._begin()
        self._forget_answers()
        names = [name for name in self._names() if name.endswith(".json")]
        if self._door is not None:
            self._door.hear()
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
        return [request for _, request in sorted(taken, key=lambda found: found[0])]

    def answer(self, request_id: str, reply: dict[str, Any] | None) -> None:
        """Leave a reply; None where nobody waits for one. Never raises: an asker who finds none looks at the log."""
        try:
            if reply is not None:
                self._write(f"{request_id}.answer", json.dumps(reply, ensure_ascii=True).encode())
                self._answered[request_id] = time.monotonic()
            (self._folder / f"{request_id}.taken").unlink(missing_ok=True)
        except OSError:
            return

    def close(self) -> None:
        """The driver leaves: nobody is heard any more. Safe to call twice."""
        if self._door is not None:
            self._door.close()

    def waiting(self) -> list[str]:
        """Ids of requests nobody has answered, for whoever looks after the run."""
        return sorted({n.partition(".")[0] for n in self._names() if not n.endswith(".answer")})

    def _begin(self) -> None:
        """Nothing that lies here was meant for this driver: whoever waits for it leaves its request anew."""
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
        """What a file holds; None where it cannot be read, or is too long."""
        try:
            with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
                data = file.read(REQUEST_LIMIT + 1)
        except OSError:
            return None
        return data if len(data) <= REQUEST_LIMIT else None


def _parsed(data: bytes | None) -> dict[str, Any] | None:
    try:
        found = None if data is None else json.loads(data)
    except (ValueError, RecursionError):
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


def _request(request_id: str, said: dict[str, Any] | None, sender: Sender) -> Request | None:
    if said is None or said.get("id") != request_id:
        return None
    verb, arguments, by = said.get("verb"), said.get("arguments"), said.get("by")
    if not isinstance(verb, str) or not isinstance(arguments, dict) or not isinstance(by, str):
        return None
    return Request(request_id, verb, arguments, by, said.get("is_awaited") is not False, sender)
