"""The tape tells how each item stands by a place of its own, after the written steps, and keeps it in all resumes."""

from __future__ import annotations

from pixirnb.history.events import Event
from pixirnb.history.run_state import fold
from pixirnb.machine.expansion import with_items
from pixirnb.machine.resume import Selection
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import report
from pixirnb.runners.output.mask import Mask
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.basics.status_marks import STEP_MARKS, state_mark
from pixirnb.views.live.attempt_history import AttemptHistory
from pixirnb.views.live.items import items_document
from pixirnb.views.live.panel import panel
from pixirnb.views.live.scene import scene
from pixirnb.views.live.tape import KINDS, STRIDE, Entry, Tape

SPEC = """
name: sizes
inputs:
  files: {type: array, default: [b, a]}
max_concurrency: 9
steps:
  - {id: size, for_each: "{{ inputs.files }}", run: "wc {{ item }}", read_set: []}
  - {id: double, for_each: {same_as: size}, run: "echo {{ steps.size.output }}", read_set: []}
"""
PLAN = plan_of(SPEC)
EXPANDED = KINDS.index("step_expanded")


def taped(events: list[Event], plan: Plan = PLAN) -> Tape:
    tape = Tape(plan)
    tape.extend(events)
    return tape


def places(entries: list[Entry]) -> dict[str, int]:
    """The place of each item, found as the browser finds it."""
    found: dict[str, int] = {}
    for entry in entries:
        if entry[2] == EXPANDED:
            runs = entry[6][2:]
            for at in range(0, len(runs), 2):
                for number in range(runs[at], runs[at] + runs[at + 1]):
                    name = f"{PLAN.written[entry[3]].id}@{number}"
                    found.setdefault(name, len(PLAN.written) + len(found))
    return found


def marks(entries: list[Entry]) -> dict[int, str]:
    shown: dict[int, str] = {}
    for entry in entries:
        changes = entry[4]
        for at in range(0, len(changes), STRIDE):
            shown[changes[at]] = STEP_MARKS[changes[at + 1]].key
    return shown


def spans(entries: list[Entry]) -> dict[int, int]:
    shown: dict[int, int] = {}
    for entry in entries:
        changes = entry[4]
        for at in range(0, len(changes), STRIDE):
            shown[changes[at]] = changes[at + 3]
    return shown


def assert_true(events: list[Event]) -> None:
    """Every item looks at every event as the fold says."""
    entries = taped(events).entries
    for upto in range(1, len(events) + 1):
        run, shown = fold(events[:upto]), marks(entries[:upto])
        plan = with_items(PLAN, run)
        for name, place in places(entries[:upto]).items():
            if name in plan.index:
                expected = state_mark(run.step(name)).key
                assert shown.get(place, "queued") == expected, (upto, name)


def a_second_each(play: Rehearsal) -> list[Event]:
    """Its history, a second from one event to the next."""
    day = "2026-11-21T22"
    return [
        Event(each.seq, f"{day}:{each.seq // 60:02}:{each.seq % 60:02}Z", each.kind, each.data)
        for each in play.events
    ]


def first() -> Rehearsal:
    return Rehearsal(PLAN).begin().end("size@0").end("size@1", "failed", error="exit")


def test_items_stand_after_the_written_steps_in_the_order_of_their_lists() -> None:
    events = first().events
    tape = taped(events)
    assert places(tape.entries) == {"size@0": 2, "size@1": 3, "double@0": 4, "double@1": 5}
    assert [tape.slot_of(name) for name in ("size", "size@1", "double@1", "size@7", None)] == [
        0,
        3,
        5,
        -1,
        -1,
    ]
    assert_true(events)
    assert places(taped(events, first().plan).entries) == places(tape.entries), (
        "a plan that has items already"
    )


def test_a_step_runs_from_its_first_item_to_the_end_of_its_last() -> None:
    play = Rehearsal(PLAN).begin()
    assert marks(taped(play.events).entries)[0] == "running"
    play = (
        play.end("size@0", "failed", error="exit").end("size@1", "failed", error="exit").end("size")
    )
    assert marks(taped(play.events).entries)[0] == "failed"


def test_how_long_its_items_took_outlasts_a_resume_that_reuses_it() -> None:
    play = Rehearsal(PLAN).begin().end("size@0").end("size@1").end("size")
    play = play.end("double@0", "failed", error="exit").end("double@1")
    play = play.end("double", "failed", error="items_not_ready")
    assert spans(taped(a_second_each(play)).entries)[0] == 9_000
    assert spans(taped(a_second_each(play.resume())).entries)[0] == 9_000
    later = play.resume(inputs={"files": ["b", "a", "c"]}).end("size@2").end("size")
    resumed = next(each.seq for each in later.events if each.kind == "run_resumed")
    took = spans(taped(a_second_each(later)).entries)[0]
    assert 5_000 <= took < (later.events[-1].seq - resumed) * 1_000, "of its second attempt"


def test_a_resume_gives_new_items_new_places_and_known_ones_their_own() -> None:
    play = first().end("double@0").end("size", "failed", error="items_not_ready")
    play = play.end("double", "failed", error="items_not_ready")
    assert play.is_over
    later = play.resume(Selection(from_step="size"), inputs={"files": ["c", "a", "b"]})
    entries = taped(later.events).entries
    found = places(entries)
    assert (found["size@0"], found["size@1"], found["size@2"]) == (2, 3, 6)
    lists = [entry[6] for entry in entries if entry[2] == EXPANDED and entry[3] == 0]
    assert lists[0] == [2, 0, 0, 2]
    assert lists[1][2:] == [2, 1, 1, 1, 0, 1], "in the order of the list"
    assert_true(later.events)


def test_names_are_told_apart_from_the_tape_and_only_of_known_lists() -> None:
    play = first()
    run = fold(play.events)
    told = items_document(play.plan, run, "size", Mask([]))
    assert told["items"] == [[0, "b"], [1, "a"]]
    masked = items_document(play.plan, run, "size", Mask(["a"]))
    assert masked["items"] == [[0, "b"], [1, "***"]]
    assert items_document(PLAN, fold(play.events[:1]), "size", Mask([]))["items"] == []


def test_a_panel_names_the_item_and_its_step_and_lists_no_items_as_needs() -> None:
    play = Rehearsal(PLAN).begin().end("size@1")
    run, attempts = fold(play.events), AttemptHistory()
    attempts.extend(play.events)
    shown = panel(play.plan, run, attempts, "size@1", is_live=True)
    assert shown["item"] == {"parent": "size", "number": 1, "name": "a"}
    assert shown["kind"] == "shell"
    whole = panel(play.plan, run, attempts, "size", is_live=True)
    assert (whole["item"], whole["needs_count"]) == (None, 0)
    assert [each["step"] for each in whole["holds"]] == ["double"]
    assert whole["headline"] == "`size` is ready once enough of its items are."


def test_a_scene_has_the_written_steps_and_the_planned_number_of_items() -> None:
    play = first()
    shown = scene("r-1", play.plan, report(PLAN.workflow, Environment()).document())
    assert shown["ids"] == ["size", "double"]
    assert shown["needs"] == [[], [0]]
    assert shown["kinds"] == ["shell", "shell"]
    assert shown["many"] == [[0, 2, "inputs.files"], [1, 2, "inputs.files"]]
