"""The audit has an answer to any bytes: damage is named, what stands before it is judged, and nothing raises."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.auditor.audit import Sighting, audit
from pixirnb.history.events import Event
from pixirnb.testing.generators.strategies import json_values
from tests.harness.auditor.doctoring import Exhibit
from tests.harness.auditor.taped_runs import log_of
from tests.harness.auditor.workflows_on_trial import edited, failing, mended, pair, retried
from tests.sweeps import examples

bounded = settings(deadline=None, derandomize=True, max_examples=examples(150))
AT = "2026-11-22T00:00:00.000000Z"


@bounded
@given(st.binary(max_size=300))
def test_bytes_that_are_no_log_are_a_broken_chain_or_no_beginning(data: bytes) -> None:
    assert {breach.rule for breach in audit(data)} & {"chain_holds", "begins_once"}


def test_a_log_cut_at_any_byte_is_named_unless_it_is_cut_between_lines() -> None:
    log = pair().log
    for size in range(1, len(log)):
        is_whole = log[:size].endswith(b"\n")
        rules = {breach.rule for breach in audit(log[:size])}
        assert rules == (set() if is_whole else {"chain_holds"})


def test_any_byte_that_is_another_breaks_the_chain() -> None:
    log = pair().log
    for place in range(0, len(log), 7):
        flipped = bytearray(log)
        flipped[place] ^= 0x02
        assert "chain_holds" in {breach.rule for breach in audit(bytes(flipped))}


@pytest.mark.parametrize("how", ["dropped", "doubled", "swapped"])
def test_a_line_that_is_not_in_its_place_breaks_the_chain(how: str) -> None:
    lines = pair().log.splitlines(keepends=True)
    match how:
        case "dropped":
            del lines[2]
        case "doubled":
            lines.insert(2, lines[2])
        case _:
            lines[2], lines[3] = lines[3], lines[2]
    assert "chain_holds" in {breach.rule for breach in audit(b"".join(lines))}


def test_a_damaged_log_that_is_shown_as_completed_is_a_false_success() -> None:
    tape = pair()
    damaged = bytearray(tape.log)
    damaged[-20] ^= 0x02
    shown = tape.outcome().document()
    assert "success_is_success" in {b.rule for b in audit(bytes(damaged), outcome=shown)}


def test_a_torn_tail_was_promised_to_nobody_and_leaves_the_outcome_as_it_was() -> None:
    tape = pair()
    breaches = audit(tape.log + b'{"at', outcome=tape.outcome().document())
    assert {breach.rule for breach in breaches} == {"chain_holds"}


@bounded
@given(st.sampled_from([pair, failing, retried, mended, edited]), st.data())
def test_events_of_any_shape_in_any_order_are_judged_without_an_exception(
    make: Any, data: st.DataObject
) -> None:
    tape = make()
    events = [_mutated(event, data) for event in tape.events]
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(events)))
        events.insert(place, events[data.draw(st.integers(0, len(events) - 1))])
    log = log_of([replace(event, seq=n) for n, event in enumerate(events, start=1)])
    shown = data.draw(st.none() | st.just(tape.outcome().document()) | _documents)
    seen = [Sighting("wished", 2, 0.0, detail="cancel"), *tape.sightings]
    for breach in audit(log, outcome=shown, sightings=seen, wall_is_true=True):
        assert "Traceback" not in breach.message


_documents = st.dictionaries(
    st.sampled_from(["status", "ok", "steps", "reasons", "counts", "proof_states"]), json_values
)


def _mutated(event: Event, data: st.DataObject) -> Event:
    if data.draw(st.integers(0, 5)) or not event.data:
        return event
    copy: dict[str, Any] = json.loads(json.dumps(event.data))
    copy[data.draw(st.sampled_from(sorted(copy)))] = data.draw(json_values)
    return replace(event, data=copy)


def test_kinds_and_members_that_nobody_knows_are_passed_over() -> None:
    exhibit = Exhibit.of(pair())
    exhibit.insert(3, Event(0, AT, "dream_recorded", {"step": "a", "of": ["sheep"]}))
    exhibit.events[2].data["colour"] = "green"
    assert exhibit.audit() == []


def test_data_that_lies_in_a_blob_is_fetched_and_missed_where_it_is_gone() -> None:
    tape = pair()
    large = json.dumps(tape.events[0].data, sort_keys=True).encode()
    digest = "b2:" + blake2b(large, digest_size=32).hexdigest()
    spilled = [replace(tape.events[0], data={"$blob": digest}), *tape.events[1:]]
    assert audit(log_of(spilled), blobs={digest: large}.__getitem__) == []
    assert "blobs_whole" in {b.rule for b in audit(log_of(spilled), blobs=_gone)}


def _gone(digest: str) -> bytes:
    raise KeyError(digest)


def test_a_log_without_a_workflow_that_can_be_read_says_so_and_no_more() -> None:
    exhibit = Exhibit.of(pair())
    exhibit.respec(steps=[])
    assert {breach.rule for breach in exhibit.audit()} == {"data_fits"}
