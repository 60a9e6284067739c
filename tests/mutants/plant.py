"""Bugs planted one at a time in a copy of the package, and who catches each: a rule of the auditor, or a test.

    python tests/mutants/plant.py            plants every bug of *.yaml, prints who caught it; exit code 1 where one got away
    python tests/mutants/plant.py ID …       only these
        --seeds N       seeds to look through, at most, for each (300)
        --breaching N   stop at so many seeds that broke something (4), its rule among what they broke
        --jobs N        processes (one for each core)
    python tests/mutants/plant.py --table    writes the mutant column of docs/internals/auditor.md

A bug is caught when its rule is among those that breached. One that stands `alone` must be caught by no other rule of the
auditor, in any seed. What the simulator sees by itself (a course that does not end, a loop that breaks) has to be expected too.
What no simulation holds (processes, locks, terminals, agents of other makers) names the test that must fail instead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import yaml

HERE: Final = Path(__file__).resolve().parent
CHECKOUT: Final = HERE.parents[1]
PACKAGE: Final = CHECKOUT / "pixirnb"
PAGE: Final = CHECKOUT / "docs/internals/auditor.md"
TEST_LIMIT_S: Final = 300
"""How long a test may take to fail: a bug may also make it hang, which its own time limit notices sooner."""
_ROW: Final = re.compile(r"(?m)^\| `(\w+)` \| (.+) \| (\w+) \| ?(.*?) ?\|$")


@dataclass(frozen=True, slots=True)
class Bug:
    """One text of one file, and what a colleague might have written in its place."""

    id: str
    says: str
    """What it does, in a sentence."""
    file: str
    """Relative to the package."""
    old: str
    """Occurs exactly once there."""
    new: str
    rule: str = ""
    """Which rule must catch it in simulation; empty where a test does."""
    test: str = ""
    """The test that must fail, as pytest names it; empty where a rule catches it."""
    alone: bool = False
    """No other rule of the auditor catches it."""
    also: tuple[str, ...] = ()
    """What else may see it: the simulator itself, or other rules where it does not stand alone."""

    @property
    def catcher(self) -> str:
        """Who must catch it."""
        return self.rule or self.test


@dataclass(frozen=True, slots=True)
class Catch:
    """Who caught a bug, and when."""

    bug: Bug
    rules: tuple[str, ...]
    """All that breached, most often first; or the test that failed."""
    first: int | None
    """The seed that caught it first."""
    seeds: int
    """How many seeds broke something."""
    words: str = ""
    """What the hunt said of itself, if it could not go on."""

    @property
    def wrong(self) -> str | None:
        """Why this is not as it should be; None where it is."""
        if not self.rules:
            return "nobody caught it" + (f": {self.words}" if self.words else "")
        if self.bug.catcher not in self.rules:
            return f"`{self.bug.catcher}` did not catch it"
        others = set(self.rules) - {self.bug.rule, *self.bug.also}
        if others and self.bug.alone:
            return f"it is not alone: {', '.join(sorted(others))}"
        return None


def bugs() -> list[Bug]:
    """All of the files here, each in its order."""
    files = [
        yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(HERE.glob("*.yaml"))
    ]
    return [Bug(**{**each, "also": tuple(each.get("also", ()))}) for file in files for each in file]


def _env(folder: str) -> dict[str, str]:
    """The environment in which the package is the copy in `folder`, and all else is this checkout."""
    path = os.pathsep.join((folder, str(CHECKOUT)))
    # Safe: a program that a test starts with `python -c` must not find the checkout, where it stands, before the copy.
    safe = {"PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, "PYTHONPATH": path, **safe}


def planted(bug: Bug, folder: Path) -> None:
    """Copy the package into `folder` with the bug in it. Raises ValueError where its text is not there exactly once."""
    shutil.copytree(PACKAGE, folder / "pixirnb", ignore=shutil.ignore_patterns("__pycache__"))
    place = folder / "pixirnb" / bug.file
    text = place.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.id}: its text occurs {text.count(bug.old)} times in {bug.file}")
    place.write_text(text.replace(bug.old, bug.new), encoding="utf-8")


def hunted(bug: Bug, *, seeds: int = 300, breaching: int = 4, start: int = 0) -> Catch:
    """Simulate a copy with the bug in it until so many seeds broke something, or no seed is left."""
    found: list[tuple[int, list[str]]] = []
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        planted(bug, Path(name))
        words = Path(name) / "stderr"
        with words.open("wb") as errors:
            hunter = subprocess.Popen(
                [sys.executable, str(HERE / "hunter.py"), str(start), str(start + seeds)],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=name,
                env=_env(name),
            )
            with hunter:
                assert hunter.stdout is not None
                for line in hunter.stdout:
                    seed, rules = json.loads(line)
                    found.append((seed, rules))
                    is_seen = any(bug.rule in broken for _, broken in found)
                    if len(found) >= breaching and is_seen:
                        hunter.kill()
                        break
        said = words.read_text(encoding="utf-8", errors="replace").strip()
    often: dict[str, int] = {}
    for _, rules in found:
        for rule in rules:
            often[rule] = often.get(rule, 0) + 1
    ranked = tuple(sorted(often, key=lambda rule: (-often[rule], rule)))
    first = found[0][0] if found else None
    return Catch(bug, ranked, first, len(found), said.splitlines()[-1] if said else "")


def tried(bug: Bug) -> Catch:
    """Run the bug's test on a copy with the bug in it. Only a test that fails has caught it: one that cannot be run has not."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        planted(bug, Path(name))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            *("-m", ""),  # a variant that `make sweeps` tries may be the one that must fail
            "-o",
            f"pythonpath={name} {CHECKOUT}",
            bug.test,
        ]
        try:
            ended = subprocess.run(
                command,
                capture_output=True,
                text=True,
                cwd=CHECKOUT,
                env=_env(name),
                timeout=TEST_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Catch(bug, (), None, 0, f"no end within {TEST_LIMIT_S} s")
    has_failed = ended.returncode == pytest.ExitCode.TESTS_FAILED
    words = (ended.stdout + ended.stderr).strip().splitlines()
    return Catch(bug, (bug.test,) if has_failed else (), None, 0, words[-1] if words else "")


def row(catch: Catch) -> str:
    """A line of the report."""
    bug, seed = catch.bug, "-" if catch.first is None else str(catch.first)
    verdict = f"  !! {catch.wrong}" if catch.wrong else ""
    if bug.test:
        return f"{bug.id:<32} {bug.file:<22} {bug.test}{verdict}"
    return (
        f"{bug.id:<32} {bug.file:<22} {bug.rule:<22} seed {seed:>4} {catch.seeds:>3}x  "
        f"{' '.join(catch.rules)}{verdict}"
    )


def report(chosen: Sequence[Bug], *, seeds: int, breaching: int, jobs: int) -> Iterator[Catch]:
    """Hunt them all, `jobs` at a time, in order."""

    def caught(bug: Bug) -> Catch:
        return tried(bug) if bug.test else hunted(bug, seeds=seeds, breaching=breaching)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(caught, chosen)


def page(text: str, known: Sequence[Bug]) -> str:
    """The text of the reference with its mutant column told from the bugs."""
    told: dict[str, str] = {}
    for bug in known:
        if bug.alone:
            told.setdefault(bug.rule, bug.says)

    def written(found: re.Match[str]) -> str:
        name, sentence, section, _ = found.groups()
        return f"| `{name}` | {sentence} | {section} | {told.get(name, '')} |"

    head, mark, rules = text.partition("## Rules")
    return head + mark + _ROW.sub(written, rules)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="plant.py")
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--breaching", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--table", action="store_true")
    said = parser.parse_args(arguments)
    known = bugs()
    if said.table:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), known), encoding="utf-8")
        return 0
    unknown = set(said.ids) - {bug.id for bug in known}
    if unknown:
        print(f"no such bug: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = [bug for bug in known if not said.ids or bug.id in said.ids]
    caught = 0
    for catch in report(chosen, seeds=said.seeds, breaching=said.breaching, jobs=said.jobs):
        print(row(catch), flush=True)
        caught += catch.wrong is None
    print(f"{len(chosen)} planted, {caught} caught")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
