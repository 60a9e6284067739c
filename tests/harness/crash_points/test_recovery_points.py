"""Whoever recovers a damaged log may be killed, or lose power, at each operation: nothing is lost, and the next one can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.crash_points.drills import drilled
from tests.sweeps import first_of

DRILL = """
from pixirnb.protocols.ports import Mended

top, name = Path(sys.argv[1]), sys.argv[2]


def mend(setback):
    said = {"code": "log_recovered", "message": "so it is", "step": None}
    return Mended([Event(setback.events[-1].seq + 1, "2026-01-01T00:00:00.000000Z", "warning_raised", said)], {"look": 1})


def recover(state):
    log = FileStore(state).acquire(RUN, mend=mend)
    log.close()


sound = top / "sound"
log = FileStore(sound).create(RUN)
log.append(story(6))
log.close()
folder = FileStore(sound).folder(RUN)
lines = (folder / "log.jsonl").read_bytes().splitlines(keepends=True)
held, rest = lines[:3], b"".join([lines[3].replace(b"seq", b"qes"), *lines[4:]])
(folder / "log.jsonl").write_bytes(b"".join(held) + rest)
(folder / "output").mkdir(exist_ok=True)
(folder / "output" / "look.2.log").write_text("of the attempt that is forgotten")
wrong, number = [], 0
while True:
    number += 1
    state = top / f"{number}"
    shutil.copytree(sound, state)
    folder = FileStore(state).folder(RUN)

    def dying():
        durable = Durable(state)
        tap.arm(state, Fault(name, number), durable, lambda _: None)
        recover(state)

    if forked(dying) == 0:
        break
    shown = (folder / "log.jsonl").read_bytes()
    if not shown.startswith(b"".join(held)):
        wrong.append((number, "the prefix is not whole"))
    kept = [shown, *(path.read_bytes() for path in folder.glob("log.*.broken"))]
    if not any(each.endswith(rest) for each in kept):
        wrong.append((number, "the rest is gone"))
    if forked(lambda: recover(state)) != 0:
        wrong.append((number, "it cannot be recovered"))
    found = FileStore(state).read(RUN)
    if found.damage is not None or found.events[:3] != story(6)[:3]:
        wrong.append((number, str(found.damage)))
    if [event.data.get("code") for event in found.events[3:]] != ["log_recovered"]:
        wrong.append((number, [event.kind for event in found.events]))
    if rest not in [path.read_bytes() for path in folder.glob("log.*.broken")]:
        wrong.append((number, "the rest was not kept"))
    told = [path.read_text() for path in (folder / "output").iterdir()]
    if told != ["of the attempt that is forgotten"] or (folder / "output" / "look.2.log").exists():
        wrong.append((number, "what the attempt had printed lies in the way, or is gone"))
    shutil.rmtree(state)
print(json.dumps({"points": number - 1, "wrong": wrong}))
"""


@pytest.mark.parametrize("fault", first_of(["die-before", "die-after", "lose-tail"]))
def test_a_recovery_that_dies_at_any_operation_loses_nothing(tmp_path: Path, fault: str) -> None:
    found = drilled(DRILL, str(tmp_path), fault)
    assert found["wrong"] == []
    assert found["points"] >= 15
