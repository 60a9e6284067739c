"""More files than a run names in its log: counted whole, and listed whole where somebody asks."""

from __future__ import annotations

from pathlib import Path

from tests.verbs.command import command, written

FLOW = """
name: many
steps:
  - {id: a, run: "for n in $(seq 1 201); do seq 2 > f$n.txt; done", workspace: isolated, write_set: ["f*.txt"]}
  - {id: b, run: "true", workspace: isolated, write_set: [b]}
"""


def test_the_lines_of_all_files_are_counted_and_stat_lists_each(tmp_path: Path) -> None:
    run_id = command("run", written(tmp_path, FLOW), "--json").document()["run_id"]

    assert "201 files, +402 -0" in command("merge", run_id, "--preview").out
    told = command("diff", run_id, "a", "--stat")
    assert "a · 201 files, +402 -0 · not merged" in told.out
    assert told.out.count("  A  f") == 201
    listed = command("diff", run_id, "a", "--stat", "--json").document()["changes"][0]["changes"]
    assert (len(listed["files"]), listed["count"], listed["added"]) == (201, 201, 402)


def test_what_is_neither_step_nor_merge_is_refused_with_the_names_of_both(tmp_path: Path) -> None:
    run_id = command("run", written(tmp_path, FLOW), "--json").document()["run_id"]
    command("merge", run_id, "a")
    refused = command("diff", run_id, "m9")

    assert refused.code == 2
    assert "steps: a, b; merges: m1" in refused.out + refused.err
    assert "merges" not in command("diff", run_id, "b").out
