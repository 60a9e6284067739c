"""§5 of the contract, for steps on a cluster: where an attempt starts, and that it does so once."""

from __future__ import annotations

from collections.abc import Iterator

from harness.auditor.breaches import Finding
from harness.auditor.record import Record


def starts_once(record: Record) -> Iterator[Finding]:
    """An attempt starts once, on one worker: what a cluster gives again begins nothing."""
    seen: set[tuple[str, int]] = set()
    for _, fact in record.of("attempt_started"):
        attempt = fact.data["step"], fact.data["attempt"]
        if attempt in seen:
            yield fact.seq, fact.step, f"Attempt {attempt[1]} started before."
        seen.add(attempt)


def starts_where_placed(record: Record) -> Iterator[Finding]:
    """What is placed on a cluster starts on a worker that the log names, and all else with its owner."""
    for course, fact in record.of("attempt_started"):
        step = course.reading.steps.get(fact.data["step"])
        if step is None:
            continue
        worker = fact.data.get("worker")
        if step.is_on_cluster and not worker:
            yield fact.seq, fact.step, "It is placed on a cluster, and started on no worker."
        elif worker and not step.is_on_cluster:
            yield (
                fact.seq,
                fact.step,
                f"It started on worker {worker}, and is placed with its owner.",
            )
