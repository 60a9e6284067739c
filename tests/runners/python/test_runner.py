"""Python steps: the same answer from a thread and from a process, and what differs between the two."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from msgspec.structs import replace

from pixirnb import value_codec
from pixirnb.protocols.work import (
    Ended,
    Progress,
    PythonWork,
    RunnerEvent,
    Started,
    StopReason,
)
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.python import functions, progress
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop, wait_until

SOURCE = """
    import os
    import sys

    def add(a, b=2):
        return a + b

    def pair():
        return (1, {2: "x"})

    def nothing():
        pass

    def large():
        return "x" * 20_000

    def unstorable():
        return lambda: 1

    def writes_to_nobody():
        reading, writing = os.pipe()
        os.close(reading)
        try:
            os.write(writing, b"x")
        except BrokenPipeError:
            return "told"

    def boom():
        {}["missing"]

    def leaves():
        sys.exit(0)

    class Shy(Exception):
        def __getattribute__(self, name):
            raise SystemExit(3)

    def shy():
        raise Shy

    class Nameless(type):
        @property
        def __name__(cls): raise RuntimeError from None

    class Odd(Exception, metaclass=Nameless):
        pass

    def odd():
        raise Odd

    def interrupted():
        raise KeyboardInterrupt

    def dies():
        os._exit(0)

    class Leaves:
        def __reduce__(self):
            sys.exit(4)

    def leaves_when_stored():
        return Leaves()

    class Toneless:
        def write(self, text):
            pass

    def says_nothing():
        sys.stdout = None
        return "said nothing"

    def says_it_elsewhere():
        sys.stdout = Toneless()
        return "said elsewhere"

    def many_digits():
        sys.set_int_max_str_digits(0)
        return 10**5000

    def looks_around():
        try:
            rehearsal_global
        except NameError:
            return "add" in globals()

    def reports():
        from pixirnb import progress
        progress(0.25, "a quarter")
        progress(7)
        progress(None, "who knows")

    async def waits(n):
        import anyio
        await anyio.sleep(0)
        return n

    async def nests():
        import asyncio
        async def inner():
            return "inner"
        coroutine = inner()
        try:
            return asyncio.run(coroutine)
        finally:
            coroutine.close()

    def place():
        return [os.getcwd(), os.environ.get("MODE"), __name__]

    def where():
        return os.getpid(), os.getsid(0)

    def spawns():
        import multiprocessing
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.map(abs, [-1])

    def forks():
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return pool.map(abs, [-1, -2])
"""
rehearsal_global = "not seen by a step"
BOTH = pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])


def perform(
    call: str, folder: Path, *, process: bool = False, source: str | None = SOURCE, **arguments: Any
) -> tuple[Ended, Rehearsal]:
    async def story(supervisor: Supervisor) -> tuple[Ended, Rehearsal]:
        work = PythonWork(call, arguments, source if call.startswith(":") else None, process)
        rehearsal = Rehearsal(work, folder, env={"MODE": "test"})
        return await PythonRunner(supervisor).perform(rehearsal.job()), rehearsal

    return on_a_loop(story)


def value_of(ended: Ended) -> Any:
    assert ended.status == "completed", ended
    assert ended.value is not None
    assert ended.payload is None or isinstance(ended.payload, bytes)
    return value_codec.decode(ended.value, ended.payload, value_codec.user_key())


@BOTH
@pytest.mark.parametrize(
    ("call", "arguments", "value"),
    [
        (":add", {"a": 1}, 3),
        (":add", {"a": (1,), "b": (2,)}, (1, 2)),
        (":pair", {}, (1, {2: "x"})),
        (":nothing", {}, None),
        (":large", {}, "x" * 20_000),
        (":waits", {"n": 4}, 4),
        (":looks_around", {}, True),
        (":writes_to_nobody", {}, "told"),
        ("posixpath:join", {"a": "b"}, "b"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_the_value_comes_back(
    call: str, arguments: dict[str, Any], value: Any, process: bool, tmp_path: Path
) -> None:
    ended, _ = perform(call, tmp_path, process=process, **arguments)
    assert value_of(ended) == value


@BOTH
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (":boom", "exception", "KeyError: 'missing'"),
        (":leaves", "exception", "step called sys.exit(0); return instead"),
        (":interrupted", "exception", "KeyboardInterrupt"),
        (":shy", "exception", "Shy, which cannot be shown"),
        (":odd", "exception", "Odd"),
        (":leaves_when_stored", "exception", "step called sys.exit(4); return instead"),
        (":unstorable", "output_unserialisable", "return data or write a file"),
        (":absent", "function_missing", "absent"),
        ("no.such.module:f", "function_missing", "no"),
        ("os:no_such_function", "function_missing", "no_such_function"),
        ("os:name", "function_missing", "not a function"),
        ("os:getcwdx.y", "function_missing", "getcwdx"),
    ],
)
def test_what_went_wrong_is_told(
    call: str, kind: str, message: str, process: bool, tmp_path: Path
) -> None:
    ended, _ = perform(call, tmp_path, process=process)
    assert (ended.status, ended.error_kind) == ("failed", kind)
    assert message in ended.message


@BOTH
def test_a_traceback_shows_the_authors_lines_and_none_of_ours(
    process: bool, tmp_path: Path
) -> None:
    ended, _ = perform(":boom", tmp_path, process=process)
    shown = ended.details["traceback"]
    assert '{}["missing"]' in shown
    assert "pixirnb/" not in shown
    assert len(shown.splitlines()) <= 20


@BOTH
def test_a_missing_import_inside_the_module_is_the_modules_own_failure(
    process: bool, tmp_path: Path
) -> None:
    name = f"broken_{process}".lower()
    (tmp_path / f"{name}.py").write_text("import not_there_at_all\n")
    ended, _ = perform(f"{name}:f", tmp_path, process=process)
    assert ended.error_kind == "exception"
    assert "not_there_at_all" in ended.message


@BOTH
def test_a_module_of_the_workspace_can_be_called_even_when_just_written(
    process: bool, tmp_path: Path
) -> None:
    name = f"fresh_{process}".lower()
    perform(f"{name}:f", tmp_path, process=process)
    (tmp_path / f"{name}.py").write_text("def f():\n    return 'fresh'\n")
    assert value_of(perform(f"{name}:f", tmp_path, process=process)[0]) == "fresh"


@BOTH
def test_progress_is_heard(process: bool, tmp_path: Path) -> None:
    _, rehearsal = perform(":reports", tmp_path, process=process)
    said = [event for event in rehearsal.events if isinstance(event, Progress)]
    assert said == [Progress(0.25, "a quarter"), Progress(1.0, ""), Progress(None, "who knows")]


def test_a_process_sees_the_real_package_and_all_of_it(tmp_path: Path) -> None:
    source = """
def looks():
    import sys
    import pixirnb
    import pixirnb.machine.retry
    from pixirnb.runners.processes import reaper
    from pixirnb.runners.python import progress as reporter
    return [
        pixirnb.__file__,
        pixirnb.runners.__file__,
        pixirnb.Cannot.__module__,
        sys.modules["pixirnb.runners.python.progress"] is reporter,
    ]
"""
    package = Path(progress.__file__).parents[1]
    seen = value_of(perform(":looks", tmp_path, process=True, source=source)[0])
    assert seen == [
        str(package.parent / "__init__.py"),
        str(package / "__init__.py"),
        "pixirnb.errors",
        True,
    ]


def test_an_exception_whose_class_hides_its_name_is_described() -> None:
    class Nameless(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            raise RuntimeError from None

    class Odd(Exception, metaclass=Nameless):
        pass

    assert functions.failure_of(Odd("x")).details["type"] == "Odd"


@BOTH
def test_a_message_of_progress_is_plain_text_whatever_its_class_says(
    process: bool, tmp_path: Path
) -> None:
    source = """
        import pixirnb
        class Label(str):
            def __str__(self): return self
            def __getitem__(self, key): return 5
        def labelled():
            pixirnb.progress(0.5, Label("half"))
    """
    _, rehearsal = perform(":labelled", tmp_path, process=process, source=source)
    [said] = [event.message for event in rehearsal.events if isinstance(event, Progress)]
    assert (type(said), said) == (str, "half")


def test_progress_outside_a_step_does_nothing() -> None:
    progress.progress(0.5, "nobody listens")


def test_a_process_has_its_own_directory_environment_and_session(tmp_path: Path) -> None:
    ended, rehearsal = perform(":where", tmp_path, process=True)
    pid, session = value_of(ended)
    assert rehearsal.events[0] == Started(pid)
    assert session == pid
    directory, mode, _ = value_of(perform(":place", tmp_path, process=True)[0])
    assert (directory, mode) == (str(tmp_path.resolve()), "test")


def test_a_coroutine_may_run_a_loop_of_its_own_in_a_process_only(tmp_path: Path) -> None:
    assert value_of(perform(":nests", tmp_path, process=True)[0]) == "inner"
    ended, _ = perform(":nests", tmp_path)
    assert ended.error_kind == "exception"
    assert "nest_asyncio" not in sys.modules


@pytest.mark.parametrize(("call", "value"), [(":spawns", [1]), (":forks", [1, 2])])
def test_a_process_may_start_workers(call: str, value: list[int], tmp_path: Path) -> None:
    assert value_of(perform(call, tmp_path, process=True)[0]) == value


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (":says_nothing", "said nothing"),
        (":says_it_elsewhere", "said elsewhere"),
        (":many_digits", 10**5000),
    ],
    ids=["nothing", "elsewhere", "digits"],
)
def test_what_a_function_changes_in_its_process_takes_no_value_away(
    call: str, value: Any, tmp_path: Path
) -> None:
    assert value_of(perform(call, tmp_path, process=True)[0]) == value


def test_a_process_that_leaves_without_a_value_has_failed(tmp_path: Path) -> None:
    ended, _ = perform(":dies", tmp_path, process=True)
    assert (ended.status, ended.error_kind, ended.exit_code) == ("failed", "exit", 0)


def test_an_argument_that_cannot_travel_is_told(tmp_path: Path) -> None:
    ended, _ = perform(":add", tmp_path, process=True, a=threading.Lock())
    assert (ended.status, ended.error_kind) == ("failed", "spawn_failed")


TALKS = """
def talks(started, go_on):
    import sys
    print("from the step")
    sys.stdout.write("no newline")
    sys.stdout.buffer.write(b"")
    print("trouble", file=sys.stderr)
    started.set()
    go_on.wait(20)
    print("late")
    return "done"
"""


def test_a_threads_output_is_the_steps_and_everybody_elses_is_their_own(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> tuple[Rehearsal, str]:
        started, go_on = threading.Event(), threading.Event()
        work = PythonWork(":talks", {"started": started, "go_on": go_on}, TALKS, False)
        rehearsal = Rehearsal(work, tmp_path)
        cell = io.StringIO()
        with contextlib.redirect_stdout(cell):
            async with anyio.create_task_group() as group:
                group.start_soon(PythonRunner(supervisor).perform, rehearsal.job())
                await anyio.to_thread.run_sync(started.wait)
                print("from the cell")
                go_on.set()
            print("after")
            assert sys.stdout is cell
        return rehearsal, cell.getvalue()

    rehearsal, cell = on_a_loop(story)
    assert rehearsal.text("stdout") == "from the step\nno newlinelate\n"
    assert rehearsal.text("stderr") == "trouble\n"
    assert cell == "from the cell\nafter\n"


def test_a_stream_put_on_top_while_a_step_runs_is_respected(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> None:
        started, go_on = threading.Event(), threading.Event()
        work = PythonWork(":talks", {"started": started, "go_on": go_on}, TALKS, False)
        before = sys.stdout
        async with anyio.create_task_group() as group:
            group.start_soon(PythonRunner(supervisor).perform, Rehearsal(work, tmp_path).job())
            await anyio.to_thread.run_sync(started.wait)
            below, top = sys.stdout, io.StringIO()
            sys.stdout = top
            go_on.set()
        assert sys.stdout is top
        sys.stdout = below
        print("passed on to whatever was there before")
        sys.stdout = before

    on_a_loop(story)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("reason", [None, "cancelled"])
def test_a_thread_that_ends_without_a_word_has_ended(
    reason: StopReason | None, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        threading.settrace(None)
        raise SystemExit  # as a debugger that quits, and prints nothing

    async def story(supervisor: Supervisor) -> Ended:
        rehearsal = Rehearsal(PythonWork(":add", {"a": 1}, SOURCE, False), tmp_path)
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(await PythonRunner(supervisor).perform(rehearsal.job()))

        threading.settrace(refuse)
        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await wait_until(lambda: bool(rehearsal.events))
            if reason is not None:
                rehearsal.stop.set(reason)
        return ends[0]

    ended = on_a_loop(story)
    assert ended.status == (reason or "failed")
    assert ended.error_kind == (None if reason else "lost")


def test_a_stopped_thread_is_detached_at_once_and_says_when_it_returns(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> None:
        started, go_on = threading.Event(), threading.Event()
        work = PythonWork(":talks", {"started": started, "go_on": go_on}, TALKS, False)
        rehearsal = Rehearsal(work, tmp_path, grace_s=1000)
        ends: list[Ended] = []

        async def go() -> None:
            ends.append(await PythonRunner(supervisor).perform(rehearsal.job()))

        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await anyio.to_thread.run_sync(started.wait)
            rehearsal.stop.set("timed_out")
        assert (ends[0].status, ends[0].details) == ("detached", {"reason": "timed_out"})
        assert rehearsal.returned == []
        events = list(rehearsal.events)
        go_on.set()
        await wait_until(lambda: bool(rehearsal.returned))
        assert rehearsal.events == events

    on_a_loop(story)


def test_a_thread_that_nothing_could_end_says_how_long_it_took(tmp_path: Path) -> None:
    source = "import time\ndef naps():\n    time.sleep(0.2)"

    async def story(supervisor: Supervisor) -> list[int | None]:
        runner, job = (
            PythonRunner(supervisor),
            Rehearsal(PythonWork(":naps", {}, source, False), tmp_path).job(),
        )
        return [
            (await runner.perform(replace(job, limit_s=limit_s))).overdue_ms
            for limit_s in (0.05, 60.0, None)
        ]

    late, *others = on_a_loop(story)
    assert late is not None
    assert late >= 200
    assert others == [None, None]


def test_a_detached_thread_that_outlives_its_loop_still_says_when_it_returns(
    tmp_path: Path,
) -> None:
    started, go_on = threading.Event(), threading.Event()

    async def story(supervisor: Supervisor) -> Rehearsal:
        work = PythonWork(":talks", {"started": started, "go_on": go_on}, TALKS, False)
        rehearsal = Rehearsal(work, tmp_path)
        await rehearsal.stopped_by(
            PythonRunner(supervisor), "cancelled", lambda so_far: bool(so_far.events)
        )
        return rehearsal

    rehearsal = on_a_loop(story)
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "pixirnb step.1":
            thread.join(20)
    assert len(rehearsal.returned) == 1


def test_a_thread_that_never_returns_does_not_keep_the_interpreter_alive(tmp_path: Path) -> None:
    program = """
import anyio, sys
from pathlib import Path
from pixirnb.protocols.work import PythonWork
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.testing.contracts.runner import Rehearsal, on_a_loop

async def story(supervisor):
    rehearsal = Rehearsal(PythonWork(":f", {}, "def f():\\n import time\\n time.sleep(600)", False), Path("."))
    ended = await rehearsal.stopped_by(PythonRunner(supervisor), "cancelled", lambda so_far: bool(so_far.events))
    print(ended.status)

on_a_loop(story)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "detached\n", "")


def test_no_supervisor_is_started_for_a_thread(tmp_path: Path) -> None:
    async def story(supervisor: Supervisor) -> int | None:
        work = PythonWork(":add", {"a": 1}, SOURCE, False)
        await PythonRunner(supervisor).perform(Rehearsal(work, tmp_path).job())
        return supervisor.pid

    assert on_a_loop(story) is None


def test_a_thread_that_prints_without_end_is_slowed_down_and_not_stored(tmp_path: Path) -> None:
    source = "def f():\n    for n in range(20_000):\n        print(n)\n"
    _, rehearsal = perform(":f", tmp_path, source=source)
    assert rehearsal.text().split() == [str(n) for n in range(20_000)]


def test_a_thread_that_reports_while_the_loop_stands_still_waits_at_a_megabyte(
    tmp_path: Path,
) -> None:
    source = """
import pixirnb

def f(made):
    for number in range(1000):
        pixirnb.progress(0.5, chr(0x1F600) * 2000)
        made.append(number)
"""
    made: list[int] = []
    at_rest: list[int] = []

    async def story(supervisor: Supervisor) -> None:
        def emit(event: RunnerEvent) -> None:
            if isinstance(event, Progress) and not at_rest:
                at_rest.append(-1)
                while len(made) != at_rest[-1]:  # the loop stands still until the thread does
                    at_rest.append(len(made))
                    time.sleep(0.3)

        work = PythonWork(":f", {"made": made}, source, process=False)
        job = replace(Rehearsal(work, tmp_path, env={}).job(), emit=emit)
        assert (await PythonRunner(supervisor).perform(job)).status == "completed"

    on_a_loop(story)
    assert at_rest[-1] < 400
    assert len(made) == 1000


def test_printing_while_steps_come_and_go_does_no_harm(tmp_path: Path) -> None:
    program = """
import sys, threading
from pixirnb.runners.python.thread_output import own_output
over = threading.Event()
def go():
    while not over.is_set():
        print(*range(50))
threads = [threading.Thread(target=go) for _ in range(3)]
for thread in threads:
    thread.start()
sys.setswitchinterval(1e-6)
for _ in range(20_000):
    with own_output(lambda name, data: None):
        pass
over.set()
"""
    here = str(Path(progress.__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": here},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0
