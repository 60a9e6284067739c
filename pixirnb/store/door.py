"""The door of a run's owner: a unix socket at which an asker vouches for a request, so that the system identifies the sender.

    owner    Door(folder, witness)   listens; `inbox/door` holds the socket's random name
             listen() · sender_of()    accepts connections · who vouched for these bytes
             vouch()                   sends the digest of the reply to who vouched for the request
    asker    knock(folder, …)        names the request and the digest of its bytes; kept open while it waits

Requests and replies stay files; the socket carries only the proof of both: each end asks the system for the process at
the other. On Linux its name is abstract, so that no file remains and no path is too long; elsewhere it is in the folder
for temporary files. Source: contract.md §11 (who asked).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import select
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final
from weakref import WeakSet

from msgspec import Struct

from pixirnb.errors import StateUnusable
from pixirnb.machine.requests import Sender
from pixirnb.protocols.ports import Lease
from pixirnb.store.private_files import make_private, open_private
from pixirnb.system.atomic_files import let_go

_NAME: Final = "door"
_TOKEN: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_KNOCK: Final = re.compile(rb"([0-9a-f]{16}) ([0-9a-f]{64})\n", re.ASCII)
_KNOCK_LENGTH: Final = 16 + 1 + 64 + 1
_VOUCHER_LENGTH: Final = 64 + 1
_MOST_AT_ONCE: Final = 256
"""Maximum number of open connections, and of waiting ones; of more, the oldest of the least trusted is closed."""
_TRUSTED: Final[tuple[Sender, ...]] = ("person", "other_step", "own_step", "unproven")
_PATIENCE_S: Final = 5
"""Seconds that an asker waits for its turn at the door."""
_PEER_PIDFD: Final = getattr(socket, "SO_PEERPIDFD", 77)
_PEER_ON_MACOS: Final = (1, 2)
"""LOCAL_PEERCRED and LOCAL_PEERPID, of level 0."""

Witness = Callable[[int], Sender]
"""Function that identifies the sender of a process id."""


class _Visit(Struct):
    """A connection whose process has been identified."""

    connection: socket.socket
    sender: Sender
    received: bytes = b""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Door:
    """The owner's side. Belongs to one thread at a time; never blocks. Raises OSError if no socket can be created."""

    folder: Path
    witness: Witness
    platform: str = sys.platform
    """Value of `sys.platform`; set only by tests."""
    _token: str = field(default_factory=lambda: secrets.token_hex(16))
    _listener: socket.socket = field(init=False)
    _visits: list[_Visit] = field(default_factory=list)
    _heard: dict[str, list[socket.socket]] = field(default_factory=dict)
    """Connections of those who vouched for a request that was taken, until it is answered."""

    def __post_init__(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listener.setblocking(False)
            address = _address(self._token, self.platform)
            self._listener.bind(address)
            if not address.startswith("\0"):
                Path(address).chmod(0o600)
            self._listener.listen(_MOST_AT_ONCE)
            _write_token(self.folder, self._token)
        except BaseException:
            self._listener.close()
            raise
        _open.add(self)

    def listen(self) -> None:
        """Accept new connections and read their data."""
        is_linked = self.folder.is_symlink()
        if is_linked or _read_token(self.folder) != self._token:
            with suppress(OSError, StateUnusable):  # removed, or replaced: who asks must find us
                if is_linked or not self.folder.is_dir():
                    let_go(self.folder)
                make_private(self.folder)
                _write_token(self.folder, self._token)
        untrusted: dict[int, Sender] = {}
        for _ in range(_MOST_AT_ONCE + 1):  # all that can wait: a backlog of n holds n + 1
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break  # nobody more, or no descriptor left: they are heard when there is
            connection.setblocking(False)
            self._visits.append(_Visit(connection, self._judged(connection, untrusted)))
            if len(self._visits) > _MOST_AT_ONCE:
                least = max(self._visits, key=lambda visit: _TRUSTED.index(visit.sender))
                least.connection.close()
                self._visits.remove(least)
        self._visits = [visit for visit in self._visits if _goes_on(visit)]

    def sender_of(self, request_id: str, data: bytes) -> Sender:
        """Return who vouched for a request and exactly these bytes; `unproven` if no connected process did."""
        proof = _knock(request_id, data)
        visits = [visit for visit in self._visits if visit.received == proof]
        for visit in visits:
            self._visits.remove(visit)
            self._heard.setdefault(request_id, []).append(visit.connection)
        # A step may repeat a person's request; the person's proof is still valid.
        return min((visit.sender for visit in visits), key=_TRUSTED.index, default="unproven")

    def ranks(self) -> dict[str, int]:
        """Return the ids of requests that were vouched for; those of the most trusted senders have the lowest rank."""
        ranks: dict[str, int] = {}
        for visit in self._visits:
            if len(visit.received) == _KNOCK_LENGTH:
                name, rank = visit.received[:16].decode(), _TRUSTED.index(visit.sender)
                ranks[name] = min(rank, ranks.get(name, rank))
        return ranks

    def vouch(self, request_id: str, reply: bytes | None) -> None:
        """Send the digest of a reply to those who vouched for its request. From any thread; never blocks."""
        for connection in self._heard.pop(request_id, ()):
            with connection, suppress(OSError):  # it is gone
                connection.sendall(b"" if reply is None else _voucher(reply))

    def close(self) -> None:
        """Accept no more connections. Safe to call twice."""
        if self._listener.fileno() < 0:
            return
        self.abandon()
        address = _address(self._token, self.platform)
        if not address.startswith("\0"):
            let_go(Path(address))
        if _read_token(self.folder) == self._token:
            let_go(self.folder / _NAME)

    def abandon(self) -> None:
        """Close the descriptors only: a forked child may do no more with its copy."""
        _open.discard(self)
        self._listener.close()
        for connection in chain(
            (visit.connection for visit in self._visits), *self._heard.values()
        ):
            connection.close()
        self._visits.clear()
        self._heard.clear()

    def _judged(self, connection: socket.socket, untrusted: dict[int, Sender]) -> Sender:
        """Return the sender at the other end. `untrusted`: who was found to be no person in this look, by process id.

        It is proven only if its process is still connected after its identification.
        """
        held: int | None = None
        try:
            pid = _peer(connection)
            if pid in untrusted:
                return untrusted[pid]
            if hasattr(socket, "SO_PEERCRED"):
                held = _process(connection, pid)
            sender = self.witness(pid)
            if held is not None and select.select([held], [], [], 0)[0]:
                return "unproven"  # it is gone
        except (OSError, ValueError):
            return "unproven"
        finally:
            if held is not None:
                os.close(held)
        if sender != "person":
            untrusted[pid] = sender
        return sender


class Knock(Struct, eq=False):
    """The asker's end of a connection to the owner of a run."""

    connection: socket.socket
    _received: bytes = b""

    def vouches(self, reply: bytes) -> bool | None:
        """Return whether the owner gave this reply; None if that is still open. Raises OSError if it left without one."""
        while len(self._received) < _VOUCHER_LENGTH:
            try:
                data = self.connection.recv(
                    _VOUCHER_LENGTH - len(self._received), socket.MSG_DONTWAIT
                )
            except BlockingIOError:
                return None
            if not data:
                raise ConnectionResetError(errno.ECONNRESET, "the owner closed the connection")
            self._received += data
        return self._received == _voucher(reply)

    def close(self) -> None:
        """Withdraw the proof. Safe to call twice."""
        self.connection.close()


def knock(folder: Path, request_id: str, data: bytes, owner: Lease) -> Knock | None:
    """Vouch for a request before writing it; None if its owner does not listen on this machine. The caller closes it."""
    token = _read_token(folder)
    if token is None or owner.host != socket.gethostname():
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(True)  # though `socket.setdefaulttimeout` was called
    try:
        # The socket itself blocks, so that askers take turns where many wait: Python's timeout would only try again.
        limit = struct.pack("ll", _PATIENCE_S, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        connection.connect(_address(token, sys.platform))
        if _peer(connection) == owner.pid:  # who listens there, not who wrote its name
            connection.sendall(_knock(request_id, data))
            return Knock(connection)
    except OSError:
        pass  # nobody listens there any more, or too many wait
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _voucher(reply: bytes) -> bytes:
    return f"{hashlib.sha256(reply).hexdigest()}\n".encode()


def _peer(connection: socket.socket) -> int:
    """Return the process id at the other end. Raises OSError if it is another user's or out of sight."""
    if not hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(0, _PEER_ON_MACOS[0], 76)
        uid = struct.unpack_from("I", credentials, 4)[0]
        pid = connection.getsockopt(0, _PEER_ON_MACOS[1])
    else:
        size = struct.calcsize("3i")
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid, uid, _ = struct.unpack("3i", credentials)
    if pid <= 0 or uid != os.geteuid():
        raise PermissionError(errno.EPERM, "a process of another user or pid namespace")
    return pid


def _knock(request_id: str, data: bytes) -> bytes:
    return f"{request_id} {hashlib.sha256(data).hexdigest()}\n".encode()


def _goes_on(visit: _Visit) -> bool:
    """Read a connection's data; False, and closed, if the data are invalid or the other end is gone."""
    try:
        # One byte more than a valid proof: a longer one is not from an asker of ours, and is ignored.
        while data := visit.connection.recv(_KNOCK_LENGTH + 1 - len(visit.received)):
            visit.received += data
        is_here = False
    except BlockingIOError:
        is_here = True
    except OSError:
        is_here = False
    is_sound = len(visit.received) < _KNOCK_LENGTH or _KNOCK.fullmatch(visit.received) is not None
    if not (is_here and is_sound):
        visit.connection.close()
    return is_here and is_sound


def _process(connection: socket.socket, pid: int) -> int:
    """Return a descriptor of the process at the other end, so that a reuse of its id is noticed. Raises OSError."""
    try:
        return connection.getsockopt(socket.SOL_SOCKET, _PEER_PIDFD)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise
        return os.pidfd_open(pid)  # before Linux 6.5: by the id it had when it connected


def _address(token: str, platform: str) -> str:
    if platform == "linux":
        return f"\0pixirnb-{token}"
    return str(Path(tempfile.gettempdir()) / f"pixirnb-{token}")


def _write_token(folder: Path, token: str) -> None:
    aside = folder / f".{_NAME}.{token}"
    with os.fdopen(open_private(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(token.encode())
    try:
        aside.rename(folder / _NAME)
    except OSError:
        let_go(aside)  # a folder stands in its place: told again at the next look
        raise


def _read_token(folder: Path) -> str | None:
    try:
        with os.fdopen(open_private(folder / _NAME, os.O_RDONLY), "rb") as file:
            token = file.read(64).decode("ascii", errors="replace")
    except OSError:
        return None
    return token if _TOKEN.fullmatch(token) else None


_open: Final[WeakSet[Door]] = WeakSet()


def _let_go_in_child() -> None:
    # A forked child would keep the door open for an owner that is gone.
    for door in list(_open):
        door.abandon()


os.register_at_fork(after_in_child=_let_go_in_child)
