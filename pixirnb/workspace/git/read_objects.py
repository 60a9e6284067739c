"""Contents of a repository of ours, many of them by one git: a process for each costs more than the reading.

`git cat-file --batch` is asked for one content after the other, and answers `<digest> <kind> <size>`, the bytes, a line's end.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pixirnb.workspace.git.command import Git, unusable
from pixirnb.workspace.git.refs import missing

Write = Callable[[str, int], None]
"""Function that writes the bytes of a content, by digest, to a descriptor."""

_CHUNK = 1024 * 1024
_CALL = "cat-file"


@contextmanager
def reading(git: Git, root: Path) -> Iterator[Write]:
    """Start one git for many contents, for one thread.

    The yielded function raises OSError where the descriptor does not take the bytes, and Cannot (`tree_missing`,
    `tree_store_unusable`) where git does not have them.
    """
    try:
        process = subprocess.Popen(
            ["git", *git.options, _CALL, "--batch"],
            cwd=git.folder,
            env=git.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=git.held,
        )
    except OSError as error:
        raise unusable(_CALL, error.strerror or str(error)) from error
    requests, answers = process.stdin, process.stdout
    assert requests is not None
    assert answers is not None

    def write(digest: str, descriptor: int) -> None:
        if not (digest.isascii() and digest.isalnum()):
            raise missing(digest, root)
        try:
            requests.write(f"{digest}\n".encode())
            requests.flush()
        except OSError as error:
            raise unusable(_CALL, "git exited before all objects were read") from error
        words = answers.readline().split()
        if len(words) != 3 or words[1] != b"blob":
            if words[1:] == [b"missing"] or len(words) == 3:
                raise missing(digest, root)
            raise unusable(_CALL, "git exited before all objects were read")
        _copy(answers, int(words[2]), descriptor)

    try:
        yield write
    finally:
        # What it was not asked for to the end nobody wants: a write that failed left the answer half read.
        with suppress(OSError):
            requests.close()
        answers.close()
        process.kill()
        process.wait()


def _copy(answers: IO[bytes], size: int, descriptor: int) -> None:
    while size:
        chunk = answers.read(min(size, _CHUNK))
        if not chunk:
            raise unusable(_CALL, "git exited before all objects were read")
        size -= len(chunk)
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    answers.read(1)
