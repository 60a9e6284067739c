"""Steps on the workers of a cluster: where they ran, that each began once, and what is left when a worker or driver dies.

Told with real workers, one thread each. What steps did is counted in a file of the workspace, which workers share.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client, LocalCluster

from pixirnb import api
from pixirnb.engine.broadcast import STEP_PROGRESS, Live, News
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.ids import attempt_tag
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.cluster import preview
from pixirnb.operations.run import Run
from pixirnb.runners.cluster.connection import close_local
from pixirnb.runners.processes.process_tree import TAG
from tests.runners.cluster.workers import client_of_workers
from tests.stories.storyline import effects, facts, mark, over, python, shell, spec, statuses, until
from tests.verbs.command import command

pytestmark = pytest.mark.story

CLUSTER = "local:2"


@pytest.fixture(scope="module", autouse=True)
def _no_workers_stay() -> Iterator[None]:
    yield
    close_local()


@pytest.fixture(autouse=True)
def _two_workers() -> None:
    client_of_workers(2)


@pytest.fixture
def strangers() -> Iterator[Client]:
    """A client of two workers that others started: their scheduler has an address, and Dask's defaults."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def on_cluster(step: str, run: str, *after: str, **fields: Any) -> dict[str, Any]:
    """A shell step of the cluster."""
    return shell(step, run, *after, placement="cluster", **fields)


def begun(workspace: Path, *steps: dict[str, Any], cluster: Any = CLUSTER) -> Run:
    """A run whose first attempt is under way on a worker."""
    run = api.start(spec(*steps), workspace=workspace, cluster=cluster)
    until(lambda: effects(workspace))
    until(lambda: facts(run, "attempt_started"))
    return run


def worker_of(run: Run, step: str) -> str:
    """The worker of the last attempt of a step."""
    return str(
        [each["worker"] for each in facts(run, "attempt_started") if each["step"] == step][-1]
    )


def error_of(outcome: RunOutcome, step: str) -> str | None:
    """The kind of error of a step."""
    error = outcome.step(step).error
    return None if error is None else error["kind"]


def pid_of(worker: str, client: Client) -> int:
    """The process of a worker."""
    return int(client.run(os.getpid, workers=[worker])[worker])


def survivors(run: str, step: str, attempt: int) -> list[psutil.Process]:
    """Processes of an attempt."""
    tag = attempt_tag(run, step, attempt).encode()
    found = []
    for process in psutil.process_iter():
        try:
            environ = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:
            continue
        if b"%s=%s\0" % (TAG.encode(), tag) in environ:
            found.append(process)
    return found


def test_commands_functions_and_items_run_on_workers_and_the_log_says_on_which(
    tmp_path: Path,
) -> None:
    outcome = api.run(
        spec(
            shell("here", mark("here", "echo $PPID")),
            on_cluster("there", mark("there", "echo came"), "here"),
            {"id": "root", "call": "platform:node", "placement": "cluster"}
            | {"depends_on": ["there"]},
            over("each", [1, 2, 3], "echo {{ item }}", "root", placement="cluster"),
            shell("last", "cat {{ steps.each.output_path }}", "each"),
        ),
        workspace=tmp_path,
        cluster=CLUSTER,
    )
    assert outcome.ok
    run = api.open_run(outcome.run_id, workspace=tmp_path)
    workers = {each["step"]: each.get("worker") for each in facts(run, "attempt_started")}
    assert workers["here"] is None
    assert all(str(workers[step]).startswith("tls://127.0.0.1:") for step in ("there", "each@2"))
    assert f"Worker: {workers['each@2']}." in " ".join(run.explain("each@2"))
    assert run.value("last").splitlines() == ['"1"', '"2"', '"3"']


def test_items_run_on_workers_where_no_other_step_does(tmp_path: Path) -> None:
    each = over("each", [1, 2], "echo {{ item }}", placement="cluster")
    with pytest.raises(Cannot, match="`each` is placed on a cluster"):
        api.run(spec(each), workspace=tmp_path)
    outcome = api.run(spec(each), workspace=tmp_path, cluster=CLUSTER)
    assert outcome.ok
    run = api.open_run(outcome.run_id, workspace=tmp_path)
    assert all("worker" in each for each in facts(run, "attempt_started"))


def test_a_large_output_and_a_large_value_arrive_whole(tmp_path: Path) -> None:
    outcome = api.run(
        spec(
            on_cluster("flood", "head -c 20000000 /dev/zero | tr '\\0' x"),
            shell("size", "wc -c < {{ steps.flood.output_path }}", "flood"),
            {
                "id": "array",
                "call": "numpy:arange",
                "with": {"stop": 300_000},
                "placement": "cluster",
            },
        ),
        workspace=tmp_path,
        cluster=CLUSTER,
    )
    run = api.open_run(outcome.run_id, workspace=tmp_path)
    assert outcome.ok
    assert run.value("size") == "20000000"
    assert run.value("array").sum() == sum(range(300_000))


def test_what_a_worker_did_is_checked_at_home(tmp_path: Path) -> None:
    step = on_cluster("a", "echo done > made.txt", verify=[{"command": "grep -q done made.txt"}])
    outcome = api.run(
        spec(step, on_cluster("b", "true", verify=[{"command": "test -e missing"}])),
        workspace=tmp_path,
        cluster=CLUSTER,
    )
    assert statuses(outcome) == {"a": "checkpoint_ready", "b": "failed"}


def test_a_run_without_a_cluster_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIXIRNB_CLUSTER", raising=False)
    with pytest.raises(Cannot, match="was given none") as refused:
        api.run(spec(on_cluster("a", mark("a"))), workspace=tmp_path)
    assert refused.value.code == "no_cluster"
    with pytest.raises(Cannot) as unreachable:
        api.run(spec(on_cluster("a", mark("a"))), workspace=tmp_path, cluster="tcp://127.0.0.1:1")
    assert unreachable.value.code == "cluster_unreachable"
    with pytest.raises(InvalidArguments) as no_number:
        api.run(spec(on_cluster("a", mark("a"))), workspace=tmp_path, cluster="local:many")
    assert no_number.value.code == "bad_cluster"
    assert effects(tmp_path) == []
    assert api.runs(workspace=tmp_path) == []


def test_a_decision_that_needs_a_cluster_says_that_it_was_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIXIRNB_CLUSTER", CLUSTER)
    flow = spec({"id": "q", "ask": {"question": "Go?"}}, on_cluster("a", mark("a"), "q"))
    parked = api.run(flow, workspace=tmp_path)
    monkeypatch.delenv("PIXIRNB_CLUSTER")
    said = command("decide", parked.run_id, "q", "accept")
    assert "the decision was not recorded [no_cluster]" in said.err
    assert "`--no-resume`" in said.err
    assert command("decide", parked.run_id, "q", "accept", "--no-resume").code == 4


def test_a_cluster_that_cannot_be_reached_is_no_cluster_without_problems(tmp_path: Path) -> None:
    said = command("doctor", "--cluster", "tcp://127.0.0.1:9", "--state", tmp_path / ".pixirnb")
    assert (said.code, "cluster_unreachable" in said.err) == (5, True)


def test_what_is_no_cluster_is_refused(tmp_path: Path) -> None:
    workflow = spec(on_cluster("a", mark("a")))
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        closed = Client(cluster, set_as_default=False)
        closed.close()
    for unusable in ("tls://127.0.0.1:1", closed):
        with pytest.raises(Cannot, match="cannot be reached") as unreachable:
            api.run(workflow, workspace=tmp_path, cluster=unusable)
        assert unreachable.value.code == "cluster_unreachable"
    with pytest.raises(InvalidArguments, match="must be an address"):
        api.run(workflow, workspace=tmp_path, cluster=3)  # type: ignore[arg-type]


def test_a_dry_run_says_what_the_cluster_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIXIRNB_CLUSTER", raising=False)
    steps = on_cluster("fits", "true"), on_cluster("train", "true", resources={"GPU": 1})
    report = api.plan(spec(*steps), workspace=tmp_path)
    assert preview(report, CLUSTER) == [
        "Cluster: 2 workers, 2 threads.",
        "No worker with GPU: 1 is there: `train` would wait.",
    ]
    assert preview(report, None) == ["No cluster is given; `fits`, `train` cannot run without one."]
    assert preview(api.plan(spec(shell("a", "true")), workspace=tmp_path), CLUSTER) == []
    assert api.runs(workspace=tmp_path) == []


def test_a_secret_of_the_driver_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "s3cret-of-the-driver")
    workflow = spec(
        on_cluster("a", mark("a"), env={"GIVEN": "{{ inputs.word }}"}), inputs={"word": ""}
    )
    outcome = api.run(
        workflow, {"word": "s3cret-of-the-driver"}, workspace=tmp_path, cluster=CLUSTER
    )
    assert error_of(outcome, "a") == "secret_not_sent"
    assert effects(tmp_path) == []


def test_the_environment_of_the_driver_stays_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_HERE", "driver")
    step = on_cluster("a", 'echo "[$ONLY_HERE] [$WRITTEN]"', env={"WRITTEN": "yes"})
    outcome = api.run(spec(step), workspace=tmp_path, cluster=CLUSTER)
    assert api.open_run(outcome.run_id, workspace=tmp_path).value("a") == "[] [yes]"


def test_a_worker_that_does_not_share_the_workspace_runs_nothing(tmp_path: Path) -> None:
    run = begun(
        tmp_path,
        on_cluster("first", mark("first", "while test ! -e go; do sleep 0.1; done")),
        on_cluster("second", mark("second"), "first"),
    )
    # To the worker of the second step it looks as if the folder were another.
    [proof] = Path(run.folder).glob(".pixirnb-*")
    proof.unlink()
    (tmp_path / "go").touch()
    outcome = run.wait()
    assert error_of(outcome, "second") == "workspace_not_shared"
    assert effects(tmp_path) == ["first"]


def test_a_lost_worker_fails_the_attempt_which_is_not_begun_again_by_the_cluster(
    tmp_path: Path, strangers: Client
) -> None:
    run = begun(tmp_path, on_cluster("a", mark("a", "sleep 7306")), cluster=strangers)
    os.kill(pid_of(worker_of(run, "a"), strangers), signal.SIGKILL)
    outcome = run.wait()
    assert error_of(outcome, "a") == "worker_lost"
    assert effects(tmp_path) == ["a"]
    assert survivors(run.id, "a", 1) == []


def test_a_worker_that_has_ended_is_lost_though_no_other_can_take_its_task(tmp_path: Path) -> None:
    cluster = LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0")
    words = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
    with cluster, Client(cluster, set_as_default=False) as client:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        worker = subprocess.Popen([*command, *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
        client.wait_for_workers(1, timeout=60)
        run = begun(tmp_path, on_cluster("a", mark("a", "sleep 7308")), cluster=client)
        worker.kill()
        worker.wait()
        outcome = run.wait(60)
    assert error_of(outcome, "a") == "worker_lost"
    assert survivors(run.id, "a", 1) == []


def test_a_retry_after_a_lost_worker_is_a_new_attempt(tmp_path: Path) -> None:
    step = on_cluster(
        "a", mark("a", "test -e go || sleep 7307"), retry={"max_attempts": 2, "delay": "0s"}
    )
    run = begun(tmp_path, step)
    (tmp_path / "go").touch()
    client = client_of_workers(2)
    os.kill(pid_of(worker_of(run, "a"), client), signal.SIGKILL)
    outcome = run.wait()
    assert outcome.ok
    assert outcome.step("a").attempt == 2
    assert effects(tmp_path) == ["a", "a"]


def test_a_step_is_stopped_on_its_worker_with_all_it_started(tmp_path: Path) -> None:
    run = begun(tmp_path, on_cluster("a", mark("a", "setsid sleep 7308 & sleep 7309")))
    run.cancel()
    assert run.wait().step("a").subagent_status == "cancelled"
    assert survivors(run.id, "a", 1) == []


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of two items on local workers, in a session of its own."""
    flow = spec(over("a", [1, 2], mark("a", "sleep 7310"), placement="cluster"))
    (tmp_path / "w.yaml").write_text(json.dumps(flow))
    begin = "from pixirnb.cli.app import main; main()"
    words = [sys.executable, "-c", begin, "run", "w.yaml", "--cluster", "local:2"]
    both, pipe = subprocess.STDOUT, subprocess.PIPE
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=pipe, stderr=both, text=True, start_new_session=True
    ) as driver:
        yield driver
        driver.kill()


def test_ctrl_c_ends_the_steps_of_local_workers_and_not_the_workers_under_them(
    tmp_path: Path, terminal: subprocess.Popen[str]
) -> None:
    until(lambda: len(effects(tmp_path)) == 2)
    os.killpg(terminal.pid, signal.SIGINT)  # as a terminal does
    said, _ = terminal.communicate(timeout=60)
    assert terminal.returncode == 130
    assert "2 interrupted" in said
    assert "worker_lost" not in said
    assert "Traceback" not in said


def test_ctrl_c_while_local_workers_start_is_no_error_of_theirs(
    terminal: subprocess.Popen[str],
) -> None:
    driver = psutil.Process(terminal.pid)

    def starts_workers() -> bool:
        with suppress(psutil.Error):  # a process may end while it is looked at
            return any("spawn_main" in str(p.cmdline()) for p in driver.children(recursive=True))
        return False

    until(starts_workers)
    os.killpg(terminal.pid, signal.SIGINT)
    said, _ = terminal.communicate(timeout=60)
    assert terminal.returncode == 130
    assert "Traceback" not in said


def test_local_workers_end_with_a_driver_that_is_killed(
    tmp_path: Path, terminal: subprocess.Popen[str]
) -> None:
    until(lambda: len(effects(tmp_path)) == 2)
    started = psutil.Process(terminal.pid).children(recursive=True)
    terminal.kill()
    until(lambda: not any(each.is_running() for each in started))


def test_a_step_that_waits_for_a_worker_is_cancelled_and_never_begins(tmp_path: Path) -> None:
    blocker = over(
        "busy", [1, 2], mark("busy", "while test ! -e go; do sleep 0.1; done"), placement="cluster"
    )
    run = begun(tmp_path, blocker, on_cluster("late", mark("late")))
    until(lambda: len(effects(tmp_path)) == 2)
    run.cancel("late")
    until(lambda: run.outcome.step("late").checkpoint_status is not None)
    (tmp_path / "go").touch()
    run.wait()
    assert effects(tmp_path) == ["busy", "busy"]


def test_a_worker_that_does_not_answer_leaves_a_detached_step_until_it_is_heard_of(
    tmp_path: Path,
) -> None:
    client = client_of_workers(2)
    run = begun(tmp_path, on_cluster("a", mark("a", "sleep 7310"), timeout="2s"))
    worker = psutil.Process(pid_of(worker_of(run, "a"), client))
    worker.suspend()
    try:
        outcome = run.wait()
    finally:
        worker.resume()
    assert outcome.step("a").subagent_status == "detached"
    until(lambda: not survivors(run.id, "a", 1))


def test_a_step_that_stops_who_watches_it_on_a_worker_times_out_as_at_home(tmp_path: Path) -> None:
    step = on_cluster("a", "sleep 1; kill -STOP $PPID; exec sleep 7317", timeout="2s")
    outcome = api.run(spec(step), workspace=tmp_path, cluster=CLUSTER)
    assert error_of(outcome, "a") == "timeout"
    assert outcome.step("a").subagent_status == "timed_out"
    assert survivors(outcome.run_id, "a", 1) == []


@pytest.mark.sweep
def test_a_silent_worker_is_reported_and_so_is_that_it_answers_again(tmp_path: Path) -> None:
    client = client_of_workers(2)
    reported: list[str] = []

    def listen(news: News) -> None:
        if isinstance(news, Live) and news.topic == STEP_PROGRESS:
            reported.append(news.data["message"])

    step = on_cluster("a", mark("a", "while test ! -e go; do sleep 0.1; done"))
    run = api.start(spec(step), workspace=tmp_path, cluster=CLUSTER, listeners=[listen])
    until(lambda: facts(run, "attempt_started"))
    address = worker_of(run, "a")
    worker = psutil.Process(pid_of(address, client))
    worker.suspend()
    try:
        until(lambda: reported)
    finally:
        worker.resume()
    until(lambda: len(reported) == 2)
    (tmp_path / "go").touch()
    assert run.wait().ok
    silent, again = reported
    assert silent.startswith(f"worker {address} has been silent for 1")
    assert again == f"worker {address} answers again"


def with_dead_driver(
    workspace: Path, cluster: Client, work: str, after: str = "attempt_started", beside: str = ""
) -> tuple[str, str]:
    """The run and the scheduler of a driver that was killed after an event of its step, which a worker performed."""
    (workspace / "flow.yaml").write_text(
        f"name: story\nsteps:\n  - {{id: a, placement: cluster, {work}}}\n{beside}"
    )
    address = str(cluster.scheduler.address)
    driver = python("-m", "pixirnb", "run", "flow.yaml", "--cluster", address, cwd=workspace)
    until(lambda: effects(workspace) or driver.poll() is not None)
    [folder] = (workspace / ".pixirnb" / "runs").iterdir()
    until(lambda: facts(api.open_run(folder.name, workspace=workspace), after))
    driver.kill()
    driver.communicate()
    return folder.name, address


def test_what_a_dead_driver_left_ends_by_itself(tmp_path: Path, strangers: Client) -> None:
    run, _ = with_dead_driver(
        tmp_path, strangers, 'run: "echo a >> effects.txt; setsid sleep 7311 & sleep 7312"'
    )
    until(lambda: not survivors(run, "a", 1))


def test_a_resume_runs_what_a_dead_driver_had_under_way_as_a_new_attempt(
    tmp_path: Path, strangers: Client
) -> None:
    run, address = with_dead_driver(
        tmp_path, strangers, 'run: "echo a >> effects.txt; test -e go || sleep 7313"'
    )
    (tmp_path / "go").touch()
    outcome = api.resume(run, workspace=tmp_path, cluster=address).wait()
    assert outcome.ok
    assert outcome.step("a").attempt == 2
    assert effects(tmp_path) == ["a", "a"]
    assert survivors(run, "a", 1) == []


SLOW = """
import pathlib, time

HERE = pathlib.Path(__file__).parent

def wait():
    with (HERE / "effects.txt").open("a") as effects:
        effects.write("a\\n")
    while not (HERE / "go").exists():
        time.sleep(0.05)
"""


def found_by_doctor(run: str, workspace: Path, cluster: str) -> dict[str, str]:
    """The findings of a run, code to message."""
    diagnosis = api.open_run(run, workspace=workspace).diagnose(cluster=cluster)
    return {each["code"]: each["message"] for each in diagnosis.document()["findings"]}


def test_a_thread_that_a_dead_driver_left_on_a_worker_is_not_run_beside(
    tmp_path: Path, strangers: Client
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    run, address = with_dead_driver(tmp_path, strangers, "call: slow:wait")
    assert f"`{run}/a.1`" in found_by_doctor(run, tmp_path, address)["strays_on_worker"]
    with pytest.raises(Cannot, match="still runs in a thread of worker") as refused:
        api.resume(run, workspace=tmp_path, cluster=address)
    assert refused.value.code == "thread_alive"
    at_home = spec({"id": "a", "call": "slow:wait", "posture": "read_only"})
    with pytest.raises(Cannot, match="`a` may still run on worker") as refused:
        api.resume(run, spec=at_home, workspace=tmp_path)
    assert refused.value.code == "no_cluster"
    assert effects(tmp_path) == ["a"]
    (tmp_path / "go").touch()

    def resumed() -> bool:
        try:
            return api.resume(run, workspace=tmp_path, cluster=address).wait().ok
        except Cannot:
            return False

    until(resumed)
    assert effects(tmp_path) == ["a", "a"]
    assert "strays_on_worker" not in found_by_doctor(run, tmp_path, address)


def test_a_thread_that_was_given_up_before_its_driver_died_is_not_run_beside(
    tmp_path: Path, strangers: Client
) -> None:
    (tmp_path / "late.py").write_text(SLOW)  # a module of its own: a worker loads a name once
    run, address = with_dead_driver(
        tmp_path,
        strangers,
        "call: late:wait, timeout: 1s",
        after="attempt_ended",
        beside="  - {id: b, run: sleep 7315, posture: read_only}\n",
    )
    with pytest.raises(Cannot, match="still runs in a thread of worker") as refused:
        api.resume(run, workspace=tmp_path, cluster=address)
    assert refused.value.code == "thread_alive"
    assert effects(tmp_path) == ["a"]
    (tmp_path / "go").touch()


def test_a_large_argument_is_sent_to_a_worker_once(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(
        "def make():\n    return list(range(500_000))\n"
        "def use(data, item):\n    return sum(data) + item\n"
    )
    use: dict[str, Any] = {
        "id": "use",
        "call": "steps:use",
        "placement": "cluster",
        "for_each": [1, 2, 3, 4, 5, 6],
    }
    use["depends_on"] = ["make"]
    use["with"] = {"data": "{{ steps.make.output }}", "item": "{{ item }}"}
    workflow = spec({"id": "make", "call": "steps:make"}, use)
    outcome = api.run(workflow, workspace=tmp_path, cluster=CLUSTER)
    assert outcome.ok
    run = api.open_run(outcome.run_id, workspace=tmp_path)
    assert run.value("use") == [124_999_750_000 + item for item in range(1, 7)]
    kept = client_of_workers(2).run(_kept_blobs)
    assert [len(files) for files in kept.values()] == [1, 1]


def _kept_blobs(dask_worker: Any) -> list[str]:
    """Blobs that a worker keeps."""
    blobs = Path(dask_worker.local_directory) / "pixirnb" / "blobs"
    return sorted(file.name for file in blobs.iterdir())
