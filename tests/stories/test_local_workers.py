"""The workers of `local:N`: nobody but their driver has them run code, and what a step has them start is no person's."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from distributed import Client, LocalCluster, Security

from pixirnb import api
from pixirnb.runners.cluster.connection import close_local
from pixirnb.runners.processes.ancestry import asking_step, sender
from pixirnb.runners.processes.orphans import find_strays
from pixirnb.runners.processes.process_tree import descendants
from tests.stories.storyline import facts, python, shell, spec, until

pytestmark = pytest.mark.story

OTHER = Security.temporary()
LIAR = """
import os, resource, subprocess, sys, threading, time

def starts():
    from distributed import Worker
    if REMOVES:
        for pid in (os.getpid(), os.getppid()):
            resource.prlimit(pid, 10, (resource.RLIM_INFINITY, resource.prlimit(pid, 10)[1]))
    stays = subprocess.Popen(["sleep", "600"])
    decides = [sys.executable, "-m", "pixirnb", "decide", RUN, "gate", "accept", "--no-resume", "--json"]
    told = subprocess.run(decides, capture_output=True, text=True).stdout
    leaves = subprocess.run(["sh", "-c", "setsid sleep 600 > /dev/null 2>&1 & echo $!"], capture_output=True, text=True)
    with open("told.new", "w") as file:
        file.write("\\n".join([str(stays.pid), leaves.stdout.strip(), told]))
    os.rename("told.new", "told")

def liar():
    from distributed import Worker
    [worker] = Worker._instances
    # A timer of the loop's is no thread of the step's.
    worker.loop.add_callback(lambda: threading.Timer(0, starts).start())
    while not os.path.exists("told"):
        time.sleep(0.02)
"""


@pytest.fixture(autouse=True)
def _no_workers_stay() -> Iterator[None]:
    yield
    close_local()


def write_liar(folder: Path, run: str, *, removes: bool = False) -> None:
    """A module whose function `liar` has its worker start processes, and decide a run."""
    (folder / "m.py").write_text(LIAR.replace("RUN", repr(run)).replace("REMOVES", str(removes)))


def started(folder: Path) -> tuple[int, int, str]:
    """The process that stayed, the one that left, and what the command said."""
    until((folder / "told").exists)
    stays, leaves, told = (folder / "told").read_text().split("\n", 2)
    return int(stays), int(leaves), told


def answer_of(port: int) -> int | None:
    """The status that a port answers a browser with; None where it does not speak to one."""
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        browser.request("GET", "/info/main/workers.html")
        return browser.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        browser.close()


def program_of(driver: int) -> psutil.Process:
    """The program of the only `local:N` of a driver."""
    below = psutil.Process(driver).children()
    [program] = [each for each in below if "local_cluster" in str(each.cmdline())]
    return program


def far(step: str) -> dict[str, object]:
    """A step that lies on a worker."""
    return {"id": step, "call": "m:liar", "placement": "cluster"}


def test_nobody_without_their_key_reaches_local_workers(tmp_path: Path) -> None:
    api.run(
        spec({"id": "a", "call": "os:getpid", "placement": "cluster"}),
        workspace=tmp_path,
        cluster="local:1",
    )
    listening = {
        each.laddr.port
        for pid in descendants(os.getpid())
        for each in psutil.Process(pid).net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
    }
    answers = {port: answer_of(port) for port in listening}
    assert set(answers.values()) == {None, 404}, "no page says anything"
    closed = [port for port, status in answers.items() if status is None]
    assert len(closed) >= 3, "a scheduler, a nanny and a worker"
    for port in closed:
        for address, key in ((f"tcp://127.0.0.1:{port}", None), (f"tls://127.0.0.1:{port}", OTHER)):
            with pytest.raises(OSError, match=r"closed|certificate does not match"):
                Client(address, timeout=1, security=key, set_as_default=False)


@pytest.mark.parametrize("whose", ["ours", "ours unmarked", "theirs"])
def test_what_a_step_has_a_worker_start_is_no_persons(
    whose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    parked = api.run(spec({"id": "gate", "ask": {"question": "Go?"}}))
    write_liar(tmp_path, parked.run_id, removes=whose == "ours unmarked")
    if whose == "theirs":
        with (
            LocalCluster(n_workers=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            api.run(spec(far("liar")), cluster=client)
            stays, leaves, told = started(tmp_path)
            senders = [sender(stays), sender(leaves)]
            for pid in (stays, leaves):
                os.kill(pid, signal.SIGKILL)
            assert senders == ["own_step", "other_step"]
    else:
        api.run(spec(far("liar")), cluster="local:1")
        stays, leaves, told = started(tmp_path)
        assert sender(stays) == "own_step"
        assert sender(leaves) == "own_step"
        close_local()
        until(lambda: not psutil.pid_exists(leaves) and not psutil.pid_exists(stays))
    assert json.loads(told)["error"]["code"] == "approval_by_agent"
    assert facts(api.open_run(parked.run_id), "decision_recorded") == []


@pytest.mark.parametrize("end", ["close", "kill the driver", "kill both"])
def test_what_a_step_has_local_workers_start_ends_with_them(end: str, tmp_path: Path) -> None:
    write_liar(tmp_path, "r-20200101-000000-aaaaaa")
    (tmp_path / "w.yaml").write_text(
        json.dumps(
            spec(
                far("liar"),
                {"id": "b", "run": "until test -e go; do sleep 0.1; done", "posture": "read_only"},
            )
        )
    )
    options = ("--cluster", "local:1", "--json")
    # What was left holds the pipes open: they are not read to their end.
    with python("-m", "pixirnb", "run", "w.yaml", *options, cwd=tmp_path) as driver:
        stays, leaves, _ = started(tmp_path)
        if end == "close":
            driver.send_signal(signal.SIGINT)
        elif end == "kill the driver":
            driver.kill()
        else:
            program = program_of(driver.pid)
            program.kill()
            driver.kill()
    if end == "kill both":
        until(lambda: not program.is_running())
        assert psutil.pid_exists(leaves)
        (tmp_path / "go").touch()
        with python("-m", "pixirnb", "resume", "@last", *options, cwd=tmp_path):
            pass
    until(lambda: not psutil.pid_exists(leaves) and not psutil.pid_exists(stays))


DRIVER = """
import multiprocessing, pathlib, threading, time
import pixirnb

if __name__ == "__main__":
    run = threading.Thread(target=pixirnb.run, args=("w.yaml",), kwargs={"cluster": CLUSTER})
    run.start()
    while not pathlib.Path("begun").exists():
        time.sleep(0.02)
    copy = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    copy.start()
    pathlib.Path("copy").write_text(str(copy.pid))
    run.join()
"""


@pytest.mark.parametrize("whose", ["ours", "ours stopped", "theirs"])
def test_workers_end_a_dead_drivers_steps_though_a_forked_copy_of_it_lives(
    whose: str, tmp_path: Path
) -> None:
    step = shell("a", "touch begun; exec sleep 600", placement="cluster")
    (tmp_path / "w.yaml").write_text(json.dumps(spec(step)))
    with LocalCluster(n_workers=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as others:
        cluster = others.scheduler_address if whose == "theirs" else "local:1"
        (tmp_path / "driver.py").write_text(DRIVER.replace("CLUSTER", repr(cluster)))
        with python("driver.py", cwd=tmp_path) as driver:
            until((tmp_path / "copy").exists)
            until((tmp_path / "copy").read_text)
            copy = int((tmp_path / "copy").read_text())
            [run] = (tmp_path / ".pixirnb" / "runs").iterdir()
            if whose == "ours stopped":
                program_of(driver.pid).suspend()
            driver.kill()
        until(lambda: not find_strays(run.name))
        os.kill(copy, signal.SIGKILL)


def test_what_a_step_needs_first_serves_the_process_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    far = spec(shell("far", "true", placement="cluster"))
    nested = f"def nested():\n    import pixirnb\n    return pixirnb.run({far!r}, cluster='local:1').status"
    first = api.run(spec({"id": "a", "call": ":nested"}), functions={":nested": nested})
    assert api.open_run(first.run_id).value("a") == "completed"
    program = program_of(os.getpid())
    assert api.run(far, cluster="local:1").ok
    assert program_of(os.getpid()) == program


def test_workers_in_the_process_of_a_notebook_take_nothing_from_its_person(tmp_path: Path) -> None:
    here = {"host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=1, processes=False, **here) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        step = {"id": "a", "call": "os:getpid", "placement": "cluster"}
        assert api.run(spec(step), workspace=tmp_path, cluster=client).ok
        assert asking_step() is None
        with subprocess.Popen(["sleep", "600"]) as child:
            assert sender(child.pid) == "person"
            child.kill()


CROWDED = """
import pathlib, sys
import pixirnb

if __name__ == "__main__":
    sys.path.append(pathlib.Path("here"))
    held = [open("w.json") for _ in range(1100)]
    assert pixirnb.run("w.json", cluster="local:1").ok
"""
NO_FOLDER = """
import tempfile
from pixirnb.runners.cluster.memory_security import MemorySecurity

tempfile.tempdir = "/nowhere"  # where Dask writes a key
key = MemorySecurity.new()
for each in (key, MemorySecurity.read(key.line().decode())):
    for role in ("client", "scheduler", "worker"):
        assert each.get_connection_args(role)["ssl_context"] is not None
        assert each.get_listen_args(role)["ssl_context"] is not None
"""


def test_local_workers_start_whatever_a_notebook_has_open_and_on_its_path(tmp_path: Path) -> None:
    step = {"id": "a", "call": "os:getpid", "placement": "cluster"}
    (tmp_path / "w.json").write_text(json.dumps(spec(step)))
    (tmp_path / "crowded.py").write_text(CROWDED)
    crowded = python("crowded.py", cwd=tmp_path)
    _, err = crowded.communicate()
    assert crowded.returncode == 0, err


def test_the_key_of_local_workers_is_in_no_file(tmp_path: Path) -> None:
    _, err = python("-c", NO_FOLDER, cwd=tmp_path).communicate()
    assert err == ""
