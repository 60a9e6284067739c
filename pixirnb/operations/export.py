"""Export of a run as one file: a zip that opens elsewhere, a page to look at, or a picture that Graphviz draws."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.operations.run_summary import PlanCache, read_started, summarize
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.store.archive import pack, refuse_special, unwritable, write_file
from pixirnb.store.file_store import FileStore
from pixirnb.system.atomic_files import let_go
from pixirnb.views.basics.sanitize import line
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.exports import page
from pixirnb.views.run.housekeeping import ExportDocument

RESOLUTION: Final[dict[str, int | None]] = {".svg": None, ".png": 200, ".pdf": None}
"""File formats by suffix, with their dots an inch, if any."""


def export_run(
    store: FileStore, run_id: str, target: Path, *, is_page: bool = False, force: bool = False
) -> ExportDocument:
    """Write a run into one file, a zip of its folder or a page of its outcome: `{run_id, path, bytes, files}`.

    Raises UnknownRun, LogDamaged (a page of a log without a beginning), Cannot (`file_exists`, `file_unwritable`).
    """
    folder = store.folder(run_id)
    reading = read_started(store, run_id)
    if is_page:
        summary = summarize(run_id, reading, PlanCache())
        planned = report(summary.plan.workflow, Environment()).document()
        text = page(summary.outcome.document(), edges_of(summary.plan), planned)
        count = write_file(target, lambda file: file.write(text.encode()) and 1, force=force)
    else:
        count = pack(folder, target, force=force)
    size = target.stat().st_size
    return {"run_id": run_id, "path": str(target), "bytes": size, "files": count}


def publish(target: str | Path, source: Callable[[int | None], str]) -> Path:
    """Write a picture into the file `target`; return its path.

    `source` makes the DOT text for a number of dots an inch.

    Raises InvalidArguments (`picture_format`), Cannot (`dot_missing`, `picture_failed`, `file_unwritable`).
    """
    path = Path(os.path.expanduser(target))  # noqa: PTH111 - Path raises where there is no such home
    suffix = path.suffix.lower()
    if suffix not in RESOLUTION:
        raise InvalidArguments(
            f"{path.name or path}: unknown picture format",
            fix="use a name that ends in .svg, .png or .pdf",
            code="picture_format",
            details={"path": str(path)},
        )
    replace_file(path, _drawn(source(RESOLUTION[suffix]), suffix[1:]))
    return path


def _drawn(source: str, form: str) -> bytes:
    import graphviz

    try:
        drawn: bytes = graphviz.pipe("dot", form, source.encode("utf-8", "replace"), quiet=True)
    except graphviz.ExecutableNotFound as error:
        raise Cannot(
            "this picture needs Graphviz, and its program `dot` is not on PATH",
            fix="install it (apt install graphviz, brew install graphviz, conda install graphviz), "
            "or use run.to_svg(), which needs no Graphviz",
            code="dot_missing",
        ) from error
    except graphviz.CalledProcessError as error:
        lines = (error.stderr or b"").decode("utf-8", "replace").strip().splitlines()
        raise _failed(
            f"exit code {error.returncode}" + (f": {lines[-1]}" if lines else "")
        ) from error
    except OSError as error:
        raise _failed(error.strerror or str(error)) from error
    if not drawn:
        raise _failed("no output")
    return drawn


def _failed(message: str) -> Cannot:
    return Cannot(
        f"Graphviz could not draw the picture: {line(message, 300)}",
        fix="check `dot -V` in a terminal, use another suffix, or use run.to_svg(), which needs no Graphviz",
        code="picture_failed",
    )


def require_writable(path: Path) -> None:
    """Raise Cannot (`file_unwritable`) where a file cannot be written; leave nothing there."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        aside = _aside(_target(path))
        aside.touch(exist_ok=False)
        let_go(aside)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def _target(path: Path) -> Path:
    """Return the file that a path leads to. Raises OSError for a pipe or a device, whose place no file may take."""
    target = path.resolve()
    refuse_special(target)
    return target


def _aside(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(8)}{path.suffix}")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, in the place of an older one, whole or not at all. Raises Cannot (`file_unwritable`)."""
    try:
        target = _target(path)
        aside = _aside(target)
        try:
            with aside.open("xb") as file:
                file.write(data)
            aside.replace(target)
        except BaseException:
            let_go(aside)
            raise
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
