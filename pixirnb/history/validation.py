"""Validation of an event's data against its kind, before the fold uses it.

The shapes are the TypedDicts of `events.py`, compiled once: a fold validates every line of a log, and doing so in Python takes
longer than the rest of the fold. Literals are open: a newer pixirnb may know more statuses, never another type. Keys that no
shape names are passed over, so that old code reads what new code wrote.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from pixirnb.history import events, file_events
from pixirnb.json_types import JsonObject

Fits = Callable[[Any], bool]


def fits(kind: str, data: JsonObject) -> bool:
    """Return whether `data` can be read as that of `kind`; True for unknown kinds."""
    test = _SHAPES.get(kind)
    return test is None or test(data)


def well_formed(logged: Iterable[events.Event], *kinds: str) -> list[events.Event]:
    """Return the events of these kinds that have the shape of their kind: no other counts, as in a fold. Default: all kinds."""
    of_kinds = [event for event in logged if event.kind in kinds] if kinds else logged
    return [event for event in of_kinds if fits(event.kind, event.data)]


def _compiled(shape: Any) -> Fits:
    return SchemaValidator(_schema(shape)).isinstance_python


def _schema(hint: Any) -> CoreSchema:
    if is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        members = {
            name: core_schema.typed_dict_field(
                _schema(each), required=get_origin(each) is not NotRequired
            )
            for name, each in hints.items()
        }
        return core_schema.typed_dict_schema(members, extra_behavior="ignore", strict=True)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _schema(arguments[0])
    if hint == events.PathText:
        return core_schema.str_schema(strict=True, pattern=r"^[^\x00]*$")
    if origin is Annotated:
        return core_schema.is_instance_schema(dict)  # events.OPEN
    if origin is Literal:
        return core_schema.is_instance_schema(str)
    if origin in {Union, types.UnionType}:
        return core_schema.union_schema([_schema(choice) for choice in arguments])
    if origin is list and arguments[0] is not Any:
        return core_schema.list_schema(_schema(arguments[0]), strict=True)
    if origin is dict and arguments[1] is not Any:
        return core_schema.dict_schema(values_schema=_schema(arguments[1]), strict=True)
    # Instances, not pydantic's own texts and numbers: those refuse lone surrogates and look at every digit.
    return (
        core_schema.any_schema() if hint is Any else core_schema.is_instance_schema(origin or hint)
    )


_SHAPES: Final[dict[str, Fits]] = {
    "run_started": _compiled(events.RunStarted),
    "run_resumed": _compiled(events.RunResumed),
    "run_forked": _compiled(events.RunForked),
    "step_expanded": _compiled(events.StepExpanded),
    "step_scheduled": _compiled(events.StepScheduled),
    "attempt_started": _compiled(events.AttemptStarted),
    "attempt_ended": _compiled(events.AttemptEnded),
    "subagent_event": _compiled(events.SubagentEvent),
    "verification_recorded": _compiled(events.VerificationRecorded),
    "retry_planned": _compiled(events.RetryPlanned),
    "checkpoint_decided": _compiled(events.CheckpointDecided),
    "step_held": _compiled(events.StepHeld),
    "decision_requested": _compiled(events.DecisionRequested),
    "decision_recorded": _compiled(events.DecisionRecorded),
    "checkpoint_saved": _compiled(events.CheckpointSaved),
    "workspace_captured": _compiled(file_events.WorkspaceCaptured),
    "merge_applied": _compiled(file_events.MergeApplied),
    "merge_conflicted": _compiled(file_events.MergeConflicted),
    "seam_opened": _compiled(file_events.SeamOpened),
    "seam_resolved": _compiled(file_events.SeamResolved),
    "warning_raised": _compiled(events.WarningRaised),
    "run_finished": _compiled(events.RunFinished),
}
