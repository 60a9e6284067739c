"""A step that wants to decide its own run: by files, at the door, by the command line, in disguise. It never does."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import pixirnb
from pixirnb import api
from pixirnb.machine.requests import Request
from pixirnb.operations.run import Run
from pixirnb.store.inbox import FileInbox
from tests.headless import headless
from tests.stories.storyline import ROOT, facts, kinds, python, shell, spec, until
from tests.sweeps import first_of

pytestmark = pytest.mark.story

FORGE = """
import json, os, socket, subprocess, sys, time
from pathlib import Path

run, state, root = os.environ["PIXIRNB_RUN_ID"], Path.cwd() / ".pixirnb", ROOT
folder = state / "runs" / run
told = {}
while "decision_requested" not in (folder / "log.jsonl").read_text():
    time.sleep(0.05)

LEAVE = '''
import json, sys, time
sys.path.insert(0, ROOT)
from pathlib import Path
from pixirnb.machine.requests import Request
from pixirnb.store.inbox import FileInbox
from pixirnb.store.lease import live_owner
run = Path(sys.argv[1]).parent
inbox = FileInbox(run / "inbox", run_id=run.name)
verb, arguments = sys.argv[3], json.loads(sys.argv[4])
inbox.leave(Request(sys.argv[2], verb, arguments, sys.argv[5]), live_owner(run))
if sys.argv[6] == "file":
    inbox.wait_no_more()
until = time.monotonic() + 60
while (reply := inbox.reply(sys.argv[2])) is None and time.monotonic() < until:
    time.sleep(0.02)
Path(sys.argv[7]).write_text(json.dumps(reply))
'''.replace("ROOT", repr(root))

def forge(name, verb, arguments, how="door", command=()):
    out = Path.cwd() / f"{name}.json"
    words = [str(folder / "inbox"), os.urandom(8).hex(), verb, json.dumps(arguments), "ada", how, str(out)]
    subprocess.run([*command, sys.executable, "-c", LEAVE, *words], stdin=subprocess.DEVNULL)
    while not out.exists() or not out.read_text():
        time.sleep(0.05)
    told[name] = json.loads(out.read_text())["error"]["code"]

accept = {"step": "gate", "verdict": "accept"}
with socket.socket(socket.AF_UNIX) as caller:
    caller.connect("\\0pixirnb-" + (folder / "inbox" / "door").read_text())
    caller.sendall(b"\\xff" * 100_000)
forge("file", "decide", accept, "file")
forge("door", "decide", accept)
forge("cancel", "cancel", {"how": "cancel"})
forge("cancel_file", "cancel", {"step": "gate"}, "file")
# No environment, a session of its own, its parents gone.
forge("disguised", "decide", accept, "door", ["env", "-i", "sh", "-c", '(setsid "$0" "$@" &) &'])

def cli(name, *words, command=()):
    done = subprocess.run([*command, sys.executable, "-m", "pixirnb", *words, "--state", str(state), "--json"],
        capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": root})
    told[name] = json.loads(done.stdout)["error"]["code"]

cli("cli", "decide", run, "gate", "accept")
cli("cli_cancel", "cancel", run)
cli("cli_disguised", "decide", run, "gate", "accept", command=["env", "-i", "PYTHONPATH=" + root, "setsid", "--wait"])
Path("told.json").write_text(json.dumps(told))
""".replace("ROOT", repr(str(ROOT)))


def test_an_agent_that_forges_requests_decides_and_ends_nothing_of_its_own_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "forge.py").write_text(FORGE)
    agent = {"runner": "cli", "command": [sys.executable, "forge.py"], "posture": "writer"}
    forger = {"id": "forger", "task": "Wait.", "agent": "f", "workspace": "shared"}
    gate = {"id": "gate", "ask": {"question": "May it go on?"}}
    run = api.start(spec(gate, forger, agents={"f": agent}), workspace=tmp_path)
    run.wait()
    assert (tmp_path / "told.json").exists(), run.output("forger")
    assert json.loads((tmp_path / "told.json").read_text()) == {
        "file": "sender_unproven",
        "door": "approval_by_agent",
        "cancel": "cancel_by_step",
        "cancel_file": "sender_unproven",
        "disguised": "approval_by_agent",
        "cli": "approval_by_agent",
        "cli_cancel": "cancel_by_step",
        "cli_disguised": "approval_by_agent",
    }
    assert "decision_recorded" not in kinds(run)
    assert run.outcome.status == "needs_orchestrator"
    assert not {reason["code"] for reason in run.outcome.reasons} & {"cancelled", "interrupted"}


DECIDE = """
def decide():
    import os, pixirnb
    from pixirnb.errors import PixirnbError
    told = {}
    for name in os.listdir(".pixirnb/runs"):
        run = pixirnb.open_run(name)
        asks = {
            "decide": lambda: run.decide("gate", "accept"),
            "decide by": lambda: run.decide("gate", "accept", by="alice", resume=False),
            "decide by an agent": lambda: run.decide("gate", "reject", by="agent a.1 of r", take_over=True),
            "accept": lambda: run.accept("gate"),
            "reject": lambda: run.reject("gate"),
            "approve": lambda: run.approve("r/a.1.1"),
            "deny": lambda: run.deny("r/a.1.1", resume=False),
            "merge": lambda: run.merge(),
            "undo": lambda: run.merge(undo=True, preview=True),
            "cancel": lambda: run.cancel(),
            "drain": lambda: run.cancel(drain=True, take_over=True),
            "cancel a step": lambda: run.cancel("gate"),
            "interrupt": lambda: run.interrupt(),
        }
        for word, ask in asks.items():
            try:
                ask()
                told[f"{name} {word}"] = "done"
            except PixirnbError as error:
                told[f"{name} {word}"] = error.code
        run.checkpoint("mark")
    return told
"""
ANSWERS = ["decide", "decide by", "decide by an agent", "accept", "reject", "approve", "deny"]
STOPS = ["cancel", "drain", "cancel a step", "interrupt"]


@pytest.mark.parametrize("is_process", [False, True], ids=["thread", "process"])
def test_a_step_answers_and_stops_nothing_of_its_own_run_or_of_a_parked_one(
    is_process: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gate = {"id": "gate", "ask": {"question": "Go?"}}
    parked = api.start(spec(gate))
    parked.wait()
    liar = {"id": "liar", "call": ":decide", "process": is_process}
    run = api.start(spec(gate, liar), functions={":decide": DECIDE})
    run.wait()
    refused = dict.fromkeys([*ANSWERS, "merge", "undo"], "approval_by_agent")
    assert run.value("liar") == {
        **{f"{parked.id} {word}": code for word, code in refused.items()},
        **{f"{run.id} {word}": code for word, code in refused.items()},
        **{f"{parked.id} {word}": "not_live" for word in STOPS},
        **{f"{run.id} {word}": "cancel_by_step" for word in STOPS},
    }
    for asked, sender in ((parked, "other_step"), (run, "own_step")):
        assert facts(asked, "decision_recorded") == []
        assert asked.outcome.status == "needs_orchestrator"
        [marked] = [each for each in facts(asked, "checkpoint_saved") if each["name"] == "mark"]
        assert marked["sender"] == sender


NESTED = """
from pixirnb import api
from pixirnb.errors import Cannot

def cancel(run):
    try:
        api.open_run(run).cancel()
    except Cannot as error:
        return error.code

def nest(run):
    step = {"id": "x", "call": ":cancel", "with": {"run": run}}
    below = api.start({"name": "below", "steps": [step]}, functions={":cancel": SOURCE})
    below.wait()
    return below.value("x")
"""


def test_a_step_cancels_its_own_run_by_no_run_that_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    liar = {"id": "liar", "call": ":nest", "with": {"run": "{{ run.id }}"}}
    source = NESTED.replace("SOURCE", repr(NESTED))
    run = api.start(spec(liar, shell("other", "sleep 0.5")), functions={":nest": source})
    assert run.wait().status == "completed"
    assert run.value("liar") == "cancel_by_step"


def test_a_file_that_names_a_neighbour_that_is_none_warns_of_nothing(tmp_path: Path) -> None:
    writer = {"id": "w", "run": "true", "write_set": ["out/**"]}
    over = api.start(spec(writer), workspace=tmp_path)
    over.wait()
    parked = api.start(spec(writer, {"id": "q", "ask": {"question": "Go?"}}), workspace=tmp_path)
    parked.wait()
    (tmp_path / "elsewhere").mkdir()
    held = {"id": "w", "run": "until test -e go; do sleep 0.02; done", "write_set": ["out/**"]}
    state = tmp_path / ".pixirnb"
    elsewhere = api.start(spec(held), workspace=tmp_path / "elsewhere", state=state)
    run = api.start(spec(held), workspace=tmp_path)
    until(lambda: "attempt_started" in kinds(run) and "attempt_started" in kinds(elsewhere))
    inbox = FileInbox(run.folder / "inbox")
    named = [over.id, parked.id, elsewhere.id, run.id, "r-20200101-000000-aaaaaa", "../x", None]
    for number, other in enumerate(named):
        verb, said = "neighbour", {"run_id": other}
        inbox.leave(Request(f"{number:016x}", verb, said, "x", is_awaited=False))
    inbox.leave(Request("f" * 16, "checkpoint", {"name": "last"}, "x", is_awaited=False))
    until(lambda: facts(run, "checkpoint_saved"))
    assert facts(run, "warning_raised") == []
    # The log tells of the last request before its file goes.
    until(lambda: not list((run.folder / "inbox").glob("*.taken")))
    for folder in (tmp_path, tmp_path / "elsewhere"):
        (folder / "go").touch()
    assert run.wait().warnings == []
    elsewhere.wait()


UNMARKED = """
def unmarked():
    import os, subprocess, sys, time
    run, told = os.listdir(".pixirnb/runs")[0], os.path.abspath("told.json")
    path = ":".join(each for each in sys.path if each)
    words = f"{sys.executable} -m pixirnb decide {run} gate accept --no-resume --json > {told}.new 2>&1"
    worn = "PIXIRNB_STEP=r-20200101-000000-aaaaaa/x.1"
    words = f"{words}; {worn} {sys.executable} -m pixirnb cancel {run} --json > cancel.json 2>&1; mv {told}.new {told}"
    bare = ["env", "-i", f"PYTHONPATH={path}", f"HOME={os.environ['HOME']}", "PATH=/usr/bin:/bin"]
    leave = ["setsid", "-f", "bash", "-c", f"exec < /dev/null > /dev/null 2>&1; ulimit -S -x unlimited; {words}"]
    subprocess.run([*bare, *leave])
    while not os.path.exists(told):
        time.sleep(0.02)
    return "heard"
"""


def test_what_a_step_in_a_thread_started_and_hid_entirely_does_not_speak_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gate = {"id": "gate", "ask": {"question": "Go?"}}
    run = api.start(
        spec(gate, {"id": "liar", "call": ":unmarked"}), functions={":unmarked": UNMARKED}
    )
    run.wait()
    assert run.value("liar") == "heard"
    for told in ("told.json", "cancel.json"):
        assert json.loads(Path(told).read_text())["error"]["code"] == "sender_unproven"
    assert facts(run, "decision_recorded") == []


HIDES = """
import os, resource, sys
hard = resource.getrlimit(10)[1]
resource.setrlimit(10, (0, hard if sys.argv[1] == "kept" else 5))  # the mark off
words = [sys.executable, "-m", "pixirnb", "decide", *sys.argv[2:], "gate", "accept", "--no-resume", "--json"]
os.execve(sys.executable, words, {k: os.environ[k] for k in ("HOME", "PATH", "PYTHONPATH")})  # the tag off
"""


@pytest.mark.parametrize("limit", ["kept", "lowered"])
def test_a_step_that_hides_in_a_namespace_of_its_own_does_not_speak_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    parked = api.run(spec({"id": "gate", "ask": {"question": "Go?"}}))
    Path("hides.py").write_text(HIDES)
    hides = f"{sys.executable} hides.py {limit} {parked.run_id} --state .pixirnb"
    # Where the system allows no namespace, no step can hide in one.
    apart = "unshare -Ur --pid --fork --mount-proc"
    api.run(spec(shell("liar", f"{apart} true && w='{apart}'; $w {hides} > told.json; true")))
    assert json.loads(Path("told.json").read_text())["error"]["code"] == "approval_by_agent"
    assert facts(api.open_run(parked.run_id), "decision_recorded") == []


ADOPTS = """
import ctypes, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))
"""


def test_below_a_subreaper_it_does_not_either(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(UNMARKED)
    gate = {"id": "gate", "ask": {"question": "Go?"}}
    (tmp_path / "w.yaml").write_text(json.dumps(spec(gate, {"id": "liar", "call": "m:unmarked"})))
    run = python("-c", ADOPTS, "-m", "pixirnb", "run", "w.yaml", cwd=tmp_path)
    _, err = run.communicate()
    code = json.loads((tmp_path / "told.json").read_text())["error"]["code"]
    assert code == "sender_unproven", err
    [folder] = (tmp_path / ".pixirnb" / "runs").iterdir()
    assert "decision_recorded" not in kinds(api.open_run(folder))


WEARS = """
import json, os, subprocess, sys
from pathlib import Path

def called(tag, *calls):
    env = {**os.environ, "PIXIRNB_STEP": tag, "PYTHONPATH": ROOT}
    command = [sys.executable, "-m", "pixirnb", "mcp", "--permission", "auto", "--state", os.environ["PIXIRNB_STATE"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True) as server:
        def say(method, **words):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **words}) + "\\n")
            server.stdin.flush()
        def ask(method, **params):
            say(method, id=1, params=params)
            while "id" not in (told := json.loads(server.stdout.readline())):
                pass
            return told["result"]
        ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
        say("notifications/initialized")
        told = [ask("tools/call", name=name, arguments=words)["structuredContent"] for name, words in calls]
        server.stdin.close()
    return told

own, note = os.environ["PIXIRNB_STEP"], Path(os.environ["PIXIRNB_WORKSPACE"], "children.json")
step, attempt = own.rpartition("/")[2].rsplit(".", 1)
asks = {"workflow": {"name": "asks", "steps": [{"id": "q", "ask": {"question": "Ship it?"}}]}}
decide = lambda run: ("decide_step", {"run_id": run, "step": "q", "verdict": "accept"})
if step == "x" and attempt == "1":
    told = called(own, ("run_workflow", asks), ("run_workflow", asks))
    note.write_text(json.dumps([each["run_id"] for each in told]))
    sys.exit(1)
first, second = json.loads(note.read_text())
if step == "x":
    print(called(own, decide(first))[0]["status"])
else:
    told = called(own.replace("/z.", "/x."), decide(second), ("run_workflow", asks))
    print(told[0]["error"]["code"], told[1]["run_id"])
""".replace("ROOT", repr(str(Path(pixirnb.__file__).parents[1])))


def test_a_step_that_wears_anothers_tag_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "wears.py").write_text(WEARS)
    command = [sys.executable, "wears.py"]
    x = {"id": "x", "run": command, "retry": {"max_attempts": 2, "delay": 0}}
    run = api.start(spec(x, {"id": "z", "run": command, "depends_on": ["x"]}), workspace=tmp_path)
    assert run.wait().ok
    assert run.output("x").strip() == "completed", "its next attempt decides what it delegated"
    code, delegated = run.output("z").split()
    assert code == "decision_by_agent"
    parent = api.open_run(delegated, workspace=tmp_path).state.parent
    assert parent is not None
    assert parent["step"] == "z"
    _, second = json.loads((tmp_path / "children.json").read_text())
    assert facts(api.open_run(second, workspace=tmp_path), "decision_recorded") == []


SECRET = "hunter2-abcdef-99"


def test_a_secret_that_was_not_passed_is_masked_where_it_turns_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOX_TOKEN", SECRET)
    (tmp_path / "found.txt").write_text(f"token={SECRET}\n")
    agent = {"runner": "cli", "command": ["sh", "-c", "cat found.txt"], "posture": "read_only"}
    look = {"id": "look", "task": "Look.", "agent": "a", "workspace": "shared"}
    run: Run = api.start(spec(look, agents={"a": agent}), workspace=tmp_path)
    run.wait()
    assert "token=***" in run.output("look")
    until(lambda: not run.is_live_here)
    kept = [p for p in (tmp_path / ".pixirnb").rglob("*") if p.is_file()]
    assert [p for p in kept if SECRET.encode() in p.read_bytes()] == []


DECIDES = """
import os, subprocess, sys

ASK = [sys.executable, "-m", "pixirnb", "decide", RUN, "q", "accept", "--no-resume", "--json"]

def emptied():
    kept = [f"{name}={os.environ[name]}" for name in ("PATH", "PYTHONPATH", "HOME")]
    return subprocess.run(["env", "-i", *kept, *ASK], capture_output=True, text=True).stdout

def headless():
    code = f"import subprocess; print(subprocess.run({ASK!r}, env={{}}, capture_output=True, text=True).stdout, flush=True)"
    return subprocess.run(HEADLESS + [code], capture_output=True, text=True).stdout

def forked():
    import multiprocessing
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        return pool.map(asks, [ASK])[0]

def asks(words):
    return subprocess.run(words, capture_output=True, text=True).stdout
"""


@pytest.mark.parametrize("way", first_of(["headless", "emptied", "forked"], 2))
def test_what_a_step_starts_decides_no_other_run_either(way: str, tmp_path: Path) -> None:
    parked = api.start(spec({"id": "q", "ask": {"question": "Ship?"}}), workspace=tmp_path)
    parked.wait()
    (tmp_path / "m.py").write_text(
        DECIDES.replace("RUN", repr(parked.id)).replace("HEADLESS", repr(headless("")[:-1]))
    )
    step = {"id": "a", "call": f"m:{way}", "output": {"type": "string"}}
    (tmp_path / "w.yaml").write_text(json.dumps(spec(step)))
    out, err = python("-m", "pixirnb", "run", "w.yaml", "--json", cwd=tmp_path).communicate()
    run = api.open_run(json.loads(out)["run_id"], workspace=tmp_path)
    assert json.loads(run.value("a"))["error"]["code"] == "approval_by_agent", err
    assert "decision_recorded" not in kinds(api.open_run(parked.id, workspace=tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "printf '%s' $BOX_TOKEN | iconv -t UTF-16LE",
        "printf 'hunter2\\000%s' ${BOX_TOKEN#hunter2}",
        "printf 'hunter2|\\b%s' ${BOX_TOKEN#hunter2}",
        "echo 1 > $BOX_TOKEN.txt",
    ],
    ids=["wide", "NUL", "spinner", "name"],
)
def test_a_secret_is_not_in_the_log_whatever_stands_between_its_letters(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOX_TOKEN", SECRET)
    run = api.start(spec({"id": "a", "run": text, "artifacts": ["*.txt"]}), workspace=tmp_path)
    assert run.wait().ok
    assert SECRET not in (run.folder / "log.jsonl").read_text()


def test_a_secret_that_a_step_gets_while_it_runs_is_not_in_the_log(tmp_path: Path) -> None:
    source = f"""
        import os
        def login():
            os.environ["SERVICE_API_KEY"] = key = "{SECRET[:5]}" + "{SECRET[5:]}"
            print("logged in with", key)
            return "logged in with " + key
    """
    step = {"id": "a", "call": ":login"}
    run = api.start(spec(step), workspace=tmp_path, functions={":login": source})
    assert run.wait().ok
    del os.environ["SERVICE_API_KEY"]  # later tests have this environment
    assert run.value("a") == "logged in with ***"
    for file in ("log.jsonl", "output/a.1.log"):
        assert SECRET not in (run.folder / file).read_text()


def test_a_secret_of_several_lines_is_one_in_a_terminal_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOX_KEY", "-----BEGIN\nqwertyLINE1\nJx7w==")
    command = ["sh", "-c", ': {prompt_file}; echo "$BOX_KEY"']
    agent = {"runner": "pty", "command": command, "pass_env": ["BOX_KEY"], "posture": "read_only"}
    run = api.start(
        spec({"id": "a", "task": "x", "agent": "p"}, agents={"p": agent}), workspace=tmp_path
    )
    run.wait()
    assert "***" in run.output("a")
    assert "qwertyLINE1" not in run.output("a")
    assert "Jx7w==" not in run.output("a")
