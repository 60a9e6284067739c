"""The files of one attempt: the user's own folders, watched, or folders of its own, captured and deleted."""

from __future__ import annotations

from dataclasses import replace

import anyio

from pixirnb.engine import isolation, undeclared_writes
from pixirnb.engine.folders import AttemptFolders, isolated_folders
from pixirnb.engine.git_calls import GitCalls
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import Cannot, PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.file_events import PathList
from pixirnb.history.step_state import StepState
from pixirnb.protocols.trees import Checkout
from pixirnb.protocols.work import Ended
from pixirnb.runners.output.mask import Mask


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
        self._before: undeclared_writes.Marks | PixirnbError | None = None

    @property
    def are_own(self) -> bool:
        """True for folders of its own."""
        return self._own is not None

    async def open(self, state: StepState) -> tuple[list[EventDraft], Ended] | None:
        """Give it its folders; return the events and the end where those it builds on conflict. Raises Cannot."""
        attempt, context = self._attempt, self._context
        if attempt.step.workspace == "isolated":
            given = await self._git.call(isolation.give, attempt, state, context)
            if not isinstance(given, Checkout):
                return given
            self._own = given
            self.folders = isolated_folders(context.run, context.roots, given)
        elif context.files is not None and undeclared_writes.is_watched(attempt.step):
            self._before = await self._git.call(undeclared_writes.begin, attempt, context)
        return None

    async def capture(self, mask: Mask) -> list[EventDraft]:
        """Capture its own folders, before any check reads them. Raises Cannot, LogWriteFailed."""
        if self._own is None:
            return []
        drafts, self.changed = await self._git.call(
            isolation.take, self._own, self._attempt, self._context
        )
        return [replace(draft, data=mask.data(draft.data)) for draft in drafts]

    async def find_undeclared(self, mask: Mask) -> PathList | None:
        """Return what changed in the user's folders that no step had claimed."""
        if self._before is None:
            return None
        return await self._git.call(
            undeclared_writes.find_undeclared, self._before, self._attempt, self._context, mask
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
