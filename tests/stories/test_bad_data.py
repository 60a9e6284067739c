"""Folders, logs, disks and values gone bad: one or two lines that say what to do next, no traceback, and nothing lost.

Each case is told as a person meets it; what lay on the disk before lies there after.
"""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import HeldByAnother, InvalidArguments, LogDamaged
from tests.stories.refusals import refused, trees
from tests.stories.storyline import effects, ended, facts, kinds, mark, python, shell

pytestmark = [pytest.mark.story, pytest.mark.usefixtures("at_home")]

STEP = "steps: [{id: a, run: 'true'}]"


# --- state folders ---------------------------------------------------------------------------------------------------


def test_a_state_folder_that_is_a_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(f"name: x\n{STEP}\n")
    (tmp_path / ".pixirnb").write_text("precious")
    for tokens in (("run", "flow.yaml"), ("runs",), ("show", "r-20200101-000000-aaaaaa")):
        found = refused(*tokens)
        assert found.code == 5
        assert ".pixirnb" in found.text
    assert (tmp_path / ".pixirnb").read_text() == "precious"


def test_a_state_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Below a file, and in a file system that takes no folders: so that it holds for root too."""
    (tmp_path / "flow.yaml").write_text(f"name: x\n{STEP}\n")
    (tmp_path / "file").write_text("precious")
    for state in (tmp_path / "file" / "state", Path("/proc/state")):
        found = refused("run", "flow.yaml", "--state", state)
        assert found.code == 5
    assert (tmp_path / "file").read_text() == "precious"


def test_a_link_planted_in_a_run_folder_is_refused(tmp_path: Path) -> None:
    run, log = finished(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (log.parent / "planted").symlink_to(tmp_path / "elsewhere")
    for tokens in (("show", run), ("resume", run)):
        found = refused(*tokens)
        assert found.code == 5
        assert "symlink_refused" in found.text
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 300, "~nobody-at-all", "nowhere"])
def test_a_folder_that_cannot_be_is_refused_wherever_it_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "flow.yaml").write_text(f"name: x\n{STEP}\n")
    assert refused("plan", "flow.yaml", "--workspace", name).code == 2
    assert refused("show", f"{name}/{name}").code == 5
    if len(name) > 255:
        assert refused("run", "flow.yaml", "--state", name).code == 5


# --- logs ------------------------------------------------------------------------------------------------------------


def finished(workspace: Path) -> tuple[str, Path]:
    """A finished run that is partial, and its log."""
    run, _ = ended(workspace, shell("a", mark("a")), shell("b", mark("b", "test -e ok"), "a"))
    return run.id, run.folder / "log.jsonl"


def test_an_unknown_run_is_named_and_what_there_is_is_offered(tmp_path: Path) -> None:
    for verb in ("show", "log", "resume", "cancel"):
        found = refused(verb, "r-20200101-000000-aaaaaa")
        assert found.code == 5
        assert "unknown_run" in found.text
        assert "pixirnb runs" in found.text


def test_a_torn_tail_is_cut_and_said(tmp_path: Path) -> None:
    run, log = finished(tmp_path)
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    (log.parent / "seal.json").unlink()  # a process that died in mid-write left none that says more
    assert api.open_run(run).damage is not None
    assert log.read_bytes() == whole[:-20], "looking changes nothing"
    (tmp_path / "ok").touch()
    resumed = api.resume(run)
    assert resumed.wait().ok
    assert effects(tmp_path) == ["a", "b", "b"]
    assert [w["code"] for w in facts(resumed, "warning_raised")] == ["torn_tail"]
    assert resumed.damage is None


@pytest.mark.parametrize("how", ["edited", "missing", "doubled", "moved", "garbage"])
def test_a_damaged_log_can_be_read_up_to_there_and_is_never_resumed(
    tmp_path: Path, how: str
) -> None:
    run, log = finished(tmp_path)
    lines = log.read_bytes().splitlines(keepends=True)
    if how == "edited":
        lines[3] = lines[3].replace(b'"a"', b'"z"')
    elif how == "missing":
        del lines[3]
    elif how == "doubled":
        lines.insert(3, lines[3])
    elif how == "moved":
        lines[3], lines[4] = lines[4], lines[3]
    else:
        lines[3] = b"\xff\0 not JSON\n"
    log.write_bytes(b"".join(lines))
    before = trees(tmp_path)
    opened = api.open_run(run)
    assert len(opened.history()) == 3 + (how == "doubled")
    assert opened.damage is not None
    assert opened.damage.line is not None
    assert opened.status != "completed"
    with pytest.raises(LogDamaged):
        api.plan_resume(run)
    for tokens in (("resume", run), ("checkpoint", run, "x"), ("resume", run, "--dry-run")):
        found = refused(*tokens)
        assert found.code == 5
        assert "damage" in found.text
    assert trees(tmp_path) == before
    assert effects(tmp_path) == ["a", "b"]


def test_a_log_that_is_empty_or_all_garbage_is_refused(tmp_path: Path) -> None:
    run, log = finished(tmp_path)
    for raw in (b"", b"\x00" * 100, b"hello\nworld\n"):
        log.write_bytes(raw)
        for verb in ("show", "resume"):
            assert refused(verb, run).code == 5
        assert log.read_bytes() == raw
        rows = api.runs(workspace=tmp_path)
        assert [row["status"] for row in rows] == ["unreadable"]


def test_a_missing_blob_is_said_to_who_asks_and_made_anew_by_a_resume(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        shell("big", mark("big", "seq 1 20000")),
        shell("aside", mark("aside")),
        shell("use", "test -e ok && wc -l < {{ steps.big.output_path }}", "big"),
    )
    assert outcome.status == "partial"
    stored = [end["output"] for end in facts(run, "attempt_ended") if end["step"] == "big"]
    digest = stored[0]["blob"].removeprefix("b2:")
    [blob] = (path for path in (run.folder / "blobs").rglob("*") if path.name == digest)
    blob.unlink()
    with pytest.raises(LogDamaged) as caught:
        run.value("big")
    assert caught.value.code == "blob_missing"
    (tmp_path / "ok").touch()
    planned = {s["step_id"]: s["reason"] for s in api.plan_resume(run.id)}
    assert planned["aside"] == "ready"
    assert planned["big"] == "blob_missing"
    blob.write_text("other words")
    assert [s["reason"] for s in api.plan_resume(run.id) if s["step_id"] == "big"] == [
        "blob_damaged"
    ]
    blob.unlink()
    assert api.resume(run.id).wait().step("use").summary == "19999"
    assert sorted(effects(tmp_path)) == ["aside", "big", "big"]
    assert api.open_run(run.id).value("big").endswith("20000")


def test_the_second_of_two_resumers_is_told_who_the_first_is(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("a", "test -e ok && until test -e go; do sleep 0.02; done"))
    (tmp_path / "ok").touch()
    first = api.resume(run.id)
    with pytest.raises(HeldByAnother) as caught:
        api.resume(run.id)
    assert caught.value.exit_code == 5
    assert str(os.getpid()) in caught.value.message
    assert caught.value.fix
    (tmp_path / "go").touch()
    assert first.wait().ok


# --- disks that are full ---------------------------------------------------------------------------------------------

FILLS_UP = """
import resource, sys
from pixirnb import api
run = api.start({"name": "x", "steps": [
    {"id": "a", "run": "echo a >> effects.txt"},
    {"id": "b", "run": "echo b >> effects.txt; cat go", "depends_on": ["a"]},
    {"id": "c", "run": "echo c >> effects.txt", "depends_on": ["b"]},
]})
out = run.wait()
print(out.status, [r["code"] for r in out.reasons], out.ok)
"""


def test_a_full_disk_ends_the_run_honestly_and_a_resume_goes_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    child = python("-c", FILLS_UP, cwd=tmp_path)
    with (tmp_path / "go").open("w") as gate:
        [log] = tmp_path.glob(".pixirnb/runs/*/log.jsonl")
        # From here on no file of that process may grow past what it is: as on a disk that is full.
        size = log.stat().st_size
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (size + 30, size + 30))
        gate.write("on with it")
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert out.split()[0] == "interrupted"
    assert "log_write_failed" in out
    assert out.split()[-1] == "False"
    assert "Traceback" not in err
    (tmp_path / "go").unlink()
    (tmp_path / "go").write_text("go")
    run = log.parent.name
    assert effects(tmp_path) == ["a", "b"]
    planned = {s["step_id"]: s["reason"] for s in api.plan_resume(run)}
    assert planned == {"a": "ready", "b": "in_flight", "c": "held"}
    assert api.resume(run).wait().ok
    assert effects(tmp_path) == ["a", "b", "b", "c"]


PRINTS_TOO_MUCH = """
import json, resource
from pixirnb import api
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
noise = "head -c %d /dev/zero | tr '\\\\0' x; echo"
run = api.start({"name": "x", "steps": [
    {"id": "much", "run": noise % 400_000},
    {"id": "more", "run": noise % 2_000_000},
    {"id": "fails", "run": noise % 400_000 + "; exit 3"},
    {"id": "fits", "run": noise % 200_000},
    {"id": "returns", "call": ":f", "process": True},
]}, functions={":f": "def f():\\n    return 'x' * 400_000\\n"})
out = run.wait()
print(json.dumps({s.step_id: [s.checkpoint_status, (s.error and s.error["kind"])] for s in out.steps}))
"""


def test_output_that_the_disk_does_not_take_fails_its_step_alone(tmp_path: Path) -> None:
    child = python("-c", PRINTS_TOO_MUCH, cwd=tmp_path)
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert json.loads(out) == {
        "much": ["failed", "output_not_kept"],
        "more": ["failed", "output_not_kept"],
        "fails": ["failed", "exit"],
        "fits": ["checkpoint_ready", None],
        "returns": ["failed", "output_not_kept"],
    }


# --- values and functions --------------------------------------------------------------------------------------------


def test_an_output_that_cannot_be_kept_is_said_with_the_way_out(tmp_path: Path) -> None:
    source = "def f():\n    return (n for n in [1])\n"
    run = api.start(
        {"name": "x", "steps": [{"id": "a", "call": ":f"}, {"id": "b", "call": ":f", "process": True}]},
        functions={":f": source},
    )  # fmt: skip
    outcome = run.wait()
    for step in ("a", "b"):
        error = outcome.step(step).error
        assert error is not None
        assert error["kind"] == "output_unserialisable"
        assert "file" in error["message"]


def test_a_function_of_a_notebook_that_is_gone_is_the_pinned_one_on_resume(tmp_path: Path) -> None:
    source = "def f():\n    import pathlib\n    return pathlib.Path('ok').read_text()\n"
    flow = {"name": "x", "steps": [{"id": "a", "call": ":f"}]}
    run = api.start(flow, functions={":f": source})
    assert run.wait().status == "failed"
    (tmp_path / "ok").write_text("pinned")
    assert api.resume(run.id).wait().ok
    assert api.open_run(run.id).value("a") == "pinned"


def test_a_function_nobody_knows_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text("name: x\nsteps: [{id: a, call: ':gone'}]\n")
    found = refused("run", "flow.yaml", mistakes=1)
    assert "function_missing" in found.text
    run, _ = ended(tmp_path, shell("a", "false"))
    before = (run.folder / "log.jsonl").read_bytes()
    found = refused("resume", run.id, "--spec", "flow.yaml", mistakes=1)
    assert "function_missing" in found.text
    assert (run.folder / "log.jsonl").read_bytes() == before


def test_flags_that_contradict_each_other_change_nothing(tmp_path: Path) -> None:
    run, log = finished(tmp_path)
    before = log.read_bytes()
    with pytest.raises(InvalidArguments):
        api.resume(run, only="a", until="b")
    with pytest.raises(InvalidArguments):
        api.resume(run, from_step="nobody")
    assert log.read_bytes() == before
    assert kinds(api.open_run(run))[-1] == "run_finished"
