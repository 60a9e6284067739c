"""The cluster of a run: which one, from where it is known, and what a dead driver has left there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pixirnb.errors import Cannot
from pixirnb.history.run_state import RunState
from pixirnb.ids import attempt_tag
from pixirnb.planning.plan import Plan
from pixirnb.protocols.ports import Cluster
from pixirnb.runners.cluster.connection import VARIABLE, connect, install_plugin

if TYPE_CHECKING:
    from distributed import Client

_UNDER_WAY: Final = frozenset({"scheduled", "running"})


def cluster_of(choice: str | Client | None) -> Callable[[Plan], Cluster | None]:
    """Return a function that connects a plan with a cluster, where a step is placed on one.

    `choice`: an address, `local:N`, a connected client; None: what `PIXIRNB_CLUSTER` names.

    It raises Cannot (`no_cluster`, `dask_missing`, `cluster_unreachable`) and InvalidArguments (`bad_cluster`).
    """

    def cluster(plan: Plan) -> Cluster | None:
        placed = next((step for step in plan.steps if step.placement == "cluster"), None)
        if placed is None:
            return None
        chosen = choice if choice is not None else os.environ.get(VARIABLE)
        if not chosen:
            raise Cannot(
                f"`{placed.id}` is placed on a cluster, but the run was given none",
                fix=f"pass `--cluster ADDRESS` or set {VARIABLE}; `local:2` starts two workers on this machine",
                code="no_cluster",
                details={"step": placed.id},
            )
        client = connect(chosen)
        from pixirnb.runners.cluster.runner import ClusterRunner

        return ClusterRunner(client, has_plugin=install_plugin(client))

    return cluster


no_cluster: Final = cluster_of(None)
"""The cluster of the environment, if it names one."""


def attempts_left(run: RunState) -> list[str]:
    """Return the tags of attempts that were under way when the last driver of a run went."""
    return [
        attempt_tag(run.run_id, step, state.attempt)
        for step, state in run.steps.items()
        if state.stage in _UNDER_WAY and state.attempt
    ]
