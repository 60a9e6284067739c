"""A checkpoint of a run is the beginning of another run; the first stays as it is."""

from __future__ import annotations

from pathlib import Path

from tests.verbs.command import command, written

FLOW = """
name: forked
inputs: {n: 1}
steps:
  - {id: a, run: "echo a", posture: read_only}
  - {id: b, run: "echo b {{ inputs.n }}", posture: read_only, depends_on: [a]}
"""


def test_a_fork_starts_a_new_run_and_leaves_the_first_alone(tmp_path: Path) -> None:
    first = command("run", written(tmp_path, FLOW), "--json").document()
    assert command("checkpoint", "@last", "end").code == 0
    before = command("events", first["run_id"], "--json").out
    preview = command("fork", first["run_id"], "end", "--input", "n=2", "--dry-run", "--json")
    actions = [(step["step_id"], step["action"]) for step in preview.document()["steps"]]
    assert actions == [("a", "reuse"), ("b", "rerun")]
    forked = command("fork", first["run_id"], "end", "--input", "n=2", "--json").document()
    assert (forked["status"], forked["run_id"] != first["run_id"]) == ("completed", True)
    assert command("logs", forked["run_id"], "b").out == "b 2\n"
    assert command("events", first["run_id"], "--json").out == before
