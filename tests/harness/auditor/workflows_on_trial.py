"""The small runs that are doctored: each sound, and short enough to be read."""

from __future__ import annotations

from typing import Any

from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import plan_of
from tests.harness.auditor.taped_runs import Tape, begun


def spec(*steps: dict[str, Any], **said: Any) -> dict[str, Any]:
    """A workflow of these steps."""
    return {"name": "trial", "agents": {"worker": {}}, **said, "steps": list(steps)}


def shell(name: str, *after: str, **said: Any) -> dict[str, Any]:
    """A shell step."""
    step = {"id": name, "run": f"echo {name}", **said}
    return {**step, "depends_on": list(after)} if after else step


def task(name: str, **said: Any) -> dict[str, Any]:
    """An agent's step that only reads."""
    return {"id": name, "task": "Look.", "agent": "worker", "posture": "read_only", **said}


def play(tape: Tape, *ends: str) -> Tape:
    """Steps end in this order: `a` cleanly, `a!` with exit 1."""
    for end in ends:
        if end.endswith("!"):
            tape.end(end[:-1], "failed", error="exit", exit_code=1)
        else:
            tape.end(end, value=end)
    return tape


def pair(**said: Any) -> Tape:
    """Two steps that know nothing of each other, one after the other."""
    return play(begun(spec(shell("a"), shell("b"), max_concurrency=1, **said)), "a", "b")


def beside(**said: Any) -> Tape:
    """Two steps under way at once."""
    steps = (shell("a", write_set=["x/**"]), shell("b", write_set=["y/**"]))
    return play(begun(spec(*steps, max_concurrency=2, **said)), "a", "b")


def failing(*ends: str, **said: Any) -> Tape:
    """a fails, b depends on it and is held, c is ready."""
    return play(
        begun(spec(shell("a", **said), shell("b", "a"), shell("c"))), *(ends or ("c", "a!"))
    )


def retried(**retry: Any) -> Tape:
    """a fails, is tried again 5 s later, and is ready; z fails at once."""
    policy = {"max_attempts": 2, "delay": "5s", "jitter": 0.5, **retry}
    steps = (shell("a", retry=policy, timeout="20s"), shell("z"))
    tape = play(begun(spec(*steps)), "z!", "a!")
    assert tape.wake_at is not None
    tape.turn(tape.wake_at - tape.now)
    return play(tape, "a")


def asked(**ask: Any) -> Tape:
    """A question, decided once the run had parked."""
    steps = ({"id": "gate", "ask": {"question": "Ship?", **ask}}, shell("a", "gate"))
    parked = begun(spec(*steps))
    tape = parked.resume(
        Selection(is_decision=True), facts=[parked.decision("gate", "accept", "now")]
    )
    return play(tape, "a")


def partial() -> Tape:
    """An agent declares nothing, which is partial, and a person accepts it while another step runs."""
    tape = begun(spec(task("a"), shell("b")))
    tape.end("a")
    tape.decide("a", "accept")
    return play(tape, "b")


def needing() -> Tape:
    """An agent reports a question that it cannot settle."""
    tape = begun(spec(task("a"), shell("b")))
    tape.end("a", report={"checkpoint_status": "needs_orchestrator"})
    return play(tape, "b")


def mended(**said: Any) -> Tape:
    """a is ready and feeds b; c fails and is run again by a resume."""
    steps = (shell("a"), shell("b", "a"), shell("c", **said))
    tape = play(
        begun(spec(*steps, inputs={"n": {"type": "integer", "default": 1}})), "a", "b", "c!"
    )
    return play(tape.resume(), "c")


def edited() -> Tape:
    """a is edited and comes out as before, so that b, behind it, is kept."""
    tape = play(begun(spec(shell("a"), shell("b", "a"), shell("c", "b"))), "a", "b", "c")
    other = spec(shell("a", run="echo a; true"), shell("b", "a"), shell("c", "b"))
    return play(tape.resume(plan=plan_of(other)), "a")


def lost() -> Tape:
    """a is under way when its process dies; a resume runs it again."""
    return play(begun(spec(shell("a"))).resume(), "a")


def detached() -> Tape:
    """A thread cannot be ended and goes on by itself; another step begins beside it."""
    steps = (
        {"id": "a", "call": "m:f", "write_set": ["x/**"], "process": False},
        shell("b", write_set=["y/**"]),
        shell("c", write_set=["z/**"]),
    )
    tape = begun(spec(*steps, max_concurrency=1))
    tape.end("a", "detached")
    play(tape, "b")
    return play(tape, "c")
