"""A process dies at any operation, the next does the work and says so, then the power fails: what was said is there."""

from __future__ import annotations

from pathlib import Path

from tests.harness.crash_points.drills import drilled

DRILL = """
from pixirnb.errors import PixirnbError
from pixirnb.store.blobs import digest_of

top = Path(sys.argv[1])
OTHER = RUN[:-6] + "bbbbbb"  # where the first process died before the run had begun
DATA = b"a value too large for a line"


def work(state):
    store = FileStore(state)
    run = RUN
    try:
        log = store.acquire(run)
    except PixirnbError:
        run = OTHER if (state / "runs" / RUN).exists() else RUN
        log = store.create(run, story(3), lambda blobs: blobs.put(b"of its history"))
    log.blobs.put(DATA)
    session = log.session("a.1")
    at = "2026-01-01T00:00:00.000000Z"
    if session.count == 0:
        session.append([Event(1, at, "user_message", {"text": "work"})])
    session.append([Event(session.count + 1, at, "user_message", {"text": "and more"})])
    session.close()
    mark = {"name": "m", "note": "", "ready": [], "reason": "end"}
    log.append([Event(len(log.reading.events) + 1, at, "checkpoint_saved", mark)])
    log.close()
    return run


wrong, number = [], 0
while True:
    number += 1
    place = top / f"{number}"
    state, kept, said = place / "disk" / "state", place / "durable", place / "said"
    state.parent.mkdir(parents=True)

    def dying():
        durable = Durable(state.parent)
        tap.arm(state.parent, Fault("die-after", number), durable, lambda _: kept.write_bytes(durable.document()))
        work(state)

    status = forked(dying)
    if status >= 0:
        assert status == 0, number
        break

    def going_on():
        durable = Durable(state.parent, kept.read_bytes())
        tap.arm(state.parent, None, durable, lambda _: None)
        said.write_text(work(state))
        tap.disarm()
        durable.lose()

    if forked(going_on) != 0:
        wrong.append((number, "the next process cannot go on"))
        continue
    try:
        store, run = FileStore(state), said.read_text()
        found = store.read(run)
        if found.damage is not None or found.events[-1].kind != "checkpoint_saved":
            wrong.append((number, "the log is not whole"))
        blobs = store.blobs(run)
        for data in (DATA, b"of its history"):
            blobs.get(digest_of(data))
        session = store.read_session(run, "a.1")
        if session.damage is not None or session.events[-1].data["text"] != "and more":
            wrong.append((number, "the session is not whole"))
    except PixirnbError as error:
        wrong.append((number, error.one_line()))
    shutil.rmtree(place)
print(json.dumps({"points": number - 1, "wrong": wrong}))
"""


def test_what_is_done_in_the_folders_of_a_dead_process_outlives_a_power_failure(
    tmp_path: Path,
) -> None:
    found = drilled(DRILL, str(tmp_path))
    assert found["wrong"] == []
    assert found["points"] >= 25
