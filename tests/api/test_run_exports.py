"""A run goes on elsewhere: as a graph to compute with, a frame to look into, text that other tools draw."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from pixirnb import api
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.operations.export import publish
from pixirnb.operations.run import Run
from pixirnb.views.picture.dot import dot
from tests.views.pictures import drawn_in

SPEC = {
    "name": "export",
    "steps": [
        {"id": "make", "run": "echo made", "posture": "read_only"},
        {"id": "breaks", "run": "exit 3", "posture": "read_only", "depends_on": ["make"]},
        {"id": "after", "run": "true", "posture": "read_only", "depends_on": ["breaks"]},
    ],
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    started = api.start(SPEC, workspace=tmp_path)
    started.wait()
    return started


def test_a_graph_has_the_run_s_edges_and_says_how_each_step_stands(run: Run) -> None:
    graph = run.to_networkx()
    assert list(nx.topological_sort(graph)) == ["make", "breaks", "after"]
    assert set(graph.edges) == {("make", "breaks"), ("breaks", "after")}
    assert (graph.graph["run_id"], graph.graph["status"]) == (run.id, "partial")
    stands = nx.get_node_attributes(graph, "checkpoint_status")
    assert stands == {"make": "checkpoint_ready", "breaks": "failed", "after": "held"}


def test_a_frame_has_a_row_a_step_in_spec_order(run: Run) -> None:
    frame = run.to_dataframe()
    assert list(frame["step_id"]) == ["make", "breaks", "after"]
    assert list(frame["checkpoint_status"]) == ["checkpoint_ready", "failed", "held"]
    assert list(frame["attempt"]) == [1, 1, 0]
    assert frame["summary"][0] == "made"


def test_a_frame_shows_values_that_are_no_text_at_a_glance(tmp_path: Path) -> None:
    source = "def two():\n    import pandas\n    return pandas.DataFrame({'a': [1, 2]})\n"
    spec = {"name": "values", "steps": [{"id": "two", "call": ":two"}]}
    run = api.start(spec, workspace=tmp_path, functions={":two": source})
    run.wait()
    assert list(run.to_dataframe()["summary"]) == ["2 × 1 DataFrame"]


def test_mermaid_and_dot_name_every_step_and_every_edge(run: Run) -> None:
    mermaid, dot = run.to_mermaid(), run.to_dot()
    assert mermaid.startswith("flowchart")
    assert dot.startswith("digraph")
    ids = ("make", "breaks", "after")
    assert all(step in text for text in (mermaid, dot) for step in ids)
    # What holds a step is drawn dashed: `after` waits for `breaks`, which is not ready.
    assert [line.strip() for line in mermaid.splitlines() if " n" in line and ">" in line] == [
        "n0 --> n1",
        "n1 -.-> n2",
    ]
    assert [line.split("[")[0].strip(" ;") for line in dot.splitlines() if "->" in line] == [
        "n0 -> n1",
        "n1 -> n2",
    ]


def test_the_notebook_s_own_picture_is_a_document_that_loads_nothing(run: Run) -> None:
    svg = run.to_svg()
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"make", "breaks", "after"} <= {(part.text or "").strip() for part in root.iter()}
    assert not re.search(r'href="(?!#px-)|url\(|@import|<script|<image', svg)
    [drawn] = drawn_in(run._repr_mimebundle_()["text/html"])
    assert texts(drawn) == texts(svg)


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<?xml"), ("b.png", b"\x89PNG\r\n"), ("c.PDF", b"%PDF-")]
)
def test_a_picture_for_print_is_what_its_name_says(
    run: Run, tmp_path: Path, name: str, start: bytes
) -> None:
    target = tmp_path / name
    target.write_bytes(b"an older one")
    before = set(tmp_path.iterdir())
    assert run.save_picture(target) == target
    assert target.read_bytes().startswith(start)
    assert set(tmp_path.iterdir()) == before, "nothing is left beside it"


def test_a_picture_for_print_says_how_the_run_and_each_step_ended(run: Run, tmp_path: Path) -> None:
    told = texts(run.save_picture(str(tmp_path / "a.svg")).read_text(encoding="utf-8"))
    assert told[0] == "◐ export: partial"
    assert {"✓ make", "✗ breaks", "‖ after", "held"} <= set(told)


@pytest.mark.parametrize("name", ["", "picture", "picture.gif", ".svg", "svg", "~nobody-here/x"])
def test_a_name_that_names_no_kind_of_picture_is_refused_before_anything_is_drawn(
    run: Run, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidArguments) as refused:
        run.save_picture(name)
    assert refused.value.code == "picture_format"
    assert ".svg, .png or .pdf" in refused.value.fix


@pytest.mark.parametrize(
    "name", ["missing/a.svg", "file/a.svg", "folder.svg", "a" * 300 + ".svg", "\0.svg"]
)
def test_a_place_that_cannot_be_written_is_an_error_of_ours_and_leaves_nothing(
    run: Run, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder.svg").mkdir()
    before = set(tmp_path.iterdir())
    with pytest.raises(Cannot) as refused:
        run.save_picture(tmp_path / name)
    assert refused.value.code == "file_unwritable"
    assert set(tmp_path.iterdir()) == before


def test_without_graphviz_the_error_says_how_to_get_it_and_what_needs_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    monkeypatch.setenv("PATH", str(nothing))
    with pytest.raises(Cannot) as refused:
        run.save_picture(tmp_path / "a.svg")
    assert refused.value.code == "dot_missing"
    assert "graphviz" in refused.value.fix
    assert "to_svg" in refused.value.fix
    assert not (tmp_path / "a.svg").exists()
    assert run.to_svg().startswith("<svg")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho 'no such font' >&2\nexit 3\n", "exit code 3: no such font"),
        ("#!/bin/sh\nexec /bin/kill -9 $$\n", "exit code -9"),
        ("#!/bin/sh\nexit 0\n", "no output"),
        ("#!/no/such/interpreter\n", "dot"),
    ],
)
def test_a_graphviz_that_fails_is_one_line_with_what_it_said_and_the_old_file_stays(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin" / "dot"
    broken.write_text(script)
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    target = tmp_path / "a.svg"
    target.write_text("the old one")
    with pytest.raises(Cannot) as refused:
        run.save_picture(target)
    assert refused.value.code in {"picture_failed", "dot_missing"}
    assert said in refused.value.message
    assert "\n" not in refused.value.message
    assert target.read_text() == "the old one"


INJECTED = [
    r"\N \G \L \n \l \r \\N \ ",
    "&lt;b&gt; &amp; &#60;i&#62; &nbsp; &",
    '" URL="javascript:alert(1)" tooltip="x',
    '\\" , URL="javascript:alert(1)", label="\\',
    '"]; x [URL="https://example.org/"]; y [label="',
    "<<b>bold</b>>",
    "<TABLE><TR><TD HREF='x'>cell</TD></TR></TABLE>",
    "--> <script>alert(1)</script> <!--",
    "a\\",
    "}; subgraph cluster_x { label=x",
]


@pytest.mark.parametrize("text", INJECTED)
def test_hostile_text_is_drawn_by_graphviz_as_the_text_it_is(tmp_path: Path, text: str) -> None:
    plan: Any = {"workflow": text, "waves": [[text], ["b"]]}
    told: Any = {"workflow": text, "status": "partial", "steps": []}
    target = publish(tmp_path / "a.svg", lambda _: dot(plan, told, [(text, "b")]))
    svg = target.read_text(encoding="utf-8")
    shown = " ".join(text.split())
    assert texts(svg) == [f"◐ {shown}: partial", f"○ {shown}", "○ b"]
    names = {part.tag.rpartition("}")[2] for part in ET.fromstring(svg).iter()}
    assert names <= {"svg", "g", "title", "text", "polygon", "path", "ellipse"}
    assert "xlink:href" not in svg


def texts(svg: str) -> list[str]:
    """Every line of text in a picture, as a person reads it."""
    return [part.text or "" for part in ET.fromstring(svg).iter() if part.tag.endswith("}text")]
