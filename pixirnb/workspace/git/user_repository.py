"""The user's repository of a root: whether there is one, its commit, and its ignore rules.

Read, never written: facts-agents.md measured the side effects of `status` and similar calls, hence only these calls. A folder
with a `.git` that git does not take for a repository is refused rather than taken for a plain folder: without its ignore rules
a snapshot would hold files that were not meant to be shared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import Struct

from pixirnb.errors import Cannot
from pixirnb.system.system_calls import open_plain
from pixirnb.workspace.git.command import Git, git_message

_LARGEST: Final = 1024 * 1024
"""Bytes of a file of ignore rules that are read."""
_KIND: Final = ("--is-inside-work-tree", "--show-object-format")
_FOLDERS: Final = ("--git-common-dir", "--show-toplevel")
_HEAD: Final = ("HEAD^{commit}", "HEAD:./")


class Repository(Struct, frozen=True):
    """The repository that a root lies in."""

    top: Path
    """The work tree."""
    common: Path
    """The git directory; the main one where the work tree is one of several."""
    object_format: str
    """`sha1` or `sha256`."""
    commit: str | None
    """HEAD; None where there is no commit, or HEAD names a missing one."""
    tree: str | None
    """The tree that HEAD holds below the root."""

    @property
    def is_partial(self) -> bool:
        """Return whether it holds only some of its objects and would fetch the others."""
        packs = self.common / "objects" / "pack"
        return packs.is_dir() and any(packs.glob("*.promisor"))


def find_repository(root: Path) -> Repository | None:
    """Return the repository whose work tree `root` lies in; None outside of any. Raises Cannot (`repository_broken`)."""
    if not any(_may_be(folder / ".git") for folder in (root, *root.parents)):
        return None
    git = Git.theirs(root)
    arguments = (*_KIND, "--path-format=absolute", *_FOLDERS, *_HEAD)
    try:
        # All at once where nothing is unusual: calls are what a second snapshot costs.
        output = git.run("rev-parse", *arguments, accepted=(0, 128))
        lines = os.fsdecode(output.out).splitlines()
        if output.code == 0 and len(lines) == len(arguments) - 1 and lines[0] == "true":
            _, object_format, common, top, commit, tree = lines
            return Repository(Path(top), Path(common), object_format, commit, tree)
        output = git.run("rev-parse", *_KIND)
    except Cannot as error:
        if _is_no_repository(root, error):
            return None
        raise broken_error(root, error) from error
    return _query_in_turn(root, git, *output.out.decode().split())


def _query_in_turn(root: Path, git: Git, inside: str, object_format: str) -> Repository | None:
    """Return the repository by one query for each fact: for a HEAD without the root, and names with a line's end."""
    if inside != "true":
        return None
    try:
        common, top = (_line(git, "rev-parse", "--path-format=absolute", name) for name in _FOLDERS)
    except Cannot as error:
        raise broken_error(root, error) from error
    commit, tree = (_object(git, name) for name in _HEAD)
    return Repository(Path(top), Path(common), object_format, commit, tree)


def broken_error(root: Path, error: Cannot) -> Cannot:
    """Return the Cannot for a repository that git cannot read; `error` itself where it is not what git said."""
    if error.code != "tree_store_unusable":
        return replace(error)
    message = git_message(error)
    fix = "repair the repository (run `git status`), or write `workspace: shared`"
    if "dubious ownership" in message:
        fix = f"run `git config --global --add safe.directory {root}`"
    fatal = next((line for line in message.splitlines() if line.startswith("fatal:")), message)
    return Cannot(
        f"the git repository of {root} cannot be read: {fatal.removeprefix('fatal: ')[:300]}",
        fix=fix,
        code="repository_broken",
        details={"root": str(root), "said": message},
    )


def ignore_rules(root: Path, repository: Repository) -> bytes:
    """Return the rules that ignore files in `root` in addition to its own `.gitignore` files, as one such file; weaker rules
    first.

    From the user's excludes file, the repository's `info/exclude`, and the `.gitignore` files of the folders above. Of the
    latter, a rule with a path in it counts where it leads into the root by name.
    """
    parts = [_read(_excludes_file(root)), _read(repository.common / "info" / "exclude")]
    inner = root.relative_to(repository.top).parts
    for depth in range(len(inner)):
        text = _read(repository.top.joinpath(*inner[:depth], ".gitignore"))
        parts.append(b"\n".join(_moved(text, [os.fsencode(name) for name in inner[depth:]])))
    return b"".join(part if part.endswith(b"\n") else part + b"\n" for part in parts if part)


def identity(root: Path) -> dict[str, str]:
    """Return `user.name` and `user.email` as the user's git has them for `root`; unset ones are missing."""
    output = Git.theirs(root).run(
        "config", "-z", "--get-regexp", r"^user\.(name|email)$", accepted=(0, 1)
    )
    values = {}
    for entry in output.out.split(b"\0"):
        key, _, value = entry.decode("utf-8", errors="surrogateescape").partition("\n")
        if key and value.isprintable() and '"' not in value and "\\" not in value:
            values[key] = value
    return values


def _is_no_repository(root: Path, error: Cannot) -> bool:
    if "not a git repository" not in git_message(error):
        return False
    return not any(_looks_like_one(folder / ".git") for folder in (root, *root.parents))


def _may_be(entry: Path) -> bool:
    """Return whether there is such an entry, or only git can tell."""
    try:
        entry.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _looks_like_one(entry: Path) -> bool:
    return entry.is_file() or (entry / "objects").is_dir() or (entry / "HEAD").exists()


def _line(git: Git, *arguments: str) -> str:
    return os.fsdecode(git.run(*arguments).out.removesuffix(b"\n"))


def _object(git: Git, name: str) -> str | None:
    output = git.run("rev-parse", "--quiet", "--verify", name, accepted=(0, 1, 128))
    return output.out.decode().strip() if output.code == 0 else None


def _excludes_file(root: Path) -> Path:
    output = Git.theirs(root).run(
        "config", "--type=path", "--get", "core.excludesFile", accepted=(0, 1)
    )
    if output.code == 0:
        # A relative one is relative to wherever git is called.
        return root / os.fsdecode(output.out.removesuffix(b"\n"))
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - Path raises where there is no home
    return Path(home, "git", "ignore")


def _read(path: Path) -> bytes:
    try:
        with open_plain(path) as file:
            return file.read(_LARGEST)
    except OSError:
        return b""  # as git does: rules that are not there ignore nothing


def _moved(text: bytes, names: list[bytes]) -> Iterator[bytes]:
    """Yield the rules of a folder as they read `names` further down."""
    for line in text.split(b"\n"):
        rule = line.rstrip(b"\r")
        sign = b"!" if rule.startswith(b"!") else b""
        bare = rule[len(sign) :]
        if not bare.strip() or bare.startswith(b"#"):
            continue
        if b"/" not in bare.rstrip(b"/") or bare.startswith(b"**/"):
            yield rule
            continue
        parts = bare.lstrip(b"/").split(b"/")
        if len(parts) > len(names) and parts[: len(names)] == names:
            yield sign + b"/" + b"/".join(parts[len(names) :])
