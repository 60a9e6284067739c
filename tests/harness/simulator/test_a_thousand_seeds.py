"""Worlds keep every promise; and a thousand of them hold enough of everything that could break one."""

from __future__ import annotations

import os

import pytest

from harness.simulator.campaign import Tally, in_parallel

SEEDS = range(1000)
AT_LEAST = {
    "crashes": 400,
    "double crashes": 60,
    "torn groups": 120,
    "refused groups": 10,
    "disk full": 25,
    "blobs lost": 50,
    "strays swept": 60,
    "rivals": 150,
    "compared": 150,
    "form: fork": 60,
    "form: decide": 20,
    "form: resume": 400,
    "form: resume from": 50,
    "form: resume only": 20,
    "form: resume until": 20,
    "form: resume from until": 20,
    "form: resume inputs": 25,
    "form: resume workflow": 80,
    "no-ops": 150,
    "cancel": 25,
    "drain": 25,
    "interrupt": 25,
    "cancel_step": 60,
    "decisions live": 150,
    "decisions not resumed": 150,
    "said twice": 50,
    "contradicted": 30,
    "refused": 150,
    "manual checkpoints": 60,
    "checkpoints at rest": 25,
    "checkpoints: phase": 200,
    "detached": 40,
    "asks of a death": 30,
    "attempt timed_out": 400,
    "attempt cancelled": 25,
    "attempt interrupted": 25,
    "retried: timeout": 150,
    "retried: crash": 300,
    "retried: verification": 150,
    "locks lost": 80,
    "taken up by another": 60,
    "logs damaged": 50,
    "waits for a claim": 1000,
    "kept by an equal digest": 150,
    "held: when": 150,
    "held: run_timeout": 10,
    "held: run_stopped": 200,
    "events in blobs": 4,
    "warned: side_effects_may_be_partial": 300,
    "warned: torn_tail": 60,
    "ended completed": 200,
    "ended partial": 800,
    "ended needs_orchestrator": 150,
    "ended interrupted": 80,
    "ended failed": 100,
    "ended timed_out": 25,
    "captures": 1800,
    "builds on others": 250,
    "writes outside": 140,
    "merged": 120,
    "undone": 25,
    "clashes": 30,
    "clashes of a person": 4,
    "solved": 6,
    "seam met": 30,
    "seam declared": 180,
    "seam reported": 100,
    "seam conflict": 35,
    "seam resolved: person": 280,
    "seam resolved: step": 5,
    "lists": 300,
    "lists shared": 200,
    "items": 600,
    "items kept": 60,
    "items missing": 30,
    "items selected": 8,
}
"""What a lazy generator would leave out."""


def test_worlds_keep_every_promise() -> None:
    total = Tally()
    for part in in_parallel(range(60), 1):
        total.add(part)
    broken = {failure.seed: failure.breaches[0] for failure in total.failures}
    assert broken == {}, "see one again with: make simulate SEED=…"
    assert total.seeds == 60


@pytest.mark.sweep
@pytest.mark.timeout(900)
def test_a_thousand_worlds_keep_every_promise_and_hold_everything_that_could_break_one() -> None:
    total = Tally()
    for part in in_parallel(SEEDS, min(4, os.cpu_count() or 1)):
        total.add(part)
    broken = {failure.seed: failure.breaches[0] for failure in total.failures}
    assert broken == {}, "see one again with: make simulate SEED=…"
    assert total.seeds == len(SEEDS)
    too_few = {
        name: (total.counts[name], least)
        for name, least in AT_LEAST.items()
        if total.counts[name] < least
    }
    assert too_few == {}
