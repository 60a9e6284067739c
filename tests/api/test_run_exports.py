"""A run goes on elsewhere: as a graph to compute with, a frame to look into, text that other tools draw."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from pixirnb import api
from pixirnb.handle import Run

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
