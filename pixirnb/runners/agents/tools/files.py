"""`read`, `list`, `write` and `edit` of our own agents: bounded, atomic, and never waiting for what is no file.

A change is a new file renamed over the old one, under a lock that all tools of ours take for a folder: none of their edits is
lost, whoever runs beside them. What another program writes between the look and the rename is noticed but for microseconds.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from pixirnb.runners.agents.tools.confinement import (
    ConfinedPath,
    Confinement,
    Refused,
    regular,
    told_as_refusal,
)
from pixirnb.runners.agents.tools.excerpt import OUTPUT_LIMIT
from pixirnb.runners.agents.tools.listing import entries

EDIT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of a file that is edited or written."""
_SCAN_LIMIT: Final = 256 * 1024 * 1024
_LINES: Final = 2000
_LINE_LIMIT: Final = 8 * 1024
_SNIFFED: Final = 8 * 1024
_LISTED: Final = 500
_LOCK_S: Final = 5.0

FileVersion = tuple[int, ...]
"""Inode, size and time of the last change of a file."""


def read(confinement: Confinement, args: Mapping[str, Any]) -> str:
    """Lines of a text file: `limit` of them from line `offset` on. Raises Refused."""
    place = confinement.readable(args["path"])
    first, most = args.get("offset") or 1, args.get("limit") or _LINES
    with place.opened_parent() as parent:
        descriptor = place.open_file(parent)
    with told_as_refusal(place), os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if b"\0" in file.read(_SNIFFED):
            raise _not_text(place, size)
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
                    raise Refused("file_too_large", f"`{place.shown}` is too large to count lines.")
                continue
            if len(shown) == most or len(line) > room:
                is_cut = True
                break
            note = b" [the rest of this line is left out]\n" if rest.strip(b"\r\n") else b""
            line = line + (note or rest)
            room -= len(line)
            shown.append(line)
            last = number
        text = b"".join(shown).decode("utf-8", errors="replace")
    if is_cut:
        end = "" if text.endswith("\n") else "\n"
        return f"{text}{end}[… lines {first} to {last} of a file of {size:,} bytes; go on with offset {last + 1} …]"
    if not shown and size:
        return f"[`{place.shown}` has {number} lines, and none from {first} on.]"
    return text if shown else f"[`{place.shown}` is empty.]"


def list_folder(confinement: Confinement, args: Mapping[str, Any]) -> str:
    """What a folder holds that may be read, one name a line, folders with a slash. Raises Refused."""
    place = confinement.place(args.get("path") or ".")
    refused = confinement.limits.look_refusal(place.path)
    if refused is not None:
        raise Refused(refused.code, refused.message)
    found, hidden = entries(place, confinement.limits)
    lines = [entry.line for entry in found]
    kept: list[str] = []
    room = OUTPUT_LIMIT - 200
    for line in lines[:_LISTED]:
        room -= len(line.encode("utf-8", errors="replace")) + 1
        if room < 0:
            break
        kept.append(line)
    said = "\n".join(kept) if kept else f"[`{place.shown}` holds nothing that may be read.]"
    if len(kept) < len(lines):
        said += f"\n[… {len(lines) - len(kept):,} more …]"
    if hidden:
        said += f"\n[{hidden:,} that may not be read are left out]"
    return said


def write(confinement: Confinement, args: Mapping[str, Any]) -> str:
    """A file as a whole, folders made where they are missing; `version`: what it must still be. Raises Refused."""
    place = confinement.writable(args["path"])
    size = write_text(place, args["content"], args.get("version"))
    return f"Wrote {size:,} bytes to `{place.shown}`."


def edit(confinement: Confinement, args: Mapping[str, Any]) -> str:
    """Put `new` where `old` stands: once, or wherever it does with `all`. Raises Refused."""
    place = confinement.writable(args["path"])
    old, new = _encoded(args["old"]), _encoded(args["new"])
    if not old:
        raise Refused("invalid_args", "`old` is empty: use `write` for a new file.")
    if old == new:
        raise Refused("invalid_args", "`old` and `new` are the same: nothing would change.")
    with place.opened_parent() as parent, _alone(place, parent):
        descriptor = place.open_file(parent)
        with told_as_refusal(place), os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if found.st_size > EDIT_LIMIT:
                raise _too_large(place)
            data = file.read(EDIT_LIMIT + 1)
        _text_of(place, data)
        count = data.count(old)
        if count == 0:
            raise Refused(
                "text_not_found",
                f"`old` does not stand in `{place.shown}`: read the file and copy the text exactly.",
            )
        if count > 1 and not args.get("all"):
            raise Refused(
                "text_not_unique",
                f"`old` stands {count} times in `{place.shown}`: give more of its surroundings, or `all`.",
            )
        changed = data.replace(old, new)
        if len(changed) > EDIT_LIMIT:
            raise _too_large(place)
        _replace(place, parent, changed, expected=_version(found))
    return f"Replaced {count} {'place' if count == 1 else 'places'} in `{place.shown}`."


def read_text(place: ConfinedPath, limit: int = EDIT_LIMIT) -> str:
    """The whole of a UTF-8 text file. Raises Refused: larger than `limit` bytes, no text, no file."""
    with place.opened_parent() as parent:
        descriptor = place.open_file(parent)
    with told_as_refusal(place), os.fdopen(descriptor, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise _too_large(place)
    return _text_of(place, data)


def version_of(place: ConfinedPath) -> FileVersion:
    """What tells a file from what another program makes of it; empty where there is none. Raises Refused."""
    try:
        with place.opened_parent() as parent:
            return _version(os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False))
    except (Refused, OSError, IndexError):
        return ()  # whether it may be written at all is found out by whoever writes it


def write_text(place: ConfinedPath, text: str, version: FileVersion | None = None) -> int:
    """Make `text` the whole of a file, at once or not at all; its mode stays. Returns bytes. Raises Refused.

    `version`: what the file must still be.
    """
    data = _encoded(text)
    if len(data) > EDIT_LIMIT:
        raise _too_large(place)
    if not place.parts:
        raise Refused("not_a_file", f"`{place.shown}` is a folder: name a file in it.")
    with place.opened_parent(make=True) as parent, _alone(place, parent):
        _replace(place, parent, data, expected=version)
    return len(data)


def _replace(
    place: ConfinedPath, parent: int, data: bytes, *, expected: FileVersion | None = None
) -> None:
    """Rename a new file over the old one. `expected`: what the old one must still be."""
    name = place.parts[-1]
    mode: int | None = None
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        if expected:
            raise _changed(place) from None
    except OSError as error:
        raise Refused("file_refused", f"`{place.shown}`: {error.strerror}.") from error
    else:
        regular(place, found)
        if expected is not None and _version(found) != expected:
            raise _changed(place)
        mode = stat.S_IMODE(found.st_mode)
        if not mode & 0o222:
            raise Refused("file_refused", f"`{place.shown}` is write-protected: leave it.")
    temporary = f".pixirnb-{os.urandom(6).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with told_as_refusal(place):
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
def _alone(place: ConfinedPath, folder: int) -> Iterator[None]:
    """No other tool of ours changes a file of this folder meanwhile, in whatever process."""
    deadline = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                message = f"`{place.shown}` is being changed by others: try again."
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
    """What is left of a long line, as far as it says how it ends: not kept."""
    end = b""
    while more := file.readline(1 << 20):
        end = more[-2:] if len(more) > 1 else end[-1:] + more
        if more.endswith(b"\n"):
            break
    return end


def _version(found: os.stat_result) -> FileVersion:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("invalid_args", "The text holds half a character: write it whole.") from error


def _text_of(place: ConfinedPath, data: bytes) -> str:
    if b"\0" in data[:_SNIFFED]:
        raise _not_text(place, len(data))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("not_text", f"`{place.shown}` is not UTF-8 text.") from error


def _not_text(place: ConfinedPath, size: int) -> Refused:
    return Refused("not_text", f"`{place.shown}` is binary, {size:,} bytes, and is not shown.")


def _too_large(place: ConfinedPath) -> Refused:
    return Refused(
        "file_too_large", f"`{place.shown}` is past {EDIT_LIMIT >> 20} MiB for one call."
    )


def _changed(place: ConfinedPath) -> Refused:
    return Refused("file_changed", f"`{place.shown}` was changed meanwhile: read it again.")
