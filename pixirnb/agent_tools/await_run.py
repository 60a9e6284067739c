"""Waiting for a run that a tool started, and its end when the agent is gone.

Runs on any loop, the engine's too, so nothing here blocks: blocking calls run in a thread.
"""

from __future__ import annotations

from typing import Final

import anyio

from pixirnb.agent_tools.caller import Asker
from pixirnb.engine.live_run import LiveRun
from pixirnb.engine.services import in_thread
from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.operations.run import Run

_TICK_S: Final = 0.05
_LOOK_S: Final = 0.2
"""Seconds between checks of the log of a run that another process drives."""
_ENDING_S: Final = 30.0
"""Seconds that a run may take to end and record that; its steps have five seconds to end politely."""


async def await_ended(
    run: Run, asker: Asker, *, wait_s: float | None, is_ours: bool
) -> RunDocument:
    """Wait for a run to come to rest, or for as long as its agent requests; return the outcome's document.

    A run that `is_ours`, started or continued by this call, is ended when the agent goes, and, if the agent ends its
    runs, when it stops waiting. The result is reported to the agent's session.
    """
    limit = asker.patience_s if wait_s is None else wait_s
    if is_ours:
        _tell(asker, run, "started", "running", "")
    try:
        with anyio.move_on_after(limit):
            await _until_rest(run)
        if is_ours and asker.ends_what_it_started and run.is_live_here:
            await _ended(run)
    except BaseException:  # cancelled, or a bug of ours: nobody else would end it
        if is_ours:
            with anyio.CancelScope(shield=True):
                await _ended(run)
                await _reported_outcome(asker, run)
        raise
    return await _reported_outcome(asker, run) if is_ours else await in_thread(_document, run)


async def _until_rest(run: Run) -> None:
    """Wait until the run has no owner any more, here or elsewhere."""
    if run.live is not None:
        await _gone(run.live)
        return
    while True:
        if not await in_thread(lambda: run.status == "running"):
            return
        await anyio.sleep(_LOOK_S)


async def _ended(run: Run) -> None:
    """Interrupt it, and wait until that is recorded."""
    live = run.live
    if live is None or live.ended.is_set():
        return
    await in_thread(live.stop, "interrupt")
    with anyio.move_on_after(_ENDING_S):
        await _gone(live)


async def _gone(live: LiveRun) -> None:
    while True:
        if live.ended.is_set():
            return
        await anyio.sleep(_TICK_S)


async def _reported_outcome(asker: Asker, run: Run) -> RunDocument:
    """Return the outcome, and report it to the session."""
    document = await in_thread(_document, run)
    status = str(document["status"])
    event = "detached" if status == "running" else "finished"
    _tell(asker, run, event, status, str(document["summary"]))
    return document


def _tell(asker: Asker, run: Run, event: str, status: str, summary: str) -> None:
    data = {
        "event": event,
        "session_id": None,
        "agent": None,
        "run_id": run.id,
        "status": status,
        "summary": f"Run {run.id}: {status}. {summary}".strip(),
    }
    asker.tell("subagent_event", data)


def _document(run: Run) -> RunDocument:
    return run.outcome.document()
