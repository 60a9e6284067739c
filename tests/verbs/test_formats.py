"""`--format` and `--junit`: pictures, GitHub annotations and JUnit XML of plans and runs."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.verbs.command import command, written

FLOW = """name: ci
steps:
  - {id: good, run: "true", posture: read_only}
  - {id: bad, run: "echo words; exit 3", posture: read_only}
"""


def test_a_run_writes_junit_xml_and_annotates_the_lines_of_its_file(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW)
    said = command("run", flow, "--format", "github", "--junit", "out.xml")
    assert said.code == 1
    assert said.out.splitlines()[0].startswith("::error file=flow.yaml,line=4,title=ci · bad::")
    for words in (("show", "--junit", "again.xml"), ("resume", "@last", "--junit", "again.xml")):
        command(*words)
        suite = ElementTree.parse("again.xml").find("testsuite")
        assert suite is not None
        assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
        Path("again.xml").unlink()
    assert "words" in Path("out.xml").read_text(encoding="utf-8")
    assert command("show", "--format", "github").code == 0


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        (FLOW.replace("run: ", "runn: ", 1), "unknown_key::unknown key `runn`"),
        (FLOW.replace("name: ci", "name ci"), "yaml_syntax::"),
        (FLOW.replace("posture: read_only", "depends_on: [nobody]", 1), "unknown_dependency"),
    ],
)
def test_errors_of_a_workflow_are_annotations_where_ci_reads_them(
    tmp_path: Path, verb: str, text: str, annotation: str
) -> None:
    said = command(verb, written(tmp_path, text), "--format", "github")
    assert said.code == 2
    assert said.out.startswith("::error file=flow.yaml,line=")
    assert annotation in said.out
    assert not Path(".pixirnb").exists()


def test_a_completed_run_that_has_nothing_to_do_writes_its_report_too(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW.replace("exit 3", "true"))
    assert command("run", flow).code == 0
    assert command("resume", "@last", "--junit", "out.xml").code == 0
    assert 'failures="0"' in Path("out.xml").read_text(encoding="utf-8")


def test_a_plan_and_a_run_are_drawn_in_the_format_that_is_asked_for(tmp_path: Path) -> None:
    flow = written(tmp_path, FLOW)
    command("run", flow)
    for words in (("plan", flow), ("show", "@last")):
        begins = {"mermaid": "flowchart LR", "dot": "digraph ", "svg": "<svg "}
        for form, begin in begins.items():
            said = command(*words, "--format", form)
            assert (said.code, said.out.startswith(begin)) == (0, True), said
        assert command(*words, "--format", "json").document()["schema_version"] == 1
        assert command(*words, "--format", "pdf").code == 2
    assert command("show", "@last", "bad", "--format", "dot").code == 2
    broken = written(tmp_path, FLOW.replace("id: bad", "id: good"))
    assert command("plan", broken, "--format", "dot").code == 2


@pytest.mark.parametrize("target", ["no/x.xml", "."])
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, target: str
) -> None:
    flow = written(tmp_path, FLOW)
    said = command("run", flow, "--junit", target, "--json")
    assert (said.code, said.document()["error"]["code"]) == (5, "file_unwritable")
    assert not Path(".pixirnb").exists()
    command("run", flow)
    assert command("resume", "@last", "--junit", target).code == 5
    assert "attempt 2" not in command("show", "@last", "bad").out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_report_that_fails_at_the_end_hides_no_outcome(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    flow = written(tmp_path, FLOW.replace("exit 3", "mkdir out.xml"))
    said = command("run", flow, "--junit", "out.xml", *options)
    assert said.code == 5
    assert "completed" in said.out
    assert "out.xml could not be written" in said.err
    assert "[file_unwritable]" in said.err


def test_a_report_takes_the_place_of_no_pipe_and_is_written_where_a_link_leads(
    tmp_path: Path,
) -> None:
    flow = written(tmp_path, FLOW)
    os.mkfifo("pipe")
    refused = command("run", flow, "--junit", "pipe")
    assert (refused.code, "[file_unwritable]" in refused.err) == (5, True)
    assert Path("pipe").is_fifo()
    Path("link.xml").symlink_to("real.xml")
    command("run", flow, "--junit", "link.xml")
    assert Path("link.xml").is_symlink()
    assert "words" in Path("real.xml").read_text(encoding="utf-8")
