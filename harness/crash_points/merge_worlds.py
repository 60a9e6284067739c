"""What a drilled merge works on: two small roots with every kind of change in them, and what a person may do beside."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pixirnb.testing.fakes.memory_trees import MemoryTrees

PERSONS: Final = b"a person wrote this\n"
HELD: Final = "a/held"
"""A file that a person holds open all the while, and writes to."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What a person does beside."""

    path: str
    """Of the file in the first root that is theirs from then on."""
    act: Callable[[Path, int], bool]
    """Handed the path and the descriptor of the file held open; False where it was too late for it."""
    writes: bool = True


EDITS: Final[dict[str, Edit]] = {
    "write": Edit("a/plain", lambda path, _: _write(path)),
    "save": Edit("a/plain", lambda path, _: _save(path)),
    "remove": Edit("a/plain", lambda path, _: _remove(path), writes=False),
    "write-leaving": Edit("gone/away/x", lambda path, _: _write(path)),
    "save-leaving": Edit("turns/folder/y", lambda path, _: _save(path)),
    "come-first": Edit("new/deep/z", lambda path, _: _save(path)),
    "folder-first": Edit("top/mine", lambda path, _: _save(path)),
    "link-away": Edit("a/plain", lambda path, _: _link_away(path), writes=False),
    "held-open": Edit(HELD, lambda _, descriptor: _append(descriptor)),
}


def make(root: Path) -> None:
    """What is there before."""
    for folder in ("a", "gone/away", "turns/folder"):
        (root / folder).mkdir(parents=True)
    for path in ("a/plain", "a/held", "a/program", "gone/away/x", "turns/folder/y", "turns/file"):
        (root / path).write_bytes(f"before {path}\n".encode() * 4)
    (root / "a/ünd b\nc").write_bytes(b"before odd\n")
    (root / "a/private").write_bytes(b"before private\n")
    (root / "a/private").chmod(0o600)
    (root / "a/link").symlink_to("nowhere")
    (root / "stays").write_bytes(b"nobody touches this\n")


def after_of(store: MemoryTrees, before: str) -> str:
    """What is to be there."""
    return store.edited(
        before,
        {
            "a/plain": store.file(b"after plain\n"),
            "a/held": store.file(b"after held\n"),
            "a/program": store.file(b"after program\n", "100755"),
            "a/private": store.file(b"after private\n"),
            "a/ünd b\nc": None,
            "a/link": store.file(b"../elsewhere", "120000"),
            "gone/away/x": None,
            "turns/folder/y": None,
            "turns/folder": store.file(b"a file now\n"),
            "turns/file": None,
            "turns/file/z": store.file(b"in a folder now\n"),
            "new/deep/z": store.file(b"new\n", "100755"),
            "top": store.file(b"new on top\n"),
        },
    )


@dataclass(slots=True)
class World:
    """The folders of one point."""

    path: Path
    stores: list[MemoryTrees] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @property
    def disk(self) -> Path:
        """What operations are counted in."""
        return self.path / "disk"

    @property
    def journals(self) -> Path:
        """The run's folder of journals."""
        return self.disk / "journals"

    @property
    def journal(self) -> Path:
        """The one of this merge."""
        return self.journals / "merge.json"

    @property
    def roots(self) -> list[Path]:
        """The two roots."""
        return [store.root for store in self.stores]


def _write(path: Path) -> bool:
    """In place, as some editors do; where nothing is there any more, anew."""
    if not path.parent.is_dir():
        return False
    path.write_bytes(PERSONS)
    return True


def _save(path: Path) -> bool:
    """Beside, then renamed, as other editors do."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    aside = path.with_name(".saving")
    aside.write_bytes(PERSONS)
    aside.replace(path)
    return True


def _remove(path: Path) -> bool:
    path.unlink(missing_ok=True)
    return True


def _link_away(path: Path) -> bool:
    away = path.parents[3] / "away"
    (away / "mine").write_bytes(PERSONS)
    path.parent.rename(path.parents[1] / "a-moved")
    path.parent.symlink_to(away)
    return True


def _append(descriptor: int) -> bool:
    os.write(descriptor, PERSONS)
    return True
