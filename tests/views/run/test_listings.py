"""Lists that show themselves are lists, and every value of ours shows itself, with a notebook's extension or without."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from pixirnb.history.events import Event
from pixirnb.machine.diagnosis import Diagnosis
from pixirnb.machine.document_access import Attributes
from pixirnb.machine.outcome import RunOutcome
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.spec.loader import load_text
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.run.listings import Forecast, History, Sentences
from pixirnb.views.run.run_rows import Listing, Rows
from pixirnb.views.run.self_display import evidence_blocks
from tests.views.pictures import drawn_in
from tests.views.test_hostile_text import CONTROLS, audit
from tests.views.view_samples import HOSTILE, outcome, run_row, step


def event(seq: int, kind: str = "attempt_started", **data: Any) -> Event:
    return Event(
        seq=seq,
        at=f"2026-11-21T22:03:{seq % 60:02}.123Z",
        kind=kind,
        data={"step": "a", "attempt": 1, **data},
    )


STEP: Any = {"step_id": "a", "action": "rerun", "reason": "failed", "because": []}
LISTINGS: list[Listing[Any]] = [
    Rows([Attributes(run_row()), Attributes(run_row())]),
    History([event(1), event(2)]),
    Forecast([STEP, STEP], "r-1"),
    Sentences(["It ran.", "It failed."]),
]
NAMES = [type(listing).__name__ for listing in LISTINGS]


@pytest.mark.parametrize("listing", LISTINGS, ids=NAMES)
def test_a_listing_is_the_list_it_was_made_of(listing: Listing[Any]) -> None:
    plainly = list(listing)
    assert isinstance(listing, list)
    assert listing == plainly
    assert listing[0] is plainly[0]
    assert [*listing, *listing] == plainly * 2
    assert copy.deepcopy(listing) == plainly
    assert pickle.loads(pickle.dumps(listing)) == plainly


@pytest.mark.parametrize("listing", LISTINGS, ids=NAMES)
def test_a_slice_and_a_copy_show_themselves_as_the_whole_does(listing: Listing[Any]) -> None:
    for other in (listing[:], copy.copy(listing), pickle.loads(pickle.dumps(listing))):
        assert type(other) is type(listing)
        assert repr(other) == repr(listing)
    assert repr(listing[-1:]) != repr(listing)


@pytest.mark.parametrize("listing", LISTINGS, ids=NAMES)
def test_a_listing_shows_text_beside_a_card_and_prints_the_text(listing: Listing[Any]) -> None:
    found = listing._repr_mimebundle_(include=None, exclude=None)
    assert set(found) == {"text/plain", "text/html"}
    assert repr(listing) == str(listing) == found["text/plain"]
    assert "pixirnb-view" in found["text/html"]
    audit(found["text/html"])


@pytest.mark.parametrize("listing", LISTINGS, ids=NAMES)
def test_an_empty_listing_shows_itself_too(listing: Listing[Any]) -> None:
    audit(listing[:0]._repr_mimebundle_()["text/html"])  # type: ignore[attr-defined]  # a slice is one too


def test_a_resume_keeps_the_id_of_its_run_and_goes_into_json() -> None:
    forecast = LISTINGS[2]
    assert "r-1" in repr(forecast)
    assert "r-1" in repr(forecast[:1])
    assert json.loads(json.dumps(forecast)) == [STEP, STEP]


def test_a_history_has_a_row_an_event_with_its_date_and_a_sentence() -> None:
    head, _, names, *rows = repr(History([event(1), event(2, "a_kind_to_come")])).split("\n")
    assert (head, names.split()) == ("2 events", ["at", "event"])
    assert rows[0].split(maxsplit=4) == [
        "1",
        "2026-11-21",
        "22:03:01",
        "UTC",
        "▸ a: attempt 1 started",
    ]
    assert "a_kind_to_come" in rows[1]


@pytest.mark.parametrize("count", [180, 181, 5_000])
def test_a_long_history_shows_its_beginning_and_its_end_and_says_where_the_rest_is(
    count: int,
) -> None:
    found = History([event(seq) for seq in range(1, count + 1)])._repr_mimebundle_()
    rows = found["text/plain"].split("\n")[3:]
    left = count - 180
    assert rows[0].split()[0] == "1"
    assert rows[-1].split()[0] == str(count)
    assert len(rows) == min(count, 181)
    assert (f"… {left:,} more: history()[30:{30 + left}]" in found["text/plain"]) == (left > 0)
    assert found["text/html"].count("<tr>") == len(rows) + 1


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_a_listing_stays_text(text: str) -> None:
    hostile: list[Listing[Any]] = [
        History(
            [Event(seq=1, at=text, kind=text, data={text: text}), event(2, step=text, error=text)]
        ),
        Sentences([text, text]),
        Forecast([{"step_id": text, "action": "hold", "reason": "held", "because": [text]}], text),
    ]
    for listing in hostile:
        found = listing._repr_mimebundle_()
        audit(found["text/html"])
        assert CONTROLS.search(found["text/plain"]) is None


def values() -> dict[str, Any]:
    """One of each value that a person gets from pixirnb, made without a notebook."""
    workflow = load_text(
        "name: shown\nsteps: [{id: a, run: 'true'}, {id: b, run: x, depends_on: [a]}]"
    ).workflow
    assert workflow is not None
    sample = outcome("partial", [])
    steps = [step("a"), step("b", "shell", "failed")]
    fields = {name: sample[name] for name in RunOutcome.__struct_fields__ if name in sample}
    ended = RunOutcome(**{**fields, "steps": steps})
    return {
        "workflow": workflow,
        "plan": report(workflow, Environment()),
        "outcome": ended,
        "step": ended.steps[0],
        "diagnosis": Diagnosis("r-1", ()),
    }


@pytest.mark.parametrize("name", list(values()))
def test_what_the_pure_floors_make_shows_itself_without_the_notebook_s_extension(name: str) -> None:
    value = values()[name]
    found = value._repr_mimebundle_(include=None, exclude=None)
    audit(found["text/html"])
    assert bool(drawn_in(found["text/html"])) == (name in {"workflow", "plan", "outcome"})
    assert {
        "workflow": "Nothing has run",
        "plan": "Nothing has run",
        "outcome": "◐ partial",
        "step": "ready",
    }.get(name, "r-1") in found["text/plain"]


def test_plans_and_steps_are_one_short_line_where_they_stand_in_a_list() -> None:
    made = values()
    assert repr([made["plan"]]) == "[<PlanReport shown: 2 steps in 2 waves>]"
    assert (
        repr(made["outcome"].steps)
        == "[<StepOutcome a: checkpoint_ready>, <StepOutcome b: failed>]"
    )


def test_names_between_backticks_are_set_as_code_and_nothing_else_is_markup() -> None:
    shown = Sentences(["`a` waits for `<b>`; a lone ` is one."])._repr_mimebundle_()["text/html"]
    assert "<p><code>a</code> waits for <code>&lt;b&gt;</code>; a lone &#96; is one.</p>" in shown


def test_a_step_without_evidence_shows_its_status_and_why_as_a_picture_of_itself() -> None:
    failed = step("b", "shell", "failed", error={"kind": "exit", "message": "exited with code 7"})
    shown = mimebundle(evidence_blocks(failed.document()))["text/html"]
    audit(shown)
    assert "pixirnb-status" in shown
    assert "attempt 1 · 1.2 s" in shown
    assert "exited with code 7" in shown
    assert "<pre>" not in shown


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_of_a_step_and_its_sentences_stays_text(text: str) -> None:
    error = {"kind": text, "message": text}
    for status in ("failed", "held", "partial"):
        audit(
            mimebundle(
                evidence_blocks(step(text, "shell", status, error=error).document(), [text, text])
            )["text/html"]
        )


def test_a_row_names_stopped_steps_as_the_run_itself_does() -> None:
    counts = {"checkpoint_ready": 1, "failed": 3}
    row = run_row(counts=counts, failed_as={"interrupted": 1, "cancelled": 2})
    shown = repr(Rows([Attributes(row)]))
    assert all(part in shown for part in ("1 ready", "1 interrupted", "2 canceled"))
    assert "failed" not in shown
