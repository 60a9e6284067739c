"""Small git repositories for tests, made as a user would make them, whatever this machine's own configuration says."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pixirnb.testing.generators.tree_strategies import Tree, lay_out

_IDENTITY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A User"), ("EMAIL", "user@example.org"))
}


def git(folder: Path, *arguments: str, given: bytes | None = None) -> str:
    """Run git in `folder`; return its output without the line's end. Raises CalledProcessError."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=plain | nothing | _IDENTITY,
        input=given,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode(errors="surrogateescape").rstrip("\n")


def make_repository(folder: Path, tree: Tree, *options: str) -> Path:
    """Make a repository whose one commit holds `tree`; `options` are those of `git init`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", *options)
    lay_out(tree, folder)
    commit(folder)
    return folder


def commit(folder: Path, message: str = "a commit") -> str:
    """Commit everything that is not ignored; the commit's id."""
    git(folder, "add", "--all", "--force", ":/")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def traces(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    """Return mode, size, time and content of all in a folder: a change shows that something was written.

    How many names a file has is not among it: a second one elsewhere changes nothing here.
    """
    traces_by_path = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        digest = hashlib.blake2b(content, digest_size=8).hexdigest()
        traces_by_path[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, digest)
    return traces_by_path


@contextmanager
def only_on_path(folder: Path) -> Iterator[None]:
    """Let programs, git among them, be found in `folder` alone."""
    before = os.environ["PATH"]
    os.environ["PATH"] = str(folder)
    try:
        yield
    finally:
        os.environ["PATH"] = before
