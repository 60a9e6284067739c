"""A log that is not what was written is found and named, whatever happened to it, and never taken for success.

Real logs, closed in good order: cut and flipped at every byte, their lines dropped, doubled and swapped. The codec is asked
about every byte; what a person sees is looked at for a damage of each kind in each line.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.cli.app import perform
from pixirnb.errors import Cannot, LogDamaged, PixirnbError, UnknownRun
from pixirnb.handle import Run
from pixirnb.history.codec import CHAIN_VALUE, EVENT_LINE_LIMIT, GENESIS, Damage, decode_lines
from pixirnb.history.events import Event
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.files import FileStore
from pixirnb.store.lines import decode_log
from pixirnb.store.seal import Seal, compared, read_seal

MASKS = (0x01, 0x20, 0x80, 0xFF)
KINDS = ("small", "continued", "undone", "spilled", "decided")


@dataclass(frozen=True)
class Kept:
    """A run on the disk, and what its log said when it was closed."""

    folder: Path
    data: bytes
    events: list[Event]
    seal: Seal
    spilled: dict[str, bytes]
    """Blobs that events lie in, read once."""

    @property
    def lines(self) -> list[bytes]:
        return self.data.splitlines(keepends=True)

    @property
    def blobs(self) -> FileBlobs:
        return FileBlobs(self.folder / "blobs")

    def decoded(self, data: bytes, *, is_sealed: bool = True) -> tuple[list[Event], Damage | None]:
        """What a reader finds in `data` in the place of the log."""
        found = decode_log(data, get=self.spilled.__getitem__)
        found = compared(found, data, self.seal if is_sealed else None)
        return found.events, found.damage


def shell(step: str, run: str, *after: str) -> dict[str, Any]:
    return {"id": step, "run": run, "depends_on": list(after)}


def made(kind: str, workspace: Path) -> Run:
    """A run of one kind, driven to its end; all but `undone` end as completed."""
    workspace.mkdir()
    steps = [shell("a", "echo one"), shell("b", "test -e ok && echo two", "a")]
    if kind in {"small", "undone", "spilled"}:
        (workspace / "ok").touch()
    if kind == "spilled":
        steps[1] = shell("b", "seq 1 9000", "a")
    if kind == "decided":
        steps[1] = {"id": "b", "ask": {"question": "Go on?"}, "depends_on": ["a"]}
    flow: dict[str, Any] = {"name": kind, "steps": steps}
    if kind == "spilled":
        flow["description"] = "long " * (EVENT_LINE_LIMIT // 5)
    run = api.start(flow, workspace=workspace)
    run.wait()
    if kind == "decided":
        run = run.decide("b", "accept", note="looked at it")
    if kind in {"continued", "undone"}:
        ok = workspace / "ok"
        ok.touch() if kind == "continued" else ok.unlink()
        run = api.resume(run.id, from_="b", workspace=workspace)
    assert run.wait().status == ("partial" if kind == "undone" else "completed")
    return run


@pytest.fixture(scope="module")
def all_kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kept]:
    home = tmp_path_factory.mktemp("logs")
    kept = {}
    for kind in KINDS:
        run = made(kind, home / kind)
        seal, store = read_seal(run.folder), FileBlobs(run.folder / "blobs")
        assert seal is not None
        data = (run.folder / "log.jsonl").read_bytes()
        spilled = re.findall(rb'"\$blob":"([^"]+)"', data)
        blobs = {name.decode(): store.get(name.decode()) for name in spilled}
        kept[kind] = Kept(run.folder, data, run.history(), seal, blobs)
    return kept


@pytest.fixture(params=KINDS)
def kept(all_kept: dict[str, Kept], request: pytest.FixtureRequest) -> Kept:
    return all_kept[request.param]


# --- every byte, as the codec sees it --------------------------------------------------------------------------------


def test_each_of_these_logs_is_sound_and_sealed_at_its_end(kept: Kept) -> None:
    assert kept.seal == Seal(len(kept.events), kept.lines[-1][CHAIN_VALUE].decode())
    assert kept.decoded(kept.data) == (kept.events, None)


def test_a_log_cut_at_any_byte_is_named_at_the_first_line_it_lacks(kept: Kept) -> None:
    for end in range(len(kept.data)):
        data = kept.data[:end]
        whole = data.count(b"\n")
        events, damage = kept.decoded(data)
        assert damage is not None, end
        assert (damage.code, damage.line) == ("cut_short", whole + 1)
        assert events == kept.events[:whole]


def test_without_a_seal_a_cut_is_a_torn_line_or_a_log_without_its_end(kept: Kept) -> None:
    for end in range(len(kept.data)):
        data = kept.data[:end]
        whole = data.count(b"\n")
        events, damage = kept.decoded(data, is_sealed=False)
        assert events == kept.events[:whole]
        if data and not data.endswith(b"\n"):
            assert damage is not None
            assert (damage.code, damage.line) == ("torn_tail", whole + 1)
        else:
            assert damage is None


def test_any_byte_flipped_is_found_in_its_line(kept: Kept) -> None:
    """Each is read from its line on, after the chain of the lines before it: what those hold does not change."""
    start, chain = 0, GENESIS
    for number, line in enumerate(kept.lines, start=1):
        rest = bytearray(kept.data[start:])
        for place in range(len(line)):
            for mask in MASKS:
                rest[place] ^= mask
                found = decode_lines(
                    bytes(rest[: len(line) + 300]), previous=chain, after=number - 1
                )
                rest[place] ^= mask
                assert found.events == []
                assert found.damage is not None, (number, place, mask)
                assert found.damage.line == number
                assert found.damage.message
        start += len(line)
        chain = line[CHAIN_VALUE].decode()


def test_a_flipped_byte_leaves_the_lines_before_it_readable(kept: Kept) -> None:
    for place in range(0, len(kept.data), 61):
        damaged = bytearray(kept.data)
        damaged[place] ^= MASKS[place % 4]
        number = kept.data.count(b"\n", 0, place) + 1
        events, damage = kept.decoded(bytes(damaged))
        assert events == kept.events[: number - 1]
        assert damage is not None
        assert damage.line == number


def test_lines_dropped_doubled_or_swapped_are_named(kept: Kept) -> None:
    lines = kept.lines
    count = len(lines)
    cases: list[tuple[list[bytes], int, str]] = []
    for i in range(count):
        lost = "not_contiguous" if i < count - 1 else "cut_short"
        cases.append(([*lines[:i], *lines[i + 1 :]], i + 1, lost))
        cases.append(([*lines[: i + 1], *lines[i:]], i + 2, "not_contiguous"))
        for j in range(i + 1, count):
            swapped = list(lines)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            cases.append((swapped, i + 1, "not_contiguous"))
    for changed, number, code in cases:
        events, damage = kept.decoded(b"".join(changed))
        assert damage is not None
        assert (damage.code, damage.line) == (code, number)
        assert events == kept.events[: number - 1]


@pytest.mark.parametrize(
    "garbage", [b"\0" * 4096, b"hello", b"{}", b"\xff\xfe", b"[" * 5000, b"9" * 9999]
)
def test_garbage_at_the_end_or_between_lines_is_named(kept: Kept, garbage: bytes) -> None:
    count = len(kept.lines)
    events, damage = kept.decoded(kept.data + garbage)
    assert events == kept.events
    assert damage is not None
    assert (damage.code, damage.line) == ("torn_tail", count + 1)
    for place in range(count + 1):
        head, tail = b"".join(kept.lines[:place]), b"".join(kept.lines[place:])
        events, damage = kept.decoded(head + garbage + b"\n" + tail)
        assert events == kept.events[:place]
        assert damage is not None
        assert (damage.code, damage.line) == ("chain_broken", place + 1)


def test_nuls_anywhere_are_found_in_their_line(kept: Kept) -> None:
    for place in range(0, len(kept.data), 37):
        number = kept.data.count(b"\n", 0, place) + 1
        for damaged in (
            kept.data[:place] + b"\0" * 16 + kept.data[place:],
            kept.data[:place] + b"\0" * 16 + kept.data[place + 16 :],
            kept.data[:place] + b"\0" * (len(kept.data) - place),
        ):
            events, damage = kept.decoded(damaged)
            assert events == kept.events[: number - 1]
            assert damage is not None
            assert damage.line == number


# --- what a person sees of it ----------------------------------------------------------------------------------------


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
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
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
        for verb in (api.resume, api.plan_resume, FileStore(state).acquire):
            with pytest.raises(LogDamaged):
                verb(run_id) if verb not in {api.resume, api.plan_resume} else verb(
                    run_id, state=state
                )
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


def test_an_undone_run_cut_back_to_its_completed_course_is_not_completed(
    all_kept: dict[str, Kept],
) -> None:
    """The case the seal was made for, also where the later course was killed at once."""
    kept = all_kept["undone"]
    ends = [n for n, event in enumerate(kept.events, start=1) if event.kind == "run_finished"]
    first_of_later = ends[0] + 1
    assert kept.events[ends[0]].kind == "run_resumed"
    data = b"".join(kept.lines[: ends[0]])
    early = Seal(first_of_later, kept.lines[ends[0]][CHAIN_VALUE].decode())
    for seal in (kept.seal, early):
        found = compared(decode_log(data, get=kept.blobs.get), data, seal)
        assert found.damage is not None
        assert (found.damage.code, found.damage.line) == ("cut_short", first_of_later)


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
