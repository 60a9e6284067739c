"""A world of a cluster: its workers, what drivers give them, and all that fails, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Literal

Failing = Literal[
    "die", "die_all", "cut", "freeze", "lose_news", "drop", "scheduler_dies", "driver_dies"
]
_FAILINGS: tuple[Failing, ...] = (
    "die",
    "die_all",
    "cut",
    "cut",
    "freeze",
    "lose_news",
    "drop",
)


@dataclass(frozen=True, slots=True)
class Task:
    """An attempt's work, and when its driver begins and stops it."""

    begins_s: float
    lasts_s: float
    outputs: int
    """Pieces of output, evenly over its time."""
    fails: bool = False
    is_thread: bool = False
    """A thread: it cannot be ended, and a stop leaves it running to its end."""
    stops_s: float | None = None
    """Seconds from its beginning to the request to stop."""
    ends_after_stop_s: float = 0.0
    """Seconds that a process takes to end once it was asked to."""
    retries: int = 0
    questions: int = 0
    """An agent, which asks so many questions, each before a piece of output or its end."""
    argument: int | None = None
    """Number of its large argument, which other tasks may have, too."""

    @property
    def large(self) -> str:
        """Its large argument; empty where it has none."""
        return "" if self.argument is None else f"{self.argument}," * 600_000 * (1 + self.argument)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that fails."""

    at_s: float
    what: Failing
    worker: int
    """Which of the workers of then; counted round."""
    lasts_s: float


@dataclass(frozen=True, slots=True)
class World:
    """One world. Two that are equal are lived through alike."""

    salt: str
    hosts: int
    per_host: int
    tasks: tuple[Task, ...]
    faults: tuple[Fault, ...] = ()
    notices_s: float = 300.0
    """Seconds until the scheduler takes a worker that it cannot reach for lost."""
    gives_again: int = 0
    """How often the scheduler gives the task of a lost worker to another one."""
    slow: float = 0.0
    """Share of messages that take seconds."""
    lost: float = 0.0
    """Share of news that never arrive."""
    twice: float = 0.0
    """Share of news that arrive twice."""
    has_plugin: bool = True
    shares_files: bool = True
    """Whether workers have the driver's disk; where they do not, every attempt is isolated."""

    def chance(self, purpose: str) -> Random:
        """Chance for one purpose."""
        return Random(f"{self.salt}/{purpose}")

    @property
    def is_calm(self) -> bool:
        """Whether nothing fails in it."""
        return not self.faults and not self.lost


def world(seed: int) -> World:
    """The world of a seed: one in twenty is calm, one in a thousand has a thousand workers."""
    random = Random(f"cluster/{seed}")
    is_large = seed % 1000 == 999
    hosts, per_host = (100, 10) if is_large else (random.randint(1, 4), random.randint(1, 3))
    count = 1500 if is_large else random.randint(1, 3 * hosts * per_host)
    span_s = random.choice([5.0, 60.0])
    tasks = tuple(_task(random, span_s) for _ in range(count))
    if seed % 5 == 1 and not is_large:
        chance = Random(f"cluster/{seed}/arguments")
        tasks = tuple(replace(task, argument=chance.choice([None, 0, 1, 2])) for task in tasks)
    if seed % 5 == 2 and not is_large:
        chance = Random(f"cluster/{seed}/questions")
        tasks = tuple(
            replace(task, questions=chance.choice([0, 1, 3]), is_thread=False) for task in tasks
        )
    if seed % 20 == 0:
        return World(f"{seed}", hosts, per_host, tasks, shares_files=seed % 40 != 0)
    faults = [
        Fault(
            random.uniform(0.0, 2 * span_s),
            random.choice(_FAILINGS),
            random.randrange(10_000),
            random.choice([random.uniform(0.0, 12.0), random.uniform(10.0, 90.0)]),
        )
        for _ in range(random.choice([1, 1, 2, 3, 5]) * (30 if is_large else 1))
    ]
    notices_s = random.choice([5.0, 30.0, 300.0])
    if random.random() < 0.25:
        at_s = random.uniform(0.0, span_s)
        faults.append(Fault(at_s, "driver_dies", 0, random.uniform(0.1, 40.0)))
        if random.random() < 0.5:  # its workers are cut off from whoever resumes it
            cut = Fault(max(0.0, at_s - random.uniform(0.0, 10.0)), "cut", 0, 90.0)
            faults += [replace(cut, worker=number) for number in range(hosts * per_host)]
            notices_s = 5.0
    elif random.random() < 0.1:
        faults.append(Fault(random.uniform(0.0, span_s), "scheduler_dies", 0, 0.0))
    return World(
        f"{seed}",
        hosts,
        per_host,
        tasks,
        tuple(sorted(faults, key=lambda fault: fault.at_s)),
        notices_s=notices_s,
        gives_again=random.choice([0, 0, 3]),
        slow=random.choice([0.0, 0.0, 0.05]),
        lost=random.choice([0.0, 0.0, 0.2]),
        twice=random.choice([0.0, 0.2]),
        has_plugin=random.random() < 0.7,
        shares_files=random.random() < 0.7,
    )


def _task(random: Random, span_s: float) -> Task:
    return Task(
        begins_s=random.uniform(0.0, span_s),
        lasts_s=random.choice([0.0, random.uniform(0.0, 3.0), random.uniform(0.0, 60.0), 90.0]),
        outputs=random.choice([0, 1, 3, 30]),
        fails=random.random() < 0.15,
        is_thread=random.random() < 0.2,
        stops_s=random.uniform(0.0, 30.0) if random.random() < 0.2 else None,
        ends_after_stop_s=random.choice([0.0, random.uniform(0.0, 1.0)]),
        retries=random.choice([0, 0, 2]),
    )
