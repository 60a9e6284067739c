"""A store of trees in a process of its own, for tests of what two processes, or one that was killed, leave behind.

    python -m pixirnb.testing.tree_child MODULE:CLASS FOLDER ROOT ACT [ARGUMENT]…

ACT is `snapshot`, which prints the tree; `give TREE FOLDER`; `churn`, which says `ready` and then edits and captures the root
until it is killed; or `bereft`, a `snapshot` by a process that may read no more than modes allow, even where root started it.
What is refused is printed as its code and its message.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import Belonging, TreeStore

_DROP_RIGHT: Final = 24
_PASS_OVER_MODES: Final = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


def command(store: TreeStore, folder: Path, *act: str) -> list[str]:
    """Return the argv of a child with a store of the same kind, folder and root; its environment is `environment()`."""
    kind = f"{type(store).__module__}:{type(store).__qualname__}"
    return [sys.executable, "-m", __name__, kind, str(folder), str(store.root), *act]


def environment() -> dict[str, str]:
    """Return the environment of the child: it finds the modules that this process finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def run(store: TreeStore, folder: Path, *act: str) -> str:
    """Run the child and return its output. Raises CalledProcessError if it failed."""
    done = subprocess.run(
        command(store, folder, *act), env=environment(), check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def churn(store: TreeStore) -> None:
    """Edit the root and capture it, for ever."""
    for number in itertools.count():
        file = store.root / f"churned-{number % 7}"
        if number % 5 == 4:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(b"%d %d\n" % (os.getpid(), number) * 400)
        store.snapshot(Belonging())


def bereave(arguments: list[str]) -> None:
    """Become a process without root's rights to pass over modes, as are those that it starts.

    Linux; elsewhere the tests must not be run by root.
    """
    libc = ctypes.CDLL(None)
    for right in _PASS_OVER_MODES:
        libc.prctl(_DROP_RIGHT, right, 0, 0, 0)
    os.execv(sys.executable, [sys.executable, "-m", "pixirnb.testing.tree_child", *arguments])  # noqa: S606 - no shell is wanted


def main(arguments: list[str]) -> None:
    """Do what the arguments say."""
    kind, folder, root, act, *rest = arguments
    module, _, name = kind.partition(":")
    store: TreeStore = getattr(importlib.import_module(module), name)(Path(folder), Path(root))
    if act == "give":
        store.give(rest[0], Path(rest[1]))
    elif act == "churn":
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        churn(store)
    elif act == "bereft":
        bereave([kind, folder, root, "snapshot"])
    else:
        try:
            sys.stdout.write(store.snapshot(Belonging()) + "\n")
        except Cannot as refused:
            sys.stdout.write(f"{refused.code} {refused.message}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
