"""Several processes want one run while somebody removes, replaces and renames what says who has it.

Each step leaves a line whenever it does its work. Whatever happens to `lock` and `lease.json`: no work without an intent on
disk, one owner at most that completed the run, and a run that can be brought to its end.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import pixirnb
from harness.auditor.audit import audit
from pixirnb import api
from pixirnb.errors import LogDamaged
from pixirnb.operations.run import Run

ROOT = Path(pixirnb.__file__).parents[1]
VANDALISM_S = 4.0

RESUMER = """
import random, sys, time
from pixirnb import api
from pixirnb.errors import PixirnbError
chance = random.Random(sys.argv[2])
while True:
    try:
        run = api.resume(sys.argv[1], recover=True)
        if run.is_no_op:
            break
        print(run.wait().status, flush=True)
    except PixirnbError as error:
        print(error.code, flush=True)
    time.sleep(chance.uniform(0.0, 0.1))
"""

STEPS = [
    {
        "id": f"s{number}",
        "run": f"echo s{number} >> effects.txt; sleep 0.2",
        "depends_on": [f"s{number - 1}"] if number else [],
    }
    for number in range(6)
]


def vandalise(folder: Path, chance: random.Random) -> None:
    """Remove, replace or rename what says who has the run."""
    both = ["lock", "lease.json"]
    for name in chance.choice([both, both, both[:1], both[1:]]):
        path, aside = folder / name, folder / f"{name}.aside"
        try:
            match chance.choice(["remove", "replace", "rename", "bring back"]):
                case "remove":
                    path.unlink()
                case "replace":
                    path.unlink()
                    path.touch(mode=0o600)
                case "rename":
                    path.rename(aside)
                case _:
                    aside.rename(path)
        except FileNotFoundError:
            continue  # somebody was faster


def logs(folder: Path) -> list[bytes]:
    """The log, and what recoveries have kept aside."""
    return [path.read_bytes() for path in [folder / "log.jsonl", *folder.glob("log.*.broken")]]


def intents(folder: Path) -> Counter[str]:
    """How often each step was on disk as one that is to begin."""
    found: Counter[str] = Counter()
    for line in b"".join(logs(folder)).splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event["kind"] == "step_scheduled":
            found[event["data"]["step"]] += 1
    return found


def brought_to_its_end(run_id: str) -> Run:
    """The run, resumed once nobody is in its way."""
    try:
        run = api.resume(run_id)
    except LogDamaged:
        run = api.resume(run_id, recover=True)
    outcome = run.wait()
    assert outcome.status == "completed", outcome.summary
    return run


@pytest.mark.parametrize("seed", [1])
def test_owners_whose_locks_are_torn_from_them_do_nothing_twice_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    run = api.start({"name": "torn", "steps": STEPS})
    run.cancel()
    run.wait()
    chance = random.Random(seed)
    peers = [
        subprocess.Popen(
            [sys.executable, "-c", RESUMER, run.id, str(chance.random())],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        until = time.monotonic() + VANDALISM_S
        while time.monotonic() < until:
            vandalise(run.folder, chance)
            time.sleep(chance.uniform(0.05, 0.6))
        said = [peer.communicate(timeout=20)[0].split() for peer in peers]
    finally:
        for peer in peers:
            peer.kill()
            peer.wait()
    assert sum(words.count("completed") for words in said) <= 1, said
    assert not {"internal_error", "log_damaged"} & {word for words in said for word in words}, said
    ended = brought_to_its_end(run.id)
    assert ended.damage is None
    done, due = Counter(Path("effects.txt").read_text().split()), intents(run.folder)
    assert set(done) == {step["id"] for step in STEPS}
    assert all(done[step] <= due[step] for step in done), (done, due)
    outcome = api.open_run(run.id).outcome.document()
    assert audit((run.folder / "log.jsonl").read_bytes(), outcome=outcome) == []
