"""A simulated scheduler, with the wires to its workers and drivers: late, cut, and wrong as Dask's may be.

It gives a task to a worker that is free, and, where the world says so, the task of a lost worker to another one, though it may
be wrong about who is lost. It is honest in one thing only: whoever asks first has a claim.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from harness.cluster.disk import Disk
from harness.cluster.truth import Truth
from harness.cluster.worker import Worker
from harness.cluster.world import Task, World
from pixirnb.runners.cluster.packet import FrameNews

T = TypeVar("T")


def settle(answered: asyncio.Future[T], result: T) -> None:
    """Answer, unless nobody waits any more."""
    if not answered.done():
        answered.set_result(result)


_QUICK_S = (0.0005, 0.02)
_SLOW_S = (0.5, 4.0)
_TICK_S = 0.000_001


class Listener(Protocol):
    """A driver, as the scheduler sees it."""

    def while_alive(self, call: Callable[[], object]) -> Callable[[], None]:
        """The call, or nothing once the driver is dead."""

    def tell(
        self, done: Callable[[BaseException | None], object], error: BaseException | None
    ) -> None:
        """Carry the end of a task to the driver."""


@dataclass(slots=True, eq=False)
class Given:
    """A task as the scheduler has it."""

    key: str
    packet: bytes
    driver: Listener
    done: Callable[[BaseException | None], object]
    worker: Worker | None = None
    lost: int = 0
    is_over: bool = False


class Scheduler:
    """Tasks, claims, workers and subscriptions."""

    def __init__(
        self, world: World, truth: Truth, script: Callable[[str], Task], place: Path
    ) -> None:
        self.world, self.truth, self._script, self._place = world, truth, script, place
        self._random = world.chance("network")
        self._gives_up = world.chance("connections")
        self._loop = asyncio.get_running_loop()
        self.is_alive = True
        self.claims: dict[str, str] = {}
        self.tasks: dict[str, Given] = {}
        self.known: dict[str, Worker] = {}
        """Workers by address that the scheduler counts on."""
        self.ever: dict[str, Worker] = {}
        self.subscribers: dict[str, tuple[Listener, Callable[[FrameNews], object]]] = {}
        self.loses_news_until = 0.0
        self._free: dict[str, Worker] = {}
        self._queue: dict[str, Given] = {}
        self._held: dict[str, list[Callable[[], object]]] = {}
        """What waits on the wire of a worker that is cut off or frozen, by its address."""
        self._last: dict[tuple[str, str], float] = {}
        """When the last message arrives, by wire: later ones arrive later."""
        self._port = 9000
        for host in range(world.hosts):
            for _ in range(world.per_host):
                self.add_worker(f"tcp://10.0.{host // 250}.{host % 250 + 1}")

    def add_worker(self, host: str) -> None:
        """A worker comes."""
        self._port += 1
        worker = Worker(f"{host}:{self._port}", self, self._script, Disk(self._place))
        self.ever[worker.address] = worker
        self.known[worker.address] = self._free[worker.address] = worker
        self._assign()

    @property
    def is_in_reach(self) -> bool:
        """Whether every worker has been in reach all the time, but those that died."""
        return self.is_alive and not (self.truth.counts["cut off"] or self.truth.counts["freeze"])

    # --- wires ----------------------------------------------------------------------------------------------------

    def delay_s(self) -> float:
        """Seconds that a message takes."""
        bounds = _SLOW_S if self._random.random() < self.world.slow else _QUICK_S
        return self._random.uniform(*bounds)

    def while_alive(self, call: Callable[[], object]) -> Callable[[], None]:
        """The call, or nothing once the scheduler is dead."""

        def guarded() -> None:
            if self.is_alive:
                call()

        return guarded

    def carry(self, wire: str, call: Callable[[], object], to: str = "") -> None:
        """Call once a message has arrived; messages of one wire and direction arrive in their order."""
        last = self._last.get((wire, to), 0.0)
        at = max(
            self._loop.time() + self.delay_s(), last + _TICK_S
        )  # two timers of one moment have no order
        self._last[wire, to] = at
        self._loop.call_at(at, call)

    def between(self, worker: Worker, call: Callable[[], object], *, to: str) -> None:
        """Carry a message between scheduler and worker: it waits while they are cut off, and is lost with the connection."""

        def arrive() -> None:
            if not (worker.is_alive and self.is_alive) or worker.is_closing:
                return
            if worker.is_cut or worker.is_frozen:
                self._held.setdefault(worker.address, []).append(arrive)
            else:
                call()

        self.carry(worker.address, arrive, to)

    async def call_from(self, worker: Worker, call: Callable[[], T]) -> T:
        """Answer a call of a worker. Raises OSError where the scheduler is gone, and waits while it cannot be reached."""
        if not self.is_alive:
            raise ConnectionRefusedError
        answered: asyncio.Future[T] = self._loop.create_future()

        def answer() -> None:
            result = call()
            self.between(worker, partial(settle, answered, result), to="worker")

        self.between(worker, answer, to="scheduler")
        return await answered

    def publish(self, worker: Worker, topic: str, news: FrameNews) -> None:
        """Carry news to who subscribed: late, twice, out of order, or never."""

        def pass_on() -> None:
            found = self.subscribers.get(topic)
            if found is None:
                return
            driver, on_news = found
            is_lost = (
                self._loop.time() < self.loses_news_until or self._random.random() < self.world.lost
            )
            copies = 0 if is_lost else 1 + (self._random.random() < self.world.twice)
            for _ in range(copies):
                self._loop.call_later(self.delay_s(), driver.while_alive(lambda: on_news(news)))

        self.between(worker, pass_on, to="scheduler")

    # --- tasks ----------------------------------------------------------------------------------------------------

    def submit(self, given: Given) -> None:
        """Take a task, once a key: a second driver's is joined with the first's, as Dask does."""
        if not self.is_alive:
            given.driver.tell(given.done, LookupError("the cluster gave the task up"))
        elif given.key in self.tasks:
            given.driver.tell(given.done, LookupError("there is such a task"))
        else:
            self.tasks[given.key] = self._queue[given.key] = given
            self._assign()

    def release(self, key: str) -> None:
        """Forget a task; the worker that has it hears of it."""
        given = self.tasks.pop(key, None)
        if given is None:
            return
        self._queue.pop(key, None)
        given.is_over = True
        if given.worker is not None:
            self.between(given.worker, partial(given.worker.required.discard, key), to="worker")

    def release_all(self, driver: Listener) -> None:
        """Forget the tasks of a driver that is gone."""
        for key in [key for key, given in self.tasks.items() if given.driver is driver]:
            self.release(key)

    def _assign(self) -> None:
        while self._queue and self._free and self.is_alive:
            given = self._queue.pop(next(iter(self._queue)))
            given.worker = self._free[next(iter(self._free))]
            self._send(given, given.worker)

    def _send(self, given: Given, worker: Worker) -> None:
        self._free.pop(worker.address, None)

        def tell(error: BaseException | None) -> None:
            self.between(worker, lambda: self._done(given, worker, error), to="scheduler")

        self.between(worker, lambda: worker.perform(given.key, given.packet, tell), to="worker")

    def _done(self, given: Given, worker: Worker, error: BaseException | None) -> None:
        if worker.address not in self.known:
            return
        self._free[worker.address] = worker
        if not given.is_over and given.worker is worker:
            given.is_over = True
            given.driver.tell(given.done, error)
        self._assign()

    # --- what fails -----------------------------------------------------------------------------------------------

    def on_death(self, worker: Worker) -> None:
        """Notice, soon, that the connection with a worker was closed; its nanny starts another."""
        self._held.pop(worker.address, None)
        self._loop.call_later(self.delay_s(), self.lose, worker)
        if self.is_alive:
            self._loop.call_later(self._random.uniform(1.0, 3.0), self._nanny, worker.host)

    def _nanny(self, host: str) -> None:
        if self.is_alive:
            self.add_worker(host)

    def lose(self, worker: Worker) -> None:
        """Take a worker for lost; its tasks go to others, or fail."""
        if self.known.pop(worker.address, None) is None or not self.is_alive:
            return
        self._free.pop(worker.address, None)
        for given in list(self.tasks.values()):
            if given.worker is not worker or given.is_over:
                continue
            given.lost += 1
            self.truth.counts["tasks of lost workers"] += 1
            if given.lost > self.world.gives_again:
                given.is_over = True
                given.driver.tell(given.done, LookupError(f"worker {worker.address} died"))
            else:
                given.worker = None
                self._queue[given.key] = given
        self._assign()

    def cut(self, worker: Worker, seconds: float) -> None:
        """Cut a worker off; one that was taken for lost meanwhile is closed when it is back."""
        worker.is_cut = True
        self.truth.counts["cut off"] += 1
        self._loop.call_later(self.world.notices_s, self._notice, worker)

        def heal() -> None:
            worker.is_cut = False
            if worker.address in self.known:
                self._deliver_held(worker)
            elif worker.is_alive:
                self._close(worker)

        self._loop.call_later(seconds, heal)

    def drop(self, worker: Worker) -> None:
        """Take a worker for lost that is not: it learns that soon."""
        self.lose(worker)
        self._loop.call_later(self.delay_s(), self._close, worker)

    def _close(self, worker: Worker) -> None:
        self._held.pop(worker.address, None)
        worker.is_closing = True
        self._loop.call_later(self._random.uniform(0.0, 45.0), worker.die)

    def _notice(self, worker: Worker) -> None:
        if worker.is_cut and worker.is_alive:
            self.lose(worker)

    def freeze(self, worker: Worker, seconds: float) -> None:
        """Let a worker say and hear nothing for a while."""
        worker.is_frozen = True

        def thaw() -> None:
            worker.is_frozen = False
            self._deliver_held(worker)

        self._loop.call_later(seconds, thaw)

    def _deliver_held(self, worker: Worker) -> None:
        for arrive in self._held.pop(worker.address, []):
            arrive()

    def die(self) -> None:
        """The scheduler dies: drivers lose their tasks, workers cannot reach it."""
        self.is_alive = False
        for given in self.tasks.values():
            given.driver.tell(given.done, LookupError("the cluster gave the task up"))

    def ask(
        self, worker: Worker, call: str, arguments: tuple[Any, ...], tell: Callable[[Any], None]
    ) -> None:
        """Carry a driver's question to a worker's service, and its answer back.

        It has a connection of its own: one that cannot be opened is given up sometimes.
        """
        if (worker.is_cut or worker.is_frozen) and self._gives_up.random() < 0.5:
            return

        def answer() -> None:
            result = getattr(worker.service, call)(*arguments)
            self.between(worker, lambda: tell(result), to="scheduler")

        self.between(worker, answer, to="worker")
