"""Working copies of trees: files, an index that agrees with them, and a small repository.

A step may do anything to that repository: its refs and its index lie in the folder, only objects are borrowed. Made by hand
rather than by `git worktree`, which writes into the repository it belongs to, or by `git clone`, which copies the user's refs
and templates.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.git.command import AS_IT_IS, Git
from pixirnb.workspace.git.store_folder import ATTRIBUTES, GitStore

BRANCH: Final = "pixirnb"

_CONFIG: Final = """[core]
	repositoryFormatVersion = {version}
	bare = false
	fileMode = true
	symlinks = true
	ignoreCase = false
	precomposeUnicode = false
	autocrlf = false
	safecrlf = false
	hooksPath = /dev/null
	fsmonitor = false
[gc]
	auto = 0
[maintenance]
	auto = false
[user]
	name = "{name}"
	email = "{email}"
"""
_FORMAT: Final = "[extensions]\n\tobjectFormat = sha256\n"


def lay_out(git: Git, tree: str) -> None:
    """Write every file of `tree` into the work tree of `git`, and into its index with the status of each on disk."""
    git.run("read-tree", tree)
    # What a step works on gets what the user's mask leaves, as any program's files; the index beside it is ours.
    replace(git, umask=AS_IT_IS).run("checkout-index", "--all", "--quiet", "--index")
    Path(git.environment["GIT_INDEX_FILE"]).chmod(0o600)


def make_repository(
    store: GitStore,
    folder: Path,
    tree: str,
    *,
    index: Path,
    parent: str | None,
    shallow: bytes,
    user: dict[str, str],
) -> None:
    """Make the `.git` of a folder that holds `tree`: one commit on `parent`, on a branch of its own. Raises OSError, Cannot.

    `index` is that of `lay_out`; `shallow` are the commits whose parents are not there, as git lists them.
    """
    directory = folder / ".git"
    for part in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        retry_eintr((directory / part).mkdir, parents=True)
    is_old = len(tree) == 40
    config = _CONFIG.format(
        version=0 if is_old else 1,
        name=user.get("user.name") or "pixirnb",
        email=user.get("user.email") or "pixirnb@localhost",
    )
    objects = store.directory.resolve() / "objects"
    for name, data in (
        ("HEAD", f"ref: refs/heads/{BRANCH}\n".encode()),
        ("config", (config + ("" if is_old else _FORMAT)).encode(errors="surrogateescape")),
        ("info/attributes", ATTRIBUTES),
        ("info/exclude", store.exclude.read_bytes() if store.exclude.exists() else b""),
        ("objects/info/alternates", os.fsencode(objects) + b"\n"),
    ):
        (directory / name).write_bytes(data)
    if shallow:
        (directory / "shallow").write_bytes(shallow)
    words = ("-p", parent) if parent is not None else ()
    message = "the files at the start of this step"
    own = Git.ours(directory)
    commit = own.run("commit-tree", *words, "-m", message, tree).out.decode().strip()
    (directory / "refs" / "heads" / BRANCH).write_text(f"{commit}\n")
    # With its dates: a copy that looks younger would make git trust files that changed in the same instant.
    shutil.copy2(index, directory / "index")
