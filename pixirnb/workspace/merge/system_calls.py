"""System calls that Python does not offer: names that trade their files, and a flush of a whole disk.

    exchange(a, "x", b, "y")    `x` leads to the file of `y` and the other way round; at no moment one of them is missing
    move(a, "x", b, "y")        `x` becomes `y`; FileExistsError where there is a `y`, whatever it is
    flush_disk(descriptor)      many files made durable at once, where one flush for each takes seconds more

Folders are given as descriptors, names are single and never followed. Linux trades names in one call (`renameat2`), macOS too
(`renameatx_np`). Some file systems have neither (NFS, many that a process serves): there it is done by links, with a gap.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from ctypes import c_char_p, c_int, c_uint
from functools import lru_cache
from typing import Any, Final

from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.merge.openat import status

_IS_MAC: Final = sys.platform == "darwin"
_CALL: Final = "renameatx_np" if _IS_MAC else "renameat2"
_NAMES: Final = (c_int, c_char_p, c_int, c_char_p)
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS: the same bit by chance."""
_NO_REPLACE: Final = 4 if _IS_MAC else 1
_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})

MANY: Final = 100
"""Number of files from which on a flush of the whole disk is faster."""
ASIDE: Final = ".out"
"""Ending of the name under which the fall-back keeps the file it is about to replace, next to `name`."""


def exchange(folder: int, name: str, other_folder: int, other: str) -> None:
    """Let two names trade their files. Raises OSError; FileNotFoundError where one does not exist."""
    try:
        _rename(folder, name, other_folder, other, _EXCHANGE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        _exchange_by_links(folder, name, other_folder, other)


def move(folder: int, name: str, other_folder: int, other: str) -> None:
    """Give the file of `name` another name. Raises OSError; FileExistsError where that is taken."""
    try:
        _rename(folder, name, other_folder, other, _NO_REPLACE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        # Killed in between, both names lead to one file: `settle` takes the first away.
        _link(folder, name, other_folder, other)
        retry_eintr(os.unlink, name, dir_fd=folder)


def settle(folder: int, name: str, other_folder: int, other: str) -> None:
    """Finish an `exchange` or `move` whose fall-back was killed half-way. Raises OSError."""
    aside = status(folder, name + ASIDE)
    first, second = status(folder, name), status(other_folder, other)
    if aside is not None:
        if first is None:
            retry_eintr(os.rename, name + ASIDE, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            retry_eintr(os.unlink, name + ASIDE, dir_fd=folder)
    elif first is not None and second is not None and os.path.samestat(first, second):
        retry_eintr(os.unlink, name, dir_fd=folder)


def is_flush_faster(count: int) -> bool:
    """Return whether so many files are better flushed by `flush_disk` than one by one. macOS has no such call."""
    return count > MANY and sys.platform == "linux" and _syncfs() is not None


def flush_disk(descriptor: int) -> None:
    """Make everything durable on the disk that a descriptor lies on. Raises OSError, as of Linux 5.8 also for lost writes."""
    call = _syncfs()
    if call is None or call(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _syncfs() -> Any:
    return _library_function("syncfs", c_int)


def _exchange_by_links(folder: int, name: str, other_folder: int, other: str) -> None:
    # The gap: whoever puts another file at `other` between these two calls (an editor that saves by renaming) has it
    # replaced, and `ASIDE` is what was there before. Writing into the open file is no gap: the link holds that file.
    _link(other_folder, other, folder, name + ASIDE)
    retry_eintr(os.rename, name, other, src_dir_fd=folder, dst_dir_fd=other_folder)
    retry_eintr(os.rename, name + ASIDE, name, src_dir_fd=folder, dst_dir_fd=folder)


def _link(folder: int, name: str, other_folder: int, other: str) -> None:
    retry_eintr(
        os.link, name, other, src_dir_fd=folder, dst_dir_fd=other_folder, follow_symlinks=False
    )


def _rename(folder: int, name: str, other_folder: int, other: str, flags: int) -> None:
    call = _library_function(_CALL, *_NAMES, c_uint)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    while call(folder, os.fsencode(name), other_folder, os.fsencode(other), flags) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number), name, None, other)


@lru_cache
def _library_function(name: str, *arguments: Any) -> Any:
    """Return a function of the C library; None in one without it (`renameat2`: glibc 2.28, `renameatx_np`: macOS 10.12)."""
    call = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is not None:
        call.argtypes, call.restype = arguments, c_int
    return call
