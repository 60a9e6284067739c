"""A log that is not what was written is never taken for success, in whatever way a person looks at its run.

Each kind of damage in each line, of runs that were closed in good order; then what lies beside the log.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.cli.app import perform
from pixirnb.cli.interrupts import SIGNALS
from pixirnb.errors import Cannot, LogDamaged, PixirnbError, UnknownRun
from pixirnb.store.file_store import FileStore
from tests.store.keptlogs import KINDS, MASKS, Kept, keep_all


@pytest.fixture(scope="module")
def all_kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kept]:
    return keep_all(tmp_path_factory.mktemp("logs"))


@pytest.fixture(params=KINDS)
def kept(all_kept: dict[str, Kept], request: pytest.FixtureRequest) -> Kept:
    return all_kept[request.param]


@pytest.fixture
def opened(kept: Kept) -> Iterator[Kept]:
    """The run whose log a test may change: it is put back afterwards."""
    yield kept
    (kept.folder / "log.jsonl").write_bytes(kept.data)


def damages(kept: Kept) -> Iterator[tuple[str, bytes, int]]:
    """A damage of each kind in each line: how, the bytes, and in which line."""
    lines = kept.lines
    start = 0
    for i, line in enumerate(lines):
        middle = start + len(line) * (i + 1) // (len(lines) + 1)
        yield "torn", kept.data[:middle], i + 1
        yield "cut", kept.data[:start], i + 1
        flipped = bytearray(kept.data)
        flipped[middle] ^= MASKS[i % 4]
        yield "flipped", bytes(flipped), i + 1
        if i + 1 < len(lines):
            yield "dropped", kept.data[:start] + kept.data[start + len(line) :], i + 1
        yield "doubled", kept.data[: start + len(line)] + kept.data[start:], i + 2
        start += len(line)


def trees(folder: Path) -> dict[Path, bytes]:
    """Every file of a run, the lock apart, that whoever tries to hold it may make."""
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "lock"}


def said(*tokens: str | Path) -> tuple[int, str, str]:
    """Exit code, output and complaints of a command."""
    out, err = io.StringIO(), io.StringIO()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = perform([str(token) for token in tokens])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code, out.getvalue(), err.getvalue()


def test_a_damaged_run_is_never_shown_as_completed_and_never_resumed(opened: Kept) -> None:
    state, run_id = opened.folder.parents[1], opened.folder.name
    log = opened.folder / "log.jsonl"
    for number, (how, data, line) in enumerate(damages(opened)):
        log.write_bytes(data)
        before = trees(opened.folder)
        run = api.open_run(run_id, state=state)
        assert run.history() == opened.events[: line - 1], (how, line)
        damage = run.damage
        assert damage is not None
        assert damage.line == line
        [row] = api.runs(state=state)
        if line == 1:  # nothing is left that could be shown
            assert row["status"] == "unreadable"
            with pytest.raises(LogDamaged):
                _ = run.outcome
        else:
            outcome = run.outcome
            assert row["status"] == outcome.status == run.status
            assert outcome.status not in {"completed", "running"}, (how, line)
            assert not outcome.ok
            assert outcome.reasons[0] == {"code": "log_damaged", "step": None}
            assert outcome.warnings[-1]["code"] == damage.code
            assert "completion_ready" not in outcome.proof_states
            for picture in run._repr_mimebundle_().values():
                assert f"The log is damaged at line {line}" in picture
            with pytest.raises(PixirnbError):
                api.expect(outcome)
        for refuse in (api.resume, api.plan_resume):
            with pytest.raises(LogDamaged) as refused:
                refuse(run_id, state=state)
            assert refused.value.exit_code == 5
        with pytest.raises(LogDamaged):
            list(run.follow())
        if number % 7 == 0:
            code, out, err = said("log", run_id, "--state", state)
            assert (code, err) == (0, "")
            assert damage.message in " ".join(out.split())
            code, out, err = said("resume", run_id, "--state", state)
            assert (code, out) == (5, "")
            assert "log_damaged" in err
            assert err.count("\n") <= 2
            code, out, _ = said("show", run_id, "--state", state)
            assert code == (5 if line == 1 else 0)
            assert "✓ completed" not in out
        assert trees(opened.folder) == before


def test_a_log_that_is_emptied_or_gone_is_damaged_and_not_a_run_that_never_began(
    opened: Kept,
) -> None:
    state, run_id = opened.folder.parents[1], opened.folder.name
    log = opened.folder / "log.jsonl"
    changes: tuple[Callable[[], object], ...] = (lambda: log.write_bytes(b""), log.unlink)
    for change in changes:
        change()
        run = api.open_run(run_id, state=state)
        assert run.history() == []
        assert run.damage is not None
        assert (run.damage.code, run.damage.line) == ("cut_short", 1)
        assert api.runs(state=state)[0]["status"] == "unreadable"
        for verb in (api.resume, api.plan_resume):
            with pytest.raises(LogDamaged):
                verb(run_id, state=state)
        with pytest.raises(LogDamaged):
            list(run.follow())
        assert said("show", run_id, "--state", state)[0] == 5


def test_a_cut_without_a_seal_says_that_its_owner_died_until_all_steps_are_ready(
    opened: Kept,
) -> None:
    """As a course leaves it that was killed. A course before it may have ended; then that is the truth of the lines left."""
    state = opened.folder.parents[1]
    aside = state / "unsealed" / "runs" / opened.folder.name
    shutil.copytree(opened.folder, aside)
    try:
        (aside / "seal.json").unlink()
        for count in range(1, len(opened.lines)):
            (aside / "log.jsonl").write_bytes(b"".join(opened.lines[:count]))
            run = api.open_run(aside)
            outcome = run.outcome
            assert run.damage is None
            if outcome.status == "completed":
                assert all(s.checkpoint_status == "checkpoint_ready" for s in outcome.steps)
                continue
            decided_at_rest = {"decided_not_resumed", "step_needs_decision", "step_failed"}
            codes = {reason["code"] for reason in outcome.reasons}
            if run.state.finished is None:
                assert outcome.status == "interrupted"
                assert outcome.reasons[0] == {"code": "owner_died", "step": None}
            else:
                assert codes & decided_at_rest
    finally:
        shutil.rmtree(state / "unsealed")


# --- blobs, and what lies beside the log -----------------------------------------------------------------------------


def test_a_spilled_event_whose_blob_is_lost_or_altered_is_named(all_kept: dict[str, Kept]) -> None:
    kept = all_kept["spilled"]
    state, run_id = kept.folder.parents[1], kept.folder.name
    assert b'"$blob"' in kept.lines[0]
    digest = kept.lines[0].split(b'"$blob":"')[1][:67].decode()
    path = kept.blobs.path(digest)
    assert path is not None
    whole = path.read_bytes()
    try:
        for place in range(0, len(whole), len(whole) // 40):
            altered = bytearray(whole)
            altered[place] ^= 0x20
            path.write_bytes(altered)
            damage = FileStore(state).read(run_id).damage
            assert damage is not None
            assert (damage.code, damage.line) == ("blob_damaged", 1)
        for rest in (b"", whole[:-1], whole + b" "):
            path.write_bytes(rest)
            damage = FileStore(state).read(run_id).damage
            assert damage is not None
            assert damage.code == "blob_damaged"
        path.unlink()
        run = api.open_run(run_id, state=state)
        assert run.damage is not None
        assert (run.damage.code, run.damage.line) == ("blob_missing", 1)
        with pytest.raises(LogDamaged):
            api.resume(run_id, state=state)
    finally:
        path.write_bytes(whole)
    assert api.open_run(run_id, state=state).status == "completed"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\0" * 70,
        b"[" * 5000,
        b'{"v":1,"seq":"12","chain":"00"}',
        b'{"v":2,"seq":99,"chain":"00000000000000000000000000000000"}',
        b'{"v":1,"seq":-1,"chain":"00000000000000000000000000000000"}',
        b'{"v":1,"seq":true,"chain":"00000000000000000000000000000000"}',
        b'{"v":1,"seq":1e999,"chain":"00000000000000000000000000000000"}',
        b'{"v":1,"seq":99,"chain":"0000"}',
        b'{"v":1,"seq":99,"chain":99}',
    ],
)
def test_a_seal_that_is_no_seal_says_nothing(all_kept: dict[str, Kept], text: bytes) -> None:
    kept = all_kept["small"]
    seal = kept.folder / "seal.json"
    before = seal.read_bytes()
    try:
        seal.write_bytes(text)
        assert api.open_run(kept.folder).status == "completed"
        assert api.open_run(kept.folder).damage is None
    finally:
        seal.write_bytes(before)


def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_refused_in_our_own_words(
    all_kept: dict[str, Kept], tmp_path: Path
) -> None:
    for name in ("log.jsonl", "seal.json", "lease.json"):
        for plant in (os.mkdir, os.mkfifo):
            folder = tmp_path / f"{name}.{plant.__name__}" / "runs" / all_kept["small"].folder.name
            shutil.copytree(all_kept["small"].folder, folder)
            (folder / name).unlink(missing_ok=True)
            plant(folder / name)
            store = FileStore(folder.parents[1])
            if name == "log.jsonl":
                for verb in (store.read, store.acquire, store.follow):
                    with pytest.raises((Cannot, UnknownRun, LogDamaged)):
                        verb(folder.name)
            else:
                assert store.read(folder.name).damage is None
