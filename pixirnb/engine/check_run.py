"""Commands and functions of checks, and their output as evidence: its beginning and its end, masked before either is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from pixirnb.engine.pickled_values import PlainParts
from pixirnb.engine.resolve_work import Assignment, shell_work
from pixirnb.engine.run_context import RunContext
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, Output, PythonWork, RunnerEvent, ShellWork, Work
from pixirnb.runners.checks import CheckOutput, Nested
from pixirnb.runners.output.mask import Mask
from pixirnb.runners.python.loaded_modules import is_current
from pixirnb.spec.steps import StepKind

BEGINNING: Final = 4 * 1024 * 1024
"""Bytes that are kept: enough for a `git status` of some fifty thousand files."""
_TAIL: Final = 4096


class Overheard:
    """Both streams of one command or function of a check, as they came."""

    def __init__(self, mask: Mask) -> None:
        self._masks = {name: mask.stream() for name in ("stdout", "stderr")}
        self._beginning = bytearray()
        self._tail = b""
        self._size = 0

    def take(self, output: Output) -> None:
        """Take one chunk as it was produced."""
        self._keep(self._masks[output.stream].feed(output.chunk))

    def kept(self) -> CheckOutput:
        """Return the kept output, once the command or function has ended."""
        for mask in self._masks.values():
            self._keep(mask.flush())
        return CheckOutput(
            self._beginning.decode("utf-8", errors="replace"),
            is_cut=self._size > BEGINNING,
            tail=self._tail.decode("utf-8", errors="replace"),
        )

    def _keep(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._beginning += chunk[: max(0, BEGINNING - len(self._beginning))]
        self._tail = (self._tail + chunk[-_TAIL:])[-_TAIL:]


class CheckRuns:
    """Runner of commands and functions of an attempt's checks in its step's folders: output is evidence, not the step's."""

    def __init__(
        self,
        context: RunContext,
        parts: PlainParts,
        job: Callable[[Work, Assignment, Callable[[RunnerEvent], None]], Job],
        stir: Callable[[RunnerEvent], None],
    ) -> None:
        """Prepare to run. `job`: makes a job of work; `stir`: is called at each sign of life."""
        self._context = context
        self._parts = parts
        self._job = job
        self._stir = stir
        self._left = 0
        """Threads that outlived their check."""
        self._returned = 0
        """How many have returned since; counted on threads of their own."""

    @property
    def goes_on(self) -> bool:
        """True while a thread that outlived its check goes on."""
        return self._left > self._returned

    def thread_returned(self) -> None:
        """Note, on its own thread, that a thread which outlived its work has returned."""
        self._returned += 1

    def of(self, assignment: Assignment, mask: Mask) -> Nested:
        """Return the function that runs a check's command or function."""

        async def nested(work: Work) -> tuple[Ended, CheckOutput]:
            env, parts = dict(assignment.env), self._parts
            if isinstance(work, ShellWork) and work.is_written:
                work = await parts.resolve(shell_work, work.run, parts.plain, env)
            if isinstance(work, PythonWork) and not work.process:
                work = replace(work, process=not is_current(work.call, str(assignment.workspace)))
            overheard = Overheard(mask)

            def on_event(event: RunnerEvent) -> None:
                self._stir(event)
                if isinstance(event, Output):
                    overheard.take(event)

            kind: StepKind = "python" if isinstance(work, PythonWork) else "shell"
            job = self._job(work, replace(assignment, env=env), on_event)
            ended = await self._context.runners.here[kind].perform(job)
            self._left += ended.status == "detached"
            return ended, overheard.kept()

        return nested
