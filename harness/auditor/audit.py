"""The audit of a log: every rule, in the order of the contract, and one function that asks them all.

    for breach in audit(log, blobs=store.blobs(run_id).get, outcome=run.outcome.document()):
        print(breach.rule, breach.seq, breach.step, breach.message)

Of this project it knows how a spec is read and how a log is encoded, and nothing else: what the engine gets wrong, it does
not get wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from harness.auditor import (
    course_rules,
    decision_rules,
    ending_rules,
    file_rules,
    item_rules,
    logging_rules,
    merge_rules,
    outcome_rules,
    place_rules,
    resume_rules,
    seam_rules,
    session_rules,
    starting_rules,
    time_rules,
    verdict_rules,
)
from harness.auditor.breaches import Breach, Finding, Sighting
from harness.auditor.preparation import prepare
from harness.auditor.record import Record
from harness.auditor.rules import Rule, Section

__all__ = ["RULES", "Breach", "Rule", "Sighting", "audit"]

Find = Callable[[Record], Iterator[Finding]]


def _rules(section: Section, *finders: Find) -> tuple[Rule, ...]:
    """Rules named for the functions that find their breaches, with the first line of their docstrings as sentences."""
    return tuple(Rule(f.__name__, (f.__doc__ or "").split("\n")[0], section, f) for f in finders)


RULES: Final[tuple[Rule, ...]] = (
    *_rules("1", starting_rules.failure_stops, verdict_rules.condition_kept),
    *_rules(
        "2",
        starting_rules.conflicts_apart,
        starting_rules.earlier_first,
        starting_rules.slots_bounded,
        starting_rules.dependencies_ready,
        starting_rules.starts_promptly,
        item_rules.lists_come_first,
        item_rules.parallel_bounded,
        item_rules.collects_settled,
    ),
    *_rules(
        "3",
        logging_rules.chain_holds,
        logging_rules.data_fits,
        logging_rules.blobs_whole,
        logging_rules.begins_once,
        logging_rules.rest_is_quiet,
        logging_rules.intent_first,
        logging_rules.one_owner_writes,
        logging_rules.attempts_count_on,
        logging_rules.ends_once,
        logging_rules.ends_are_real,
    ),
    *_rules(
        "4",
        verdict_rules.ready_is_earned,
        verdict_rules.verdict_fits_cause,
        verdict_rules.error_names_cause,
        verdict_rules.verdict_names_end,
        verdict_rules.nothing_dropped,
        verdict_rules.held_for_cause,
        item_rules.list_is_true,
        item_rules.enough_are_ready,
        item_rules.collects_what_is,
        ending_rules.rest_is_rest,
        ending_rules.status_is_first,
        ending_rules.counts_true,
        ending_rules.reasons_real,
        outcome_rules.success_is_success,
        outcome_rules.outcome_status,
        outcome_rules.outcome_steps,
        outcome_rules.outcome_lists,
        outcome_rules.outcome_proofs,
    ),
    *_rules(
        "5",
        time_rules.timeout_source,
        time_rules.timeout_scaled,
        time_rules.timeouts_real,
        time_rules.timeouts_enforced,
        starting_rules.detached_not_retried,
        time_rules.retry_budget,
        time_rules.retry_class,
        time_rules.retry_taken,
        time_rules.retry_delay,
        time_rules.retry_waits,
        place_rules.starts_once,
        place_rules.starts_where_placed,
    ),
    *_rules(
        "6",
        decision_rules.decision_by_word,
        decision_rules.first_word_stands,
        decision_rules.word_is_a_choice,
        decision_rules.word_acted_on,
        decision_rules.asked_in_words,
        ending_rules.parks,
        course_rules.decision_goes_on,
        ending_rules.phases_checkpointed,
        ending_rules.end_checkpointed,
        ending_rules.checkpoint_lists_ready,
        resume_rules.plan_whole,
        resume_rules.reason_true,
        resume_rules.change_true,
        resume_rules.spec_pinned,
        resume_rules.finished_not_repeated,
        resume_rules.stale_not_reused,
        resume_rules.reuse_keeps,
        item_rules.numbers_stay,
        item_rules.reused_is_unchanged,
        course_rules.begun_once,
        course_rules.entry_obeyed,
        course_rules.equal_digest_stops,
        course_rules.digest_of_result,
        resume_rules.in_flight_reruns,
        course_rules.in_flight_warned,
        course_rules.asks_before_rerun,
        course_rules.selection_kept,
        resume_rules.no_op_is_silent,
        logging_rules.fork_from_checkpoint,
    ),
    *_rules(
        "7",
        session_rules.session_end_told,
        session_rules.session_end_agrees,
        session_rules.readiness_by_turn,
        session_rules.permission_by_person,
        session_rules.word_of_no_step,
        session_rules.parked_goes_on_by_leave,
        session_rules.session_log_agrees,
    ),
    *_rules(
        "8",
        file_rules.work_is_captured,
        file_rules.begins_from_all,
        file_rules.changes_agree,
        file_rules.outside_is_told,
        file_rules.beside_is_nobodys,
        file_rules.files_limit,
        file_rules.clash_starts_nothing,
        merge_rules.merges_what_is_ready,
        merge_rules.merges_whole,
        merge_rules.merge_step_merges,
        merge_rules.solved_by_word,
        merge_rules.undo_is_of_the_last,
        merge_rules.outcome_changes,
        merge_rules.outcome_seams,
        merge_rules.outcome_offers,
        seam_rules.seams_are_opened,
        seam_rules.seams_have_cause,
        seam_rules.seams_are_resolved_by_who_may,
    ),
    *_rules(
        "operator",
        decision_rules.stop_is_stop,
        decision_rules.stop_ends_work,
        decision_rules.stop_is_said,
    ),
)
"""Every promise, each named once."""


def audit(
    log: bytes,
    *,
    blobs: Callable[[str], bytes] | None = None,
    outcome: Mapping[str, Any] | None = None,
    sightings: Sequence[Sighting] = (),
    wall_is_true: bool = False,
    sessions: Mapping[str, bytes] | None = None,
) -> list[Breach]:
    """Every promise that a log shows broken, in the order of the rules. Never raises, whatever the bytes.

    `blobs` fetches a blob by its digest, and may raise for one that is gone. `outcome` is the JSON document some view showed
    for exactly this log while nobody drove the run, or, with status `running`, while somebody did. `sightings` are what a
    witness saw, in order. `wall_is_true`: the times of the events are a clock's that never jumps, so that spans may be
    judged by them. `sessions` are the bytes of child sessions, by name. A damaged log is judged up to its damage.
    """
    record = prepare(
        log, blobs=blobs, outcome=outcome, sightings=sightings, wall_is_true=wall_is_true
    )
    record.sessions = sessions
    return [breach for rule in RULES for breach in _breaches(rule, record)]


def _breaches(rule: Rule, record: Record) -> Iterator[Breach]:
    try:
        for seq, step, message in rule.find(record):
            yield Breach(rule.name, seq, step, message)
    except Exception as error:  # noqa: BLE001 - a log no rule foresaw is no sound log, and no reason to judge no further
        yield Breach(rule.name, None, None, f"It cannot be judged: {type(error).__name__}: {error}")
