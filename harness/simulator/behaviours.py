"""How attempts of a step go: what may go wrong first, and how it goes from then on.

The last behaviour repeats, and what comes before it never makes the step ready: so a step that is made again after a death
comes to the same end, and only a little later.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from harness.simulator.world import Document

_FALLS: Final[dict[str, tuple[str, ...]]] = {
    "run": ("exit", "exit", "crash", "lost", "spawn_failed", "supervisor_lost", "hang"),
    "call": ("exception", "crash", "lost", "function_missing", "output_unserialisable", "hang"),
    "task": (
        "exit",
        "crash",
        "context_overflow",
        "provider_transient",
        "provider_permanent",
        "turn_limit",
        "hang",
    ),
}
_LASTING: Final = (0.0, 0.2, 0.5, 1.0, 1.0, 2.0, 3.0, 5.0, 8.0)
_UNREADY: Final = ("partial", "partial", "needs_orchestrator", "failed", "made_up")


def with_wishes(chance: Random, found: list[Document]) -> list[Document]:
    """The attempts of an agent, some of which ask to be allowed something first."""
    for each in found:
        if chance.random() < 0.35:
            each["asks"] = chance.choice([["make"], ["make"], ["test"], ["make", "test"]])
    return found


def behaviours(chance: Random, step: Document, *, is_lenient: bool) -> list[Document]:
    """Of one step as written; none for a question."""
    kind = next((key for key in ("run", "call", "task") if key in step), None)
    if kind is None:
        return []
    final = _good(chance, step, kind, is_lenient=is_lenient)
    if chance.random() < 0.16:
        final = _bad(chance, step, kind)
    falls = chance.choice((0, 0, 0, 0, 1, 1, 2))
    return [_bad(chance, step, kind) for _ in range(falls)] + [final]


def _good(chance: Random, step: Document, kind: str, *, is_lenient: bool) -> Document:
    found = _any(chance, step)
    if kind != "task":
        return found
    is_checked = bool(step.get("verify"))
    if "output" in step:
        found["report"] = {"checkpoint_status": "checkpoint_ready", "with_output": True}
    elif (is_checked or is_lenient) and chance.random() < 0.5:
        if chance.random() < 0.3:
            found["report"] = {"summary": "done"}
    elif chance.random() < 0.3:
        found["marker"] = "checkpoint_ready"
    else:
        said: Document = {"checkpoint_status": "checkpoint_ready", "summary": "done"}
        said["with_output"] = chance.random() < 0.6
        if chance.random() < 0.2:
            said["limitations"] = ["a draft"]
        if chance.random() < 0.03:
            said["huge"] = True
        found["report"] = said
    return found


def _bad(chance: Random, step: Document, kind: str) -> Document:
    """An end that makes nothing ready, whatever else is declared."""
    found = _any(chance, step)
    ways = ["falls", "falls", "falls"]
    if any("command" in check or "python" in check for check in step.get("verify") or ()):
        ways += ["check", "check"]
    if "output" in step and kind != "task":
        ways.append("bad_output")
    if kind == "task":
        ways += ["unready", "unready"]
    match chance.choice(ways):
        case "check":
            found["check"] = chance.choice(["fail", "fail", "hang"])
            if kind == "task":
                found["report"] = {"checkpoint_status": "checkpoint_ready", "with_output": True}
        case "bad_output":
            found["end"] = "bad_output"
        case "unready":
            said = chance.choice(_UNREADY)
            if chance.random() < 0.3:
                found["marker"] = said
            else:
                found["report"] = {"checkpoint_status": said, "summary": "it is not"}
        case _:
            found["end"] = chance.choice(_FALLS[kind])
    if kind == "task" and chance.random() < 0.3:
        found["last_words"] = {"checkpoint_status": "partial", "summary": "half of it"}
    return found


def _any(chance: Random, step: Document) -> Document:
    found: Document = {"lasts": chance.choice(_LASTING)}
    drawn: dict[str, Any] = {
        "value": chance.choice(("given", "given", "const", "big")),
        "chatty": chance.random() < 0.3,
        "stubborn": chance.random() < 0.3,
        "returns": chance.choice((2.0, 15.0, 60.0)),
    }
    found.update({key: value for key, value in drawn.items() if value})
    if "run" in step and "output" in step:
        found["prints"] = "json"
    return found
