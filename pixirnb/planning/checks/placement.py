"""Checks of steps that are placed on a cluster: only what a worker can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pixirnb.planning.resolved_step import Resolved
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.workflow import Workflow

_KINDS = {"decision": "asks a person", "merge": "merges files"}


def check_placement(workflow: Workflow, resolved: Sequence[Resolved]) -> Iterator[SpecProblem]:
    """Yield steps that say `placement: cluster` and cannot be run there, and resources that nothing asks a worker for."""
    for parts, written in workflow.find_keys("placement", "resources"):
        if parts == ("defaults",):
            continue
        step = resolved[int(parts[1])]
        if written.placement == "cluster" and step.placement == "local":
            yield SpecProblem(
                "cluster_unsupported",
                (*parts, "placement"),
                f"`{step.spec.id}` {_KINDS[step.spec.kind]} and cannot run on a cluster",
                "remove `placement`",
            )
        elif written.resources and step.placement == "local":
            yield SpecProblem(
                "resources_unused",
                (*parts, "resources"),
                f"`resources` has no effect on `{step.spec.id}`, which runs on this machine",
                "write `placement: cluster`, or remove `resources`",
            )
