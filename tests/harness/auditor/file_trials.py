"""Doctored logs, section 8: each breaks the promise of one rule about files, merges and seams, and no other."""

from __future__ import annotations

from collections.abc import Callable

from tests.harness.auditor.doctoring import Exhibit, at, of
from tests.harness.auditor.files_on_trial import (
    UNLOOKED,
    beside_claims,
    chained,
    changes,
    clashing,
    declaring,
    disturbed,
    flowing,
    meeting,
    open_seam,
    rested,
    stuck,
    touching,
    undone,
    unlooked,
    waiting,
)
from tests.harness.auditor.workflows_on_trial import pair

Trial = tuple[str, str, Callable[[], Exhibit], Callable[[Exhibit], object]]

_MERGE = at("merge_applied")
_SEAM = at("seam_opened")
_ROOT = {"root": ".", "folder": "/w", "method": "git", "seen": "seen"}


def _capture(step: str) -> Callable[..., bool]:
    return at("workspace_captured", step)


def _late(exhibit: Exhibit) -> None:
    event = exhibit.events.pop(exhibit.place(_capture("a")))
    exhibit.insert(exhibit.place(at("attempt_ended", "a")) + 1, event)


def _twice(exhibit: Exhibit) -> None:
    place = exhibit.place(_capture("a"))
    exhibit.insert(place + 1, exhibit.events[place])


def _of_a_shared_step(exhibit: Exhibit) -> None:
    event = exhibit.events[exhibit.place(_capture("b"))]
    exhibit.insert(exhibit.place(at("attempt_ended", "a")), event)
    data = {"step": "a", "attempt": 1, "left_behind": None}
    exhibit.events[exhibit.place(_capture("b"))].data.update(data)
    exhibit.events[exhibit.place(_capture("a"))].data["changes"] = changes("x/1")


def _begun(exhibit: Exhibit) -> None:
    begins = exhibit.events[exhibit.place(at("attempt_started", "a"))]
    exhibit.insert(exhibit.place(at("merge_conflicted")), begins)
    exhibit.events[exhibit.place(at("merge_conflicted")) - 1].data.update(step="c", attempt=1)


def _because(exhibit: Exhibit, why: str) -> None:
    """Nobody looked beside the claims of a, for this reason."""
    exhibit.change(at("attempt_ended", "a"), outside={**UNLOOKED, "unchecked": why})
    exhibit.change(at("checkpoint_decided", "a"), limitations=[f"writes_not_checked: {why}"])


def _bundle(exhibit: Exhibit) -> None:
    assert exhibit.outcome is not None
    exhibit.outcome["steps"][0]["checkpoint"]["changes"] = changes("x/2")


def _obligations(exhibit: Exhibit, **said: object) -> None:
    assert exhibit.outcome is not None
    seams = [{**seam, **said} for seam in exhibit.outcome["seam_obligations"]]
    exhibit.show(seam_obligations=seams)


def _offers(exhibit: Exhibit, action: str) -> None:
    assert exhibit.outcome is not None
    kept = [each for each in exhibit.outcome["next_actions"] if each["action"] != action]
    exhibit.show(next_actions=kept)


def _seamless(exhibit: Exhibit) -> None:
    """`b` met `a`, and nothing came of it."""
    exhibit.drop(lambda event: event.kind in {"seam_opened", "seam_resolved"})
    exhibit.outcome = None


def _twice_resolved(exhibit: Exhibit) -> None:
    place = exhibit.place(at("seam_resolved"))
    exhibit.insert(place + 1, exhibit.events[place])


def _by_a_step_that_lacks_one(exhibit: Exhibit) -> None:
    exhibit.change(at("seam_resolved"), by="step", step="z", merge=None, request_id=None)


def _shown(tape: Callable[..., object]) -> Callable[[], Exhibit]:
    return of(tape, shown=True)  # type: ignore[arg-type] # a Tape, by any of its names


TRIALS: list[Trial] = [
    ("work_is_captured", "nothing told", of(waiting), lambda x: x.drop(_capture("a"))),
    ("work_is_captured", "told after its end", of(waiting), _late),
    ("work_is_captured", "told twice", of(waiting), _twice),
    ("work_is_captured", "told of the user's own files", of(touching), _of_a_shared_step),
    (
        "begins_from_all",
        "without what one step before it changed",
        of(flowing),
        lambda x: x.change(_capture("c"), built_on=["a"]),
    ),
    (
        "begins_from_all",
        "with what is no step before it",
        of(flowing),
        lambda x: x.change(_capture("b"), built_on=["a"]),
    ),
    (
        "changes_agree",
        "changed, and the trees are equal",
        of(waiting),
        lambda x: x.change(_capture("a"), roots=[{**_ROOT, "base": "seen", "left": "seen"}]),
    ),
    (
        "changes_agree",
        "a file left out",
        of(waiting),
        lambda x: x.change(_capture("a"), changes={**changes("x/1"), "count": 2}),
    ),
    (
        "changes_agree",
        "other files than the user's, and from nobody",
        of(waiting),
        lambda x: x.change(_capture("a"), roots=[{**_ROOT, "base": "other", "left": "left"}]),
    ),
    (
        "outside_is_told",
        "beside its claims, and claimed to be within",
        of(beside_claims),
        lambda x: x.change(_capture("a"), outside={"paths": ["x/1"], "count": 1}),
    ),
    (
        "outside_is_told",
        "one file of two",
        of(beside_claims),
        lambda x: x.change(_capture("a"), outside={"paths": ["q"], "count": 2}),
    ),
    (
        "beside_is_nobodys",
        "a file that the step claims",
        of(touching),
        lambda x: x.change(at("attempt_ended", "a"), outside={"paths": ["x/7"], "count": 1}),
    ),
    (
        "beside_is_nobodys",
        "of a step that claims nothing",
        of(touching),
        lambda x: x.restep("a", write_set=None),
    ),
    (
        "beside_is_nobodys",
        "files, where nobody looked",
        of(unlooked),
        lambda x: x.change(at("attempt_ended", "a"), outside={**UNLOOKED, "count": 1}),
    ),
    (
        "beside_is_nobodys",
        "nobody looked, for no reason",
        of(unlooked),
        lambda x: _because(x, " "),
    ),
    (
        "beside_is_nobodys",
        "nobody looked, in two lines",
        of(unlooked),
        lambda x: _because(x, "It is\nlate."),
    ),
    (
        "beside_is_nobodys",
        "no files, and nothing that kept from looking",
        of(touching),
        lambda x: x.change(at("attempt_ended", "a"), outside={"paths": [], "count": 0}),
    ),
    (
        "files_limit",
        "that nobody looked is no limitation",
        of(unlooked),
        lambda x: x.change(at("checkpoint_decided", "a"), limitations=[]),
    ),
    (
        "files_limit",
        "another reason why nobody looked",
        of(unlooked),
        lambda x: x.change(
            at("checkpoint_decided", "a"), limitations=["writes_not_checked: It was late."]
        ),
    ),
    (
        "files_limit",
        "somebody looked, and it is told that nobody did",
        of(touching),
        lambda x: x.change(
            at("checkpoint_decided", "a"),
            limitations=["writes_outside_write_set: q", "writes_not_checked: It was late."],
        ),
    ),
    (
        "files_limit",
        "what was touched is no limitation",
        of(touching),
        lambda x: x.change(at("checkpoint_decided", "a"), limitations=[]),
    ),
    (
        "files_limit",
        "what is left behind is no limitation",
        of(touching),
        lambda x: x.change(at("checkpoint_decided", "b"), limitations=[]),
    ),
    ("clash_starts_nothing", "it began all the same", of(stuck), _begun),
    (
        "clash_starts_nothing",
        "no conflict is told",
        of(clashing),
        lambda x: x.change(at("merge_conflicted"), attempt=2),
    ),
    (
        "clash_starts_nothing",
        "a conflict with what was not to be merged",
        of(stuck),
        lambda x: x.change(at("merge_conflicted"), steps=[]),
    ),
    (
        "merges_what_is_ready",
        "by an attempt that was not made",
        of(undone),
        lambda x: x.change(_MERGE, 0, attempts={"a": 2}),
    ),
    (
        "merges_what_is_ready",
        "what the merge step does not name",
        of(flowing),
        lambda x: x.restep("m", merge=["a", "b"]),
    ),
    (
        "merges_whole",
        "without a root",
        of(flowing),
        lambda x: x.change(
            _MERGE, roots=[{"root": "repos.other", "folder": "/", "before": "1", "after": "2"}]
        ),
    ),
    (
        "merges_whole",
        "without its base",
        of(chained),
        lambda x: x.change(_MERGE, steps=["c"], attempts={"c": 1}),
    ),
    (
        "merge_step_merges",
        "ready, and half of it is missing",
        of(flowing),
        lambda x: x.change(_MERGE, steps=["a", "b"], attempts={"a": 1, "b": 1}),
    ),
    (
        "solved_by_word",
        "by an edit that came too late",
        of(disturbed),
        lambda x: x.change(_MERGE, solved=["x/1"]),
    ),
    (
        "undo_is_of_the_last",
        "of a merge that was not made",
        of(undone),
        lambda x: x.change(_MERGE, 0, merge="m0"),
    ),
    ("outcome_changes", "another patch in the bundle", _shown(rested), _bundle),
    (
        "outcome_seams",
        "shown as resolved",
        _shown(open_seam),
        lambda x: _obligations(x, state="resolved"),
    ),
    ("outcome_seams", "not shown", _shown(open_seam), lambda x: x.show(seam_obligations=[])),
    (
        "outcome_offers",
        "a merge that nobody hears of",
        _shown(rested),
        lambda x: _offers(x, "merge_changes"),
    ),
    (
        "outcome_offers",
        "a seam that nobody can resolve",
        _shown(open_seam),
        lambda x: _offers(x, "resolve_seam"),
    ),
    ("seams_are_opened", "two met, and no seam", of(meeting), _seamless),
    (
        "seams_are_opened",
        "declared, and no seam",
        of(pair),
        lambda x: x.restep("a", seams=["types"]),
    ),
    (
        "seams_have_cause",
        "met where they did not",
        of(meeting),
        lambda x: x.change(_SEAM, paths=["x/2"]),
    ),
    (
        "seams_have_cause",
        "called as a step is",
        of(meeting),
        lambda x: x.change(_SEAM, id="z").change(at("seam_resolved"), id="z"),
    ),
    (
        "seams_have_cause",
        "no merge had conflicted",
        of(stuck),
        lambda x: x.change(_SEAM, between=["a", "c", "workspace", "a"], reason="met"),
    ),
    (
        "seams_are_resolved_by_who_may",
        "without a note",
        of(meeting),
        lambda x: x.change(at("seam_resolved"), note=" "),
    ),
    ("seams_are_resolved_by_who_may", "twice", of(meeting), _twice_resolved),
    (
        "seams_are_resolved_by_who_may",
        "by a step that knows of neither side",
        of(meeting),
        _by_a_step_that_lacks_one,
    ),
    (
        "seams_are_resolved_by_who_may",
        "that is not there",
        of(declaring),
        lambda x: x.insert(
            x.place(at("seam_resolved")) + 1, x.events[x.place(at("seam_resolved"))]
        ).change(at("seam_resolved"), 1, id="s9"),
    ),
]
