"""Tools `read`, `list`, `write` and `edit` of our own agents: limited, atomic, and never blocked by special files.

A change is a new file renamed over the old one, under a lock that all tools of ours take for a folder: concurrent
agents lose no edits. A write of another program between check and rename is noticed, except within microseconds.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pixirnb.json_types import JsonMapping
from pixirnb.runners.agents.tools.confinement import (
    ConfinedPath,
    Confinement,
    Refused,
    errors_as_refusals,
    regular,
)
from pixirnb.runners.agents.tools.excerpt import OUTPUT_LIMIT
from pixirnb.runners.agents.tools.listing import entries

EDIT_LIMIT: Final = 8 * 1024 * 1024
"""Maximum number of bytes of a file that is edited or written."""
_SCAN_LIMIT: Final = 256 * 1024 * 1024
_LINES: Final = 2000
_LINE_LIMIT: Final = 8 * 1024
_SNIFFED: Final = 8 * 1024
_LISTED: Final = 500
_LOCK_S: Final = 5.0

FileVersion = tuple[int, ...]
"""Inode, size and time of the last change of a file."""


def read(confinement: Confinement, args: JsonMapping) -> str:
    """Return lines of a text file: `limit` of them from line `offset` on. Raises Refused."""
    location = confinement.readable(args["path"])
    first, most = args.get("offset") or 1, args.get("limit") or _LINES
    with location.opened_parent() as parent:
        descriptor = location.open_file(parent)
    with errors_as_refusals(location), os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if b"\0" in file.read(_SNIFFED):
            raise _not_text(location, size)
        file.seek(0)
        number, scanned, room = 0, 0, OUTPUT_LIMIT - 200
        shown: list[bytes] = []
        last, is_cut = first - 1, False
        while line := file.readline(_LINE_LIMIT):
            number += 1
            rest = b"" if line.endswith(b"\n") else _rest_of_line(file)
            scanned += len(line) + len(rest)
            if number < first:
                if scanned > _SCAN_LIMIT:
                    raise Refused(
                        "file_too_large", f"`{location.shown}` is too large to count lines."
                    )
                continue
            if len(shown) == most or len(line) > room:
                is_cut = True
                break
            note = "[… rest of this line omitted]\n".encode() if rest.strip(b"\r\n") else b""
            line = line + (note or rest)
            room -= len(line)
            shown.append(line)
            last = number
        text = b"".join(shown).decode("utf-8", errors="replace")
    if is_cut:
        end = "" if text.endswith("\n") else "\n"
        return f"{text}{end}[… lines {first} to {last} of a file of {size:,} bytes; continue with offset {last + 1} …]"
    if not shown and size:
        return f"[`{location.shown}` has {number} lines, none from line {first} on.]"
    return text if shown else f"[`{location.shown}` is empty.]"


def list_folder(confinement: Confinement, args: JsonMapping) -> str:
    """Return the readable entries of a folder, one name a line, folders with a slash. Raises Refused."""
    location = confinement.location(args.get("path") or ".")
    refused = confinement.limits.look_refusal(location.path)
    if refused is not None:
        raise Refused(refused.code, refused.message)
    listed, hidden = entries(location, confinement.limits)
    lines = [entry.line for entry in listed]
    kept: list[str] = []
    room = OUTPUT_LIMIT - 200
    for line in lines[:_LISTED]:
        room -= len(line.encode("utf-8", errors="replace")) + 1
        if room < 0:
            break
        kept.append(line)
    text = "\n".join(kept) if kept else f"[`{location.shown}` contains no readable entry.]"
    if len(kept) < len(lines):
        text += f"\n[… {len(lines) - len(kept):,} more …]"
    if hidden:
        text += f"\n[{hidden:,} unreadable entries omitted]"
    return text


def write(confinement: Confinement, args: JsonMapping) -> str:
    """Write a whole file; missing folders are created. `version`: the file must still be this. Raises Refused."""
    location = confinement.writable(args["path"])
    size = write_text(location, args["content"], args.get("version"))
    return f"Wrote {size:,} bytes to `{location.shown}`."


def edit(confinement: Confinement, args: JsonMapping) -> str:
    """Replace `old` with `new`: once, or everywhere with `all`. Raises Refused."""
    location = confinement.writable(args["path"])
    old, new = _encoded(args["old"]), _encoded(args["new"])
    if not old:
        raise Refused("invalid_args", "`old` is empty: use `write` to create a file.")
    if old == new:
        raise Refused("invalid_args", "`old` and `new` are identical.")
    with location.opened_parent() as parent, _alone(location, parent):
        descriptor = location.open_file(parent)
        with errors_as_refusals(location), os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if status.st_size > EDIT_LIMIT:
                raise _too_large(location)
            data = file.read(EDIT_LIMIT + 1)
        _text_of(location, data)
        count = data.count(old)
        if count == 0:
            raise Refused(
                "text_not_found",
                f"`old` does not occur in `{location.shown}`: read the file and copy the text exactly.",
            )
        if count > 1 and not args.get("all"):
            raise Refused(
                "text_not_unique",
                f"`old` occurs {count} times in `{location.shown}`: include more context, or set `all`.",
            )
        changed = data.replace(old, new)
        if len(changed) > EDIT_LIMIT:
            raise _too_large(location)
        _replace(location, parent, changed, expected=_version(status))
    return f"Replaced {count} {'place' if count == 1 else 'places'} in `{location.shown}`."


def read_text(location: ConfinedPath) -> str:
    """Return the whole of a UTF-8 text file. Raises Refused: larger than EDIT_LIMIT, no text, no file."""
    with location.opened_parent() as parent:
        descriptor = location.open_file(parent)
    with errors_as_refusals(location), os.fdopen(descriptor, "rb") as file:
        data = file.read(EDIT_LIMIT + 1)
    if len(data) > EDIT_LIMIT:
        raise _too_large(location)
    return _text_of(location, data)


def version_of(location: ConfinedPath) -> FileVersion:
    """Return a value that changes when another program writes the file; empty if it is missing. Raises Refused."""
    try:
        with location.opened_parent() as parent:
            return _version(os.stat(location.parts[-1], dir_fd=parent, follow_symlinks=False))
    except (Refused, OSError, IndexError):
        return ()  # the write itself finds out whether it is possible


def write_text(location: ConfinedPath, text: str, version: FileVersion | None = None) -> int:
    """Replace the content of a file with `text`, completely or not at all; its mode stays. Returns bytes. Raises Refused.

    `version`: the file must still be this.
    """
    data = _encoded(text)
    if len(data) > EDIT_LIMIT:
        raise _too_large(location)
    if not location.parts:
        raise Refused("not_a_file", f"`{location.shown}` is a folder: use a file in it.")
    with location.opened_parent(make=True) as parent, _alone(location, parent):
        _replace(location, parent, data, expected=version)
    return len(data)


def _replace(
    location: ConfinedPath, parent: int, data: bytes, *, expected: FileVersion | None = None
) -> None:
    """Rename a new file over the old one. `expected`: the old one must still be this."""
    name = location.parts[-1]
    mode: int | None = None
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        if expected:
            raise _changed(location) from None
    except OSError as error:
        raise Refused("file_refused", f"`{location.shown}`: {error.strerror}.") from error
    else:
        regular(location, status)
        if expected is not None and _version(status) != expected:
            raise _changed(location)
        mode = stat.S_IMODE(status.st_mode)
        if not mode & 0o222:
            raise Refused(
                "file_refused", f"`{location.shown}` is write-protected: do not change it."
            )
    temporary = f".pixirnb-{os.urandom(6).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with errors_as_refusals(location):
        descriptor = os.open(temporary, flags, 0o666, dir_fd=parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if mode is not None:
                    os.fchmod(descriptor, mode & 0o777)
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            # Told is why the file was not written, not that its leftover stays.
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise


@contextmanager
def _alone(location: ConfinedPath, folder: int) -> Iterator[None]:
    """Lock a folder against other tools of ours, in any process."""
    deadline = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                message = f"`{location.shown}` is being changed by another process: try again."
                raise Refused("file_busy", message) from None
            time.sleep(0.01)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL):
                raise
            break  # a disk that cannot lock: what is left is the look before the rename
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _rest_of_line(file: Any) -> bytes:
    """Return the end of a long line, as far as its line ending needs; not kept."""
    end = b""
    while more := file.readline(1 << 20):
        end = more[-2:] if len(more) > 1 else end[-1:] + more
        if more.endswith(b"\n"):
            break
    return end


def _version(status: os.stat_result) -> FileVersion:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("invalid_args", "The text contains an invalid Unicode character.") from error


def _text_of(location: ConfinedPath, data: bytes) -> str:
    if b"\0" in data[:_SNIFFED]:
        raise _not_text(location, len(data))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("not_text", f"`{location.shown}` is not UTF-8 text.") from error


def _not_text(location: ConfinedPath, size: int) -> Refused:
    return Refused(
        "not_text", f"`{location.shown}` is binary, {size:,} bytes, and cannot be shown."
    )


def _too_large(location: ConfinedPath) -> Refused:
    return Refused(
        "file_too_large", f"`{location.shown}` is larger than {EDIT_LIMIT >> 20} MiB for one call."
    )


def _changed(location: ConfinedPath) -> Refused:
    return Refused("file_changed", f"`{location.shown}` has changed: read it again.")
