"""`python -m harness.crash_points.merges`: a merge that dies, is refused or is edited beside, at each operation.

Two small roots, every kind of change in them. A child forked from here makes the merge and is struck at its N-th operation, for
N = 1, 2, … until it passes; others take up what it left. What must hold: both roots as before, or both as after and the journal
says so; nothing of ours left lying; a file that a person wrote beside is where it was written, or is kept and named.
Prints for each fault or edit: points, merges applied, merges undone, promises broken. Exits 1 where one was.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from harness.crash_points.durable import Durable
from harness.crash_points.faults import DEADLY, HARMLESS, Fault, FaultName
from harness.crash_points.merge_worlds import (
    EDITS,
    HELD,
    PERSONS,
    Edit,
    World,
    after_of,
    make,
)
from harness.crash_points.tap import Tap

if TYPE_CHECKING:
    from pixirnb.testing.fakes.memory_trees import MemoryTrees

_MOST: Final = 2_000
_LIMIT_S: Final = 60
_CODES: Final = frozenset(
    {"merge_refused", "merge_disturbed", "merge_unfinished", "state_unusable"}
)


@dataclass(slots=True)
class Tally:
    """What came of one fault or edit at every point."""

    name: str
    points: int = 0
    applied: int = 0
    undone: int = 0
    struck: Counter[str] = field(default_factory=Counter)
    breaches: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class End:
    """How a child ended."""

    is_struck: bool
    operation: str
    said: str
    """`applied`, the code of a refusal, a traceback; empty where it died."""
    operations: int


class Drill:
    """Tries points, one at a time. Made in a process without threads."""

    def __init__(self, tap: Tap, place: Path) -> None:
        self._tap = tap
        self._place = place

    def struck(self, fault: Fault, second: Fault | None = None) -> tuple[End, list[str]]:
        """Strike the merge, the recovery too if asked, then recover, and judge."""
        world = self._world()
        end = self._child(world, fault, self._merge)
        breaches = _of_end(end, fault)
        if second is not None and end.said != "applied":
            again = self._child(world, second, self._recover, forgets=False)
            end = End(again.is_struck, again.operation, end.said, again.operations)
        recover = self._recover if fault.number % 2 else self._roll_back
        last = self._child(world, None, recover)
        if last.said != "recovered":
            breaches.append(f"the recovery said {last.said!r}")
        return end, breaches + self._judged(world, end.said)

    def edited(self, name: str, number: int) -> tuple[End, list[str]]:
        """Let a person do something just before the merge's operation of that number, and judge."""
        world = self._world()
        edit = EDITS[name]
        held = os.open(world.roots[0] / HELD, os.O_WRONLY | os.O_APPEND)

        def act() -> None:
            is_over = world.journal.exists() and b'"state":"done"' in world.journal.read_bytes()
            if is_over and edit.path == HELD:
                return  # who writes to a file that was replaced writes to no file
            if edit.act(world.roots[0] / edit.path, held):
                (world.path / "written").touch()

        try:
            end = self._child(world, None, self._merge, act, number)
        finally:
            os.close(held)
        breaches = []
        if end.said not in {"applied", "merge_disturbed", "merge_unsafe"}:
            breaches.append(f"it said {end.said!r}")
        self._child(world, None, self._recover)
        return end, breaches + _of_edit(world, edit, is_applied=end.said == "applied")

    def _world(self) -> World:
        from pixirnb.testing.fakes.memory_trees import MemoryTrees

        world = World(self._place / "world")
        shutil.rmtree(world.path, ignore_errors=True)
        world.journals.mkdir(parents=True)
        (world.path / "away").mkdir()
        for name in ("one", "two"):
            store = MemoryTrees(world.disk / name)
            make(store.root)
            world.stores.append(store)
            world.before.append(store.taken())
            world.after.append(after_of(store, world.before[-1]))
        return world

    def _child(
        self,
        world: World,
        fault: Fault | None,
        act: Callable[[World], str],
        edit: Callable[[], None] = lambda: None,
        number: int = 0,
        *,
        forgets: bool = True,
    ) -> End:
        note = world.path / "said"
        note.unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            self._be(world, fault, act, edit, number, forgets=forgets)
        _, status = os.waitpid(pid, 0)
        told: dict[str, Any] = json.loads(note.read_text()) if note.is_file() else {}
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
            told["said"] = f"ended by signal {os.WTERMSIG(status)}"
        struck = told.get("struck", [])
        count = told.get("operations", 0)
        is_struck = bool(struck) or (number > 0 and count >= number)
        return End(is_struck, struck[0] if struck else "", told.get("said", ""), count)

    def _be(
        self,
        world: World,
        fault: Fault | None,
        act: Callable[[World], str],
        edit: Callable[[], None],
        number: int,
        *,
        forgets: bool,
    ) -> None:
        try:
            signal.alarm(_LIMIT_S)
            os.environ["XDG_CONFIG_HOME"] = str(world.disk / "config")
            kept = world.path / "durable"
            is_known = kept.is_file() and not forgets
            durable = Durable(world.disk, kept.read_bytes() if is_known else None)

            def leave(tap: Tap) -> None:
                kept.write_bytes(durable.document())
                _note(world, tap, "")

            if number:
                self._tap.beside = lambda count: edit() if count == number else None
            self._tap.arm(world.disk, fault, durable, leave)
            said = act(world)
            self._tap.disarm()
            _note(world, self._tap, said)
        except BaseException:  # noqa: BLE001 - a child must never return into its parent's code
            _note(world, self._tap, traceback.format_exc())
        finally:
            os._exit(0)

    def _merge(self, world: World) -> str:
        from pixirnb.errors import PixirnbError
        from pixirnb.workspace.merge.apply import Part, apply, lock_roots

        each = zip(world.stores, world.before, world.after, strict=True)
        try:
            with lock_roots(world.roots):
                apply([Part(*one) for one in each], world.journal, {"run": "drill"})
        except PixirnbError as error:
            return error.code
        return "applied"

    def _recover(self, world: World) -> str:
        """Whoever comes next locks one of the roots."""
        from pixirnb.errors import PixirnbError
        from pixirnb.workspace.merge.apply import lock_roots

        try:
            for root in world.roots:
                with lock_roots([root]):
                    pass
        except PixirnbError as error:
            return error.code
        return "recovered"

    def _roll_back(self, world: World) -> str:
        """The run takes it back itself, with its store at hand."""
        from pixirnb.workspace.merge.apply import left_over, roll_back

        stores = dict(zip(world.roots, world.stores, strict=True))
        for left in left_over(world.journals):
            if edited := roll_back(left, lambda work: stores[work.root]):
                return f"edited by nobody: {edited}"
        return self._recover(world)

    def _judged(self, world: World, said: str) -> list[str]:
        from pixirnb.workspace.merge.apply import finish_merge, left_over

        left = left_over(world.journals)
        is_done = bool(left)
        wanted = world.after if is_done else world.before
        breaches = [
            f"{store.root.name} is neither: {_difference(store, tree)}"
            for store, tree in zip(world.stores, wanted, strict=True)
            if store.taken() != tree
        ]
        # Killed with the last word on the disk, it did not live to say so.
        is_honest = is_done == (said == "applied") or (is_done and not said)
        if any(one.state != "done" for one in left) or not is_honest:
            breaches.append(f"it said {said!r}, and left {left}")
        for one in left:
            finish_merge(one.journal)
        return breaches + _litter(world)


def _of_end(end: End, fault: Fault) -> list[str]:
    if fault.name in HARMLESS and end.said != "applied":
        return [f"{fault.name} was not harmless: {end.said!r}"]
    if fault.name in DEADLY and not end.is_struck and end.said != "applied":
        return [f"nothing befell it, and it said {end.said!r}"]
    if end.said not in {"", "applied", *_CODES}:
        return [f"it said {end.said!r}"]
    return []


def _of_edit(world: World, edit: Edit, *, is_applied: bool) -> list[str]:
    """The person's file is theirs, all others are of one side."""
    root, away = world.roots[0], world.path / "away"
    breaches = []
    is_link = (root / "a").is_symlink()
    if is_link:
        there = sorted(path.name for path in away.rglob("*"))
        breaches += [f"written outside: {there}"] if there != ["mine"] else []
        (root / "a").unlink()
        (root / "a-moved").rename(root / "a")
    if edit.writes and (world.path / "written").exists():
        places = [root / edit.path, *root.glob(".pixirnb-kept-*/*")]
        found = [path.read_bytes() for path in places if path.is_file()]
        if not any(PERSONS in data for data in found):
            breaches.append(f"what a person wrote to {edit.path} is lost")
    for index, store in enumerate(world.stores):
        wanted = store.entries((world.after if is_applied else world.before)[index])
        now = store.entries(store.taken())
        spared = {path for path in now.keys() | wanted.keys() if is_link and path.startswith("a/")}
        spared |= set() if index else {edit.path}
        breaches += [
            f"{path} is neither: {now.get(path)}"
            for path in sorted(now.keys() | wanted.keys())
            if now.get(path) != wanted.get(path) and path not in spared
        ]
    return breaches


def _litter(world: World) -> list[str]:
    found = [str(path) for root in world.roots for path in root.glob(".pixirnb*")]
    found += [str(path) for path in world.journals.iterdir() if not path.name.startswith(".")]
    found += [str(path) for path in (world.disk / "config").rglob("*.json") if path.name[0] != "."]
    return [f"left lying: {found}"] if found else []


def _difference(store: MemoryTrees, tree: str) -> str:
    return "; ".join(change.path for change in store.diff(tree, store.taken()))


def _note(world: World, tap: Tap, said: str) -> None:
    told = {"said": said, "struck": tap.struck, "operations": len(tap.journal)}
    (world.path / "said").write_text(json.dumps(told))


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser("merges", description=__doc__)
    parser.add_argument("--faults", nargs="*", choices=get_args(FaultName), default=None)
    parser.add_argument("--edits", nargs="*", choices=list(EDITS), default=None)
    parser.add_argument("--doubles", type=int, default=0, help="every so-manieth pair (none)")
    parser.add_argument("--stride", type=int, default=1, help="every so-manieth operation (1)")
    parser.add_argument("--place", help="a folder for the worlds, on the disk to be tried")
    parser.add_argument(
        "--links", action="store_true", help="as on a file system that cannot trade two names"
    )
    given = parser.parse_args(arguments)
    tap = Tap()
    tap.has_exchange = not given.links
    tap.install()  # before what is tried is imported, so that a name bound at import is tapped too
    faults: list[FaultName] = list(get_args(FaultName)) if given.faults is None else given.faults
    edits = list(EDITS) if given.edits is None else given.edits
    with tempfile.TemporaryDirectory(prefix="pixirnb-merges-", dir=given.place) as folder:
        drill = Drill(tap, Path(folder).resolve())
        tallies = [_swept(drill, fault, given.stride) for fault in faults]
        tallies += [_swept_edits(drill, edit, given.stride) for edit in edits]
        tallies += [_doubled(drill, given.doubles)] if given.doubles else []
    for tally in tallies:
        line = f"{tally.name:<16}{tally.points:>6}{tally.applied:>6}{tally.undone:>6}{len(tally.breaches):>6}"
        sys.stdout.write(line + "\n" + "".join(f"    {said}\n" for said in tally.breaches))
    return int(any(tally.breaches or not tally.points for tally in tallies))


def _swept(drill: Drill, name: FaultName, stride: int) -> Tally:
    tally = Tally(name)
    for number in range(1, _MOST, stride):
        end, breaches = drill.struck(Fault(name, number))
        if not _counted(tally, f"{name}/{number}", end, breaches):
            return tally
    raise RuntimeError(f"{name} never passes")


def _swept_edits(drill: Drill, name: str, stride: int) -> Tally:
    tally = Tally(name)
    for number in range(1, _MOST, stride):
        end, breaches = drill.edited(name, number)
        if not _counted(tally, f"{name}/{number}", end, breaches):
            return tally
    raise RuntimeError(f"{name} never passes")


def _doubled(drill: Drill, stride: int) -> Tally:
    """Killed, and the recovery killed too, or the power lost in it: what neither had synced is gone."""
    killed: FaultName
    again: FaultName
    tally = Tally("double")
    for first in range(1, _MOST, stride):
        end = None
        for second in range(1, _MOST, stride):
            killed, again = (
                ("die-after", "lose-tail") if second % 2 else ("die-before", "die-before")
            )
            end, breaches = drill.struck(Fault(killed, first), Fault(again, second))
            if not _counted(tally, f"double/{first}/{second}", end, breaches):
                break
        if end is None or end.said == "applied":
            return tally
    raise RuntimeError("the doubles never pass")


def _counted(tally: Tally, name: str, end: End, breaches: list[str]) -> bool:
    """Whether the point was reached."""
    tally.breaches += [f"{name} ({end.operation}): {said}" for said in breaches]
    if end.is_struck:
        tally.points += 1
        tally.applied += end.said == "applied"
        tally.undone += end.said != "applied"
        tally.struck[end.operation.partition(" ")[0]] += 1
    return end.is_struck


if __name__ == "__main__":
    sys.exit(main())
