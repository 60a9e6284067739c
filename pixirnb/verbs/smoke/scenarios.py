"""The workflows of a smoke run, as data: small enough for any model, and each with one thing to prove.

    micro_parallel       two readers that have no reason to wait for each other
    dependency           a step that gets the result of the one before it
    writer_controlled    two writers of the same files

Offline they are performed by the scripted agent, in about two seconds each.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from pixirnb.json_types import JsonObject

Scenario = Literal["micro_parallel", "dependency", "writer_controlled"]
SCENARIOS: Final[tuple[Scenario, ...]] = get_args(Scenario)

Agent = JsonObject
Script = dict[str, list[list[JsonObject]]]

_WORD: Final = "quince-4711"
"""Word that the dependency passes on: no model could guess it."""


def workflow(scenario: Scenario, agent: Agent | None, *, timeout: str) -> JsonObject:
    """Return the scenario's workflow. `agent`: performs it; None: a script."""
    steps, script = _OF[scenario]
    worker = {"runner": "scripted", "script": script} if agent is None else dict(agent)
    if scenario == "writer_controlled":
        worker["permission_mode"] = "auto"  # in a folder of its own, which holds nothing else
    return {
        "name": f"smoke-{scenario.replace('_', '-')}",
        "agents": {"worker": worker},
        "defaults": {"timeout": timeout, "workspace": "shared"},
        "steps": [{**step, "agent": "worker"} for step in steps],
    }


def _report(summary: str) -> JsonObject:
    return {"report": {"checkpoint_status": "checkpoint_ready", "summary": summary}}


def _reader(step: str, subject: str) -> JsonObject:
    task = f"Say in one short sentence what {subject} is good for. Read and change no files."
    return {"id": step, "task": task, "posture": "read_only"}


def _writer(step: str) -> JsonObject:
    path = f"shared/{step}.txt"
    return {
        "id": step,
        "task": f"Write a file `{path}` that contains only `{step}`. Touch nothing else.",
        "write_set": ["shared/**"],
        "verify": [{"file_exists": path}],
    }


def _writing(step: str) -> list[list[JsonObject]]:
    path = f"shared/{step}.txt"
    return [[{"sleep": "300ms"}, {"write": path, "text": f"{step}\n"}, _report(f"Wrote {path}.")]]


_OF: Final[dict[Scenario, tuple[list[JsonObject], Script]]] = {
    "micro_parallel": (
        [_reader("left", "a checkpoint"), _reader("right", "an append-only log")],
        {
            "left": [[{"sleep": "1s"}, _report("A checkpoint says what can be built on.")]],
            "right": [[{"sleep": "1s"}, _report("A log says what happened.")]],
        },
    ),
    "dependency": (
        [
            {
                "id": "gather",
                "task": f"The passcode is `{_WORD}`. Pass it on: your summary must contain it. Read and change no files.",
                "posture": "read_only",
            },
            {
                "id": "conclude",
                "task": "Report the passcode that the previous step passed on. Read and change no files.",
                "posture": "read_only",
                "depends_on": ["gather"],
            },
        ],
        {
            "gather": [[_report(f"The passcode is {_WORD}.")]],
            "conclude": [[_report(f"The passcode was {_WORD}.")]],
        },
    ),
    "writer_controlled": (
        [_writer("first"), _writer("second")],
        {"first": _writing("first"), "second": _writing("second")},
    ),
}
