"""What a status looks like: the same in every view, told by word and shape as well as colour, and honest."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any, cast, get_args

import pytest

from pixirnb.history.events import CheckpointStatus, RunStatus, SubagentStatus
from pixirnb.views.basics.icons import status_shape
from pixirnb.views.basics.status_marks import STEP_MARKS, run_mark, step_mark
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.bundle_view import bundle_blocks
from pixirnb.views.run.outcome_view import outcome_blocks, progress_line
from pixirnb.views.run.plan_view import plan_blocks
from pixirnb.views.run.run_rows import run_list_blocks
from tests.views.pictures import drawn_in, opened_card
from tests.views.view_samples import (
    ACTIONS,
    PARTIAL_LOOKS,
    RELEASE,
    RUN,
    edges_of,
    outcome,
    plan,
    release,
    run_row,
    step,
)

RUN_STATUSES = list(get_args(RunStatus))
CHECKPOINTS = list(get_args(CheckpointStatus))
ATTEMPTS = list(get_args(SubagentStatus))


def head(markup: str) -> str:
    """The card's first line: the run's status."""
    found = re.search(r'<b class="pixirnb-status (.*?)</b>', markup)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("status", [*RUN_STATUSES, "complete", "", None, "COMPLETED", 7])
def test_only_a_completed_run_looks_like_success(status: Any) -> None:
    """Every step is ready here, so only the run's own status can make the difference."""
    document = outcome(status, [step("make")])
    markup, words = opened_card(outcome_blocks(document)), draw_text(outcome_blocks(document))

    looks_good = status == "completed"
    assert ("pixirnb-good" in head(markup)) is looks_good
    assert ("pixirnb-ready" in head(markup)) is False
    assert words.startswith("✓") is looks_good
    assert progress_line(document).startswith("✓") is looks_good
    listed = run_list_blocks([run_row(status=status)])
    assert ("pixirnb-good" in opened_card(listed).split("<tbody>")[1]) is looks_good
    assert ("✓" in draw_text(listed)) is looks_good


@pytest.mark.parametrize("status", RUN_STATUSES)
def test_a_status_stands_first_in_every_view(status: str) -> None:
    document = outcome(status, [step("make", status=None)])
    word = run_mark(status).word

    assert f"{word}<" in head(opened_card(outcome_blocks(document))) + "<"
    assert draw_text(outcome_blocks(document)).split(" · ")[0].endswith(word)


def test_no_two_statuses_share_a_word_a_symbol_or_a_shape() -> None:
    marks = {
        step_mark({"checkpoint_status": checkpoint, "subagent_status": attempt}).key: step_mark(
            {"checkpoint_status": checkpoint, "subagent_status": attempt}
        )
        for checkpoint in [*CHECKPOINTS, None]
        for attempt in ATTEMPTS
    }

    assert set(marks) >= {"checkpoint_ready", "failed", "timed_out", "partial", "held", "running"}
    for a, b in combinations(marks.values(), 2):
        assert a.word != b.word
        assert a.symbol != b.symbol
        assert status_shape(a) != status_shape(b)
    assert len({status_shape(run_mark(status)) for status in RUN_STATUSES}) == len(RUN_STATUSES)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_that_says_it_completed_is_not_ready_before_it_is_judged(attempt: str) -> None:
    assert step_mark({"checkpoint_status": None, "subagent_status": attempt}).tone != "ready"


@pytest.mark.parametrize("status", [s for s in CHECKPOINTS if s != "checkpoint_ready"])
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_step_that_is_not_ready_never_looks_ready(status: str, attempt: str) -> None:
    mark = step_mark({"checkpoint_status": status, "subagent_status": attempt})

    assert mark.tone not in {"ready", "good"}
    assert mark.symbol != "✓"


def test_an_outcome_shows_what_failed_what_is_held_by_what_and_what_to_run() -> None:
    document = release("partial", PARTIAL_LOOKS, next_actions=ACTIONS)
    found = mimebundle(outcome_blocks(document, edges_of(RELEASE), plan=plan(RELEASE)))

    for view in (found["text/plain"], re.sub(r"<[^>]+>", " ", found["text/html"])):
        shown = view.replace("&#39;", "'")
        assert "Stopped after 15 minutes" in shown
        assert "ValueError: no baseline for 'startup'" in shown
        assert "blocked by refactor-widgets" in shown
        assert f"%pixir resume {RUN}" in shown
    assert f"<code>%pixir resume {RUN} --spec &lt;FILE&gt;</code>" in found["text/html"]


def test_a_held_step_is_dashed_and_a_dashed_line_leads_to_what_holds_it() -> None:
    held = {"kind": "dependency", "step": "a", "also": ["c"]}
    failed = [step("a", status="failed"), step("c", status="failed")]
    document = outcome("failed", [*failed, step("b", status="held", held_by=held, wave=1)])

    markup = opened_card(outcome_blocks(document, [("a", "b"), ("c", "b")]))

    assert markup.count('class="pixirnb-hold"') == 2
    assert 'class="pixirnb-edge"' not in markup
    assert "pixirnb-idle pixirnb-held" in markup


def test_a_held_step_without_an_edge_to_its_holder_still_has_the_line() -> None:
    held = {"kind": "dependency", "step": "a"}
    steps = [
        step("a", status="failed"),
        step("b", wave=1),
        step("c", status="held", held_by=held, wave=2),
    ]

    markup = opened_card(outcome_blocks(outcome("partial", steps), [("a", "b"), ("b", "c")]))

    assert markup.count('class="pixirnb-hold"') == 1
    [edges] = re.findall(r'class="pixirnb-edge"[^>]* d="([^"]*)"', markup)
    assert edges.count("M") == 2


def test_a_second_attempt_is_marked_and_a_first_is_not() -> None:
    assert "×2" in opened_card(
        outcome_blocks(outcome("failed", [step("a", status="failed", attempt=2)]))
    )
    assert "×" not in opened_card(
        outcome_blocks(outcome("failed", [step("a", status="failed", attempt=1)]))
    )


def test_a_plan_with_mistakes_shows_all_of_them_and_no_picture() -> None:
    mistakes = [
        {
            "code": f"code_{n}",
            "path": f"steps[{n}]",
            "line": n,
            "message": f"Wrong {n}.",
            "fix": "Mend.",
        }
        for n in range(1, 4)
    ]
    broken = plan(RELEASE, ok=False, errors=mistakes, waves=[], phases=[])
    found = mimebundle(plan_blocks(broken))

    for view in found.values():
        assert all(f"code_{n}" in view and f"Wrong {n}." in view for n in range(1, 4))
    assert drawn_in(found["text/html"]) == []
    assert found["text/plain"].startswith("✗ not valid")


def test_a_bundle_that_is_not_safe_to_build_on_says_so_first() -> None:
    document: Any = {
        "step_id": "make",
        "dependent_safe": False,
        "known_limitations": ["readiness_not_declared"],
    }

    assert "not usable by dependents" in head(opened_card(bundle_blocks(document)))
    assert draw_text(bundle_blocks(document)).startswith("◐ not usable by dependents")
    assert draw_text(bundle_blocks(cast("Any", {**document, "dependent_safe": "yes"}))).startswith(
        "◐"
    )


def test_a_live_an_ended_and_an_opened_run_have_the_same_boxes_in_the_same_places() -> None:
    def places(document: Any) -> list[str]:
        markup = opened_card(outcome_blocks(document, edges_of(RELEASE), plan=plan(RELEASE)))
        return re.findall(
            r'class="pixirnb-[a-z-]+(?: pixirnb-held)?" transform="translate\(([0-9. ]+)\)">',
            markup,
        )

    ended = release("partial", PARTIAL_LOOKS)
    live = release("running", {"refactor-core": {"status": None, "subagent_status": "running"}})

    assert len(places(ended)) >= len(RELEASE)
    boxes = [step_id for step_id in places(ended) if places(live).count(step_id)]
    assert len(boxes) >= len(RELEASE)
    assert opened_card(outcome_blocks(ended, edges_of(RELEASE))) == opened_card(
        outcome_blocks(ended, edges_of(RELEASE))
    )


def test_phases_are_bands_side_by_side_or_one_above_the_other() -> None:
    ids = [step_id for step_id, _, _ in RELEASE]
    one = opened_card(plan_blocks(plan(RELEASE), edges_of(RELEASE)))
    two = opened_card(
        plan_blocks(
            plan(
                RELEASE,
                phases=[{"name": "odd", "steps": ids[::2]}, {"name": "even", "steps": ids[1::2]}],
            ),
            edges_of(RELEASE),
        )
    )
    chain = [("a", "shell", []), ("b", "shell", ["a"])]
    side = opened_card(
        plan_blocks(
            plan(
                chain, phases=[{"name": "first", "steps": ["a"]}, {"name": "then", "steps": ["b"]}]
            ),
            edges_of(chain),
        )
    )

    assert one.count('class="pixirnb-band"') == 0
    assert two.count('class="pixirnb-band"') == 2
    assert side.count('class="pixirnb-band"') == 2
    assert ">even</text>" in two
    assert ">then</text>" in side


def test_a_very_wide_wave_is_counted_by_status_and_its_trouble_is_still_listed() -> None:
    steps = [
        step(f"s{n}", status="failed" if n in {70, 90} else "checkpoint_ready") for n in range(100)
    ]
    document = outcome("partial", steps)

    markup = opened_card(outcome_blocks(document))

    assert markup.count('class="pixirnb-box"') == 3  # the stack, and each step that failed
    assert ">s0 … 99</text>" in markup
    assert ">98 ✓ 2 ✗</text>" in markup
    assert ">s90</text>" in markup
    assert "<code>s70</code>" in markup
    assert "✗ s90" in draw_text(outcome_blocks(document))
    assert "and 98 ready" in draw_text(outcome_blocks(document))


def test_a_long_workflow_ends_in_one_box_for_the_rest() -> None:
    chain = [(f"s{n}", "shell", [f"s{n - 1}"] if n else []) for n in range(100)]

    markup = opened_card(plan_blocks(plan(chain), edges_of(chain)))

    assert markup.count('class="pixirnb-box"') == 60
    assert "… 41 more in 41 columns" in markup


def test_a_picture_of_the_largest_workflow_stays_small() -> None:
    steps = [step(f"s{n}", wave=n // 50) for n in range(100_000)]

    assert len(opened_card(outcome_blocks(outcome("completed", steps)))) < 2_000_000


@pytest.mark.parametrize("room", [12, 30, 60, 76, 120])
def test_the_line_of_progress_keeps_to_its_room_and_gives_up_names_first(room: int) -> None:
    running = [
        step(f"a-step-with-a-long-name-{number}", status=None, subagent_status="running")
        for number in range(3)
    ]
    document = outcome("running", [*running, step("late", status="failed")])
    told = progress_line(document, room)
    assert len(told) <= room
    assert told.startswith("▸ running")
    assert (RUN in told) is (room == 120 and len(progress_line(document)) <= 120)
    if room >= 60:
        assert "3 running" in told
        assert "1 failed" in told


def test_the_word_of_several_steps_is_a_plural() -> None:
    told = {mark.key: (mark.counted(1), mark.counted(2)) for mark in STEP_MARKS}
    assert told["needs_orchestrator"] == ("needs a decision", "need a decision")
    assert told["lost"] == ("was running", "were running")
    assert told["queued"] == ("not started", "not started")
