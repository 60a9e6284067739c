"""A stage for agents that are processes: their work as the engine would hand it over, and answers to their questions.

work = coding_agent("acp", ["python", "-m", "pixirnb.testing.agents.acp", "say:Hello"], tmp_path)
ended, rehearsal = staged(work, tmp_path)
session_events(rehearsal, "assistant_message")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from pixirnb.protocols.ports import Question
from pixirnb.protocols.work import AgentEvent, AgentWork, Ended, StopReason
from pixirnb.runners.agents.runner import AgentRunner
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop

ALLOWED: Final = {"request_id": "r-1/step.0.1", "by": "ada", "note": "go on"}
"""Record of a call that was allowed before."""


@dataclass(slots=True)
class Answers:
    """Implements `protocols.ports.Asking`: yes to a commit; to permissions the given verdicts, the last one for ever."""

    verdicts: list[str] = field(default_factory=lambda: ["unattended"])
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Permission requests, in order."""

    async def __call__(self, question: Question, data: dict[str, Any]) -> dict[str, Any]:
        """Answer one question."""
        if question != "permit":
            return {"ok": True}
        self.requests.append(data)
        verdict = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        request = f"r-1/step.1.{len(self.requests)}"
        return {"request_id": request, "verdict": verdict, "by": "a person", "note": "as staged"}


def coding_agent(
    runner: Any,
    command: Sequence[str] | None,
    folder: Path,
    *,
    prompt: str = "Do it.",
    mode: str = "ask",
    posture: str = "writer",
    model: str | None = None,
    read_set: Sequence[str] = ("**/*",),
    write_set: Sequence[str] = ("**/*",),
    granted: Sequence[str] = (),
) -> AgentWork:
    """Return the work of one attempt of an agent that a command starts."""
    session = {
        "session_id": "step.1",
        "run_id": "r-1",
        "step": "step",
        "attempt": 1,
        "agent": "worker",
        "runner": runner,
        "model": model,
        "command": None if command is None else list(command),
        "role": "You do things.",
        "posture": posture,
        "permission_mode": mode,
        "tools": [],
        "read_set": list(read_set),
        "write_set": list(write_set),
        "cwd": str(folder),
        "timeout_ms": None,
        "depth": 0,
        "continues": None,
    }
    known: Any = {digest: dict(ALLOWED) for digest in granted}
    return AgentWork(runner, prompt, prompt, [], session, granted=known)


def fake(name: str, *acts: str) -> list[str]:
    """Return the command of a fake agent: `acp`, `cli` or `pty`, and what it does."""
    ending = {"acp": [], "cli": ["--"], "pty": ["--", "{prompt_file}"]}[name]
    return [sys.executable, "-m", f"pixirnb.testing.agents.{name}", *acts, *ending]


def staged(
    work: AgentWork,
    folder: Path,
    *,
    answers: Answers | None = None,
    env: dict[str, str] | None = None,
    stop_at: str | None = None,
    stop_when: Callable[[], bool] | None = None,
    reason: StopReason = "cancelled",
    grace_s: float = 2.0,
    limit_s: float = 90.0,
) -> tuple[Ended, Rehearsal]:
    """Perform the work on a fresh loop. `stop_at`: stop it for `reason` once it has said this; `stop_when`: once that is so."""

    async def story(supervisor: Supervisor) -> tuple[Ended, Rehearsal]:
        rehearsal = Rehearsal(
            work, folder, env=env or {}, grace_s=grace_s, ask=answers or Answers()
        )
        ends: list[Ended] = []

        async def perform() -> None:
            ends.append(await AgentRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(perform)
            if stop_at is not None:
                await rehearsal.wait_for(lambda so_far: stop_at in so_far.text())
                rehearsal.stop.set(reason)
            while stop_when is not None and not ends:
                if stop_when():
                    rehearsal.stop.set(reason)
                    break
                await anyio.sleep(0.1)
        return ends[0], rehearsal

    return on_a_loop(story, limit_s=limit_s)


def session_events(rehearsal: Rehearsal, *kinds: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of its session, in order; only of these kinds, if any are named."""
    events = [event for event in rehearsal.events if isinstance(event, AgentEvent)]
    return [(event.kind, event.data) for event in events if not kinds or event.kind in kinds]
