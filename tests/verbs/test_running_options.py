"""Options of `run` and `runs`, and `prune RUN`: targets, names, tags, short options, and the warnings of the plan."""

from __future__ import annotations

from pathlib import Path

from pixirnb import api
from pixirnb.operations.prune import PruneFilter, prune_runs
from pixirnb.operations.run_list import row_of_live
from tests.verbs.command import command, written

FLOW = """
name: pick
inputs: {n: {type: integer, default: 1}}
max_concurrency: 3
steps:
  - {id: a, run: "echo {{ inputs.n }}", posture: read_only}
  - {id: b, run: "true", depends_on: [a], posture: read_only}
  - {id: c, run: "true", depends_on: [b], posture: read_only}
"""


def test_steps_after_the_file_run_with_what_they_need_and_a_dry_run_names_the_others(
    tmp_path: Path,
) -> None:
    flow = written(tmp_path, FLOW)
    planned = command("run", flow, "b", "-n", "--json")
    assert (planned.code, planned.document()["not_selected"]) == (0, ["c"])
    shown = command("run", flow, "b", "-n").out
    assert "Not selected, held: `c`." in shown
    assert "2 steps in 2 waves, at most 1 at once" in shown
    assert "     2  b\n" in shown
    assert "     3  c\n" not in shown
    ran = command("run", flow, "b", "--json")
    assert (ran.code, ran.document()["usable_checkpoints"]) == (1, ["a", "b"])
    assert ran.document()["held_steps"] == ["c"]
    assert "was not selected" not in command("show", "@last").out
    wrong = command("run", flow, "x", "--json")
    assert (wrong.code, wrong.document()["error"]["code"]) == (2, "unknown_step")


def test_a_dry_run_counts_the_items_of_the_inputs_it_is_given_and_refuses_what_a_run_refuses(
    tmp_path: Path,
) -> None:
    steps = "steps: [{id: a, for_each: '{{ inputs.l }}', run: 'echo {{ item }}'}]"
    flow = written(tmp_path, f"name: each\ninputs: {{l: {{type: array}}}}\n{steps}\n")
    assert "× ? (inputs.l)" in command("run", flow, "-n").out
    assert "× 3" in command("run", flow, "-n", "-i", "l=[1, 2, 3]").out
    planned = command("run", flow, "-n", "-i", "l=[1, 2, 3]", "--json").document()
    assert planned["steps"][0]["items"] == 3
    for wrong, code in (("l=1", "input_invalid"), ("m=[]", "input_unknown")):
        said = command("run", flow, "-n", "-i", wrong, "--json")
        found = [said.document()["error"]["code"], *map(str, said.document()["error"].values())]
        assert (said.code, code in str(found)) == (2, True)


def test_short_options_are_those_of_other_tools(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW)
    (tmp_path / "there").mkdir()
    said = command("run", flow, "-i", "n=7", "-j", "2", "-C", tmp_path / "there", "--json")
    assert said.document()["inputs"] == {"n": 7}
    assert said.document()["workspace"] == str(tmp_path / "there")
    opened = api.open_run(said.document()["run_id"], state=tmp_path / "there" / ".pixirnb")
    assert opened.compiled().max_concurrency == 2
    for number in ("0", "1001"):
        assert command("run", flow, "-j", number).code == 2


def test_quiet_prints_one_line_and_nothing_on_stderr(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW.replace(", posture: read_only", ""))
    said = command("run", flow, "-q")
    assert said.err == ""
    assert said.out.count("\n") == 1
    assert "completed" in said.out
    assert command("resume", "@last", "-q").code == 0


def test_run_prints_the_warnings_of_the_plan_first_a_line_each_on_stderr(tmp_path: Path) -> None:
    undeclared = FLOW.replace(", posture: read_only", "").replace(
        "depends_on: [b]", "depends_on: [a]"
    )
    said = command("run", written(tmp_path, undeclared))
    first, second = said.err.splitlines()[:2]
    assert first.startswith("warning: line ")
    assert first.endswith("[undeclared_writers]")
    assert "Started r-" in second
    assert "warning: " not in said.out
    assert "warning: " not in command("run", written(tmp_path, FLOW)).err


def test_a_name_and_tags_are_shown_and_stand_for_the_run(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW)
    assert command("run", flow, "--name", "nightly", "--tag", "ci", "--tag", "x").code == 0
    assert command("run", flow, "--tag", "ci").code == 0
    shown = command("show", "nightly")
    assert "pick · nightly" in shown.out
    assert "Tags: ci, x." in shown.out
    listed = command("runs")
    assert "nightly" in listed.out
    assert "ci, x" in listed.out
    assert len(command("runs", "--tag", "ci", "--json").document()["runs"]) == 2
    [row] = command("runs", "--tag", "ci", "--tag", "x", "--json").document()["runs"]
    assert (row["name"], row["tags"]) == ("nightly", ["ci", "x"])
    assert command("runs", "--status", "failed,partial", "--json").document()["runs"] == []
    assert command("runs", "--status", "great").code == 2
    assert command("runs", "--since", "soon").code == 2
    assert command("run", flow, "--name", "a b").code == 2


def test_prune_takes_named_runs_whatever_their_status_and_only_with_yes(tmp_path: Path) -> None:
    flow = written(tmp_path, "name: ask\nsteps: [{id: gate, ask: {question: 'Go?'}}]")
    assert command("run", flow, "--name", "open").code == 4
    assert command("run", flow).code == 4
    dry = command("prune", "open", "--json")
    assert (dry.code, [run["status"] for run in dry.document()["runs"]]) == (
        0,
        ["needs_orchestrator"],
    )
    assert command("show", "open").code == 0
    gone = command("prune", "open", "--yes", "--json").document()
    assert (len(gone["runs"]), gone["kept"]) == (1, 1)
    assert command("show", "open").code == 5
    assert command("prune", "@last", "--keep", "1").code == 2


def test_a_live_run_is_not_pruned_by_its_name_and_the_reason_is_given(tmp_path: Path) -> None:
    text = "name: long\nsteps: [{id: a, run: sleep 60}]"
    run = api.start(text, workspace=tmp_path, name="busy")
    which = PruneFilter(run_ids=frozenset({run.id}))
    try:
        for is_preview in (True, False):
            document = prune_runs(run.store, row_of_live(run.store), which, is_preview=is_preview)
            [failed] = document["failed"]
            assert (failed["run_id"], failed["code"]) == (run.id, "held_by_another")
            assert (document["runs"], document["kept"]) == ([], 1)
    finally:
        run.cancel()
        run.wait()


def test_options_of_a_new_run_are_refused_next_to_resume(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW)
    assert command("run", flow).code == 0
    for words in (["b"], ["--name", "x"], ["--tag", "x"], ["-j", "2"], ["-C", str(tmp_path)]):
        said = command("run", flow, *words, "--resume", "@last")
        assert said.code == 2
        assert "--resume" in said.err
