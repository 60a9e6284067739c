"""The doctor looks at a run folder as it lies on the disk: it tells what is wrong, changes nothing, runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec.structs import replace

from pixirnb import api
from pixirnb.errors import UnknownRun
from pixirnb.operations.doctor import diagnose
from pixirnb.operations.run import Run
from pixirnb.store.file_store import FileStore
from tests.operations.household import completed, content, cut_off, edited, kept, name_of, parked

RUN = name_of(1)
MAKES_MUCH = """
name: much
steps:
  - {id: make, run: "printf '%20000s' x; echo kept > kept.txt", artifacts: [kept.txt]}
"""
HOLD = """
import sys
from pathlib import Path
from pixirnb.store.file_store import FileStore
log = FileStore(Path(sys.argv[1])).acquire(sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
"""

PARENT = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "60"], env={**os.environ, "PIXIRNB_STEP": os.environ["TAG"]})
print("started", flush=True)
sys.stdin.readline()
child.kill()
child.wait()
"""


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "state")


def told(store: FileStore, run: str = RUN) -> dict[str, str]:
    """Code of each finding to its severity; nothing on the disk has changed for it."""
    before = content(store.state)
    diagnosis = diagnose(store, run)
    assert content(store.state) == before
    return {finding.code: finding.severity for finding in diagnosis.findings}


def ended_with(tmp_path: Path, text: str) -> Run:
    """A real run of a workflow, at rest."""
    run = api.start(text, workspace=tmp_path, state=tmp_path / "state")
    run.wait()
    return run


def test_a_sound_run_is_ready(store: FileStore) -> None:
    kept(store, completed().events)
    assert told(store) == {}


def test_a_real_run_leaves_nothing_to_tell(tmp_path: Path) -> None:
    run = ended_with(tmp_path, MAKES_MUCH)
    assert told(FileStore(tmp_path / "state"), run.id) == {}


def test_an_edited_log_blocks_and_half_a_line_does_not(store: FileStore) -> None:
    log = kept(store, completed().events) / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole.replace(b'"value":1', b'"value":7'))
    assert told(store)["chain_broken"] == "blocked"
    log.write_bytes(whole + b'{"at":"20')
    assert told(store) == {"torn_tail": "warning"}
    log.write_bytes(b"nonsense\n" + whole)
    assert told(store) == {"chain_broken": "blocked"}


def test_a_blob_that_is_gone_or_changed_names_its_step(tmp_path: Path) -> None:
    run = ended_with(tmp_path, MAKES_MUCH)
    store = FileStore(tmp_path / "state")
    text, artifact = sorted(run.folder.glob("blobs/*/*"), key=lambda p: -p.stat().st_size)
    artifact.write_bytes(b"other")
    found = diagnose(store, run.id)
    assert [(f.code, f.severity, f.step) for f in found.findings] == [
        ("blob_damaged", "blocked", "make")
    ]
    text.unlink()
    assert set(told(store, run.id)) == {"blob_damaged", "blob_missing"}


def test_an_output_log_that_is_gone_is_told(tmp_path: Path) -> None:
    run = ended_with(tmp_path, MAKES_MUCH)
    (run.folder / "output" / "make.1.log").unlink()
    assert told(FileStore(tmp_path / "state"), run.id) == {"output_missing": "warning"}


def recorded(folder: Path, **changed: Any) -> None:
    """A lease record that some process left."""
    lease = {
        "host": os.uname().nodename,
        "pid": 2**22 - 7,
        "started": 1.0,
        "instance": "i",
        "since": "2026-11-21T00:00:00.000000Z",
    }
    (folder / "lease.json").write_text(json.dumps(lease | changed))
    (folder / "lease.json").chmod(0o600)


def test_the_record_of_a_dead_process_is_stale(store: FileStore) -> None:
    recorded(kept(store, cut_off().events))
    assert told(store) == {
        "lease_stale": "warning",
        "owner_died": "warning",
        "in_flight": "warning",
    }


def test_a_pid_that_another_process_bears_now_is_told_apart(store: FileStore) -> None:
    recorded(kept(store, completed().events), pid=os.getpid(), started=1.0)
    assert told(store) == {"pid_reused": "warning"}


def test_another_hosts_record_is_believed(store: FileStore) -> None:
    recorded(kept(store, cut_off().events), host="elsewhere.invalid")
    assert told(store) == {"lease_elsewhere": "warning"}


def test_a_live_owner_is_nothing_to_tell(store: FileStore) -> None:
    kept(store, completed().events)
    held = store.acquire(RUN)
    try:
        assert told(store) == {}
    finally:
        held.close()


def test_a_lock_that_outlived_its_owner_blocks(store: FileStore) -> None:
    folder = kept(store, completed().events)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.state), RUN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        recorded(folder)  # as if a process that is gone had left the lock to this one
        assert told(store) == {"lock_left_behind": "blocked"}
        (folder / "lease.json").unlink()
        assert told(store) == {"lock_unsigned": "blocked"}
    finally:
        holder.communicate(b"\n")


def test_processes_of_a_run_without_an_owner_are_found(store: FileStore) -> None:
    kept(store, cut_off().events)
    stray = subprocess.Popen(["sleep", "60"], env={**os.environ, "PIXIRNB_STEP": f"{RUN}/make.1"})
    try:
        psutil.Process(stray.pid).status()
        found = diagnose(store, RUN)
        strays = next(f for f in found.findings if f.code == "strays_alive")
        assert strays.evidence == {"pids": [stray.pid]}
        assert stray.poll() is None
    finally:
        stray.kill()
        stray.wait()


def test_what_a_live_owner_elsewhere_runs_is_no_stray_of_a_copy(store: FileStore) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TAG": f"{RUN}/make.1"},
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"started\n"
        here = {"host": os.uname().nodename, "pid": owner.pid, "instance": "i"}
        events = edited(cut_off().events, "run_started", lambda data: data.update(owner=here))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        kept(store, [replace(event, at=now) for event in events])
        assert "strays_alive" not in told(store)
    finally:
        owner.communicate(b"\n")


def test_requests_that_nobody_took_are_told(store: FileStore) -> None:
    folder = kept(store, parked().events)
    (folder / "inbox" / "0123456789abcdef.json").write_text("{}")
    (folder / "inbox" / "0123456789abcdef.json").chmod(0o600)
    assert told(store)["requests_waiting"] == "warning"


def test_what_others_may_read_is_told_with_its_mode(store: FileStore) -> None:
    folder = kept(store, completed().events)
    (folder / "log.jsonl").chmod(0o644)
    [finding] = diagnose(store, RUN).findings
    assert finding.code == "mode_wide"
    assert finding.evidence == {"paths": [{"path": "log.jsonl", "mode": "0644"}]}


def test_links_in_a_run_folder_block(store: FileStore) -> None:
    folder = kept(store, completed().events)
    (folder / "output" / "a.1.log").symlink_to("../log.jsonl")
    assert told(store) == {"symlink_refused": "blocked"}
    (folder / "link").symlink_to("log.jsonl")
    assert told(store) == {"symlink_refused": "blocked"}


def test_a_folder_that_cannot_be_read_is_a_finding(store: FileStore) -> None:
    folder = kept(store, completed().events)
    (folder / "log.jsonl").unlink()
    (folder / "log.jsonl").mkdir(mode=0o700)
    assert list(told(store).values()) == ["blocked"]


def test_a_run_that_waits_for_its_first_event_is_not_blocked(store: FileStore) -> None:
    log = store.create(RUN)
    assert told(store) == {"not_begun": "warning"}
    log.close()


def test_a_run_that_died_before_its_first_event_is_told(store: FileStore) -> None:
    store.create(RUN).close()
    assert told(store) == {"never_began": "warning"}


def test_a_workflow_this_pixirnb_cannot_plan_is_a_finding(store: FileStore) -> None:
    events = edited(
        completed().events, "run_started", lambda data: data["spec"].update(kind_to_come=1)
    )
    kept(store, events)
    assert told(store) == {"invalid_spec": "blocked"}


def test_a_value_that_is_not_signed_here_is_told_and_no_key_is_made(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pickle

    folder = kept(store, completed().events)
    blob = store.blobs(RUN).put(pickle.dumps({1}))
    stored = {"format": "pickle", "blob": blob, "bytes": 1, "signature": "b2k:0", "type": "set"}
    events = edited(completed().events, "attempt_ended", lambda data: data.update(output=stored))
    (folder / "log.jsonl").unlink()
    folder.rename(folder.with_name("aside"))
    again = kept(store, events)
    again.joinpath("blobs").rmdir()
    folder.with_name("aside").joinpath("blobs").rename(again / "blobs")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert told(store) == {"value_not_trusted": "warning"}
    assert not (tmp_path / "config").exists()


def test_a_workspace_that_is_not_here_is_told(store: FileStore, tmp_path: Path) -> None:
    kept(store, completed().events, workspace=tmp_path / "gone")
    assert told(store) == {"workspace_missing": "warning"}


def test_a_run_that_is_not_there_is_no_finding_but_an_error(store: FileStore) -> None:
    with pytest.raises(UnknownRun):
        diagnose(store, RUN)
