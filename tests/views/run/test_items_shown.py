"""Items of a step: counted in its row, listed as far as they need somebody, and all of them where they are asked for."""

from __future__ import annotations

from xml.etree import ElementTree

from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.picture.dot import dot
from pixirnb.views.picture.drawing import drawing, edges_of, kinds_of
from pixirnb.views.picture.mermaid import mermaid
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.change_lines import ChangeLines
from pixirnb.views.run.ci_reports import junit, outcome_annotations
from pixirnb.views.run.exports import digraph
from pixirnb.views.run.outcome_view import outcome_blocks, progress_line
from pixirnb.views.run.planned_view import planned_blocks

PAGES = ", ".join(f"page-{number:02}" for number in range(40))
PLAN = plan_of(f"""
name: pages
max_concurrency: 100
steps:
  - id: read
    for_each: {{items: [{PAGES}], require: any}}
    run: "echo {{{{ item }}}}"
    read_set: []
  - id: count
    for_each: {{same_as: read, require: any}}
    run: "echo {{{{ steps.read.output }}}}"
    read_set: []
  - {{id: sum, depends_on: count, run: "true", read_set: []}}
""")
BAD = (3, 5, 8, 13, 21, 34, 39)


def played(bad: tuple[int, ...] = BAD) -> Rehearsal:
    """All items of `read` end, those in `bad` badly; then those of `count` that could start."""
    play = Rehearsal(PLAN).begin()
    for number in range(40):
        name = f"read@{number}"
        play.end(
            name, *(["failed"] if number in bad else []), error="exit" if number in bad else None
        )
    while any(name.startswith("count@") for name in play.running):
        play.end(next(name for name in play.running if name.startswith("count@")))
    return play.end("read").end("count").end("sum")


def document() -> RunDocument:
    return played().outcome().document()


def rows(text: str) -> list[list[str]]:
    """The words of each row of the table of steps."""
    lines = text.split("\n")
    first = next(at for at, line in enumerate(lines) if line.split()[:2] == ["step", "status"])
    return [line.split() for line in lines[first + 1 :] if line.strip()]


def test_a_step_has_one_row_and_the_first_of_its_items_that_failed() -> None:
    found = draw_text(outcome_blocks(document()))
    assert "3 of 3 steps ready." in found
    named = [row[1:3] for row in rows(found)]
    assert named[:6] == [
        ["read", "ready"],
        *[[f"page-{number:02}", f"(read@{number})"] for number in BAD[:5]],
    ]
    assert "33 of 40 items ready, 7 failed" in found
    assert "and 2 more not ready" in found
    assert "33 of 40 items ready, 7 held" in found
    assert "(count@3)" not in found, "what another item holds is no news"
    assert "page-04" not in found


def test_all_items_have_a_row_where_they_are_asked_for() -> None:
    found = draw_text(outcome_blocks(document(), has_all_items=True))
    assert all(f"({step}@{number})" in found for step in ("read", "count") for number in range(40))


def test_a_line_of_progress_counts_written_steps_and_says_how_far_the_items_are() -> None:
    play = Rehearsal(PLAN).begin().end("read@0").end("read@1", "failed", error="exit")
    told = progress_line(play.outcome(is_live=True).document(), 200)
    assert "0 of 3 ready" in told
    assert "read (1 of 40 items ready, 1 failed, 38 starting)" in told


def test_pictures_have_a_box_for_the_step_and_none_for_its_items() -> None:
    planned = report(PLAN.workflow, Environment()).document()
    for outcome in (None, document()):
        shown = drawing(planned, outcome, edges_of(played().plan), kinds=kinds_of(PLAN))
        assert list(shown.nodes) == ["read", "count", "sum"]
        assert shown.nodes["read"].times == "× 40"
        assert shown.nodes["read"].kind == "shell"
        for drawn in (mermaid(planned, outcome), dot(planned, outcome), picture(planned, outcome)):
            assert "× 40" in drawn
            assert "read@" not in drawn
    assert "33 ✓ 7 ✗" in mermaid(planned, document())
    graph = digraph(document(), edges_of(played().plan))
    assert sorted(graph.nodes) == ["count", "read", "sum"]


def test_a_plan_shows_the_number_of_items_and_their_policies() -> None:
    found = draw_text(planned_blocks(report(PLAN.workflow, Environment())))
    assert "read × 40" in found
    assert "any ready" in found


def test_hostile_items_are_text() -> None:
    plan = plan_of(
        {
            "name": "w",
            "steps": [
                {
                    "id": "a",
                    "run": "true",
                    "for_each": ["<img src=x>", "\x1b[31m\u202eevil"],
                    "read_set": [],
                }
            ],
        }
    )
    play = Rehearsal(plan).begin()
    play.end("a@0", "failed", error="exit").end("a@1", "failed", error="exit")
    found = mimebundle(outcome_blocks(play.outcome().document()))
    assert "<img src=x" not in found["text/html"]
    assert "&lt;img src=x" in found["text/html"]
    for shown in found.values():
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_an_item_that_its_step_is_ready_without_fails_no_build() -> None:
    suite = ElementTree.fromstring(junit(document()).encode()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("83", "0", "14")
    told = list(outcome_annotations(document(), "w.yaml", {"read": 5}))
    assert [line.split(" ")[0] for line in told] == ["::warning"] * 7 + ["::notice"]
    assert all("line=5" in line for line in told[:7])


def test_lines_of_changes_tell_each_tenth_of_the_items_and_the_first_failures() -> None:
    lines = ChangeLines()
    told = [line for event in played(tuple(range(20))).events for line in lines.of(event)]
    of_read = [line for line in told if " read: " in line or " read@" in line]
    assert sum("read@" in line and "failed" in line for line in of_read) == 10
    progress = [line.partition("read: ")[2] for line in of_read if " items ready, " in line]
    assert len(progress) == 10
    assert progress[0] == "0 of 40 items ready, 4 failed"
    assert progress[-1] == "20 of 40 items ready, 20 failed"
    assert not any("read@30" in line for line in told)
