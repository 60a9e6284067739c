"""Many seeds, one after another: what they went through, how fast, and where a promise broke.

simulate(seeds)     a Tally of all of them, in this process
in_parallel(…)      Tallies of parts of them, each from a process of its own
judged(world)       one world lived through; a quiet one also beside the same world without faults
"""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, Final

from harness.auditor.breaches import Breach
from harness.simulator.life import Life, live
from harness.simulator.seeds import world as world_of_seed
from harness.simulator.world import World

RAISES: Final = "raises"
"""The rule of a failure that is an error of the simulator, or of what it calls."""
HANGS: Final = "hangs"
"""The rule of a world that comes to no end in real time."""
_LIMIT_S: Final = 120
"""Real seconds that a seed has; the longest take about five."""
_PART: Final = 20
"""Seeds that a process lives through before it says how it went."""


class _Hung(BaseException):
    """A seed has had its time. No `Exception`: what it interrupts is not to take it for one of its own."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed that broke promises."""

    seed: int
    breaches: tuple[Breach, ...]

    @property
    def rules(self) -> list[str]:
        """What was broken, each rule once, in order."""
        return list(dict.fromkeys(breach.rule for breach in self.breaches))

    def document(self) -> dict[str, Any]:
        """As JSON."""
        told = [
            {"rule": b.rule, "seq": b.seq, "step": b.step, "message": b.message}
            for b in self.breaches
        ]
        return {"seed": self.seed, "breaches": told}


@dataclass(slots=True)
class Tally:
    """What seeds went through."""

    seeds: int = 0
    courses: int = 0
    events: int = 0
    simulated_s: float = 0.0
    """Seconds on the clocks of all worlds."""
    real_s: float = 0.0
    """Seconds of one processor, by the wall."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often each thing that a world can hold occurred."""
    failures: list[Failure] = field(default_factory=list)

    @property
    def factor(self) -> float:
        """How many times faster than real time."""
        return self.simulated_s / self.real_s if self.real_s else 0.0

    def add(self, other: Tally) -> None:
        """Take another's seeds in."""
        self.seeds += other.seeds
        self.courses += other.courses
        self.events += other.events
        self.simulated_s += other.simulated_s
        self.real_s += other.real_s
        self.counts.update(other.counts)
        self.failures += other.failures

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "seeds": self.seeds,
            "courses": self.courses,
            "events": self.events,
            "simulated_s": round(self.simulated_s, 3),
            "real_s": round(self.real_s, 3),
            "factor": round(self.factor),
            "counts": dict(sorted(self.counts.items())),
            "failures": [failure.document() for failure in self.failures],
        }


def simulate(seeds: Iterable[int], *, until_breach: bool = False) -> Tally:
    """Live through every seed's world; with `until_breach`, up to the first that breaks a promise."""
    tally = Tally()
    for seed in seeds:
        began = time.perf_counter()
        life = judged(world_of_seed(seed))
        tally.real_s += time.perf_counter() - began
        tally.seeds += 1
        tally.courses += life.courses
        tally.events += life.events
        tally.simulated_s += life.simulated_s
        tally.counts.update(life.witness.counts)
        if life.breaches:
            tally.failures.append(Failure(seed, tuple(life.breaches)))
            if until_breach:
                break
    return tally


def in_parallel(seeds: Sequence[int], jobs: int) -> Iterator[Tally]:
    """Tallies of parts of the seeds, as they come in from `jobs` processes."""
    parts = [list(seeds[at : at + _PART]) for at in range(0, len(seeds), _PART)]
    # Fresh interpreters: a fork of a process with threads may inherit a lock nobody will ever open.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=jobs, mp_context=fresh) as pool:
        for done in as_completed([pool.submit(_one_by_one, part) for part in parts]):
            yield done.result()


def _one_by_one(seeds: Sequence[int]) -> Tally:
    """The tally of seeds; one that raises or hangs is a failure of its own, and says nothing of the others."""
    signal.signal(signal.SIGALRM, _interrupt)
    total = Tally()
    for seed in seeds:
        signal.alarm(_LIMIT_S)
        try:
            total.add(simulate([seed]))
        except _Hung as hung:
            total.add(_failed(seed, HANGS, _place(hung)))
        except Exception as error:  # noqa: BLE001 - whatever it is, its seed is told
            total.add(_failed(seed, RAISES, f"{type(error).__name__}: {error}"))
        finally:
            signal.alarm(0)
    return total


def _interrupt(*_: object) -> None:
    """The alarm of a seed."""
    raise _Hung


def _place(hung: _Hung) -> str:
    """Where a seed was when its time ended, innermost last."""
    frames = traceback.extract_tb(hung.__traceback__)[-7:-1]
    return " > ".join(f"{frame.name}:{frame.lineno}" for frame in frames)


def _failed(seed: int, rule: str, message: str) -> Tally:
    """The tally of a seed that came to no judgement."""
    return Tally(seeds=1, failures=[Failure(seed, (Breach(rule, None, None, message),))])


def judged(world: World) -> Life:
    """A world lived through. Where nobody interferes, faults must not change how it ends."""
    life = live(world)
    if not world.is_comparable or life.breaches:
        return life
    calm = live(world.calm())
    life.simulated_s += calm.simulated_s
    life.courses += calm.courses
    life.witness.count("compared")
    life.breaches.extend(calm.breaches)
    if life.breaches:
        return life
    ended, due = (each.ends[each.run_ids[0]] for each in (life, calm))
    for step, status in due.items():
        if ended[step] != status:
            message = f"With faults it ends as {ended[step]}, without as {status}."
            life.witness.breach("faults_change_nothing", message, step)
    return life
