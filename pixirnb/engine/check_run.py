"""Commands and functions of checks, and their output as evidence: its beginning and its end, masked before either is cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pixirnb.engine.pickled_values import PlainParts
from pixirnb.engine.resolve_work import shell_text
from pixirnb.engine.run_context import RunContext
from pixirnb.planning.plan import Kind
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, Output, PythonWork, RunnerEvent, ShellWork, Work
from pixirnb.runners.checks import CheckOutput
from pixirnb.runners.output.mask import Mask

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


async def run_nested(  # noqa: PLR0917 - the step that a check runs in
    work: Work,
    env: Mapping[str, str],
    context: RunContext,
    parts: PlainParts,
    mask: Mask,
    job: Callable[[Work, dict[str, str], Callable[[RunnerEvent], None]], Job],
    stir: Callable[[RunnerEvent], None],
) -> tuple[Ended, CheckOutput]:
    """Run a check's command or function in its step's folders: its output is evidence, not the step's."""
    own = dict(env)
    if isinstance(work, ShellWork) and isinstance(work.run, str):
        work = ShellWork(await parts.resolve(shell_text, work.run, parts.plain, own))
    overheard = Overheard(mask)

    def hear(event: RunnerEvent) -> None:
        stir(event)
        if isinstance(event, Output):
            overheard.take(event)

    kind: Kind = "python" if isinstance(work, PythonWork) else "shell"
    ended = await context.runners[kind].perform(job(work, own, hear))
    return ended, overheard.kept()
