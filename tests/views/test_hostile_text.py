"""Nothing that a run, an agent or a stranger's folder says becomes markup, a control sequence or an attribute."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.history.events import Event
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import Block, Value
from pixirnb.views.files.diff import diff_blocks
from pixirnb.views.files.merge_report import merge_blocks
from pixirnb.views.picture.dot import dot
from pixirnb.views.picture.mermaid import mermaid
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.bundle_view import bundle_blocks
from pixirnb.views.run.event_lines import event_line
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.run.plan_view import plan_blocks
from pixirnb.views.run.problem_list import error_blocks
from pixirnb.views.run.resume_preview import resume_blocks
from pixirnb.views.run.run_rows import run_list_blocks
from tests.views.pictures import opened
from tests.views.view_samples import HOSTILE, outcome, step

TAGS = frozenset(
    {"style", "div", "span", "p", "b", "h4", "ul", "li", "code", "pre", "details", "summary"}
    | {"table", "thead", "tbody", "tr", "th", "td"}
    | {"svg", "g", "path", "rect", "circle", "text", "title", "desc", "img", "use"}
)
ATTRIBUTES = frozenset(
    {"class", "style", "role", "aria-hidden", "xmlns", "width", "height", "viewbox", "transform"}
    | {"d", "x", "y", "rx", "cx", "cy", "r", "text-anchor", "fill", "stroke", "stroke-width"}
    | {"stroke-dasharray", "stroke-linecap", "stroke-linejoin", "alt", "src", "id", "href"}
)
OURS = re.compile(r"[-A-Za-z0-9 .,:;/()#%_]*")
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

EVENT_KINDS = [
    "run_started",
    "run_resumed",
    "run_forked",
    "step_scheduled",
    "attempt_started",
    "attempt_ended",
    "verification_recorded",
    "retry_planned",
    "checkpoint_decided",
    "step_held",
    "decision_requested",
    "decision_recorded",
    "checkpoint_saved",
    "workspace_captured",
    "merge_applied",
    "merge_conflicted",
    "seam_opened",
    "seam_resolved",
    "warning_raised",
    "run_finished",
    "a_kind_to_come",
]


class Audit(HTMLParser):
    """Collects what a browser would see as live."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "src":
                kind, _, address = str(value).partition(",")
                assert (tag, kind) == ("img", "data:image/svg+xml")
                audit(unquote(address))
            elif name == "href":
                assert (tag, str(value)[:4]) == ("use", "#px-")
            else:
                assert OURS.fullmatch(value or ""), value
        if tag in {"path", "rect", "circle", "img"}:
            return
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        depth = len(self.open)
        self.handle_starttag(tag, attrs)
        del self.open[depth:]

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"path", "rect", "circle"}:
            assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def audit(markup: str) -> None:
    parser = Audit()
    parser.feed(markup)
    parser.close()
    assert parser.open == []
    assert CONTROLS.search(markup) is None


def hostile_step(text: str, place: int = 0, status: str = "failed") -> Any:
    held = {"kind": text, "step": text}
    return step(
        text,
        text,
        status,
        agent_id=text,
        wave=place % 3,
        summary=text,
        attempt=3,
        error=None
        if status == "held"
        else {"kind": text, "message": text, "details": {text: text}},
        held_by=held if status == "held" else None,
        checkpoint_status=status,
        subagent_status=text,
    )


def documents(text: str) -> dict[str, Any]:
    problem = {"code": text, "path": text, "line": 1, "message": text, "fix": text, "step": text}
    action = {"action": text, "step": text, "cell": text}
    changed = {"path": text, "change": text, "added": 1, "deleted": None, "mode": [text, None]}
    statuses = ["failed", "held", "partial", "needs_orchestrator", "checkpoint_ready"]
    steps = [
        *(hostile_step(f"{text}{place}", place, status) for place, status in enumerate(statuses)),
        hostile_step(text),
    ]
    plan = {
        "ok": True,
        "workflow": text,
        "warnings": [problem],
        "errors": [],
        "waves": [[text, "a"], ["b"]],
        "conflicts": [{"steps": [text, "a"], "rule": text, "paths": [text, text]}],
        "conflict_count": 1,
        "serialized": [{"step": text, "after": text}],
        "critical_path": [text],
        "peak_concurrency": 1,
        "phases": [{"name": text, "steps": [text, "a"]}, {"name": f"{text}!", "steps": ["b"]}],
    }
    return {
        "plan": plan,
        "outcome": outcome(
            text,
            steps,
            run_id=text,
            workflow=text,
            summary=text,
            reasons=[{"code": text, "step": text}, {"code": "step_failed", "step": text}],
            next_actions=[action],
            warnings=[problem],
            seam_obligations=[
                {"id": text, "between": [text], "paths": [text], "state": text, "note": text}
                | {"reason": reason}
                for reason in (text, "met")
            ],
        ),
        "resume": {
            "run_id": text,
            "steps": [{"step_id": text, "action": text, "reason": text, "because": [text]}],
        },
        "runs": {
            "runs": [
                {
                    "run_id": text,
                    "workflow": text,
                    "status": text,
                    "started_at": text,
                    "ended_at": text,
                    "counts": {text: text},
                }
            ]
        },
        "error": {
            "ok": False,
            "error": {
                "code": text,
                "message": text,
                "fix": text,
                "path": text,
                "line": None,
                "details": {"errors": [problem, text]},
            },
        },
        "bundle": {
            "version": 1,
            "step_id": text,
            "produced": {"kind": "text", "value": text, "artifacts": []},
            "verification": [{"check": {text: text}, "passed": text, "evidence": {"saw": text}}],
            "known_limitations": [text],
            "dependent_safe": text,
            "source": {"agent_id": text, "session_id": text, "attempt": 1},
            "changes": {"patch": None, "files": [text, changed]},
            "artifacts": [{"path": text, "blob": text, "bytes": 3}],
        },
        "value": [{text: text, "n": 1}],
        "diff": {
            "run_id": text,
            "sentence": text,
            "merges": [
                {
                    "merge": text,
                    "step": text,
                    "by": text,
                    "steps": [text],
                    "undoes": text,
                    "undone": True,
                }
            ],
            "changes": [
                {
                    "step": text,
                    "merged_by": text,
                    "checkpoint_status": text,
                    "built_on": [text],
                    "outside": {"paths": [text], "count": 2},
                    "left_behind": {"paths": [text], "count": 1},
                    "changes": {"patch": text, "files": [changed], "count": 3, "more": text},
                    "patch_text": f"diff --git a/{text} b/{text}\n@@ -1,2 +1,2 @@ {text}\n-{text}\n+{text}\n \n",
                    "patch_cut": 7,
                }
            ],
        },
        "merge": {
            "run_id": text,
            "status": "conflict",
            "steps": [text],
            "between": ["workspace", text],
            "changes": {"patch": None, "files": [changed]},
            "conflicts": [
                {
                    "path": text,
                    "kind": text,
                    "sides": [
                        {"name": text, "mode": text, "bytes": 1},
                        {"name": text, "mode": None},
                    ],
                    "marked_text": f"{text}\n<<<<<<< {text}\n{text}\n=======\n{text}\n>>>>>>> {text}\n{text}",
                }
            ],
        },
    }


BLOCKS: dict[str, Callable[..., list[Block]]] = {
    "plan": plan_blocks,
    "outcome": outcome_blocks,
    "resume": resume_blocks,
    "runs": lambda listed: run_list_blocks(listed["runs"]),
    "error": error_blocks,
    "bundle": bundle_blocks,
    "value": lambda value: [Value(value)],
    "diff": diff_blocks,
    "merge": merge_blocks,
}


def shown(kind: str, document: Any, *edges: Any) -> dict[str, str]:
    """A document of any kind as a notebook is given it."""
    return mimebundle(BLOCKS[kind](document, *edges))


KINDS = list(BLOCKS)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_text_becomes_neither_markup_nor_control(kind: Any, text: str) -> None:
    edges = [(text, "b"), ("a", "b")]
    found = shown(kind, documents(text)[kind], *[edges] * (kind in {"plan", "outcome"}))

    audit(found["text/html"])
    assert CONTROLS.search(found["text/plain"]) is None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_picture_stays_well_formed_xml_of_allowed_parts(text: str) -> None:
    made = documents(text)

    for svg in (picture(made["plan"], None, [(text, "b")]), picture(None, made["outcome"], [])):
        root = ET.fromstring(svg)
        for element in root.iter():
            assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in TAGS
            for name, value in element.attrib.items():
                assert name.lower() in ATTRIBUTES
                assert OURS.fullmatch(value)


@given(st.text(st.characters(), max_size=60))
def test_any_text_at_all_is_shown_safely(text: str) -> None:
    for kind in KINDS:
        found = shown(kind, documents(text)[kind])
        audit(found["text/html"])
        assert CONTROLS.search(found["text/plain"]) is None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_an_event_of_any_kind_and_data_is_one_clean_line(kind: str, text: str) -> None:
    keys = (
        "run_id workflow workspace step attempt status error summary elapsed_ms checks delay_ms "
        "retry_class held_by question verdict by note name reason ready message code reasons steps checkpoint "
        "merge undoes changes files count between paths id solved outside"
    )
    for data in (
        {},
        dict.fromkeys(keys.split(), text),
        {key: [text] for key in keys.split()},
        {text: text},
    ):
        told = event_line(Event(seq=1, at=text, kind=kind, data=data))

        assert "\n" not in told
        assert CONTROLS.search(told) is None
        assert len(told) <= 420


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_ids_cannot_leave_their_quotes_in_exports(text: str) -> None:
    made = documents(text)["outcome"]
    count = len(made["steps"])

    chart = mermaid(None, made, []).splitlines()
    assert [
        row for row in chart if re.fullmatch(r'  n\d+\["[^"\[\]<>`{}|\\]*"\]:::[a-z]+', row)
    ] == (chart[1 : count + 1])

    string = r'"(?:[^"\\\n]|\\.)*"'
    rows = dot(None, made, []).splitlines()
    assert re.fullmatch(rf"digraph {string} \{{", rows[0])
    node = rf"  n\d+ \[label={string}, shape=[a-z]+, style=[a-z]+, color={string}\];"
    assert all(re.fullmatch(node, row) for row in rows[3 : count + 3])


def test_run_data_never_reaches_an_attribute() -> None:
    mark = "zq7needle"
    for kind in KINDS:
        markup = shown(
            kind, documents(mark)[kind], *[[(mark, "b")]] * (kind in {"plan", "outcome"})
        )["text/html"]

        assert mark in markup
        assert not re.search(rf"<[^>]*{mark}", opened(markup))
