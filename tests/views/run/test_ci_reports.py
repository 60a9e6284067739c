"""What CI reads of an outcome: JUnit XML and GitHub annotations. Neither is green unless the run is completed."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pixirnb.errors import ProblemDocument
from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.run.ci_reports import junit, outcome_annotations, problem_annotations

FLOW = """
name: ci
steps:
  - {id: a, run: "true", verify: [{file_exists: x}]}
  - {id: b, run: "true", depends_on: [a]}
  - {id: c, run: "true"}
  - {id: never, run: "true", when: "1 > 2"}
"""


def failed() -> RunDocument:
    """`a` failed its check and printed, `b` is held, `c` is ready, `never` is skipped."""
    story = Rehearsal(plan_of(FLOW)).begin()
    return story.end("a", checks=[False], tail="\x1b[31mred\x1b[0m\n").end("c").outcome().document()


def cases(document: RunDocument) -> dict[str, tuple[str, str, str]]:
    """Name of a test case to the tag, the message and the text of what it holds."""
    suite = ElementTree.fromstring(junit(document).encode()).find("testsuite")
    assert suite is not None
    assert suite.get("tests") == str(len(suite))
    assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    assert suite.get("skipped") == str(len(suite.findall("testcase/skipped")))
    return {
        str(case.get("name")): (
            ("", "", "")
            if len(case) == 0
            else (case[0].tag, str(case[0].get("message")), case[0].text or "")
        )
        for case in suite
    }


def test_each_step_is_a_test_case_and_a_failure_has_its_checks_and_its_output() -> None:
    found = cases(failed())
    assert list(found) == ["a", "b", "c", "never"]
    tag, message, text = found["a"]
    assert tag == "failure"
    assert message
    assert "red" in text
    assert "\x1b" not in text
    assert found["c"] == ("", "", "")
    assert (found["b"][0], found["never"][0]) == ("skipped", "skipped")
    assert "a" in found["b"][1].split()


def test_a_run_that_is_not_completed_has_a_failure_though_no_step_failed() -> None:
    story = Rehearsal(plan_of(FLOW)).begin().end("c").stop("cancel").end("a", "cancelled")
    document = story.outcome().document()
    document["steps"] = [step for step in document["steps"] if step["step_id"] != "a"]
    found = cases(document)
    assert found["(run)"][0] == "failure"
    running = Rehearsal(plan_of(FLOW)).begin().outcome(is_live=True).document()
    assert cases(running)["(run)"][0] == "failure"


def test_a_completed_run_has_no_failure() -> None:
    story = Rehearsal(plan_of(FLOW)).begin().end("a", checks=[True]).end("b").end("c")
    document = story.outcome().document()
    assert document["ok"]
    assert {tag for tag, _, _ in cases(document).values()} == {"", "skipped"}
    [last] = outcome_annotations(document, None, {})
    assert last.startswith("::notice title=ci · completed::")


def test_what_a_step_printed_cannot_break_the_document() -> None:
    document = failed()
    document["steps"][0]["error"] = {
        "kind": "exit",
        "message": "]]></failure>\x00\x08\ud800",
        "details": {"output_tail": "<b>&amp;\x1b]0;x\x07\x0b"},
    }
    document["workflow"] = 'x" y="'
    _, message, text = cases(document)["a"]
    assert message.startswith("]]></failure>")
    assert "<b>&amp;" in text


def test_an_annotation_is_at_the_line_of_its_step_and_cannot_begin_another_command() -> None:
    document = failed()
    error = document["steps"][0]["error"]
    assert error is not None
    error["details"]["output_tail"] = "100%\r\n::set-env name=X::evil"
    first, last = outcome_annotations(document, "flows/a,b:c.yaml", {"a": 4})
    assert first.startswith("::error file=flows/a%2Cb%3Ac.yaml,line=4,title=ci · a::")
    assert "100%25" in first
    assert "%0A::set-env" in first
    assert re.search(r"[\r\n]", first) is None
    assert last.startswith("::error file=flows/a%2Cb%3Ac.yaml,title=ci · partial::")


@pytest.mark.parametrize("level", ["error", "warning"])
def test_a_problem_of_a_workflow_is_annotated_with_its_fix(level: str) -> None:
    problem: ProblemDocument = {
        "code": "unknown_key",
        "path": "steps[0]",
        "line": 3,
        "message": "unknown key `timout`",
        "fix": "write `timeout`",
    }
    assert list(problem_annotations(level, [problem], "flow.yaml")) == [
        f"::{level} file=flow.yaml,line=3,title=unknown_key::unknown key `timout`; write `timeout`"
    ]
