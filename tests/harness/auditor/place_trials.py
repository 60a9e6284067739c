"""Doctored logs of steps on a cluster: each breaks the promise of one rule, and no other."""

from __future__ import annotations

from tests.harness.auditor.doctoring import Exhibit, at, made, of
from tests.harness.auditor.taped_runs import Tape, begun
from tests.harness.auditor.verdict_trials import Trial
from tests.harness.auditor.workflows_on_trial import play, shell, spec, task

WORKER = "tcp://10.0.0.1:4711"


def placed() -> Tape:
    """a on a cluster, and b that is not."""
    return play(begun(spec(shell("a", placement="cluster"), shell("b"))), "a", "b")


def everywhere() -> Tape:
    """All on a cluster but c, an agent that says otherwise."""
    steps = shell("a"), task("b"), task("c", placement="local")
    return play(begun(spec(*steps, placement="cluster")), "a", "b", "c")


def _start(exhibit: Exhibit, step: str, worker: str | None = None) -> Exhibit:
    event = made("attempt_started", {"step": step, "attempt": 1, "pid": 4711})
    if worker is not None:
        event.data["worker"] = worker
    return exhibit.insert(exhibit.place(at("attempt_ended", step)), event)


TRIALS: list[Trial] = [
    (
        "starts_once",
        "on two workers",
        of(placed),
        lambda x: _start(_start(x, "a", WORKER), "a", "tcp://10.0.0.2:4711"),
    ),
    ("starts_where_placed", "on no worker", of(placed), lambda x: _start(x, "a")),
    ("starts_where_placed", "on a worker, unasked", of(placed), lambda x: _start(x, "b", WORKER)),
    ("starts_where_placed", "on no worker as all", of(everywhere), lambda x: _start(x, "a")),
    ("starts_where_placed", "an agent on no worker", of(everywhere), lambda x: _start(x, "b")),
    (
        "starts_where_placed",
        "an agent on a worker, unasked",
        of(everywhere),
        lambda x: _start(x, "c", WORKER),
    ),
]
