"""A run's picture for print and slides: DOT, laid out by Graphviz, as an SVG, PNG or PDF file.

The pictures of the notebook are our own and need nothing; this one needs the program `dot`. The file is written
completely or not at all, and replaces an earlier one, so that a cell can be run again.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.system.atomic_files import let_go
from pixirnb.views.basics.sanitize import line

RESOLUTION: Final[dict[str, int | None]] = {".svg": None, ".png": 200, ".pdf": None}
"""File formats by suffix, with their dots an inch, if any."""


def publish(target: str | Path, source: Callable[[int | None], str]) -> Path:
    """Write a picture into the file `target`; return its path.

    `source` makes the DOT text for a number of dots an inch.

    Raises InvalidArguments (`picture_format`), Cannot (`dot_missing`, `picture_failed`, `file_unwritable`).
    """
    path = Path(os.path.expanduser(target))  # noqa: PTH111 - Path raises where there is no such home
    suffix = path.suffix.lower()
    if suffix not in RESOLUTION:
        raise InvalidArguments(
            f"{path.name or path} does not say which picture to write.",
            fix="End its name in .svg, .png or .pdf.",
            code="picture_format",
            details={"path": str(path)},
        )
    _write(path, _drawn(source(RESOLUTION[suffix]), suffix[1:]))
    return path


def _drawn(source: str, form: str) -> bytes:
    import graphviz

    try:
        drawn: bytes = graphviz.pipe("dot", form, source.encode("utf-8", "replace"), quiet=True)
    except graphviz.ExecutableNotFound as error:
        raise Cannot(
            "Graphviz lays this picture out, and its program `dot` is not on PATH.",
            fix="Install it (apt install graphviz, brew install graphviz, conda install graphviz), "
            "or keep run.to_svg(), which needs nothing.",
            code="dot_missing",
        ) from error
    except graphviz.CalledProcessError as error:
        lines = (error.stderr or b"").decode("utf-8", "replace").strip().splitlines()
        raise _failed(
            f"it ended with {error.returncode}" + (f": {lines[-1]}" if lines else "")
        ) from error
    except OSError as error:
        raise _failed(error.strerror or str(error)) from error
    if not drawn:
        raise _failed("it drew nothing")
    return drawn


def _failed(message: str) -> Cannot:
    return Cannot(
        f"Graphviz could not draw the picture: {line(message, 300)}.",
        fix="Try `dot -V` in a terminal, or another suffix; run.to_svg() needs no Graphviz.",
        code="picture_failed",
    )


def _write(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        try:
            with aside.open("xb") as file:
                file.write(data)
            aside.replace(path)
        except BaseException:
            let_go(aside)
            raise
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise Cannot(
            f"{path} could not be written: {message}.",
            fix="Name a file in a folder that is there and can be written.",
            code="file_unwritable",
            details={"path": str(path)},
        ) from error
