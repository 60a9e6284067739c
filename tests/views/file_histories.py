"""Histories with files in them: two writers that meet, what is merged of theirs, and what clashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pixirnb.history.run_state import fold
from pixirnb.machine.seams import after_merge, clash
from pixirnb.testing.generators.file_facts import captured, change, conflict, conflicted, merged
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.live.attempt_history import AttemptHistory
from pixirnb.views.live.panel import panel

SPEC: dict[str, Any] = {
    "name": "two",
    "steps": [
        {"id": "types", "run": "t", "workspace": "isolated", "write_set": ["src/**"]},
        {"id": "api", "run": "a", "workspace": "isolated", "write_set": ["src/**"]},
        {"id": "land", "merge": ["types", "api"], "depends_on": ["types", "api"]},
        {"id": "plain", "run": "p", "posture": "read_only", "read_set": []},
    ],
}
PATCH = b"""diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,2 @@ def f():
-one
+ONE
 two
"""
MARKED = "same\n<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\nend\n"


def met(**types: Any) -> Rehearsal:
    """Both writers are ready; they changed the same file, and `types` another one."""
    play = Rehearsal(plan_of(SPEC)).begin()
    files = [change("src/a.py", added=1, deleted=1), change("src/new.py", "added", 9)]
    told: dict[str, Any] = {"files": files, **types}
    play.record(captured("types", **told), *play.ending("types"))
    play.end("plain")
    play.record(
        captured("api", files=[change("src/a.py", added=2, deleted=0)]), *play.ending("api")
    )
    return play


def clashing() -> Rehearsal:
    """As `met`, and the merge step cannot go on."""
    play = met()
    between = ["workspace", "api"]
    files = [conflict("src/a.py", between=between)]
    told = conflicted(["types", "api"], files, step="land", attempt=1, between=between)
    opened = clash(play.plan, play.board.run, between, ["src/a.py"], 1, step="land")
    return play.record(told, *opened, *play.ending("land", "failed", error="merge_conflict"))


def landed(*, solved: Sequence[str] = ()) -> Rehearsal:
    """As `met`, and the merge step has brought both back."""
    play = met()
    files = [change("src/a.py", added=3, deleted=1), change("src/new.py", "added", 9)]
    steps = ["types", "api"]
    brought = merged("land.1", steps, step="land", by="land", files=files, solved=solved)
    found = after_merge(play.board.run, "land.1", steps, step="land", by="land")
    return play.record(brought, *found, *play.ending("land"))


def undone() -> Rehearsal:
    """As `landed`, and a person has taken it back."""
    play = landed()
    files = [change("src/a.py", added=1, deleted=3), change("src/new.py", "deleted", 0, 9)]
    return play.record(merged("m2", [], files=files, undoes="land.1"))


def seen(play: Rehearsal, step: str, *, upto: int | None = None) -> dict[str, Any]:
    """The panel of a step at an event."""
    events = play.events[:upto]
    run, attempts = fold(events), AttemptHistory()
    attempts.extend(events)
    is_past = len(events) < len(play.events)
    return panel(play.plan, run, attempts, step, is_live=run.finished is None, is_past=is_past)
