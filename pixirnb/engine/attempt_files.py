"""The files of one attempt: the user's own folders, watched, or folders of its own, captured and deleted.

Changes in the user's files that no step had claimed are reported for steps that declare their writes, or that they only
read, and set no status: a person, or a program that is no step, may have written them. Notebooks are left out: their
front end saves them at any time. Where the files cannot be listed, before or after, that is reported instead: it keeps no
step from running, and no step passes as if it had been checked. Source: docs/adr/0015-files-flow.md.

Git is called so that it ends with the attempt, and with this process however it dies:

    loop ── `call` ──▶ supervisor gets the mark ──▶ thread ── `Git.run` ──▶ git, tagged and marked
    time-out, cancel ──▶ git has `stop_s` more, then SIGTERM ──▶ Cannot (`git_stopped`): the attempt ends as it was asked to

What a step leaves can keep git busy for ever: a FIFO for a `.gitignore`, a pattern that backtracks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import anyio
from msgspec.structs import replace

from pixirnb.engine import isolation
from pixirnb.engine.folders import AttemptFolders, isolated_folders
from pixirnb.engine.isolation import path_list
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import Cannot, PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.file_events import PathList
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_tag
from pixirnb.planning.plan import PlannedStep
from pixirnb.protocols.ports import Guard, Offload, RunLog
from pixirnb.protocols.trees import Checkout, CopyFolders
from pixirnb.protocols.work import Ended
from pixirnb.runners.output.mask import Mask
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.runners.processes.process_tree import TAG
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.system import process_marks
from pixirnb.wording import cut, on_one_line
from pixirnb.workspace.git.command import CALLER, GitCaller
from pixirnb.workspace.rules import CACHES

T = TypeVar("T")


@dataclass(slots=True)
class GitCalls:
    """The calls of git for one attempt. Used on the loop's thread, except for `is_over`."""

    attempt: Attempt
    log: RunLog
    offload: Offload
    supervisor: Guard | None = None
    """None where no process is started: in a simulation."""
    stop_s: float = 5.0
    """Seconds that git has when its attempt was stopped: the files of a step that timed out are kept, too."""
    _ends_at: float | None = field(default=None, init=False)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a blocking call returns that may ask git, or write to the state folder.

        Raises what it raises, Cannot (`git_stopped`), and LogWriteFailed (`lock_lost`): the state folder is another's then.
        """
        await in_task()
        self.log.require_hold()
        # A mark of its own: that of the attempt may be guarded for a thread that goes on, and must stay so.
        tag = f"{attempt_tag(self.log.run_id, self.attempt.step.id, self.attempt.number)}/git"
        mark = process_marks.mark_of(tag, INSTANCE)
        if self.supervisor is not None:
            try:
                await self.supervisor.guard(mark)
            except OSError as error:
                message = f"git was not started: {error.strerror}"
                raise Cannot(message, code="spawn_failed") from error
        self._ends_at = None
        adopt = partial(_put_on, mark)
        token = CALLER.set(GitCaller({TAG: tag}, adopt, self.is_over))
        try:
            return await self.offload(function, *arguments)
        finally:
            CALLER.reset(token)
            if self.supervisor is not None:
                self.supervisor.release(mark)

    def is_over(self) -> bool:
        """Return whether git has had its time since the attempt was stopped."""
        if self.attempt.stop.reason is None:
            return False
        now = time.monotonic()
        if self._ends_at is None:
            self._ends_at = now + self.stop_s
        return now >= self._ends_at


def _put_on(mark: int, pid: int) -> None:
    process_marks.put_on(pid, mark)


Marks = Mapping[tuple[str, str], object]

REASON_LIMIT: Final = 300
"""Characters of the reason why the files could not be checked."""


def begin(attempt: Attempt, context: RunContext) -> Marks | PixirnbError | None:
    """Return the state of the files before a step, or the error that prevents it; None for an unwatched step. Blocking."""
    if context.files is None or not is_watched(attempt.step):
        return None
    try:
        return context.files.marks(attempt.step.roots)
    except PixirnbError as error:
        return error


def find_undeclared(
    before: Marks | PixirnbError | None, attempt: Attempt, context: RunContext, mask: Mask
) -> PathList | None:
    """Return the changes that no step had claimed, or why these are unknown, for `attempt_ended.outside`; None where there are
    none.

    None, too, for a step during which a person merged files, or a step ran that may write anything. Blocking.
    """
    if before is None or context.files is None or attempt.is_disturbed:
        return None
    if any(other.posture == "undeclared" and not other.write_set for other in attempt.concurrent):
        return None
    if isinstance(before, PixirnbError):
        return _unchecked(before, mask)
    try:
        now = context.files.marks(attempt.step.roots)
    except PixirnbError as error:
        return _unchecked(error, mask)
    touched = [file for file in {*before, *now} if before.get(file) != now.get(file)]
    writers = [attempt.step, *(o for o in attempt.concurrent if o.workspace == "shared")]
    claims = context.roots.claims(glob for step in writers for glob in step.write_set)
    outside = sorted(
        context.roots.shown(root, path)
        for root, path in touched
        if not claims(root, path) and not _is_by_others(path)
    )
    result: PathList | None = mask.data(path_list(outside)) if outside else None
    return result


def _is_by_others(path: str) -> bool:
    """Return whether a program saves a file by itself: a notebook, or a cache that the import of a module fills."""
    return path.endswith(".ipynb") or not CACHES.isdisjoint(path.split("/"))


def _unchecked(error: PixirnbError, mask: Mask) -> PathList:
    """Return no paths, and the reason: one line, bounded, without secrets."""
    # Masked before it is cut: half a secret is no secret that a mask knows.
    message = on_one_line(mask.text(error.one_line()))
    return {**path_list(()), "unchecked": cut(message, REASON_LIMIT)}


def is_watched(step: PlannedStep) -> bool:
    """Return whether a step declares its writes, or that it only reads."""
    if step.workspace != "shared" or step.kind in {"decision", "merge"}:
        return False
    agent = None if step.agent is None else step.agent.posture
    return bool(step.spec.write_set) or "read_only" in {step.spec.posture, agent}


class AttemptFiles:
    """Folders from the beginning of an attempt to its end."""

    def __init__(self, attempt: Attempt, context: RunContext, git: GitCalls) -> None:
        """Prepare them; nothing is touched before `open`."""
        self._attempt = attempt
        self._context = context
        self._git = git
        self.folders: AttemptFolders = context.folders
        self.changed: isolation.ChangedPaths | None = None
        """By root: the paths it changed in folders of its own, once these are captured."""
        self._own: Checkout | None = None
        self._before: Marks | PixirnbError | None = None

    @property
    def are_own(self) -> bool:
        """True for folders of its own."""
        return self._own is not None

    @property
    def copies(self) -> CopyFolders | None:
        """Return where its own folders are; None without any."""
        if self._own is None:
            return None
        roots = tuple(self._own.folders.values())
        return CopyFolders(self._own.top, self._own.workspace, roots)

    async def open(self, state: StepState) -> tuple[list[EventDraft], Ended] | None:
        """Give it its folders; return the events and the end where those it builds on conflict. Raises Cannot."""
        attempt, context = self._attempt, self._context
        if attempt.step.workspace == "isolated":
            given = await self._git.call(isolation.give, attempt, state, context)
            if not isinstance(given, Checkout):
                return given
            self._own = given
            self.folders = isolated_folders(context.run, context.roots, given)
        elif context.files is not None and is_watched(attempt.step):
            self._before = await self._git.call(begin, attempt, context)
        return None

    async def capture(self, mask: Mask) -> list[EventDraft]:
        """Capture its own folders, before any check reads them. Raises Cannot, LogWriteFailed."""
        if self._own is None:
            return []
        drafts, self.changed = await self._git.call(
            isolation.take, self._own, self._attempt, self._context
        )
        return [replace(draft, data=mask.event(draft.data)) for draft in drafts]

    async def find_undeclared(self, mask: Mask) -> PathList | None:
        """Return what changed in the user's folders that no step had claimed."""
        if self._before is None:
            return None
        return await self._git.call(
            find_undeclared, self._before, self._attempt, self._context, mask
        )

    async def close(self) -> list[EventDraft]:
        """Delete its own folders; return a warning where they could not be deleted. Never raises Cannot."""
        step, warnings = self._attempt.step.id, list[EventDraft]()
        if self._own is not None:
            with anyio.CancelScope(shield=True):
                try:
                    warnings = await self._git.call(isolation.drop, self._own, step, self._context)
                except Cannot as error:
                    warnings = [isolation.copy_left(error, step)]
        return warnings
