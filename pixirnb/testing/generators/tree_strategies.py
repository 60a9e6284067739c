"""Small random trees of files and edits of them, as plain values, and a folder made to hold one.

A tree is a mapping `path -> (mode, content)`, as `pixirnb.protocols.trees` spells modes; the content of a link is where it
leads. Lines of drawn texts are unlike each other, so that it is never in doubt which line an edit is about.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, assert_never

from hypothesis import strategies as st

from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK

Tree = Mapping[str, tuple[str, bytes]]
"""Files by path: mode and content."""

NAMES: Final = (
    "a", "b.txt", "c", "sub", "with space", "ü", "e\u0301", "\udcff", "new\nline", "tab\t", "-dash", "quo\"te",
    "back\\slash", "$HOME", "#hash", ".hidden", "*", "[ab]", "trailing ", "repos.x:y", "A", "~", "%41",
)  # fmt: skip
"""Names a file or folder may have on Linux; macOS refuses the one that is no UTF-8 and folds two of them."""

NEVER_TREES: Final = frozenset([".git", ".pixirnb"])
"""Names that `read_back` ignores, at any depth."""

Act = Literal[
    "line", "append", "replace", "delete", "add", "mode", "folder", "file", "link", "rename"
]


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing done to one path. What cannot be done to a tree, such as deleting what is not there, is not done."""

    act: Act
    path: str
    content: bytes = b""
    """A line without its end for `line` and `append`; a whole content otherwise; where a link leads."""
    position: int = 0
    """Which line, counted round."""
    name: str = ""
    """`rename`: the new path; `folder`: the name of the file in it."""


def lay_out(tree: Tree, folder: Path) -> None:
    """Make `folder` hold exactly `tree`, in addition to any `.git`: files that are right already are not touched."""
    folder.mkdir(parents=True, exist_ok=True)
    there = read_back(folder)
    for path in there:
        if tree.get(path) != there[path]:
            (folder / path).unlink()
    _remove_empty(folder)
    for path, (mode, content) in tree.items():
        if there.get(path) != (mode, content):
            _write(folder / path, mode, content)


def _remove_empty(folder: Path) -> None:
    for inner in [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]:
        if inner.name not in NEVER_TREES:
            _remove_empty(inner)
            if not any(inner.iterdir()):
                inner.rmdir()


def _write(file: Path, mode: str, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if mode == LINK:
        file.symlink_to(os.fsdecode(content))
        return
    file.write_bytes(content)
    file.chmod(0o755 if mode == EXECUTABLE else 0o644)


def read_back(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Return every file and link below `folder`, but for what lies in `.git` and `.pixirnb`."""
    tree: dict[str, tuple[str, bytes]] = {}
    for at, folders, files in os.walk(folder):
        linked = [name for name in folders if Path(at, name).is_symlink()]
        folders[:] = [name for name in folders if name not in NEVER_TREES and name not in linked]
        for name in [*files, *linked]:
            if name in NEVER_TREES:
                continue
            path = Path(at, name)
            tree[path.relative_to(folder).as_posix()] = _read(path)
    return tree


def _read(path: Path) -> tuple[str, bytes]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return LINK, os.fsencode(os.readlink(path))  # noqa: PTH115 - a Path would take `./x` for `x`
    return (EXECUTABLE if mode & stat.S_IXUSR else FILE), path.read_bytes()


def remove(folder: Path) -> None:
    """Remove a folder whole, or do nothing where there is none."""
    shutil.rmtree(folder, ignore_errors=True)


def edited(tree: Tree, edits: Iterable[Edit]) -> dict[str, tuple[str, bytes]]:
    """Return `tree` after `edits`, one after the other."""
    after = dict(tree)
    for edit in edits:
        _edit(after, edit)
    return after


def _edit(tree: dict[str, tuple[str, bytes]], edit: Edit) -> None:
    path = edit.path
    there = tree.get(path)
    match edit.act:
        case "add":
            _put(tree, path, (FILE, edit.content))
        case "link":
            _put(tree, path, (LINK, edit.content))
        case "file":
            below = [other for other in tree if other.startswith(f"{path}/")]
            if below:
                for other in below:
                    del tree[other]
                tree[path] = (FILE, edit.content)
        case "folder" if there is not None:
            del tree[path]
            tree[f"{path}/{edit.name}"] = (FILE, edit.content)
        case "delete" if there is not None:
            del tree[path]
        case "rename" if there is not None:
            del tree[path]
            if not _put(tree, edit.name, there):
                tree[path] = there
        case "mode" if there is not None and there[0] != LINK:
            tree[path] = (FILE if there[0] == EXECUTABLE else EXECUTABLE, there[1])
        case "replace" if there is not None and there[0] != LINK:
            tree[path] = (there[0], edit.content)
        case "append" if there is not None and there[0] != LINK:
            tree[path] = (there[0], there[1] + edit.content + b"\n")
        case "line" if there is not None and there[0] != LINK and b"\n" in there[1]:
            lines = there[1].split(b"\n")
            lines[edit.position % (len(lines) - 1)] = edit.content
            tree[path] = (there[0], b"\n".join(lines))
        case "delete" | "folder" | "rename" | "mode" | "replace" | "append" | "line":
            pass  # there is nothing it could be done to
        case never:
            assert_never(never)


def _put(tree: dict[str, tuple[str, bytes]], path: str, value: tuple[str, bytes]) -> bool:
    """Put a file where no folder is and no file is above it; whether that was so."""
    parts = path.split("/")
    above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    if above & tree.keys() or any(other.startswith(f"{path}/") for other in tree):
        return False
    tree[path] = value
    return True


def paths(*, names: tuple[str, ...] = NAMES) -> st.SearchStrategy[str]:
    """Return a path of one to three names; few enough that paths meet."""
    joined = st.lists(st.sampled_from(names), min_size=1, max_size=3).map("/".join)
    # Git cannot apply its own patches of files that are empty or no text in a folder whose name ends in a blank.
    return joined.map(lambda path: path.replace(" /", "/"))


def texts() -> st.SearchStrategy[bytes]:
    """Return lines that are unlike each other; some end in CRLF, some texts without an end."""

    def text(count: int, salt: int, end: bytes, *, is_ended: bool) -> bytes:
        lines = [b"line %d of text %d" % (number, salt) for number in range(count)]
        return end.join(lines) + (end if is_ended and lines else b"")

    return st.builds(
        text,
        st.integers(0, 12),
        st.integers(0, 4),
        st.sampled_from([b"\n", b"\n", b"\r\n"]),
        is_ended=st.sampled_from([True, True, False]),
    )


def contents() -> st.SearchStrategy[bytes]:
    """Draw texts, and now and then bytes that are none."""
    return st.one_of(
        texts(), texts(), st.sampled_from([b"", b"\0", b"\0\xff\r\n\x80binary", bytes(range(256))])
    )


def links() -> st.SearchStrategy[bytes]:
    """Generate targets of a link: next to it, nowhere, out of the tree."""
    return st.sampled_from(
        [b"a", b"sub", b"./a", b"sub/", b"../a", b"nowhere", b"/dev/null", b"\xff", b"."]
    )


@st.composite
def trees(draw: st.DrawFn, *, most: int = 6, least: int = 0) -> dict[str, tuple[str, bytes]]:
    """Return a small tree."""
    tree: dict[str, tuple[str, bytes]] = {}
    for path in draw(st.lists(paths(), min_size=least, max_size=most, unique=True)):
        mode = draw(st.sampled_from([FILE, FILE, FILE, EXECUTABLE, LINK]))
        _put(tree, path, (mode, draw(links() if mode == LINK else contents())))
    return tree


@st.composite
def edits(draw: st.DrawFn, tree: Tree, *, most: int = 4, side: str = "") -> list[Edit]:
    """Draw edits of `tree`, most of them of what it holds. Lines that `side` names are written by no other side."""
    known = sorted(tree)
    above = sorted({path.rpartition("/")[0] for path in known} - {""})
    drawn = []
    for number in range(draw(st.integers(0, most))):
        act: Act = draw(
            st.sampled_from(
                ["line", "line", "line", "append", "replace", "delete", "add", "mode", "folder", "file",
                 "link", "rename"]
            )
        )  # fmt: skip
        here = st.sampled_from(known) if known else paths()
        if act == "file" and above:
            here = st.sampled_from(above)
        elif act in {"add", "link"}:
            here = paths()
        content = b"line %d of %s" % (number, side.encode() or b"an edit")
        if act in {"replace", "add", "folder", "file"}:
            content = draw(contents())
        elif act == "link":
            content = draw(links())
        drawn.append(
            Edit(
                act,
                draw(here),
                content,
                draw(st.integers(0, 12)),
                draw(st.sampled_from(NAMES) if act == "folder" else paths()),
            )
        )
    return drawn
