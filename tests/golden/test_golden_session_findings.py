"""What the doctor says of sessions, frozen: codes, evidence and cells may be added, none is renamed or removed."""

from __future__ import annotations

import json
from pathlib import Path

from pixirnb.history.codec import Damage
from pixirnb.history.run_state import fold
from pixirnb.machine.diagnosis import Diagnosis, DiagnosisInput, findings
from pixirnb.machine.outcome import outcome
from pixirnb.machine.session_diagnosis import SeenSession
from pixirnb.testing.generators.histories import RUN_ID, Rehearsal, plan_of

HERE = Path(__file__).parent
AGENT = """
name: agents
agents: {worker: {}}
steps:
  - {id: look, task: "Look.", agent: worker}
"""


def test_the_findings_of_sessions_are_what_they_were() -> None:
    story = Rehearsal(plan_of(AGENT)).begin().end("look", "timed_out")
    sessions = (
        SeenSession("look.0", "look", 0, is_there=False),
        SeenSession("look.1", "look", 1, turn="running", open_calls=("write",), partial=7),
        SeenSession("look.1", "look", 1, damage=Damage("chain_broken", 3, "line 3 was edited")),
        SeenSession("look.1", "look", 1, damage=Damage("torn_tail", 3, "half a line"), orphans=2),
        SeenSession("look.1", "look", 1, turn="timed_out", failed={"reason": "timeout"}),
    )
    run = fold(story.events)
    standing = outcome(story.plan, run, is_live=False)
    found = Diagnosis(
        RUN_ID, findings(story.plan, run, standing, DiagnosisInput(sessions=sessions))
    )
    expected = json.loads((HERE / "doctor-sessions.json").read_text(encoding="utf-8"))
    assert found.document() == expected
