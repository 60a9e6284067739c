"""Sample documents for the tests of views: shaped by the real dataclasses, so that they cannot drift from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.machine.outcome_documents import RunRow

RUN = "r-20261121-220344-7f3akq"

RELEASE: list[tuple[str, str, list[str]]] = [
    ("lint", "shell", []),
    ("types", "shell", []),
    ("unit-tests", "shell", []),
    ("read-specs", "agent", []),
    ("survey-callers", "agent", []),
    ("design", "agent", ["read-specs", "survey-callers"]),
    ("approve-design", "decision", ["design"]),
    ("refactor-core", "agent", ["approve-design", "unit-tests"]),
    ("refactor-api", "agent", ["approve-design"]),
    ("refactor-cli", "agent", ["approve-design"]),
    ("refactor-widgets", "agent", ["approve-design", "types"]),
    ("write-docs", "agent", ["design"]),
    ("merge-core", "merge", ["refactor-core", "refactor-api"]),
    ("merge-ui", "merge", ["refactor-cli", "refactor-widgets"]),
    ("integration", "shell", ["merge-core", "merge-ui"]),
    ("benchmarks", "python", ["merge-core"]),
    ("browser-tests", "shell", ["merge-ui"]),
    ("compare-speed", "python", ["benchmarks"]),
    ("changelog", "agent", ["write-docs", "integration"]),
    ("build-wheel", "shell", ["integration", "lint"]),
    ("check-wheel", "shell", ["build-wheel"]),
    ("ship", "decision", ["check-wheel", "compare-speed", "browser-tests", "changelog"]),
    ("publish", "shell", ["ship"]),
]


def edges_of(spec: Sequence[tuple[str, str, list[str]]]) -> list[tuple[str, str]]:
    return [(before, step) for step, _, after in spec for before in after]


def waves_of(spec: Sequence[tuple[str, str, list[str]]]) -> list[list[str]]:
    depth: dict[str, int] = {}
    for step, _, after in spec:
        depth[step] = 1 + max((depth[before] for before in after), default=-1)
    waves: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for step, wave in depth.items():
        waves[wave].append(step)
    return waves


def plan(spec: Sequence[tuple[str, str, list[str]]], name: str = "release", **changes: Any) -> Any:
    waves = waves_of(spec)
    return {
        "ok": True,
        "workflow": name,
        "spec_digest": "b2:0",
        "errors": [],
        "warnings": [],
        "levels": waves,
        "waves": waves,
        "conflicts": [],
        "conflict_count": 0,
        "serialized": [],
        "critical_path": [wave[0] for wave in waves],
        "peak_concurrency": max(len(wave) for wave in waves),
        "agent_minutes": 0.0,
        "agents": {},
        "repos": {},
        "timeouts": {},
        "phases": [{"name": "rest", "steps": [step for step, _, _ in spec]}],
        **changes,
    }


def step(
    step_id: str, kind: str = "shell", status: str | None = "checkpoint_ready", **changes: Any
) -> StepOutcome:
    attempts = {
        "checkpoint_ready": "completed",
        "failed": "failed",
        "partial": "completed",
        "held": "not_applicable",
        "needs_orchestrator": "not_applicable",
        None: "queued",
    }
    ran = status not in {"held", None}
    fields: Any = {
        "step_id": step_id,
        "kind": kind,
        "agent_id": "worker" if kind == "agent" else None,
        "child_session_id": None,
        "wave": 0,
        "attempt": 1 if ran else 0,
        "subagent_status": attempts[status],
        "checkpoint_status": status,
        "summary": "",
        "elapsed_ms": 1_234 if ran else None,
        "timeout_ms": 1_800_000,
        "error": None,
        "checkpoint": None,
        "next_actions": [],
        "posture": "read_only",
        "read_set": [],
        "write_set": [],
        "workspace": "shared",
        "held_by": None,
    }
    return StepOutcome(**{**fields, **changes})


def outcome(status: str, steps: list[StepOutcome], **changes: Any) -> Any:
    counts: dict[str, int] = {}
    for one in steps:
        name = one.checkpoint_status or one.subagent_status
        counts[name] = counts.get(name, 0) + 1
    ready = counts.get("checkpoint_ready", 0)
    fields: Any = {
        "run_id": RUN,
        "workflow": "release",
        "status": status,
        "reasons": [],
        "steps": steps,
        "held_dependents": {},
        "seam_obligations": [],
        "next_actions": [],
        "proof_states": [],
        "summary": f"{ready} of {len(steps)} steps ready.",
        "counts": counts,
        "warnings": [],
        "elapsed_ms": 754_000,
    }
    return RunOutcome(**{**fields, **changes}).document()


def run_row(**changes: Any) -> RunRow:
    """A run in a list."""
    row: Any = {
        "run_id": RUN,
        "workflow": "w",
        "status": "partial",
        "started_at": None,
        "ended_at": None,
        "counts": {"failed": 1},
        **changes,
    }
    return cast("RunRow", row)


def release(status: str, looks: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The 23-step sample with some steps standing differently; what depends on those that are not ready is held."""
    looks = looks or {}
    waves = waves_of(RELEASE)
    wave = {name: place for place, names in enumerate(waves) for name in names}
    steps: list[StepOutcome] = []
    blocked: dict[str, str] = {}
    for place, (name, kind, after) in enumerate(RELEASE):
        holder = next((before for before in after if before in blocked), None)
        own: Any = {
            "kind": kind,
            "wave": wave[name],
            "elapsed_ms": 97 * (place + 1) ** 3,
        }
        if name in looks:
            own |= looks[name]
        elif holder is not None:
            own |= (
                {"status": None}
                if status == "running"
                else {
                    "status": "held",
                    "held_by": {"kind": "dependency", "step": holder},
                }
            )
            own |= {"elapsed_ms": None}
        if own.get("status", "checkpoint_ready") != "checkpoint_ready":
            blocked[name] = name
        steps.append(step(name, **own))
    return outcome(status, steps, **changes)


PARTIAL_LOOKS: dict[str, Any] = {
    "refactor-widgets": {
        "status": "failed",
        "subagent_status": "timed_out",
        "attempt": 2,
        "elapsed_ms": 900_012,
        "timeout_ms": 900_000,
        "error": {"kind": "timeout", "message": "Stopped after 15 minutes.", "details": {}},
    },
    "write-docs": {
        "status": "partial",
        "error": {
            "kind": "readiness_not_declared",
            "message": "The agent ended without declaring readiness.",
            "details": {},
        },
    },
    "benchmarks": {
        "status": "failed",
        "error": {
            "kind": "exception",
            "message": "ValueError: no baseline for 'startup'",
            "details": {},
        },
    },
}

ACTIONS: list[dict[str, Any]] = [
    {
        "action": "raise_timeout",
        "step": "refactor-widgets",
        "cell": f"%pixir resume {RUN} --spec FILE",
    },
    {"action": "retry_failed_steps", "step": None, "cell": f"%pixir resume {RUN}"},
    {"action": "synthesize_from_partial", "step": None, "cell": f"%pixir show {RUN}"},
]

HOSTILE: list[str] = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</title></desc></style><script>alert(1)</script>",
    "</svg><iframe src=javascript:alert(1)>",
    "</pre></code><a href='javascript:alert(1)' id=x name=y data-commandlinker-command=z>click</a>",
    "<!-- --><![CDATA[ ]]>&lt;b&gt;&#x3c;script&#x3e;",
    "`${alert(1)}` {{7*7}} $(id) %{x}",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x9b2J \x90q\x9c",
    "\x1b]0;unterminated title <b>",
    "safe\u202egnp.exe\u2066\u2069\u200f",
    "a\x00b\x07c\x7fd\x85e\ud800f",
    "line\r\nbreak\rover\u2028write\u2029",
    "x" * 5_000,
    '```"]; end --> <br/> #quot; \\',
    'end\\"]; node [label="pwned"',
    "javascript:alert(1)",
    "\u0000<\u0000script>",
]
