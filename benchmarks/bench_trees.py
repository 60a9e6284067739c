"""What isolation costs: the first and every later snapshot of a repository, and a step's files given to it.

The yardsticks are what people do by hand, taken in turns with ours on the same repository: `git worktree add` for a folder of
one's own, and `git add -A` for a look at everything that is there. Each round has a new store; the disk is let come to rest
before each measurement, for each of them writes as many files.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from figures import Promise, verdict

from pixirnb.protocols.trees import Belonging
from pixirnb.testing.repositories import git
from pixirnb.workspace.git.tree_store import GitTrees

FILES = 5000
BYTES = 20_000_000
ROUNDS = 5


def fill(root: Path, files: int = FILES, size: int = BYTES) -> None:
    """Lines of text in files of uneven sizes, a hundred to a folder."""
    draw = random.Random(6)
    for number in range(files):
        path = root / f"package{number // 700}" / f"part{number % 7}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        length = draw.randrange(size // files // 4, size // files * 7 // 4)
        line = f"value_{number} = {draw.random()}\n"
        path.write_text((line * (length // len(line) + 1))[:length] + f"# {draw.random()}\n")


def ms(act: Callable[[], Any]) -> float:
    """Milliseconds of one act, on a disk at rest."""
    os.sync()
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def isolation_cost(folder: Path, *, packed: bool, rounds: int = ROUNDS) -> dict[str, Any]:
    """Medians in milliseconds, and the ratios of each round's own pair, of one repository below `folder`."""
    root = folder / ("packed" if packed else "loose")
    fill(root)
    git(root, "init", "--quiet")
    git(root, "config", "gc.auto", "0")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "files")
    if packed:
        git(root, "gc", "--quiet")
    spans: dict[str, list[float]] = {
        name: [] for name in ("worktree", "add", "first", "again", "give", "capture")
    }
    for number in range(rounds):
        beside = folder / f"{root.name}-worktree-{number}"
        given = folder / f"{root.name}-given-{number}"
        store = GitTrees(folder / f"{root.name}-store-{number}", root)
        took = {
            "worktree": ms(lambda: git(root, "worktree", "add", "--detach", str(beside))),  # noqa: B023 - called at once
            "add": ms(lambda: git(beside, "add", "--all")),  # noqa: B023 - called at once
            "first": ms(lambda: store.snapshot(Belonging())),  # noqa: B023 - called at once
            "again": ms(lambda: store.snapshot(Belonging())),  # noqa: B023 - called at once
        }
        tree = store.snapshot(Belonging())
        took["give"] = ms(lambda: store.give(tree, given))  # noqa: B023 - called at once
        (given / "made.py").write_text("made = 1\n")
        took["capture"] = ms(lambda: store.capture(given, tree, Belonging()))  # noqa: B023 - called at once
        for name, span in took.items():
            spans[name].append(span)
        git(root, "worktree", "remove", "--force", str(beside))
        subprocess.run(["rm", "-rf", str(given)], check=True)
    pairs = list(zip(*spans.values(), strict=True))
    return {
        **{f"{name}_ms": median(found) for name, found in spans.items()},
        "first_ratio": median(first / (tree + add) for tree, add, first, *_ in pairs),
        "again_ratio": median(again / first for _, _, first, again, *_ in pairs),
        "give_ratio": median(give / tree for tree, _, _, _, give, _ in pairs),
    }


def main(arguments: list[str]) -> int:
    """Print the figures for the disk of the folder for temporary files."""
    kept = True
    with tempfile.TemporaryDirectory(prefix="pixirnb-bench-") as folder:
        for packed in (True, False):
            found = isolation_cost(Path(folder), packed=packed)
            print(
                f"{FILES} files, {BYTES // 1_000_000} MB, objects {'packed' if packed else 'loose'}: "
                f"worktree {found['worktree_ms']:.0f} ms, add -A {found['add_ms']:.0f} ms; "
                f"first {found['first_ms']:.0f} ms, again {found['again_ms']:.0f} ms, "
                f"given {found['give_ms']:.0f} ms, captured {found['capture_ms']:.0f} ms"
            )
            kept &= verdict(
                "  first snapshot / worktree add and add -A", found["first_ratio"], Promise(1.5)
            )
            kept &= verdict("  again / first", found["again_ratio"], Promise(0.2))
            kept &= verdict("  files given / worktree add", found["give_ratio"], Promise(1.5))
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
