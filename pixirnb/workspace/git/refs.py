"""Lifetime of trees: refs that keep trees, their release, and errors for lost trees.

A tree that was just made has no ref yet; its date keeps it from being pruned for a day.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.system.atomic_files import keep_names, sync_folder
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.errors import unusable
from pixirnb.workspace.git.command import Git, git_message
from pixirnb.workspace.git.store_folder import GitStore, disk_time_ns
from pixirnb.workspace.missing_trees import tree_missing

GRACE_S: Final = 24 * 3600
"""Seconds for which objects without a ref are kept."""

_PREFIX: Final = "refs/pixirnb"
_LONGEST: Final = 200
_DIGEST: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9-]")
_LOSS: Final = re.compile(
    r"unable to read|bad object|not a valid object|invalid object|not a tree|missing (?:blob|tree|object)"
    r"|could not (?:parse|read)|failed to (?:read|unpack) (?:tree|object)|unable to find|is corrupt",
)


def require(git: Git, digests: Sequence[str], kind: str, root: Path) -> None:
    """Raise Cannot (`tree_missing`) unless all of `digests` exist, and are of the kind."""
    for digest in digests:
        if _DIGEST.fullmatch(digest) is None:
            raise missing(digest, root)
    if not digests:
        return
    given = "".join(f"{digest}\n" for digest in digests).encode()
    output = git.run("cat-file", "--batch-check=%(objecttype)", given=given).out.decode()
    for digest, actual in zip(digests, output.splitlines(), strict=True):
        if actual != kind:
            raise missing(digest, root)


def has(git: Git, digest: str) -> bool:
    """Return whether an object exists."""
    return git.run("cat-file", "-e", digest, accepted=(0, 1, 128)).code == 0


def missing(digest: str, root: Path) -> Cannot:
    """Return the Cannot for an object that the store does not have."""
    return tree_missing(digest[:64], {"tree": digest[:64], "root": str(root)})


def tells_of_loss(error: Cannot) -> bool:
    """Return whether git failed for want of an object that a tree names."""
    return error.code == "tree_store_unusable" and _LOSS.search(git_message(error)) is not None


def renew(store: GitStore, tree: str) -> bool:
    """Renew the date of a tree: a tree that existed before, without a ref, would be pruned by its age.

    Return False where there is no need: it lies in a pack or is the user's own, which are not pruned, or it is not there.
    """
    try:
        os.utime(store.directory / "objects" / tree[:2] / tree[2:])
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unusable(store.folder, error) from error


def keep(store: GitStore, git: Git, name: str, trees: Sequence[str]) -> None:
    """Keep trees under a name, on disk before this returns. Trees kept under the name before stay."""
    prefix = _ref(name)
    given = "".join(f"update {prefix}/{tree}\0{tree}\0\0" for tree in dict.fromkeys(trees))
    if not given:
        return
    git.run("update-ref", "--stdin", "-z", given=given.encode())
    folder = store.directory / prefix
    try:
        while folder != store.directory:
            sync_folder(folder)
            folder = folder.parent
        keep_names(store.directory, 3)
    except OSError as error:
        raise unusable(folder, error) from error


def forget(store: GitStore, owner: str) -> None:
    """Release all trees kept under names that begin with `owner/`; prune where no other process is at work."""
    with store.shared() as held:
        git = store.git().holding(held)
        prefix = _ref(f"{owner}/")
        output = git.run("for-each-ref", "--format=%(refname)", prefix).out.decode()
        refs = [ref for ref in output.splitlines() if ref.startswith(prefix)]
        if not refs:
            return
        given = "".join(f"delete {ref}\0\0" for ref in refs)
        git.run("update-ref", "--stdin", "-z", given=given.encode())
    with store.alone() as alone:
        if alone is not None:
            _prune(store, alone)


def names_of(folder: Path, owner: str) -> Path:
    """Return the folder of the names that begin with `owner/`, in the store at `folder`."""
    return folder / "git" / _ref(f"{owner}/")


def _prune(store: GitStore, held: int) -> None:
    """Delete objects that have no ref and are a day old; objects in the root's index count as kept."""
    long_ago = disk_time_ns(held) // 10**9 - GRACE_S
    for path in store.indexes.iterdir():
        if path.name.startswith(("given-", "passing-", "place-")):
            _drop_old(path, long_ago - (0 if path.name.startswith("passing-") else 30 * GRACE_S))
    index = store.indexes / "root"
    heads: tuple[str, ...] = ()
    if index.exists():
        output = store.git(index=index).holding(held).run("write-tree", accepted=(0, 1, 128))
        if output.code == 0:
            heads = (output.out.decode().strip(),)
        else:
            retry_eintr(index.unlink, missing_ok=True)
    git = store.git().holding(held)
    # Not told to anybody: what cannot be pruned now costs room, and is tried again with the next run that goes.
    git.run("prune", f"--expire={long_ago}", "--", *heads, accepted=(0, 1, 128))


def _drop_old(path: Path, before: int) -> None:
    try:
        if path.stat().st_mtime < before:
            retry_eintr(path.unlink)
    except FileNotFoundError:
        return


def _ref(name: str) -> str:
    """Return `RUN/…` as a ref: two levels, of names that git accepts whatever is in them."""
    owner, _, rest = name.partition("/")
    return f"{_PREFIX}/{_escaped(owner)}/{_escaped(rest)}".rstrip("/") + ("" if rest else "/")


def _escaped(text: str) -> str:
    safe = _UNSAFE.sub(lambda match: b"_%02x" % match[0][0], os.fsencode(text)).decode()
    if len(safe) <= _LONGEST:
        return safe
    from hashlib import blake2b

    return safe[:_LONGEST] + "_" + blake2b(safe.encode(), digest_size=8).hexdigest()
