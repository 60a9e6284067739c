"""A plan or an outcome as a networkx graph, for those who go on computing with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pixirnb.machine.outcome import RunDocument

if TYPE_CHECKING:  # networkx is imported when a graph is asked for, not with the views
    import networkx as nx


_Kept = Literal["kind", "wave", "attempt", "subagent_status", "checkpoint_status", "elapsed_ms"]


def digraph(outcome: RunDocument, edges: Iterable[tuple[str, str]]) -> nx.DiGraph[str]:
    """A DiGraph of step ids, an arrow from each dependency to its dependents.

    Nodes carry `kind wave attempt subagent_status checkpoint_status elapsed_ms`; the graph carries `run_id workflow status`.
    """
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph(
        run_id=outcome["run_id"], workflow=outcome["workflow"], status=outcome["status"]
    )
    kept: tuple[_Kept, ...] = (
        "kind",
        "wave",
        "attempt",
        "subagent_status",
        "checkpoint_status",
        "elapsed_ms",
    )
    for step in outcome["steps"]:
        graph.add_node(step["step_id"], **{name: step[name] for name in kept})
    graph.add_edges_from(edges)
    return graph
