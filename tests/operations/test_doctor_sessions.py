"""The doctor looks at the sessions of a real run: what is lost, torn or edited is told, and nothing is changed."""

from __future__ import annotations

import fcntl
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace

import pixirnb
from pixirnb.operations.doctor import diagnose
from pixirnb.operations.run import Run
from pixirnb.store.file_store import FileStore
from pixirnb.store.holders import own_lease
from tests.operations.household import content

SPEC: dict[str, Any] = {
    "name": "sessions",
    "agents": {
        "worker": {
            "script": {
                "good": [[
                    {"tool": "read", "args": {"path": "a"}, "result": "x"},
                    {"report": {"checkpoint_status": "checkpoint_ready", "summary": "done"}},
                ]],
                "late": [[{"say": "half a thou"}, {"hang": True}]],
            }
        }
    },
    "steps": [
        {"id": "good", "task": "Do it.", "agent": "worker"},
        {"id": "late", "task": "Do it.", "agent": "worker", "timeout": "1s"},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a clean session and one that ran out of time; at rest."""
    folder = tmp_path_factory.mktemp("sessions")
    run = pixirnb.start(SPEC, workspace=folder, state=folder / "state")
    run.wait()
    return run


def told(run: Run) -> dict[str, tuple[str, str | None]]:
    """Code of each finding to its severity and step; nothing on the disk has changed for it."""
    before = content(run.folder)
    diagnosis = run.diagnose()
    assert content(run.folder) == before
    return {finding.code: (finding.severity, finding.step) for finding in diagnosis.findings}


def test_a_time_out_and_the_text_it_cut_off_are_told_with_where_to_look(ended: Run) -> None:
    assert told(ended) == {
        "timed_out": ("warning", "late"),
        "partial_text_kept": ("warning", "late"),
    }
    [_, kept] = ended.diagnose().findings
    assert kept.next_action is not None
    assert kept.next_action["cell"] == f"%pixir show {ended.id} --session late.1"


def removed(path: Path) -> None:
    path.unlink()


def edited(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Do it.", b"Undo it", 1))


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def without_its_end(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (removed, ("session_missing", "blocked")),
        (edited, ("session_damaged", "blocked")),
        (torn, ("session_torn", "warning")),
        (without_its_end, ("turn_without_evidence", "blocked")),
    ],
)
def test_harm_done_to_a_session_is_told(
    ended: Run, harm: Callable[[Path], None], code: tuple[str, str]
) -> None:
    path = ended.folder / "sessions" / "good.1.jsonl"
    whole = path.read_bytes()
    try:
        harm(path)
        assert told(ended)[code[0]] == (code[1], "good")
    finally:
        path.write_bytes(whole)
        path.chmod(0o600)


@pytest.mark.parametrize("namespace", [None, 1])
def test_an_agent_in_another_container_is_not_called_gone(
    ended: Run, tmp_path: Path, namespace: int | None
) -> None:
    """Its process ended long ago; where its id is another's, that cannot be seen."""
    folder = tmp_path / "runs" / ended.id
    shutil.copytree(ended.folder, folder)
    lines = (folder / "log.jsonl").read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines, 1) if b"attempt_started" in line)
    (folder / "log.jsonl").write_bytes(b"".join(lines[:last]))
    (folder / "seal.json").unlink()
    lease = replace(own_lease("x", folder), pid_namespace=namespace)
    (folder / "lease.json").write_text(json.dumps(asdict(lease)))
    with (folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = FileStore(tmp_path)
        found = diagnose(store, ended.id, now_ns=lambda: time.time_ns() + 10**10).findings
    codes = {finding.code for finding in found}
    assert ("agent_gone" in codes) == (namespace is None)


def test_a_link_among_the_sessions_is_not_followed(ended: Run) -> None:
    path = ended.folder / "sessions" / "good.7.jsonl"
    path.symlink_to("/etc/hostname")
    try:
        assert told(ended)["symlink_refused"] == ("blocked", None)
    finally:
        path.unlink()
