"""Private folders and files: made for this user alone, refused if they are another user's or a symlink.

A run folder may hold what a workflow printed and returned, so folders are 0700 and files 0600, and no link in it is
followed: a link planted there would make us read or overwrite a file of its author's choice.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from pixirnb.errors import StateUnusable
from pixirnb.system.system_calls import open_regular, retry_eintr

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line of a log that are read. An event has 256 KiB at most; a failing disk can leave more."""
_PIECE: Final = 4 * 1024 * 1024
_LONGEST: Final = 16 * 1024 * 1024
"""Bytes of an output log that are read; an attempt leaves 10 MiB at most, and a line that says what was cut."""


def make_private(folder: Path, *, may_be_linked: bool = False) -> bool:
    """Make one folder, 0700, unless it exists; True when it was made. Raises StateUnusable, also for a link."""
    try:
        retry_eintr(folder.mkdir, mode=0o700)
        return True
    except FileExistsError:
        if folder.is_symlink() and not may_be_linked:
            raise linked_error(folder) from None
        refuse_foreign(folder)
        return False
    except OSError as error:
        raise unusable(folder, error) from error


def open_private(path: Path, flags: int) -> int:
    """Return a descriptor of a regular file, as `open_regular`; a symlink raises OSError (ELOOP)."""
    return open_regular(path, flags | os.O_NOFOLLOW)


def read_output(path: Path, begin: int = 0) -> bytes:
    """Return the content of an output log from a position on; empty if there is none. A link is refused, and more than any
    step leaves.

    Raises StateUnusable.
    """
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            file.seek(begin)
            data = file.read(_LONGEST + 1)
            if len(data) > _LONGEST:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            return data
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise unusable(path, error) from error


def read_log(file: BinaryIO) -> bytes:
    """Return the rest of a log. It ends with the beginning of a line that no run writes, for that to be found damaged."""
    if os.fstat(file.fileno()).st_size <= _LONGEST_LINE:
        return file.read()
    pieces: list[bytes] = []
    size = 0  # of the line that goes on
    while size <= _LONGEST_LINE and (piece := file.read(_PIECE)):
        pieces.append(piece)
        _, newline, end = piece.rpartition(b"\n")
        size = len(end) if newline else size + len(piece)
    return b"".join(pieces) + (b"\n" if size > _LONGEST_LINE else b"")


def refuse_foreign(folder: Path) -> None:
    """Raise StateUnusable unless `folder`, or what it links to, is a folder of this user's."""
    try:
        status = folder.stat()
    except OSError as error:
        raise unusable(folder, error) from error
    if not stat.S_ISDIR(status.st_mode):
        raise unusable(folder, NotADirectoryError(errno.ENOTDIR, "a file"))
    if status.st_uid != os.geteuid():
        raise foreign(folder, status.st_uid)


def refuse_planted(folder: Path) -> None:
    """Raise StateUnusable when a run folder, or anything directly in it, is a link or not ours.

    Deeper files are opened without following links, and blobs are checked against their digest. Raises
    FileNotFoundError when the folder does not exist.
    """
    _refuse_link_or_foreign(folder, folder.lstat())
    refuse_foreign(folder)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # a temporary file that has been renamed since
                _refuse_link_or_foreign(folder / entry.name, status)
    except OSError as error:
        raise unusable(folder, error) from error


def unusable(path: Path, error: OSError) -> StateUnusable:
    """Return the StateUnusable with the reason why `path` cannot be used, and the fix."""
    elsewhere = "use another state folder (--state DIR or PIXIRNB_STATE)"
    match error.errno:
        case errno.ENOTDIR | errno.EEXIST:
            message = "a file is where a folder is needed"
            fix = f"move the file away or {elsewhere}"
        case errno.EISDIR:
            message, fix = "a folder is where a file is needed", "move the folder away"
        case errno.ENXIO | None:  # None: io.UnsupportedOperation, of a seek
            message, fix = "a pipe, a socket or a device is where a file is needed", "move it away"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            message, fix = "it is not writable", elsewhere
        case errno.ENOSPC | errno.EDQUOT:
            message, fix = "the disk is full", f"free some space or {elsewhere}"
        case errno.EFBIG:
            message, fix = "it is larger than pixirnb writes it", "move it away"
        case errno.ELOOP:
            return linked_error(path)
        case _:
            message, fix = error.strerror or str(error), elsewhere
    return StateUnusable(
        f"{path}: {message}", fix=fix, details={"path": str(path), "errno": error.errno}
    )


def foreign(path: Path, owner: int) -> StateUnusable:
    """Return the StateUnusable for a file or folder of another user."""
    return StateUnusable(
        f"{path} belongs to user {owner}, not to you ({os.geteuid()})",
        fix="copy the run into your own state folder, or use one with --state DIR",
        code="foreign_owner",
        details={"path": str(path), "owner": owner},
    )


def exposed_error(path: Path, bits: int) -> StateUnusable:
    """Return the StateUnusable for a folder that others may write to and that is no state folder yet."""
    return StateUnusable(
        f"{path} is writable for other users (mode {bits:04o})",
        fix=f"`chmod go-w {path}`, or use another state folder (--state DIR or PIXIRNB_STATE)",
        code="state_exposed",
        details={"path": str(path), "mode": f"{bits:04o}"},
    )


def linked_error(path: Path, where: str = "a run folder") -> StateUnusable:
    """Return the StateUnusable for a symbolic link inside a run folder, or inside `where`."""
    return StateUnusable(
        f"{path} is a symbolic link, which is not allowed in {where}",
        fix="replace the link with what it names",
        code="symlink_refused",
        details={"path": str(path)},
    )


def _refuse_link_or_foreign(path: Path, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise linked_error(path)
    if status.st_uid != os.geteuid():
        raise foreign(path, status.st_uid)
