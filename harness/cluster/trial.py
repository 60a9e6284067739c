"""A trial: one world lived through, and what broke in it."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from harness.cluster.driver import RUN, Driver
from harness.cluster.scheduler import Scheduler
from harness.cluster.truth import Truth
from harness.cluster.world import Fault, Task, World
from harness.simulator.loop import Stuck, VirtualLoop, breathe
from pixirnb.errors import Cannot
from pixirnb.ids import attempt_tag
from pixirnb.protocols.work import Ended
from pixirnb.runners.cluster.leftovers import end_left

_LONGEST_S = 900.0
"""Seconds after which every attempt has ended, whatever failed."""
_SETTLED_S = 200.0
"""Seconds after which nothing goes on that was left behind."""
_ENDED_S = 15.0
"""Seconds after which a dead driver's processes have ended: slow words, a beat, and the grace."""
_AGAIN_S = 20.0
"""Seconds until a resume that was refused is tried again."""


def live(world: World) -> Truth:
    """Live through a world and return what happened in it."""
    loop = VirtualLoop()
    truth = Truth()
    with tempfile.TemporaryDirectory(prefix="pixirnb-cluster-") as folder:
        try:
            loop.run_until_complete(_Trial(world, truth, Path(folder)).live())
            for _ in range(3):  # what is cancelled cancels what it waits for
                loop.run_until_complete(breathe(loop))
        except Stuck as stuck:
            truth.breach(f"stuck: {stuck}")
        finally:
            loop.close()
    return truth


class _Trial:
    def __init__(self, world: World, truth: Truth, workspace: Path) -> None:
        self._world, self._truth, self._workspace = world, truth, workspace
        self._script = {f"t{number}": task for number, task in enumerate(world.tasks)}
        self._ends: dict[str, Ended] = {}
        self._is_over = False

    async def live(self) -> None:
        """Run the first driver, and another one where the first dies."""
        loop = asyncio.get_running_loop()
        self._scheduler = Scheduler(
            self._world, self._truth, self._script.__getitem__, self._workspace
        )
        self._driver = Driver(self._world, self._scheduler, self._workspace, "first")
        for fault in self._world.faults:
            if fault.what != "driver_dies":
                loop.call_later(fault.at_s, self._fail, fault)
        death = next((each for each in self._world.faults if each.what == "driver_dies"), None)
        attempts = dict.fromkeys(self._script, 1)
        first = asyncio.ensure_future(self._perform(attempts, delayed=True))
        if death is not None:
            await asyncio.wait([first], timeout=death.at_s)
            if not first.done():
                await self._die(first)
                await asyncio.sleep(death.lasts_s)
                self._require_ended(death.lasts_s)
                await self._resume()
            else:
                first.result()
        else:
            await self._to_the_end(first)
        await self._settle()

    async def _to_the_end(self, driven: asyncio.Future[None]) -> None:
        """Wait for the end of a driver's work, which comes."""
        ended, _ = await asyncio.wait([driven], timeout=_LONGEST_S)
        for each in ended:
            each.result()
        if not ended:
            steps = ", ".join(step for step, _ in self._driver.under_way)
            self._truth.breach(f"no end after {_LONGEST_S:.0f} s: {steps}")

    async def _perform(self, attempts: dict[str, int], *, delayed: bool) -> None:
        async def begin(step: str, task: Task) -> None:
            await asyncio.sleep(task.begins_s if delayed else 0.0)
            await self._driver.perform(step, task, attempts[step], self._ends)

        await asyncio.gather(*(begin(step, self._script[step]) for step in attempts))

    async def _die(self, first: asyncio.Future[None]) -> None:
        self._truth.counts["drivers died"] += 1
        left = {**self._driver.detached, **self._driver.under_way}
        first.cancel()
        await asyncio.wait([first])
        self._driver.under_way = left
        self._driver.connection.close()

    def _require_ended(self, since_s: float) -> None:
        """Processes end some seconds after their driver, wherever the scheduler can say so."""
        if since_s < _ENDED_S or not self._scheduler.is_in_reach:
            return
        for work in self._truth.running:
            if not work.is_thread:
                said = f"{since_s:.0f} s after the death of its driver"
                self._truth.breach(f"{work.tag} goes on on {work.worker} {said}")

    async def _resume(self) -> None:
        """Resume as a second driver, as often as it takes; what was under way is ended first, and then begun again."""
        left = self._driver.under_way
        self._driver = Driver(self._world, self._scheduler, self._workspace, "second")
        for _ in range(30):
            try:
                await end_left(self._driver.connection, RUN, left)
                break
            except Cannot as refusal:
                self._truth.counts[f"resumes refused: {refusal.code}"] += 1
                await asyncio.sleep(_AGAIN_S)
        for step, attempt in left:
            self._truth.require_over(attempt_tag(RUN, step, attempt), "a resume goes on")
        last = dict(left.keys())
        attempts = {step: last.get(step, 0) + 1 for step in self._script if step not in self._ends}
        await self._to_the_end(asyncio.ensure_future(self._perform(attempts, delayed=False)))

    async def _settle(self) -> None:
        """Let threads return and workers forget, and look whether they did."""
        self._is_over = True
        await asyncio.sleep(_SETTLED_S)
        for step, attempt in sorted(self._driver.detached):
            self._truth.breach(f"its driver was never told that {step}.{attempt} returned")
        for work in self._truth.running:
            self._truth.breach(f"{work.tag} goes on on {work.worker} for ever")
        for worker in self._scheduler.known.values():
            for key in worker.service.attempts if self._scheduler.is_alive else ():
                self._truth.breach(f"{worker.address} never forgets {key}")
        for worker in self._scheduler.ever.values():
            for top in worker.disk.folders if worker.is_alive else ():
                self._truth.breach(f"{worker.address} keeps {top} for ever")
            worker.close()

    def _fail(self, fault: Fault) -> None:
        scheduler = self._scheduler
        workers = [each for each in scheduler.known.values() if each.is_alive]
        if self._is_over or not workers or not scheduler.is_alive:
            return
        self._truth.counts[fault.what] += 1
        worker = workers[fault.worker % len(workers)]
        match fault.what:
            case "die":
                worker.die()
            case "die_all":
                for each in [each for each in workers if each.host == worker.host]:
                    each.die()
            case "cut":
                scheduler.cut(worker, fault.lasts_s)
            case "freeze":
                scheduler.freeze(worker, min(fault.lasts_s, 15.0))
            case "lose_news":
                loop = asyncio.get_running_loop()
                scheduler.loses_news_until = loop.time() + fault.lasts_s
            case "drop":
                scheduler.drop(worker)
            case "scheduler_dies":
                scheduler.die()
            case "driver_dies":
                pass  # its own story
