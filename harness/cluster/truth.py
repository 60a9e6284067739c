"""What really happens in a world: which work was begun where, what of it still goes on, and every promise that broke."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from pixirnb.protocols.work import Output


@dataclass(slots=True, eq=False)
class Work:
    """Work that was begun on a worker: a process or a thread."""

    tag: str
    worker: str
    host: str
    is_thread: bool
    written: list[bytes] = field(default_factory=list)
    is_done: bool = False
    """It came to its own end."""
    killed: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class Truth:
    """The ground that claims are compared with."""

    begun: dict[str, list[Work]] = field(default_factory=dict)
    running: set[Work] = field(default_factory=set)
    breaches: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def begin(self, work: Work) -> None:
        """Note a beginning: an attempt has one."""
        self.begun.setdefault(work.tag, []).append(work)
        self.running.add(work)
        self.counts["begun"] += 1
        if len(self.begun[work.tag]) > 1:
            places = ", ".join(each.worker for each in self.begun[work.tag])
            self.breach(f"{work.tag} was begun twice: {places}")

    def end(self, work: Work) -> None:
        """Note that nothing of it goes on."""
        self.running.discard(work)

    def end_tagged(self, tag: str, host: str) -> None:
        """Kill the processes of an attempt on a machine."""
        for work in list(self.running):
            if work.tag == tag and work.host == host and not work.is_thread:
                self.kill(work)

    def end_on(self, worker: str) -> None:
        """Kill all that a worker process runs: its threads die with it, its processes by their reapers."""
        for work in list(self.running):
            if work.worker == worker:
                self.kill(work)

    def kill(self, work: Work) -> None:
        """End a work from outside."""
        self.running.discard(work)
        work.killed.set()

    def require_over(self, tag: str, because: str) -> None:
        """Breach if something of an attempt goes on."""
        for work in self.running:
            if work.tag == tag:
                self.breach(f"{tag} goes on on {work.worker}, and {because}")

    def require_emitted(self, tag: str, outputs: list[Output], *, whole: bool) -> None:
        """Breach unless what arrived is what was written, in its order: all of it, or its beginning."""
        written = [chunk for work in self.begun.get(tag, []) for chunk in work.written]
        arrived = [each.chunk for each in outputs]
        if b"".join(arrived) != b"".join(written)[: sum(map(len, arrived))]:
            self.breach(f"{tag}: what arrived is not what was written")
        elif whole and sum(map(len, arrived)) != sum(map(len, written)):
            self.breach(f"{tag}: a part of what was written did not arrive")

    def breach(self, sentence: str) -> None:
        """Note a broken promise."""
        self.breaches.append(sentence)
