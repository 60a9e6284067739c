"""Whatever a run or a stranger's folder says, the answers of keeping house show it as text: in a terminal and in a notebook."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from pixirnb.machine.diagnosis import Diagnosis
from pixirnb.machine.findings import Finding
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.run.comparison import comparison_blocks
from pixirnb.views.run.housekeeping import diagnosis_blocks, export_sentence, prune_blocks

EVIL = "<script>x</script>\x1b[31m\u202e\"'`&\ud800\n\x07"
TAGS = {"style", "div", "span", "p", "b", "h4", "ul", "li", "code", "table", "thead", "tbody"}
TAGS |= {"tr", "th", "td", "svg", "path", "rect", "circle", "g", "use", "title"}
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]")
SIDE = {"status": EVIL, "subagent_status": EVIL, "attempt": EVIL, "elapsed_ms": EVIL}
HALF = {"run_id": EVIL, "workflow": EVIL, "status": EVIL, "started_at": EVIL, "elapsed_ms": EVIL}
FINDING = {
    "code": EVIL,
    "severity": EVIL,
    "message": EVIL,
    "step": EVIL,
    "evidence": {EVIL: EVIL},
    "next_action": {"action": EVIL, "step": EVIL, "cell": EVIL},
}
DOCUMENTS: list[tuple[Any, Any]] = [
    (diagnosis_blocks, {"run_id": EVIL, "status": EVIL, "findings": [FINDING]}),
    (
        diagnosis_blocks,
        {"status": EVIL, "runs": [{"run_id": EVIL, "status": 1, "findings": [FINDING]}]},
    ),
    (diagnosis_blocks, {"status": "ready", "runs": []}),
    (
        comparison_blocks,
        {
            "left": HALF,
            "right": HALF,
            "same": EVIL,
            "workflow": {
                "changed": [{"key": EVIL, "left": EVIL, "right": {EVIL: [EVIL]}}],
                "sources": [EVIL],
            },
            "inputs": [{"input": EVIL, "left": EVIL, "right": None}],
            "steps": [
                {"step_id": EVIL, "left": SIDE, "right": None, "differs": [EVIL]},
                {"step_id": EVIL, "left": None, "right": SIDE, "differs": []},
            ],
        },
    ),
    (comparison_blocks, {}),
    (
        prune_blocks,
        {
            "preview": True,
            "runs": [
                {"run_id": EVIL, "workflow": EVIL, "status": EVIL, "ended_at": EVIL, "bytes": EVIL}
            ],
            "kept": 1,
            "bytes": EVIL,
            "failed": [{"run_id": EVIL, "code": EVIL, "message": EVIL}],
        },
    ),
]


class Tags(HTMLParser):
    """Every tag and attribute a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs


@pytest.mark.parametrize(("blocks", "document"), DOCUMENTS)
def test_nothing_said_becomes_markup_or_a_control_sequence(blocks: Any, document: Any) -> None:
    shown = mimebundle(blocks(document))
    assert CONTROLS.search(shown["text/plain"]) is None
    assert CONTROLS.search(shown["text/html"]) is None
    seen = Tags()
    seen.feed(shown["text/html"])
    assert seen.tags <= TAGS
    assert not any("script" in (value or "") for _, value in seen.attributes)
    assert not any(name.startswith("on") for name, _ in seen.attributes)


def test_where_an_export_lies_is_one_plain_line() -> None:
    said = export_sentence({"run_id": EVIL, "path": EVIL, "bytes": 2_048, "files": 2})
    assert CONTROLS.search(said) is None
    assert "\n" not in said
    assert "2.0 KiB" in said


def test_a_diagnosis_shows_itself() -> None:
    diagnosis = Diagnosis("r-x", (Finding("seam_open", "warning", "A seam is open."),))
    assert "A seam is open." in repr(diagnosis)
    assert "A seam is open." in mimebundle(diagnosis_blocks(diagnosis.document()))["text/html"]
    assert (
        "no problems found"
        in mimebundle(diagnosis_blocks(Diagnosis("r-x", ()).document()))["text/plain"]
    )


def test_two_findings_that_one_command_mends_both_say_what_it_is_for() -> None:
    cell = "%pixir resume r --spec FILE"
    findings: list[Any] = [
        {"message": "late timed out.", "code": "timed_out", "next_action": action}
        for action in (
            {"action": "raise_timeout", "step": "late", "cell": cell},
            {"action": "rerun_step", "step": "quest", "cell": cell},
        )
    ]
    shown = mimebundle(diagnosis_blocks({"run_id": "r", "status": "blocked", "findings": findings}))
    assert "raise the timeout of late in <FILE>" in shown["text/plain"]
    assert "answer the agent in the task of quest in <FILE>" in shown["text/plain"]
