"""A step's own bytes on the report pipe end its attempt, at once and alone, unless they are a frame in every key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.protocols.work import Ended, PythonWork
from pixirnb.runners.processes.frame_shapes import require_shape
from pixirnb.runners.processes.frames import Garbled
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop

SAYS = """
def says(frame):
    import os, time
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, frame.encode() + b"\\n")
        except OSError:
            pass
    time.sleep(600)
"""
HUGE = "1" + "0" * 4000
STRANGE = {
    "no frame": "{}",
    "no object": '{"frame":["value"],"bytes":0}',
    "progress infinite": '{"frame":"progress","bytes":0,"fraction":1e999,"message":"m"}',
    "progress of many digits": '{"frame":"progress","bytes":0,"fraction":HUGE,"message":"m"}',
    "progress object": '{"frame":"progress","bytes":0,"fraction":{"a":1},"message":"m"}',
    "progress wordless": '{"frame":"progress","bytes":0,"fraction":0.5,"message":null}',
    "progress with bytes": '{"frame":"progress","bytes":1,"fraction":0.5,"message":"m"}',
    "progress with more": '{"frame":"progress","bytes":0,"fraction":0.5,"message":"m","more":1}',
    "value NaN": '{"frame":"value","bytes":0,"stored":{"format":"json","value":NaN,"bytes":3},"has_data":false}',
    "value NaN inside": '{"frame":"value","bytes":0,"stored":{"format":"json","value":{"a":[NaN]},"bytes":3},"has_data":false}',
    "value nowhere": '{"frame":"value","bytes":0,"stored":{"format":"pickle","bytes":5,"type":"t"},"has_data":false}',
    "value of no type": '{"frame":"value","bytes":0,"stored":{"format":"pickle","type":5},"has_data":false}',
    "value of no format": '{"frame":"value","bytes":0,"stored":{"format":"zzz"},"has_data":false}',
    "value of a list": '{"frame":"value","bytes":0,"stored":[],"has_data":false}',
    "value of null": '{"frame":"value","bytes":0,"stored":null,"has_data":false}',
    "value elsewhere": '{"frame":"value","bytes":0,"stored":{"format":"json","bytes":1,"blob":"b2:0"},"has_data":false}',
    "value of other bytes": '{"frame":"value","bytes":0,"stored":{"format":"text","bytes":3},"has_data":true}',
    "value signed": '{"frame":"value","bytes":0,"stored":{"format":"pickle","bytes":0,"signature":"s"},"has_data":true}',
    "error without a kind": '{"frame":"error","bytes":0}',
    "error with a list": '{"frame":"error","bytes":0,"kind":"x","message":"m","details":[1]}',
    "error with NaN": '{"frame":"error","bytes":0,"kind":"x","message":"m","details":{"a":NaN}}',
    "error of a list": '{"frame":"error","bytes":0,"kind":["x"],"message":"m","details":{}}',
    "a function asks": '{"frame":"ask","bytes":0,"id":1,"question":"permit","data":{}}',
    "a function reports": '{"frame":"checkpoint","bytes":0,"data":{"checkpoint_status":"checkpoint_ready"}}',
    "a function has a session": '{"frame":"session","bytes":0,"kind":"assistant_message","data":{}}',
    "two ends": '{"frame":"value","bytes":0,"stored":{"format":"none"},"has_data":false}\n'
    '{"frame":"error","bytes":0,"kind":"x","message":"m","details":{}}',
}


@pytest.mark.parametrize("frame", STRANGE.values(), ids=STRANGE)
def test_what_is_no_frame_ends_the_attempt_at_once_as_unreadable(
    frame: str, tmp_path: Path
) -> None:
    async def story(supervisor: Supervisor) -> Ended:
        work = PythonWork(":says", {"frame": frame.replace("HUGE", HUGE)}, SAYS, process=True)
        return await PythonRunner(supervisor).perform(Rehearsal(work, tmp_path).job())

    ended = on_a_loop(story)
    assert (ended.status, ended.error_kind) == ("failed", "report_unreadable")


@pytest.mark.parametrize(
    ("work", "frame"),
    [
        ("agent", {"frame": "ask", "id": 1, "question": "anything", "data": {}}),
        ("agent", {"frame": "ask", "id": "1", "question": "commit", "data": {}}),
        ("agent", {"frame": "session", "kind": ["k"], "data": {}}),
        ("agent", {"frame": "session", "kind": "k", "data": []}),
        ("agent", {"frame": "tool", "data": None}),
        ("agent", {"frame": "value", "stored": {"format": "none"}, "has_data": False}),
        ("script", {"frame": "ask", "id": 1, "question": "run", "data": {}}),
    ],
)
def test_agents_say_only_what_their_programs_say(work: str, frame: dict[str, Any]) -> None:
    with pytest.raises(Garbled):
        require_shape({"bytes": 0, **frame}, work)


def test_a_neighbour_of_a_step_that_lies_to_the_engine_goes_on(tmp_path: Path) -> None:
    frame = STRANGE["value NaN"]
    steps = [
        {"id": "liar", "call": ":says", "process": True, "with": {"frame": frame}},
        {"id": "neighbour", "run": "echo fine"},
        {"id": "after", "run": "echo fine", "depends_on": ["neighbour"]},
    ]
    run = api.start({"name": "lies", "steps": steps}, workspace=tmp_path, functions={":says": SAYS})
    outcome = run.wait()
    assert [step.checkpoint_status for step in outcome.steps] == [
        "failed",
        "checkpoint_ready",
        "checkpoint_ready",
    ]
    assert run.history()[-1].kind == "run_finished"
