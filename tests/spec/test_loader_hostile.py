"""What no log can hold, and what says nothing, is refused where it stands; what a stranger's event says needs its shape."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.history.validation import fits
from pixirnb.spec.loader import load_mapping

ENDED = {
    "step": "a", "attempt": 1, "status": "completed", "error": None, "elapsed_ms": 1, "summary": "",
}  # fmt: skip
FINISHED = {"status": "completed", "reasons": [], "elapsed_ms": 1, "counts": {}}


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"run": "x", "output": "\ud800"}, "bad_output"),
        ({"run": "x", "output": {"title": "\ud800"}}, "bad_text"),
        ({"run": "x", "description": "\ud800"}, "bad_text"),
        ({"run": "x", "verify": [{"output_matches": "a{99999999999}"}]}, "bad_pattern"),
        ({"run": "x", "verify": [{"output_matches": "(" * 3000}]}, "bad_pattern"),
        ({"run": "x", "verify": [{"exit_code": 10**5000}]}, "out_of_range"),
        ({"run": "x", "verify": [{"exit_code": "9" * 5000}]}, "wrong_type"),
        ({"run": "x", "retry": {"max_attempts": "9" * 5000}}, "wrong_type"),
        ({"run": "x", "reuse": 10**5000}, "not_a_choice"),
        ({"call": "json:dumps", "with": {"obj": 10**5000}}, "not_json"),
        ({"call": "json:dumps", "with": {"\ud800": 1}}, "bad_text"),
    ],
)
def test_what_cannot_be_held_is_a_mistake(step: dict[str, Any], code: str) -> None:
    loaded = load_mapping({"name": "w", "steps": [{"id": "a", **step}]})
    found = loaded.problems
    assert code in {each.code for each in found}
    assert all((each.path + each.message + each.fix).encode() for each in found)


@pytest.mark.parametrize("step", [{"task": "  \n"}, {"ask": {"question": " \t "}}])
def test_blanks_say_nothing(step: dict[str, Any]) -> None:
    loaded = load_mapping({"name": "w", "steps": [{"id": "a", **step}]})
    assert [each.code for each in loaded.problems] == ["empty"]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("attempt_ended", ENDED | {"artifacts": 5}),
        ("attempt_ended", ENDED | {"artifacts": [5]}),
        ("attempt_ended", ENDED | {"output_log": {"path": 5, "bytes": 1, "truncated": False}}),
        ("run_finished", FINISHED | {"reasons": [{"step": "a"}]}),
        ("run_finished", FINISHED | {"reasons": [5]}),
    ],
)
def test_what_a_strangers_event_says_is_believed_only_in_its_shape(
    kind: str, data: dict[str, Any]
) -> None:
    assert fits("attempt_ended", ENDED)
    assert fits("run_finished", FINISHED)
    assert not fits(kind, data)
