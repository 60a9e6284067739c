"""What a subagent is handed for one attempt: its prompt, its limits, its script, and what it goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pixirnb.history.bundles import stored_output
from pixirnb.history.state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.planning.plan import PlannedStep
from pixirnb.sessions.prompt import Brief, Upstream, compose
from pixirnb.spec.policies import Agent
from pixirnb.work import AgentWork

_NOBODY = Agent()


def agent_work(
    step: PlannedStep,
    state: StepState,
    run: RunState,
    *,
    task: str,
    cwd: Path,
    depth: int,
    surface: tuple[dict[str, Any], ...] = (),
) -> AgentWork:
    """The work of one attempt. `depth`: of delegation; `surface`: tools of the engine that are offered."""
    agent = step.agent or _NOBODY
    failure = failure_context(state) if step.retry.include_failure_context else ""
    mode = permission_mode(step)
    brief = Brief(
        task=task,
        role=agent.role,
        upstream=tuple(_upstream(name, run) for name in step.spec.depends_on),
        posture=step.posture,
        permission_mode=mode,
        read_set=step.read_set,
        write_set=step.write_set,
        output=step.spec.output,
        checks=tuple(check.kind for check in step.spec.verify),
        has_report_tool=agent.runner == "llm",
        failure_context=failure,
    )
    command = agent.command
    session: dict[str, Any] = {
        "session_id": attempt_name(step.id, state.attempt),
        "run_id": run.run_id,
        "step": step.id,
        "attempt": state.attempt,
        "agent": getattr(step.spec, "agent", None),
        "runner": agent.runner,
        "model": agent.model,
        "command": [command] if isinstance(command, str) else command and list(command),
        "role": agent.role,
        "posture": step.posture,
        "permission_mode": mode,
        "tools": list(agent.tools),
        "read_set": list(step.read_set),
        "write_set": list(step.write_set),
        "cwd": str(cwd),
        "timeout_ms": state.timeout_ms,
        "depth": depth,
        "continues": None,
    }
    return AgentWork(
        runner=agent.runner,
        task=f"{task}\n\n{failure}" if failure else task,
        prompt=compose(brief),
        actions=_actions(step, state, agent),
        session=session,
        surface=surface,
    )


def permission_mode(step: PlannedStep) -> str:
    """Written, else by posture: readers only read, writers ask."""
    written = None if step.agent is None else step.agent.permission_mode
    return written or ("read_only" if step.posture == "read_only" else "ask")


def failure_context(state: StepState) -> str:
    """What the next attempt is told of the last one; empty where there was none."""
    if not state.errors:
        return ""
    last = state.errors[-1]
    return f"The previous attempt failed ({last['kind']}): {last['message']}\n{last.get('tail', '')}".strip()


def _actions(step: PlannedStep, state: StepState, agent: Agent) -> list[dict[str, Any]]:
    script = agent.script or {}
    attempts = script.get(step.id, script.get("*", []))
    return attempts[min(state.attempt, len(attempts)) - 1] if attempts else []


def _upstream(name: str, run: RunState) -> Upstream:
    state = run.step(name)
    output = stored_output(state)
    value = output.get("value")
    text = value if isinstance(value, str) else "" if value is None else str(value)
    summary = str((state.ended or {}).get("summary") or "")
    return Upstream(name, summary, text, tuple(state.limitations))
