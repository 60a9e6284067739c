"""One trial: a run on a real cluster, what fails meanwhile, and what is true at its end.

The effects are the witness: every attempt writes a line when it begins and one when it has come to its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import psutil

from harness.auditor.audit import audit
from harness.cluster_trials.machines import Machines
from harness.cluster_trials.waiting import until
from pixirnb import api
from pixirnb.runners.processes.process_tree import TAG

FAILINGS: Final = (
    "kill worker near", "kill worker far", "kill nanny far", "kill scheduler", "kill driver",
    "freeze", "cut", "cut for long", "nothing",
)  # fmt: skip
_RESUMES: Final = 12
_COURSE_S: Final = 240.0

_EFFECT: Final = "echo $PIXIRNB_STEP_ID $PIXIRNB_ATTEMPT {what} >> {place}/effects"
_MODULE: Final = """
import os, time

def work(place, seconds):
    for what in ("begin", "end"):
        with open(f"{place}/effects", "a") as effects:
            print(os.environ["PIXIRNB_STEP_ID"], os.environ["PIXIRNB_ATTEMPT"], what, file=effects)
        if what == "begin":
            time.sleep(seconds)
    return "x" * 300_000
"""


@dataclass(slots=True)
class Verdict:
    """What came of a trial."""

    seed: int
    failed: list[str] = field(default_factory=list)
    """What was killed, frozen or cut off while the run went on, in order."""
    courses: int = 0
    attempts: int = 0
    breaches: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)


def workflow(place: Path, random: Random) -> dict[str, Any]:
    """Items as commands in the workspace and in copies, and a step that needs them all."""
    begin, end = (_EFFECT.format(what=what, place=place) for what in ("begin", "end"))
    lasts = [round(random.choice([0.0, 0.3, 1.0, 3.0]), 1) for _ in range(10)]
    retry = {"max_attempts": 4, "delay": "0s"}
    each: dict[str, Any] = {
        "run": f"{begin}; sleep {{{{ item }}}}; {end}",
        "for_each": {"items": lasts, "key": "{{ index }}"},
        "placement": "cluster",
        "retry": retry,
    }
    copied = {
        **each,
        "id": "copied",
        "for_each": {"items": lasts[:3], "key": "{{ index }}"},
        "workspace": "isolated",
        "write_set": ["made-*"],
        "run": f"{begin}; echo made > made-{{{{ index }}}}; sleep {{{{ item }}}}; {end}",
    }
    called = {
        "id": "called",
        "call": "trial_steps:work",
        "with": {"place": str(place), "seconds": "{{ item }}"},
        "for_each": {"items": lasts[3:7], "key": "{{ index }}"},
        "placement": "cluster",
        "process": True,
        "retry": retry,
    }
    last = {"id": "last", "run": f"{begin}; {end}", "depends_on": ["shared", "copied", "called"]}
    return {
        "name": "trial",
        "max_concurrency": 6,
        "undeclared_writers": "allow",
        "steps": [{**each, "id": "shared"}, copied, called, last],
    }


class Trial:
    """A seed's trial in a folder."""

    def __init__(self, seed: int, place: Path) -> None:
        self._random = Random(f"trial/{seed}")
        self._workspace = place / "project"
        self._workspace.mkdir()
        self._machines = Machines(place, seed)
        self.verdict = Verdict(seed)
        self._repairs: list[tuple[float, Callable[[], object]]] = []
        self._needs_cluster = False

    def run(self) -> Verdict:
        """Live through it and judge."""
        spec = workflow(self._workspace, self._random)
        (self._workspace / "trial.json").write_text(json.dumps(spec))
        (self._workspace / "trial_steps.py").write_text(_MODULE)
        plan = self._failures()
        try:
            self._machines.start()
            outcome = self._to_the_end(plan)
            self.judge(outcome)
        finally:
            for _, repair in self._repairs:
                repair()
            self._machines.close()
        return self.verdict

    def _failures(self) -> list[tuple[float, str]]:
        """Seconds after the first effect, and what fails then."""
        count = self._random.choice([1, 1, 2, 3])
        return sorted(
            (self._random.uniform(0.0, 8.0), self._random.choice(FAILINGS)) for _ in range(count)
        )

    def _to_the_end(self, plan: list[tuple[float, str]]) -> dict[str, Any] | None:
        """Run, and resume as often as it takes; the failures come in the first course, and what is left of them in the next."""
        run_id, outcome = "", dict[str, Any]()
        for number in range(_RESUMES):
            self.verdict.courses += 1
            words = ["resume", run_id] if run_id else ["run", "trial.json"]
            outcome = self._course([*words, "--cluster", self._machines.address, "--json"], plan)
            runs = self._workspace / ".pixirnb" / "runs"
            known = sorted(path.name for path in runs.glob("r-*")) if runs.is_dir() else []
            run_id = known[-1] if known else ""
            self.verdict.ends[str(outcome.get("status") or outcome.get("code"))] += 1
            if outcome.get("status") == "completed":
                return outcome
            if self._needs_cluster:
                self._machines.end()
                self._machines.start()
                self._needs_cluster = False
            time.sleep(min(5.0, 1.0 + number))
        self.verdict.breaches.append(f"lost: not completed after {_RESUMES} courses: {outcome}")
        return None

    def _course(self, words: list[str], plan: list[tuple[float, str]]) -> dict[str, Any]:
        driver = subprocess.Popen(
            [sys.executable, "-m", "pixirnb", *words],
            cwd=self._workspace,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        effects = self._workspace / "effects"
        until(lambda: effects.exists() or driver.poll() is not None, 60)
        began = time.monotonic()
        while driver.poll() is None:
            now = time.monotonic()
            while plan and now - began >= plan[0][0]:
                self._fail(plan.pop(0)[1], driver)
            for due, repair in [each for each in self._repairs if each[0] <= now]:
                repair()
                self._repairs.remove((due, repair))
            if now - began > _COURSE_S:
                self.verdict.breaches.append(f"hung: {' '.join(words)} after {_COURSE_S:.0f} s")
                driver.kill()
            time.sleep(0.02)
        out, err = driver.communicate()
        try:
            document: dict[str, Any] = json.loads(out)
        except ValueError:
            if driver.returncode >= 0:
                said = f"{out.decode()[-300:]} {err.decode()[-600:]}"
                self.verdict.breaches.append(f"dishonest: exit {driver.returncode}, and {said}")
            return {"code": f"driver ended by {driver.returncode}"}
        return document.get("error", document) if "status" not in document else document

    def _fail(self, what: str, driver: subprocess.Popen[bytes]) -> None:
        now = time.monotonic()
        self.verdict.failed.append(what)
        match what.partition(" ")[0]:
            case "kill" if what.endswith("driver"):
                driver.kill()
            case "kill":
                self._machines.kill(what.removeprefix("kill "))
                self._needs_cluster |= what.endswith(("scheduler", "nanny far"))
            case "freeze":
                seconds = self._random.choice([5.0, 12.0, 30.0])
                thaw = self._machines.freeze(f"worker {self._random.choice(['near', 'far'])}")
                self._repairs.append((now + seconds, thaw))
            case "cut":
                seconds = self._random.uniform(35, 60) if "long" in what else self._random.uniform(1, 20)  # fmt: skip
                self._repairs.append((now + seconds, self._machines.cut()))
            case _:
                pass

    def judge(self, outcome: dict[str, Any] | None) -> None:
        """Compare what the effects show with what the run says. `outcome`: None where it did not complete."""
        lines = [line.split() for line in (self._workspace / "effects").read_text().splitlines()]
        begun = Counter((step, attempt) for step, attempt, what in lines if what == "begin")
        ended = {(step, attempt) for step, attempt, what in lines if what == "end"}
        self.verdict.attempts = sum(begun.values())
        for (step, attempt), times in begun.items():
            if times > 1:
                self._breach(f"begun twice: {step}.{attempt}, {times} times")
        [run_id] = [path.name for path in (self._workspace / ".pixirnb" / "runs").glob("r-*")]
        run = api.open_run(run_id, state=self._workspace / ".pixirnb")
        for own in run.outcome.steps:
            is_ready = own.kind != "for_each" and own.checkpoint_status == "checkpoint_ready"
            if is_ready and (own.step_id, str(own.attempt)) not in ended:
                self._breach(f"false ready: {own.step_id}.{own.attempt}")
        if outcome is not None:
            log = (Path(run.folder) / "log.jsonl").read_bytes()
            for breach in audit(log):
                self._breach(f"audit: {breach}")
        for process in self._survivors(run_id):
            self._breach(f"survivor: {process}")

    def _survivors(self, run_id: str) -> list[str]:
        """Processes of the run that go on some seconds after its end, on machines that can be reached again."""
        mark = f"{TAG}={run_id}/".encode()

        def marked() -> list[str]:
            found = []
            for process in psutil.process_iter():
                try:
                    environment = Path(f"/proc/{process.pid}/environ").read_bytes()
                    if mark in environment and process.status() != psutil.STATUS_ZOMBIE:
                        found.append(" ".join(process.cmdline())[:200])
                except (OSError, psutil.NoSuchProcess):
                    continue
            return found

        until(lambda: not marked(), 40)
        return marked()

    def _breach(self, sentence: str) -> None:
        self.verdict.breaches.append(sentence)
