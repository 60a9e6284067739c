"""Two runs compared: what was asked, what came of it, step by step; times are shown and are no difference."""

from __future__ import annotations

from typing import Any

from pixirnb.history.run_state import fold
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.comparison import ComparedRun, comparison, comparison_blocks
from tests.operations.household import PAIR, completed, edited, failed
from tests.views.blanking import blanked


def side(story: Rehearsal) -> ComparedRun:
    return ComparedRun(story.outcome(), fold(story.events))


def compared(left: Rehearsal, right: Rehearsal) -> Any:
    return comparison(side(left), side(right))


def differing(document: Any) -> dict[str, list[str]]:
    return {s["step_id"]: s["differs"] for s in document["steps"] if s["differs"]}


def test_a_run_is_the_same_as_itself() -> None:
    document = compared(completed(), completed())
    assert document["same"] is True
    assert differing(document) == {}
    assert document["workflow"] == {"same": True, "changed": [], "sources": []}


def test_times_are_shown_and_are_no_difference() -> None:
    slow = completed()
    events = edited(slow.events, "attempt_ended", lambda data: data.update(elapsed_ms=9_000))
    later = Rehearsal(slow.plan, events)
    document = compared(completed(), later)
    assert document["same"] is True
    assert [s["right"]["elapsed_ms"] for s in document["steps"]] == [9_000, 9_000]


def test_how_steps_ended_is_compared() -> None:
    document = compared(completed(), failed())
    assert document["same"] is False
    assert (document["left"]["status"], document["right"]["status"]) == ("completed", "failed")
    assert differing(document) == {
        "make": ["status", "digest", "error"],
        "use": ["status", "attempt", "digest"],
    }
    assert document["steps"][0]["right"]["error"] == "exit"


def test_another_result_is_a_difference_though_both_are_ready() -> None:
    other = Rehearsal(plan_of(PAIR)).begin().end("make", value=7).end("use", value=2)
    document = compared(completed(), other)
    assert differing(document) == {"make": ["digest"]}
    (make, use) = document["steps"]
    assert (make["left"]["value"], make["right"]["value"]) == ("1", "7")
    assert "value" not in use["left"]
    assert "result 1 → 7" in draw_text(comparison_blocks(document))


def test_a_long_or_hostile_result_is_cut_and_stays_text() -> None:
    other = Rehearsal(plan_of(PAIR)).begin().end("make", value="<img src=x>\x1b[2J" + "x" * 999)
    none = Rehearsal(plan_of(PAIR)).begin().end("make", "failed", error="exit")
    document = compared(completed(), other.end("use", value=[1] * 99))
    assert [step["right"]["value"] for step in document["steps"]] == [
        f"<img src=x>{'x' * 48}…",
        "list of 99",
    ]
    assert "<img" not in draw_html(comparison_blocks(document))
    assert "result – → 1" in draw_text(comparison_blocks(compared(none, completed())))


def test_results_that_are_stored_apart_are_named_by_kind_and_size() -> None:
    big = {"format": "parquet", "blob": "b2:x", "bytes": 2048, "glance": "20 × 2 DataFrame"}
    events = edited(completed().events, "attempt_ended", lambda data: data.update(output=big))
    events = edited(events, "checkpoint_decided", lambda data: data.update(digest="b2:other"))
    document = compared(completed(), Rehearsal(completed().plan, events))
    assert document["steps"][0]["right"]["value"] == "20 × 2 DataFrame, 2,048 bytes"


def test_another_attempt_is_a_difference() -> None:
    text = PAIR.replace(
        '{id: make, run: "true"}', '{id: make, run: "true", retry: {max_attempts: 2, delay: 1s}}'
    )
    once = completed(text)
    twice = Rehearsal(plan_of(text)).begin().end("make", "failed", error="exit").turn(10)
    twice = twice.end("make", value=1).end("use", value=2)
    assert differing(compared(once, twice)) == {"make": ["attempt"]}


def test_what_was_asked_is_compared_key_by_key() -> None:
    text = PAIR.replace('run: "true", depends', 'run: "true", env: {A: b}, timeout: 5m, depends')
    text = text.replace(
        "name: pair", "name: pair\nmax_concurrency: 2\ninputs: {n: {type: integer, default: 1}}"
    )
    document = compared(completed(), completed(text))
    assert differing(document) == {"use": ["env", "timeout"]}
    assert [entry["key"] for entry in document["workflow"]["changed"]] == [
        "inputs",
        "max_concurrency",
    ]
    assert document["workflow"]["same"] is False
    assert document["inputs"] == [{"input": "n", "left": None, "right": 1}]
    assert document["same"] is False


def test_other_inputs_are_a_difference_though_all_else_is_equal() -> None:
    text = PAIR.replace("name: pair", "name: pair\ninputs: {n: {type: integer, default: 1}}")
    other = Rehearsal(plan_of(text)).begin({"n": 2}).end("make", value=1).end("use", value=2)
    document = compared(completed(text), other)
    assert (document["workflow"]["same"], document["same"]) == (True, False)
    assert document["inputs"] == [{"input": "n", "left": 1, "right": 2}]
    assert differing(document) == {}


def test_true_is_not_one() -> None:
    texts = [
        PAIR.replace(
            "name: pair", f"name: pair\ninputs: {{n: {{type: array, default: [{n}]}}}}"
        ).replace('{id: make, run: "true"}', f"{{id: make, call: m:f, with: {{n: {n}}}}}")
        for n in ("1", "true")
    ]
    document = compared(*map(completed, texts))
    assert differing(document) == {"make": ["with"]}
    assert [entry["key"] for entry in document["workflow"]["changed"]] == ["inputs"]
    assert document["inputs"] == [{"input": "n", "left": [1], "right": [True]}]


def test_steps_of_one_side_alone_are_told() -> None:
    text = PAIR + '  - {id: more, run: "true", depends_on: [use]}\n'
    document = compared(completed(), completed(text).end("more"))
    assert differing(document) == {"more": ["only_right"]}
    assert document["steps"][-1]["left"] is None
    assert differing(compared(completed(text).end("more"), completed())) == {"more": ["only_left"]}


def test_the_text_names_runs_and_differences_and_nothing_that_is_equal() -> None:
    said = draw_text(comparison_blocks(compared(completed(), failed())))
    assert said.startswith("≠ different")
    assert "status, result 1 → –, error" in said
    same = draw_text(comparison_blocks(compared(completed(), completed())))
    assert same.startswith("= no difference")
    assert "2 steps without differences" in same
    assert "make" not in same


def test_the_picture_says_what_the_text_says() -> None:
    for document in (compared(completed(), failed()), compared(completed(), completed())):
        shown = draw_html(comparison_blocks(document))
        for step in document["steps"]:
            assert (f"<code>{step['step_id']}</code>" in shown) == bool(step["differs"])


def test_spans_have_columns_of_their_own_so_that_they_alone_differ_from_run_to_run() -> None:
    def told(elapsed_ms: int) -> str:
        story = failed()
        took = edited(
            story.events, "attempt_ended", lambda data: data.update(elapsed_ms=elapsed_ms)
        )
        return draw_text(comparison_blocks(compared(completed(), Rehearsal(story.plan, took))))

    assert "elapsed  differences" in told(5)
    assert blanked(told(5)) == blanked(told(9_876))
