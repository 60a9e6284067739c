"""A run whose workflow was edited on a resume has acts: up to each edit it is drawn, and told, with the steps it had then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pixirnb.history.events import Event
from pixirnb.history.state import fold
from pixirnb.planning.facts import Facts
from pixirnb.planning.report import report
from pixirnb.resumption import pinned_plan
from pixirnb.views.scene import scene
from pixirnb.views.tape import Tape


def is_edit(event: Event) -> bool:
    """Whether the workflow is another one from this event on."""
    return event.kind == "run_resumed" and event.data.get("spec") is not None


def past_acts(run_id: str, events: Sequence[Event]) -> list[dict[str, Any]]:
    """The acts before the last: `{until, scene, tape}` each, `until` being how many events it ends with."""
    acts: list[dict[str, Any]] = []
    for place, event in enumerate(events):
        if place == 0 or not is_edit(event):
            continue
        plan = pinned_plan(fold(events[:place]))
        tape = Tape(plan)
        tape.extend(events[:place])
        document = report(plan.workflow, Facts()).document()
        acts.append({"until": place, "scene": scene(run_id, plan, document), "tape": tape.entries})
    return acts
