"""Verb option `show --acp`: a run, or the session of a step, as updates of the Agent Client Protocol for an editor."""

from __future__ import annotations

from typing import Any

from pixirnb.operations.run import Run
from pixirnb.sessions.state import fold_session
from pixirnb.sessions.tool_calls import text_of
from pixirnb.verbs.options import session_of
from pixirnb.views.session.acp import acp_of_outcome, acp_stop_reason, acp_updates


def acp_document(run: Run, session: str | None) -> dict[str, Any]:
    """Return `{run_id, session_id, updates, stopReason, _meta}`; `session_id` is null for the run, STEP.ATTEMPT for a
    session of it.

    Raises InvalidArguments, UnknownRun (`unknown_session`).
    """
    if session is None:
        return {"run_id": run.id, "session_id": None, **acp_of_outcome(run.outcome.document())}
    view = session_of(run, session)
    events = view.events()
    state = fold_session(events)
    kind = text_of((state.failed or {}).get("error_kind")) or None
    updates = [update["update"] for update in acp_updates(events)]
    end = acp_stop_reason(state.turn, view.checkpoint_status, error_kind=kind)
    return {"run_id": run.id, "session_id": view.session_id, "updates": updates, **end}
