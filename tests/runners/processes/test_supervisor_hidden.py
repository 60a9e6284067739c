"""What a step can read of the processes that watch it: no environment, though its own are found by their tags all the same.

Told by a process without privileges, as users are: root may read everything.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pixirnb
from pixirnb.runners.processes.supervisor import settings_of_python

ROOT = Path(pixirnb.__file__).parents[1]
"""Of the package under test, which may be a copy with a bug."""
UNPRIVILEGED = (
    "import ctypes, os, sys; drop = ctypes.CDLL(None).prctl; [drop(24, n, 0, 0, 0) for n in range(64)]; "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
STORY = textwrap.dedent("""
    import json, os, sys
    from pathlib import Path
    import anyio
    from pixirnb.runners.processes import orphans as processes
    from pixirnb.runners.processes.ancestry import sender, tag_of
    from pixirnb.runners.python.runner import PythonRunner
    from pixirnb.runners.shell import ShellRunner
    from pixirnb.runners.processes.supervisor import Supervisor
    from pixirnb.testing.contracts.runner import RUN_ID, Rehearsal
    from pixirnb.protocols.work import PythonWork, ShellWork

    READ = '''
    def look():
        import os
        def read(pid):
            try:
                return open(f"/proc/{pid}/environ", "rb").read().decode()
            except PermissionError:
                return "denied"
        above = os.getppid()
        over = int(open(f"/proc/{above}/stat").read().rpartition(")")[2].split()[1])
        return {"own": bool(read("self")), "reaper": read(above), "supervisor": read(over), "pids": [os.getpid(), above]}
    '''
    told = {}

    async def story():
        async with Supervisor() as supervisor:
            work = PythonWork(call=":look", arguments={}, source=READ, process=True)
            rehearsal = Rehearsal(work, Path.cwd())
            ended = await PythonRunner(supervisor).perform(rehearsal.job())
            told["look"] = None if ended.value is None else ended.value["value"]
            told["error"] = ended.message
            rehearsal = Rehearsal(ShellWork("sleep 600"), Path.cwd(), step="held")
            async with anyio.create_task_group() as group:
                group.start_soon(ShellRunner(supervisor).perform, rehearsal.job())
                while not rehearsal.events:
                    await anyio.sleep(0.02)
                found = processes.find_strays(RUN_ID)
                told["tags"] = [str(tag_of(pid)).rstrip("-").removeprefix(RUN_ID) for pid in found]
                told["senders"] = [sender(pid) for pid in found]
                rehearsal.stop.set("cancelled")
            told["left"] = processes.find_strays(RUN_ID)

    anyio.run(story)
    print(json.dumps(told))
""")


def test_neither_supervisor_nor_reaper_shows_what_was_not_passed(tmp_path: Path) -> None:
    env = {**os.environ, "BOX_TOKEN": "hunter2-abcdef", "PYTHONPATH": str(ROOT)}
    child = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, "-c", STORY],
        check=False,
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr
    told = json.loads(child.stdout)
    assert told["look"] is not None, told
    assert (told["look"]["reaper"], told["look"]["supervisor"]) == ("denied", "denied")
    assert told["look"]["own"]  # a function that was only forked may look at itself again
    assert set(told["tags"]) == {"/held.1"}
    assert len(told["tags"]) > 1  # its reaper, which hides, is among them
    assert set(told["senders"]) == {"own_step"}
    assert told["left"] == []


def test_of_an_environment_only_the_interpreters_own_is_passed_to_a_supervisor() -> None:
    own = {
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "1",
        "LD_LIBRARY_PATH": "/opt/lib",
        "LANG": "C",
    }
    others = {
        "BOX_TOKEN": "hunter2-abcdef",
        "HOME": "/srv/ada",
        "DATABASE_URL": "postgres://a:b@c",
        "PYTHON_KEYRING_PASSWORD": "hunter2-abcdef",
        "PIXIRNB_STEP": "r/a.1",
    }
    assert settings_of_python({**own, **others}) == own
