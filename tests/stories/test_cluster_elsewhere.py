"""Isolated steps on a worker that has none of the driver's files: they go there, and come back as the step left them.

The worker is a process in a mount namespace of its own, where the folder of the test is another, empty one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import pixirnb
from pixirnb import api
from pixirnb.history.bundles import BundleChanges
from tests.namespaces import in_namespaces
from tests.stories.storyline import facts, shell, spec, statuses

pytestmark = pytest.mark.story

WORKER = """
test -z "$APART" || mount -t tmpfs none "$PLACE"
cd /
exec "$PYTHON" -m distributed.cli.dask_worker "$SCHEDULER" \
  --nthreads 1 --no-nanny --no-dashboard --local-directory "$SCRATCH"
"""


@pytest.fixture(params=in_namespaces("--mount"))
def elsewhere(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """A client of one worker for which `tmp_path` is empty."""
    words: list[str] = request.param
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        environment = {
            **os.environ,
            "APART": "yes" if words else "",
            "PLACE": str(tmp_path),
            "PYTHON": sys.executable,
            "SCHEDULER": cluster.scheduler_address,
            "SCRATCH": str(tmp_path_factory.mktemp("scratch")),
        }
        command = [*words, "sh", "-c", WORKER]
        with (
            Client(cluster, set_as_default=False) as client,
            subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as worker,
        ):
            client.wait_for_workers(1, timeout=60)
            yield client
            worker.kill()  # `unshare` waits for its child whatever else it is told


def isolated(step: str, run: str, *after: str, **fields: Any) -> dict[str, Any]:
    """An isolated step of the cluster."""
    return shell(step, run, *after, workspace="isolated", placement="cluster", **fields)


def paths(changes: BundleChanges) -> list[str]:
    return [each["path"] for each in changes["files"]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a file and an ignore rule."""
    (tmp_path / "notes.txt").write_text("first\n")
    (tmp_path / ".gitignore").write_text("*.log\n.pixirnb/\n")
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, "commit", "-qm", "first"], cwd=tmp_path, check=True)
    return tmp_path


def test_changes_artifacts_and_merges_are_those_of_home(project: Path, elsewhere: Client) -> None:
    outcome = api.run(
        spec(
            isolated(
                "edit",
                "cat notes.txt; git status --short; echo second >> notes.txt; echo told > build.log; "
                "mkdir out; echo made > out/made.txt",
                write_set=["notes.txt", "out/**"],
                artifacts=["build.log"],
                verify=[{"file_exists": "build.log"}, {"command": "grep -q second notes.txt"}],
            ),
            isolated("more", "cat notes.txt; rm out/made.txt", "edit", write_set=["out/**"]),
            {"id": "land", "merge": ["edit", "more"], "depends_on": ["more"]},
        ),
        workspace=project,
        cluster=elsewhere,
    )
    assert outcome.ok, outcome
    run = api.open_run(outcome.run_id, workspace=project)
    assert run.value("edit") == "first"
    assert run.value("more") == "first\nsecond"
    assert paths(run.changes("edit")) == ["notes.txt", "out/made.txt"]
    assert [each["path"] for each in run.bundle("edit").artifacts] == ["build.log"]
    assert (project / "notes.txt").read_text() == "first\nsecond\n"
    assert not (project / "out" / "made.txt").exists()
    assert not list((project / ".pixirnb" / "isolated").iterdir())


def test_a_failed_step_and_one_that_was_stopped_leave_their_files_too(
    project: Path, elsewhere: Client
) -> None:
    outcome = api.run(
        spec(
            isolated("fails", "echo half > half.txt; exit 3", write_set=["half.txt"]),
            isolated("slow", "echo half > slow.txt; sleep 60", write_set=["slow.txt"], timeout=2),
            on_failure="continue",
        ),
        workspace=project,
        cluster=elsewhere,
    )
    assert statuses(outcome) == {"fails": "failed", "slow": "failed"}
    run = api.open_run(outcome.run_id, workspace=project)
    assert paths(run.changes("fails")) == ["half.txt"]
    assert paths(run.changes("slow")) == ["slow.txt"]


def test_a_shared_step_says_that_the_workspace_is_not_there(
    project: Path, elsewhere: Client, request: pytest.FixtureRequest
) -> None:
    outcome = api.run(
        spec(shell("a", "pwd", placement="cluster")), workspace=project, cluster=elsewhere
    )
    is_apart = "refused" not in request.node.name
    error = outcome.step("a").error
    assert (error and error["kind"]) == ("workspace_not_shared" if is_apart else None)
    run = pixirnb.open_run(outcome.run_id, workspace=project)
    assert len(facts(run, "attempt_started")) == (0 if is_apart else 1)
