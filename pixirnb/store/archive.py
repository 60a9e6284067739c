"""A run folder as one zip file that can be unzipped elsewhere into a run folder again.

    r-….zip   r-…/log.jsonl  seal.json  blobs/…  output/…  sessions/…

Lock, lease and inbox are left out: they belong to this machine and this moment. The log of a live run is cut after
its last whole line and only blobs it names are included: the archive is a run whose owner died at that line. Names
are sorted and have one fixed time: equal runs give equal bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from pixirnb.errors import Cannot
from pixirnb.store.lease import live_owner
from pixirnb.store.log import LOG_NAME
from pixirnb.store.private_files import open_private, unusable
from pixirnb.store.seal import SEAL_NAME
from pixirnb.system.deep_folders import walk

_KEPT: Final = ("output", "sessions")
_FOLDERS: Final = ("blobs", *_KEPT)
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time in a zip file."""
_DIGEST: Final = re.compile(rb"b2:([0-9a-f]{64})")
_SPILLED: Final = re.compile(rb'"data":\{"\$blob":"b2:([0-9a-f]{64})"')
_BLOB: Final = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}")


def pack(folder: Path, target: Path, *, force: bool = False) -> int:
    """Pack a run folder into the zip file `target`; return the number of files.

    Raises Cannot (`file_exists`), StateUnusable.
    """
    return write_file(target, lambda file: _pack(folder, file), force=force)


def write_file(target: Path, write: Callable[[BinaryIO], int], *, force: bool) -> int:
    """Write a file, mode 0600, completely or not at all; return the result of `write`.

    Raises Cannot (`file_exists`), StateUnusable.
    """
    aside = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    claimed = False
    try:
        if target.is_dir():
            raise Cannot(
                f"{target} is a folder",
                fix="pass a file name with --to",
                code="file_unwritable",
                details={"path": str(target)},
            )
        refuse_special(target)
        if not force:
            # The name is taken first: of two exports to one file, one fails with an error.
            os.close(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            claimed = True
        with os.fdopen(open_private(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            count = write(file)
        aside.replace(target)
    except BaseException as error:
        with contextlib.suppress(
            OSError
        ):  # where a file stands for a folder, nothing can be missing
            aside.unlink(missing_ok=True)
        if claimed:
            target.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise Cannot(
                f"{target} already exists",
                fix="use another file with --to, or add --force",
                code="file_exists",
                details={"path": str(target)},
            ) from None
        if isinstance(error, OSError):
            raise unwritable(target, error) from error
        raise
    return count


def refuse_special(target: Path) -> None:
    """Raise OSError for a pipe, a socket or a device, whose place no file may take."""
    if target.exists() and not target.is_file():
        raise OSError(errno.ENXIO, "it is a pipe, a socket or a device")


def unwritable(target: Path, error: OSError | ValueError) -> Cannot:
    """Return the error of a file that could not be written: it names a folder that is missing."""
    folder = target.parent
    if isinstance(error, FileNotFoundError) and not folder.exists():
        message, fix = f"folder {folder} does not exist", f"create it with `mkdir -p {folder}`"
    else:
        reason = getattr(error, "strerror", None) or str(error)
        message, fix = f"{target} could not be written: {reason}", "use a file in a writable folder"
    details = {"path": str(target), "errno": getattr(error, "errno", None)}
    return Cannot(message, fix=fix, code="file_unwritable", details=details)


def _pack(folder: Path, file: BinaryIO) -> int:
    is_live = live_owner(folder) is not None
    seal = _bytes(folder / SEAL_NAME)  # before the log, which is never shorter than its seal says
    log = _bytes(folder / LOG_NAME) or b""
    if is_live:
        log = log[: log.rfind(b"\n") + 1]
    named = _named(log, folder / "blobs")
    count = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        paths = list(_files(folder, named if is_live else None))
        inside = {path.parent.relative_to(folder).as_posix() for path in paths}
        for name in ("", *sorted({*_FOLDERS, *inside})):
            archive.writestr(_folder_entry(folder, name), b"")
        for name, data in ((LOG_NAME, log), (SEAL_NAME, seal)):
            if data is not None:
                archive.writestr(_entry(folder, name), data)
                count += 1
        for path in paths:
            try:
                descriptor = open_private(path, os.O_RDONLY)
            except FileNotFoundError:
                continue  # an output log of a live step, put in its place since
            entry = _entry(folder, path.relative_to(folder).as_posix())
            with (
                os.fdopen(descriptor, "rb") as source,
                archive.open(entry, "w", force_zip64=True) as into,
            ):
                shutil.copyfileobj(source, into)
            count += 1
    return count


def _named(log: bytes, blobs: Path) -> set[str]:
    """Return every blob named by the lines, including lines that are too long for the log."""
    texts = [log]
    for spilled in _SPILLED.findall(log):
        name = spilled.decode()
        texts.append(_bytes(blobs / name[:2] / name) or b"")
    return {digest.decode() for text in texts for digest in _DIGEST.findall(text)}


def _files(folder: Path, named: set[str] | None) -> Iterator[Path]:
    """Yield blobs (the named ones, or all), then output logs and sessions; only plain files of this user."""
    for path in _plain(folder / "blobs"):
        if _BLOB.fullmatch(path.relative_to(folder / "blobs").as_posix()) is None:
            continue  # what a writer that died left unfinished
        if named is None or path.name in named:
            yield path
    for name in _KEPT:
        yield from _plain(folder / name)


def _plain(folder: Path) -> Iterator[Path]:
    for parent, folders, names in walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                yield path


def _folder_entry(folder: Path, name: str) -> zipfile.ZipInfo:
    """Return an entry for a folder, so that unzip makes it private too."""
    entry = zipfile.ZipInfo(f"{folder.name}/{name}/" if name else f"{folder.name}/", _LONG_AGO)
    entry.create_system = 3
    entry.external_attr = (stat.S_IFDIR | 0o700) << 16 | 0x10
    return entry


def _entry(folder: Path, name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(f"{folder.name}/{name}", _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, so that the mode below is heeded
    entry.external_attr = (stat.S_IFREG | 0o600) << 16
    return entry


def _bytes(path: Path) -> bytes | None:
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path, error) from error
