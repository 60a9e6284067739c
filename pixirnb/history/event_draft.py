"""Events that have happened and are not recorded yet; mypy checks the data of each against its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from msgspec import Struct

from pixirnb.history.events import Kind
from pixirnb.json_types import JsonObject

if TYPE_CHECKING:
    from pixirnb.history.events import (
        AttemptEnded,
        AttemptStarted,
        CheckpointDecided,
        CheckpointSaved,
        DecisionRecorded,
        DecisionRequested,
        RetryPlanned,
        RunFinished,
        RunForked,
        RunResumed,
        RunStarted,
        StepExpanded,
        StepHeld,
        StepScheduled,
        SubagentEvent,
        VerificationRecorded,
        WarningRaised,
    )
    from pixirnb.history.file_events import (
        MergeApplied,
        MergeConflicted,
        SeamOpened,
        SeamResolved,
        WorkspaceCaptured,
    )


class EventDraft(Struct, frozen=True):
    """An event before it has a number and a time: `advance` returns it and the engine stamps it."""

    kind: Kind
    data: JsonObject

    if TYPE_CHECKING:  # who writes an event writes that of its kind
        # fmt: off
        @overload
        def __init__(self, kind: Literal["run_started"], data: RunStarted) -> None: ...
        @overload
        def __init__(self, kind: Literal["run_resumed"], data: RunResumed) -> None: ...
        @overload
        def __init__(self, kind: Literal["run_forked"], data: RunForked) -> None: ...
        @overload
        def __init__(self, kind: Literal["step_expanded"], data: StepExpanded) -> None: ...
        @overload
        def __init__(self, kind: Literal["step_scheduled"], data: StepScheduled) -> None: ...
        @overload
        def __init__(self, kind: Literal["attempt_started"], data: AttemptStarted) -> None: ...
        @overload
        def __init__(self, kind: Literal["attempt_ended"], data: AttemptEnded) -> None: ...
        @overload
        def __init__(self, kind: Literal["retry_planned"], data: RetryPlanned) -> None: ...
        @overload
        def __init__(self, kind: Literal["verification_recorded"], data: VerificationRecorded) -> None: ...
        @overload
        def __init__(self, kind: Literal["checkpoint_decided"], data: CheckpointDecided) -> None: ...
        @overload
        def __init__(self, kind: Literal["step_held"], data: StepHeld) -> None: ...
        @overload
        def __init__(self, kind: Literal["decision_requested"], data: DecisionRequested) -> None: ...
        @overload
        def __init__(self, kind: Literal["decision_recorded"], data: DecisionRecorded) -> None: ...
        @overload
        def __init__(self, kind: Literal["checkpoint_saved"], data: CheckpointSaved) -> None: ...
        @overload
        def __init__(self, kind: Literal["workspace_captured"], data: WorkspaceCaptured) -> None: ...
        @overload
        def __init__(self, kind: Literal["merge_applied"], data: MergeApplied) -> None: ...
        @overload
        def __init__(self, kind: Literal["merge_conflicted"], data: MergeConflicted) -> None: ...
        @overload
        def __init__(self, kind: Literal["seam_opened"], data: SeamOpened) -> None: ...
        @overload
        def __init__(self, kind: Literal["seam_resolved"], data: SeamResolved) -> None: ...
        @overload
        def __init__(self, kind: Literal["subagent_event"], data: SubagentEvent) -> None: ...
        @overload
        def __init__(self, kind: Literal["warning_raised"], data: WarningRaised) -> None: ...
        @overload
        def __init__(self, kind: Literal["run_finished"], data: RunFinished) -> None: ...
        # fmt: on
        def __init__(self, kind: Any, data: Any) -> None: ...


def warning(code: str, message: str, step: str | None) -> EventDraft:
    """Return the draft of a warning: something a reader of the outcome should know, and that changes no status."""
    return EventDraft("warning_raised", {"code": code, "message": message, "step": step})
