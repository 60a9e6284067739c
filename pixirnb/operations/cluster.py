"""The cluster of a run: which one, from where it is known, and what a dead driver has left there."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from pixirnb.errors import Cannot
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import PlanReport
from pixirnb.protocols.ports import Cluster
from pixirnb.runners.cluster.connection import VARIABLE, connect, install_plugin, workers_of
from pixirnb.runners.cluster.leftovers import Left, has_ended
from pixirnb.spec.amounts import amounts_text
from pixirnb.system.version import release
from pixirnb.views.basics.sanitize import plural
from pixirnb.wording import join_names
from pixirnb.workspace.git.tree_packs import GitTreePacks

if TYPE_CHECKING:
    from distributed import Client

_NAMED: Final = 3
_UNDER_WAY: Final = frozenset({"scheduled", "running"})


def cluster_of(choice: str | Client | None) -> Callable[[Plan, Left], Cluster | None]:
    """Return a function that connects a plan with a cluster, where a step is placed on one or attempts are left on one.

    `choice`: an address, `local:N`, a connected client; None: what `PIXIRNB_CLUSTER` names.

    Without a cluster, attempts that are left have ended where their workers have.

    It raises Cannot (`no_cluster`, `dask_missing`, `cluster_unreachable`) and InvalidArguments (`bad_cluster`).
    """

    def cluster(plan: Plan, left: Left) -> Cluster | None:
        chosen = choice if choice is not None else os.environ.get(VARIABLE)
        placed = next(
            (each for each in plan.steps if (each.template or each).placement == "cluster"), None
        )
        workers = {worker: step for (step, _), worker in left.items() if worker is not None}
        if placed is None and not (chosen and workers):
            _require_ended(workers)
            return None
        if not chosen:
            assert placed is not None
            raise Cannot(
                f"`{placed.id}` is placed on a cluster, but the run was given none",
                fix=f"set {VARIABLE}, or run or resume with `--cluster ADDRESS`; `local:2` is two workers on this machine",
                code="no_cluster",
                details={"step": placed.id},
            )
        client = connect(chosen)
        from pixirnb.runners.cluster.dask_connection import DaskConnection
        from pixirnb.runners.cluster.runner import ClusterRunner

        has_plugin = install_plugin(client)
        connection = DaskConnection(client, has_plugin=has_plugin, packs=GitTreePacks)
        return ClusterRunner(connection, GitTreePacks)

    return cluster


def _require_ended(workers: Mapping[str, str]) -> None:
    """Refuse to go on while a worker may run a step. `workers`: address to step. Raises Cannot (`no_cluster`)."""
    for worker, step in workers.items():
        if not has_ended(worker):
            raise Cannot(
                f"`{step}` may still run on worker {worker}",
                fix=f"pass `--cluster ADDRESS` or set {VARIABLE}: the resume ends it there first",
                code="no_cluster",
                details={"step": step, "worker": worker},
            )


def preview(report: PlanReport, choice: str | Client | None) -> list[str]:
    """Return sentences on the cluster that a plan would run on: its size, and what would keep a step from running there.

    Empty where no step is placed on one. Raises as `cluster_of`.
    """
    placed = [step for step in report.document().get("steps", ()) if "placement" in step]
    if not placed:
        return []
    chosen = choice if choice is not None else os.environ.get(VARIABLE)
    if not chosen:
        names = join_names([step["step_id"] for step in placed], _NAMED, "`{}`".format)
        return [f"No cluster is given; {names} cannot run without one."]
    workers = workers_of(connect(chosen))
    threads = sum(worker.threads for worker in workers)
    sentences = [f"Cluster: {plural(len(workers), 'worker')}, {plural(threads, 'thread')}."]
    needed = {
        step.id: step.resources or report.spec.defaults.resources for step in report.spec.steps
    }
    for step in placed:
        required = needed[step["step_id"]]
        if not any(_has(worker.resources, required) for worker in workers):
            lacking = f" with {amounts_text(required)}" if required else ""
            sentences.append(f"No worker{lacking} is there: `{step['step_id']}` would wait.")
    here = release()
    sentences += [
        f"Worker {worker.address} has pixirnb {worker.release}, this process has {here}."
        for worker in workers
        if worker.release != here
    ]
    return sentences


def _has(resources: Mapping[str, float], required: Mapping[str, float]) -> bool:
    return all(resources.get(name, 0.0) >= amount for name, amount in required.items())


no_cluster: Final = cluster_of(None)
"""The cluster of the environment, if it names one."""


def attempts_left(run: RunState, waited: Collection[str] = ()) -> Left:
    """Return the attempts that the last driver of a run may have left.

    They were under way when it went, or had been detached: `waited` are steps for whose threads a living owner waits.
    """
    return {
        (step, state.attempt): state.worker
        for step, state in run.steps.items()
        if state.attempt
        and (state.stage in _UNDER_WAY or (_is_detached(state) and step not in waited))
    }


def _is_detached(state: StepState) -> bool:
    return state.worker is not None and state.error_kind == "detached"


def strays_on_workers(
    run: RunState, choice: str | Client | None
) -> tuple[tuple[str, tuple[str, ...] | None], ...]:
    """Return the attempts of a run without an owner that go on, by worker; None: the worker does not answer.

    Empty where no cluster is named. Raises as `cluster_of`.
    """
    left = attempts_left(run)
    chosen = choice if choice is not None else os.environ.get(VARIABLE)
    if not chosen or not left:
        return ()
    client = connect(chosen)
    from pixirnb.runners.cluster.dask_connection import DaskConnection
    from pixirnb.runners.cluster.leftovers import find_left

    connection = DaskConnection(client, has_plugin=False, packs=GitTreePacks)
    workers = connection.run(find_left(connection, run.run_id, left))
    return tuple(
        (worker, None if tags is None else tuple(tags)) for worker, tags in workers.items()
    )
