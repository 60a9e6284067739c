"""A run taken over from another host: what became of its agents there nobody can say, and the log says just that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pixirnb.engine.prepared_run import PreparedRun
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, Owner
from pixirnb.operations import prepare
from pixirnb.operations.run_environment import HERE
from pixirnb.operations.workflow_source import require_valid
from pixirnb.sessions.state import fold_session
from pixirnb.spec import loader
from pixirnb.testing.fakes.memory_store import MemoryStore

AT = "2026-11-22T09:00:00.000000Z"
SPEC = {
    "name": "far",
    "agents": {"w": {"posture": "read_only"}},
    "steps": [{"id": "look", "task": "Look.", "agent": "w"}],
}
CALL = {"call_id": "c1", "name": "read", "args": {"path": "a"}}


def there() -> Owner:
    return {"host": "another-host", "pid": 7, "instance": "theirs"}


def left_there(store: MemoryStore, workspace: Path) -> str:
    """The id of a run whose owner, on another host, is gone while its agent had called a tool."""
    workflow = require_valid(loader.load(SPEC), workspace)
    place = replace(HERE, owner=there)
    course = prepare.prepare_start(
        workflow, {}, workspace=workspace, store=store, sources={}, environment=place
    )
    scheduled: Any = {
        "step": "look",
        "attempt": 1,
        "wave": 0,
        "timeout_ms": 60_000,
        "workspace": "shared",
        "fingerprint": {"static": "s", "dynamic": "d"},
    }
    started: Any = {"step": "look", "attempt": 1, "pid": 11, "session_id": "look.1"}
    drafts = [
        *course.opening,
        EventDraft("step_scheduled", scheduled),
        EventDraft("attempt_started", started),
    ]
    course.log.append([Event(n, AT, d.kind, d.data) for n, d in enumerate(drafts, 1)])
    session = course.log.session("look.1")
    told: list[tuple[str, dict[str, Any]]] = [
        ("user_message", {"text": "Look.", "origin": "prompt"}),
        ("tool_call", CALL),
    ]
    session.append([Event(n, AT, kind, data) for n, (kind, data) in enumerate(told, 1)])
    store.end_processes()
    return course.log.run_id


def taken_over(store: MemoryStore, run_id: str) -> PreparedRun:
    course = prepare.prepare_resume(store, run_id)
    assert course is not None
    course.log.close()
    return course


def test_an_agent_that_cannot_be_reached_is_detached_and_its_session_can_be_inspected(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    run_id = left_there(store, tmp_path)
    (said,) = [d.data for d in taken_over(store, run_id).opening if d.kind == "subagent_event"]
    assert (said["event"], said["reason"]) == ("detached", "owner_unreachable")
    assert (said["session_id"], said["next_actions"]) == ("look.1", ["inspect_session"])
    kept = store.read_session(run_id, "look.1").events
    state = fold_session(kept)
    assert (state.turn, state.orphans, state.open_calls) == ("interrupted", 1, {})
    assert kept[-1].data["reason"] == "owner_unreachable"


def test_taken_over_twice_nothing_is_told_twice(tmp_path: Path) -> None:
    store = MemoryStore()
    run_id = left_there(store, tmp_path)
    taken_over(store, run_id)
    before = store.read_session(run_id, "look.1").events
    taken_over(store, run_id)
    assert store.read_session(run_id, "look.1").events == before
