"""A run whose workflow was edited on a resume has acts: up to each edit it is drawn, and told, with the steps it had then."""

from __future__ import annotations

from collections.abc import Sequence

from pixirnb.history.events import Event
from pixirnb.history.run_state import fold
from pixirnb.json_types import PageObject
from pixirnb.operations.resume_plan import pinned_plan
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.views.live.scene import scene
from pixirnb.views.live.tape import Tape


def is_edit(event: Event) -> bool:
    """Whether the workflow is another one from this event on."""
    return event.kind == "run_resumed" and event.data.get("spec") is not None


def past_acts(run_id: str, events: Sequence[Event]) -> list[PageObject]:
    """The acts before the last: `{until, scene, tape}` each, `until` being how many events it ends with."""
    acts: list[PageObject] = []
    for place, event in enumerate(events):
        if place == 0 or not is_edit(event):
            continue
        plan = pinned_plan(fold(events[:place]))
        tape = Tape(plan)
        tape.extend(events[:place])
        document = report(plan.workflow, Environment()).document()
        acts.append({"until": place, "scene": scene(run_id, plan, document), "tape": tape.entries})
    return acts
