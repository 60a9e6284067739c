"""A dry run of a resume reads at a glance: what is kept, what runs, what runs only if something changed, and why."""

from __future__ import annotations

from typing import Any

from pixirnb.views.basics.step_names import width
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.text_renderer import fill_lines
from pixirnb.views.run.resume_preview import NAMES, forecast, resume_blocks

RUN = "r-20261122-101500-abc123"


def entry(step: str, action: str, reason: str, *because: str) -> dict[str, Any]:
    return {"step_id": step, "action": action, "reason": reason, "because": list(because)}


EDITED: list[Any] = [
    entry("get", "reuse", "ready"),
    entry("ask", "reuse", "decided"),
    entry("clean", "rerun", "spec_changed"),
    entry("left", "rerun", "upstream_changed", "clean"),
    entry("right", "rerun", "upstream_changed", "clean"),
    entry("late", "rerun", "held"),
    entry("apart", "hold", "not_selected"),
]


def shown(*entries: dict[str, Any]) -> dict[str, str]:
    return mimebundle(resume_blocks({"run_id": RUN, "steps": list(entries)}))


def rows(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line]


def test_steps_are_gathered_by_action_and_reason_each_named_once() -> None:
    assert rows(shown(*EDITED)["text/plain"]) == [
        f"○ resume, dry run · {RUN} · 7 steps",
        "Dry run: would reuse 2, run 2, run 2 if their inputs change and hold 1.",
        "action details steps",
        "✓ reuse 1 ready and unchanged get",
        "1 decided ask",
        "▸ run 1 definition changed clean",
        "1 held before late",
        "▹ run if inputs change 2 after clean left, right",
        "‖ hold 1 not selected apart",
    ]


def test_the_page_says_what_the_terminal_says() -> None:
    page = shown(*EDITED)["text/html"]
    for word in (
        "reuse",
        "run if inputs change",
        "hold",
        "definition changed",
        "<code>late</code>",
    ):
        assert word in page


def test_a_resume_that_would_run_nothing_says_so_and_does_not_read_as_success() -> None:
    found = shown(entry("get", "reuse", "ready"), entry("apart", "hold", "not_selected"))
    assert "Dry run: everything is up to date." in found["text/plain"]
    assert "pixirnb-good" not in found["text/html"].rpartition("</style>")[2]


def test_a_step_behind_one_that_runs_for_certain_is_never_promised_to_run() -> None:
    by_action = {
        mark.word: [name for row in rows for name in row.steps] for mark, rows in forecast(EDITED)
    }
    assert by_action["run if inputs change"] == ["left", "right"]
    assert "left" not in by_action["run"]


def test_a_long_list_is_counted_and_every_action_of_it_stays_in_view() -> None:
    many = [entry(f"s{place}", "rerun", "held") for place in range(100_000)]
    text = shown(*many, entry("kept", "reuse", "ready"))["text/plain"]
    assert f"and {100_000 - NAMES:,} more" in text
    assert "✓ reuse" in text
    assert len(text.splitlines()) < 20


def test_names_are_filled_into_lines_and_none_is_cut() -> None:
    names = [f"step-{place}" for place in range(20)] + ["x" * 64]
    lines = fill_lines(names, 40)
    assert ", ".join(names) == " ".join(lines)
    assert all(width(line) <= 40 for line in lines[:-1])
    assert fill_lines([], 40) == [""]
