"""The verb `smoke`: small workflows performed by agents, and the proofs in their logs.

Offline by default: scripted agents, no network, no key. With `--real` a model or a coding agent performs them. A dry
run plans and writes nothing. Source: contract.md §9.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from pixirnb import api
from pixirnb.engine.services import SystemClock
from pixirnb.errors import EXIT_COMPLETED, EXIT_FAILED, InvalidArguments, InvalidSpec, PixirnbError
from pixirnb.json_types import JsonObject
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.locations import store_of, workspace_of
from pixirnb.operations.run import Run
from pixirnb.spec.durations import parse_duration
from pixirnb.store.file_store import FileStore
from pixirnb.store.state_folder import prepare_state
from pixirnb.verbs.answers import EXIT_OF, Answer
from pixirnb.verbs.options import Common, Flag, is_json, state_of
from pixirnb.verbs.smoke.proofs import prove_plan, prove_run
from pixirnb.verbs.smoke.scenarios import SCENARIOS, Agent, Scenario, workflow

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RUNNERS: Final = ("acp", "cli", "pty")
_UNREACHED: Final = "check the connection to the provider, then try again"
_INSTALL: Final = "install the agent's program, or give its path"
_FIXES: Final = {
    "timeout": "raise --timeout, or read in the session what the agent waited for",
    "provider_transient": "try again: the provider was busy",
    "provider_stream_cut": _UNREACHED,
    "provider_unreachable": _UNREACHED,
    "provider_permanent": "check the model name and the base URL in the environment",
    "provider_denied": "check the key in the environment",
    "provider_key_missing": "set the key in the environment of pixirnb",
    "model_unknown": "use a model of the provider, written PROVIDER:NAME",
    "agent_command_unknown": _INSTALL,
    "agent_missing_binary": _INSTALL,
    "spawn_failed": _INSTALL,
    "agent_silent": "check that the agent works on its own and is signed in",
    "permission_required": "approve the action, or use an agent that follows its permission mode",
    "readiness_not_declared": "read the session of the agent, which ended without a report, or use another model",
    "extra_missing": "install the extra that the message names",
}
_WORST: Final = ("interrupted", "failed", "timed_out", "needs_orchestrator", "partial", "running")


def smoke(
    *,
    real: Flag = False,
    scenario: Annotated[list[Scenario] | None, Parameter(negative="")] = None,
    model: str | None = None,
    agent: str | None = None,
    pass_env: Annotated[list[str] | None, Parameter(negative="")] = None,
    timeout: str | None = None,
    dry_run: Flag = False,
    common: Common | None = None,
) -> Answer:
    """Run small self-test workflows with a scripted agent, or with a real one (--real).

    Args:
        real: Use a real agent, named by --model or --agent.
        scenario: Only this scenario; repeatable.
        model: With --real: a model, such as openai:gpt-5-mini.
        agent: With --real: a coding agent, such as acp:claude, or acp: and its command.
        pass_env: With --real: name of an environment variable that the agent needs; repeatable.
        timeout: Timeout of each step; default: 1m, with --real 5m.
        dry_run: Show the plans; run and write nothing.
    """
    worker = _agent(model, agent, pass_env or [], is_real=real)
    limit = _limit(timeout, "5m" if real else "1m")
    chosen = [name for name in SCENARIOS if scenario is None or name in scenario]
    document: JsonObject = {
        "ok": True,
        "mode": "real" if real else "offline",
        "dry_run": dry_run,
        "agent": worker,
        "folder": None,
        "evidence": None,
        "scenarios": [],
    }
    _require_sound(worker, limit)
    if dry_run:
        document["scenarios"] = [_foreseen(name, worker, limit) for name in chosen]
    else:
        store = store_of(workspace_of(None, None), state_of(common))
        folder = _folder(store)
        document["folder"] = str(folder)
        document["evidence"] = str(folder / "evidence.json")
        document["scenarios"] = [_performed(n, worker, limit, store, folder) for n in chosen]
    document["ok"] = all(entry["ok"] for entry in document["scenarios"])
    if not dry_run:
        _write(Path(document["evidence"]), document)
    return Answer("smoke", document, _exit_code(document), is_json=is_json(common))


def _agent(
    model: str | None, agent: str | None, pass_env: list[str], *, is_real: bool
) -> Agent | None:
    """Return the agent to use; None for a script. Raises InvalidArguments."""
    if not is_real:
        if model is not None or agent is not None or pass_env:
            raise InvalidArguments(
                "--model, --agent and --pass-env require --real", fix="add --real"
            )
        return None
    if model is not None and agent is not None:
        raise InvalidArguments(
            "--model cannot be combined with --agent",
            fix="remove one of them",
        )
    for name in pass_env:
        if not _NAME.fullmatch(name):
            raise InvalidArguments(
                f"--pass-env takes a variable name, got `{name.partition('=')[0]:.80}=…`"
                if "=" in name
                else f"invalid variable name `{name:.80}`",
                fix="set the variable in the environment and write --pass-env NAME",
            )
    if model is None and agent is None:
        raise InvalidArguments(
            "--real needs an agent",
            fix="add --model openai:gpt-5-mini or --agent acp:claude",
            code="agent_missing",
        )
    if model is not None:
        provider = model.partition(":")[0].partition("-")[0].upper()
        variables = sorted(name for name in os.environ if name.startswith(f"{provider}_"))
        return {"runner": "llm", "model": model, "pass_env": sorted({*variables, *pass_env})}
    runner, colon, command = (agent or "").partition(":")
    if runner not in _RUNNERS or not colon or not command.strip():
        raise InvalidArguments(
            f"invalid agent `{agent}`",
            fix="write --agent acp:claude, or acp:, cli: or pty: and a command",
            code="agent_unknown",
        )
    words = shlex.split(command)
    return {
        "runner": runner,
        "command": words[0] if len(words) == 1 else words,
        "pass_env": sorted(pass_env),
    }


def _limit(timeout: str | None, standard: str) -> str:
    """Return the time-out of each step. Raises InvalidArguments."""
    try:
        parse_duration(timeout or standard)
    except ValueError as error:
        raise InvalidArguments(
            f"invalid --timeout `{timeout}`",
            fix="use a duration such as 90s, 5m or 1h30m",
            code="bad_duration",
        ) from error
    return timeout or standard


def _require_sound(worker: Agent | None, limit: str) -> None:
    """Raise InvalidArguments for plan errors of the named agent: then nothing is started."""
    try:
        api.plan(workflow(SCENARIOS[0], worker, timeout=limit))
    except InvalidSpec as error:
        wrong = error.problems[0]
        raise InvalidArguments(wrong.message, wrong.fix, wrong.code) from error


def _foreseen(scenario: Scenario, worker: Agent | None, timeout: str) -> JsonObject:
    """Return a scenario as it would be run."""
    plan = api.plan(workflow(scenario, worker, timeout=timeout))
    proofs = prove_plan(scenario, plan)
    entry = _entry(scenario, "planned", [proof.document() for proof in proofs])
    if not plan.ok:
        problem = plan.errors[0]
        error_document = {"code": problem.code, "message": problem.message, "fix": problem.fix}
        entry["error"] = {**error_document, "step": None}
    return entry


def _performed(
    scenario: Scenario, worker: Agent | None, timeout: str, store: FileStore, folder: Path
) -> JsonObject:
    """Run a scenario to its end, and return the proofs of its logs."""
    folder_of_run = folder / scenario
    folder_of_run.mkdir(mode=0o700)
    source = workflow(scenario, worker, timeout=timeout)
    try:
        run = api.start(source, workspace=folder_of_run, state=store.state)
    except PixirnbError as error:
        error_document = error.document()["error"]
        problems = error_document["details"].get("errors") or [error_document]
        entry = _entry(scenario, "not_started", [], is_ok=False)
        entry["error"] = {
            **{key: problems[0][key] for key in ("code", "message", "fix")},
            "step": None,
        }
        return entry
    outcome = api.wait(run)
    proofs = [proof.document() for proof in prove_run(scenario, run)]
    entry = _entry(scenario, outcome.status, proofs, is_ok=outcome.ok)
    entry["run_id"] = run.id
    entry["log"] = str(run.folder / "log.jsonl")
    entry["sessions"] = _sessions(run)
    entry["error"] = _error(run, outcome)
    return entry


def _entry(
    scenario: Scenario, status: str, checks: list[JsonObject], *, is_ok: bool = True
) -> JsonObject:
    return {
        "scenario": scenario,
        "ok": is_ok and all(check["passed"] for check in checks),
        "status": status,
        "run_id": None,
        "log": None,
        "sessions": [],
        "checks": checks,
        "error": None,
    }


def _sessions(run: Run) -> list[str]:
    names = run.store.session_ids(run.id)
    return [str(run.folder / "sessions" / f"{name}.jsonl") for name in names]


def _error(run: Run, outcome: RunOutcome) -> JsonObject | None:
    """Return the first error to fix, with its fix; None for a run that completed."""
    if outcome.ok:
        return None
    for step in outcome.steps:
        if step.error is None and step.checkpoint_status in {"checkpoint_ready", "held", None}:
            continue
        error = step.error or {"kind": f"step_{step.checkpoint_status}", "message": step.summary}
        look = f"run `pixirnb show {run.id} {step.step_id}`"
        kind = str(error["kind"])
        fix = _FIXES.get(kind, "")
        return {
            "code": kind,
            "message": error["message"],
            "fix": f"{fix}; {look}" if fix else look,
            "step": step.step_id,
        }
    fix = f"run `pixirnb show {run.id}`"
    return {"code": outcome.status, "message": outcome.summary, "fix": fix, "step": None}


def _folder(store: FileStore) -> Path:
    """Make a folder for this smoke run in the state folder: it stays, as evidence."""
    prepare_state(store.state)
    stamp = "".join(letter for letter in SystemClock().wall()[:19] if letter.isdigit())
    folder = store.state / "smoke" / f"{stamp}-{secrets.token_hex(3)}"
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700)
    return folder


def _write(path: Path, document: JsonObject) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    path.chmod(0o600)


def _exit_code(document: JsonObject) -> int:
    """Return 0 if all was proven, else the code of the worst run; a completed run without its proof has failed."""
    if document["ok"]:
        return EXIT_COMPLETED
    statuses = {entry["status"] for entry in document["scenarios"] if not entry["ok"]}
    worst = next((status for status in _WORST if status in statuses), None)
    return EXIT_FAILED if worst in {None, "running"} else EXIT_OF[str(worst)]
