"""How long trees live: what is kept by refs, what is let go of, and what has been lost.

A tree that was just made is named by nothing yet; its date keeps it from being pruned until it is, a day later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.system.atomic_files import keep_names, sync_folder
from pixirnb.system.retry_interrupted import retry_eintr
from pixirnb.workspace.errors import unusable
from pixirnb.workspace.git.command import Git, said_by
from pixirnb.workspace.git.store_folder import GitStore, disk_time_ns
from pixirnb.workspace.missing_trees import tree_missing

GRACE_S: Final = 24 * 3600
"""Seconds for which what no name keeps is kept all the same."""

_PREFIX: Final = "refs/pixirnb"
_LONGEST: Final = 200
_DIGEST: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9-]")
_LOSS: Final = re.compile(
    r"unable to read|bad object|not a valid object|invalid object|not a tree|missing (?:blob|tree|object)"
    r"|could not (?:parse|read)|failed to (?:read|unpack) (?:tree|object)|unable to find|is corrupt",
)


def require(git: Git, digests: Sequence[str], kind: str, root: Path) -> None:
    """Raise Cannot (`tree_missing`) unless all of `digests` are there, and what they are said to be."""
    for digest in digests:
        if _DIGEST.fullmatch(digest) is None:
            raise missing(digest, root)
    if not digests:
        return
    given = "".join(f"{digest}\n" for digest in digests).encode()
    said = git.run("cat-file", "--batch-check=%(objecttype)", given=given).out.decode()
    for digest, found in zip(digests, said.splitlines(), strict=True):
        if found != kind:
            raise missing(digest, root)


def has(git: Git, digest: str) -> bool:
    """Whether an object is there."""
    return git.run("cat-file", "-e", digest, accepted=(0, 1, 128)).code == 0


def missing(digest: str, root: Path) -> Cannot:
    """The Cannot for what the store does not have."""
    return tree_missing(digest[:64], {"tree": digest[:64], "root": str(root)})


def tells_of_loss(error: Cannot) -> bool:
    """Whether git failed for want of an object that a tree names."""
    return error.code == "tree_store_unusable" and _LOSS.search(said_by(error)) is not None


def renew(store: GitStore, tree: str) -> bool:
    """Make a tree look just made: one that was there before, unnamed, would be as old as it is.

    False where there is no need: it lies in a pack or is the user's own, which are not pruned, or it is not there.
    """
    try:
        os.utime(store.directory / "objects" / tree[:2] / tree[2:])
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unusable(store.folder, error) from error


def keep(store: GitStore, git: Git, name: str, trees: Sequence[str]) -> None:
    """Keep trees under a name, on disk before this returns. What was kept under it before stays."""
    place = _ref(name)
    given = "".join(f"update {place}/{tree}\0{tree}\0\0" for tree in dict.fromkeys(trees))
    if not given:
        return
    git.run("update-ref", "--stdin", "-z", given=given.encode())
    folder = store.directory / place
    try:
        while folder != store.directory:
            sync_folder(folder)
            folder = folder.parent
        keep_names(store.directory, 3)
    except OSError as error:
        raise unusable(folder, error) from error


def forget(store: GitStore, owner: str) -> None:
    """Let go of everything kept under names that begin with `owner/`; prune where nobody else is at work."""
    with store.shared() as held:
        git = store.git().holding(held)
        place = _ref(f"{owner}/")
        said = git.run("for-each-ref", "--format=%(refname)", place).out.decode()
        refs = [ref for ref in said.splitlines() if ref.startswith(place)]
        if not refs:
            return
        given = "".join(f"delete {ref}\0\0" for ref in refs)
        git.run("update-ref", "--stdin", "-z", given=given.encode())
    with store.alone() as alone:
        if alone is not None:
            _prune(store, alone)


def names_of(folder: Path, owner: str) -> Path:
    """The folder of the names that begin with `owner/`, in the store at `folder`."""
    return folder / "git" / _ref(f"{owner}/")


def _prune(store: GitStore, held: int) -> None:
    """Delete what nothing names and is a day old; what the root's index remembers is named."""
    long_ago = disk_time_ns(held) // 10**9 - GRACE_S
    for path in store.indexes.iterdir():
        if path.name.startswith(("given-", "passing-", "place-")):
            _drop_old(path, long_ago - (0 if path.name.startswith("passing-") else 30 * GRACE_S))
    index = store.indexes / "root"
    heads: tuple[str, ...] = ()
    if index.exists():
        said = store.git(index=index).holding(held).run("write-tree", accepted=(0, 1, 128))
        if said.code == 0:
            heads = (said.out.decode().strip(),)
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
    """`RUN/…` as a ref: two levels, of names that git takes whatever is in them."""
    owner, _, rest = name.partition("/")
    return f"{_PREFIX}/{_escaped(owner)}/{_escaped(rest)}".rstrip("/") + ("" if rest else "/")


def _escaped(text: str) -> str:
    safe = _UNSAFE.sub(lambda found: b"_%02x" % found[0][0], os.fsencode(text)).decode()
    if len(safe) <= _LONGEST:
        return safe
    from hashlib import blake2b

    return safe[:_LONGEST] + "_" + blake2b(safe.encode(), digest_size=8).hexdigest()
