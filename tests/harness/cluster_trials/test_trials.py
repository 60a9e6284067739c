"""Trials of real clusters: promises hold while a worker dies, and a trial sees one that is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster_trials.trial import Trial

pytestmark = pytest.mark.story
ITS_WORKER_IS_KILLED = 4


def test_a_run_completes_though_a_worker_is_killed_and_what_is_broken_is_seen(
    tmp_path: Path,
) -> None:
    trial = Trial(ITS_WORKER_IS_KILLED, tmp_path)
    verdict = trial.run()
    assert verdict.breaches == []
    assert "kill worker far" in verdict.failed
    effects = tmp_path / "project" / "effects"
    lines = effects.read_text().splitlines()
    effects.write_text("\n".join([*lines, "last 1 begin"]))
    trial.judge(None)
    assert verdict.breaches == ["begun twice: last.1, 2 times"]
    verdict.breaches.clear()
    effects.write_text("\n".join(line for line in lines if line != "last 1 end"))
    trial.judge(None)
    assert verdict.breaches == ["false ready: last.1"]
