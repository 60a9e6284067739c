"""Fifty agents in one kernel, sixteen at a time: every session is whole, nobody overtakes the limit, nothing is left over."""

from __future__ import annotations

import itertools
from pathlib import Path

import psutil
import pytest

from pixirnb import api
from pixirnb.engine.engine import engine
from pixirnb.sessions.state import fold_session
from tests.stories.storyline import facts, spec

pytestmark = [pytest.mark.story, pytest.mark.timeout(180)]

AGENTS = 50
AT_A_TIME = 16
SCRIPT = [
    {"say": "Looking at it."},
    {"tool": "read", "args": {"path": "a"}, "result": "x"},
    {"sleep": "500ms"},
    {"report": {"checkpoint_status": "checkpoint_ready", "summary": "seen"}},
]


def test_fifty_agents_sixteen_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIXIRNB_MAX_AGENTS", str(AT_A_TIME))
    steps = [{"id": f"s{n}", "task": "Look.", "agent": "w"} for n in range(AGENTS)]
    agents = {"w": {"posture": "read_only", "script": {"*": [SCRIPT]}}}
    run = api.start(spec(*steps, agents=agents, max_concurrency=AGENTS), workspace=tmp_path)
    outcome = run.wait()
    assert outcome.status == "completed"
    assert {step.child_session_id for step in outcome.steps} == {f"s{n}.1" for n in range(AGENTS)}
    spans: list[tuple[str, int]] = []
    for name in run.store.session_ids(run.id):
        reading = run.store.read_session(run.id, name)
        assert reading.damage is None
        state = fold_session(reading.events)
        assert (state.turn, state.is_closed, state.turns) == ("completed", True, 1)
        spans += [(reading.events[0].at, 1), (reading.events[-1].at, -1)]
    assert len(spans) == 2 * AGENTS
    at_work = list(itertools.accumulate(change for _, change in sorted(spans)))
    assert 1 < max(at_work) <= AT_A_TIME
    ended = [data["session_id"] for data in facts(run, "subagent_event")]
    assert sorted(ended) == sorted(f"s{n}.1" for n in range(AGENTS))
    assert (engine().slots.taken, engine().slots.waiting) == (0, 0)
    assert _strays(run.id) == []


def _strays(run_id: str) -> list[str]:
    return [
        str(process.info["cmdline"])
        for process in psutil.process_iter(["environ", "cmdline"])
        if (process.info["environ"] or {}).get("PIXIRNB_RUN_ID") == run_id
    ]
