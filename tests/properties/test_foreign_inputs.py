"""Whatever a stranger's spec or log says: a stable code, or an answer; never a traceback, and never an internal error."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import pixirnb
from pixirnb.cli.app import perform
from pixirnb.errors import InternalError, PixirnbError
from pixirnb.history.codec import GENESIS, decode_lines, encode
from pixirnb.history.events import Event
from pixirnb.history.run_state import fold
from pixirnb.operations.fork_data import undone_since
from pixirnb.operations.resume_plan import pinned_plan
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.verbs.activity import step_activity
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.live.scene import scene
from pixirnb.views.live.tape import Tape
from pixirnb.views.session.session_view import session_blocks
from tests.sweeps import examples

SPEC: dict[str, Any] = {
    "name": "w",
    "inputs": {"n": {"type": "integer", "default": 3}},
    "repos": {"there": "."},
    "agents": {"echo": {"kind": "scripted"}},
    "defaults": {"timeout": "5m", "retry": {"max_attempts": 2}},
    "steps": [
        {"id": "a", "run": "echo {{ inputs.n }}", "output": {"type": "object"}, "artifacts": ["*"]},
        {"id": "b", "task": "do", "agent": "echo", "depends_on": ["a"], "write_set": ["src/**"]},
        {
            "id": "c",
            "call": "json:dumps",
            "with": {"obj": "{{ steps.a.output }}"},
            "verify": [{"file_exists": "x"}, {"output_matches": "a+"}],
        },
    ],
}
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([10**400, -(2**63), 1e308, "", " ", "\ud800", "\0", "../..", "é", "{{ x }}"])
    | st.sampled_from(["repos.x:y", "{a,{b", "(" * 3000, "a{99999999999}", "0x" + "f" * 5000])
    | st.text(max_size=6)
    | st.lists(st.none() | st.integers() | st.text(max_size=3), max_size=2)
    | st.dictionaries(
        st.sampled_from(["$blob", "code", "step", "id", "é"]),
        st.integers() | st.text(max_size=3) | st.lists(st.none(), max_size=1),
        max_size=2,
    )
)
BOUNDED = settings(
    max_examples=32,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # a smaller case is no clearer here, and takes minutes to find
)


def is_json(value: Any) -> bool:
    """Whether a log can hold it: no half of a character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, ValueError):
        return False
    return True


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value but the whole."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in inside:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with another at one place; without that place for `...`."""
    whole = inner = copy.deepcopy(value)
    for key in path[:-1]:
        inner = inner[key]
    if new is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return whole


def judged(read: Callable[[Any], object], source: Any) -> None:
    try:
        read(source)
    except PixirnbError as error:
        refused = error
    else:
        return
    assert not isinstance(refused, InternalError)
    assert refused.code
    assert str(refused).encode()


@given(st.sampled_from(list(places(SPEC))), VALUES)
@settings(BOUNDED, max_examples=examples(50))
def test_a_spec_of_any_shape_is_read_or_refused_with_a_code(
    path: tuple[Any, ...], new: Any
) -> None:
    spec = changed(SPEC, path, new)
    judged(pixirnb.load, spec)
    judged(pixirnb.plan, spec)
    judged(pixirnb.plan, yaml.safe_dump(spec))


@given(st.integers(0, 600), st.text("{}[],:&*!|>-'\"#% \n\ta0\ud800\0", max_size=5))
@settings(BOUNDED, max_examples=examples(150))
def test_a_text_of_any_shape_is_read_or_refused_with_a_code(at: int, more: str) -> None:
    text = yaml.safe_dump(SPEC)
    judged(pixirnb.plan, text[:at] + more + text[at:])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one run of an isolated step, an agent, a retry, a check that fails and a merge."""
    home = tmp_path_factory.mktemp("home")
    script = [
        {"tool": "t", "args": {"x": 1}, "result": "y"},
        {"say": "half"},
        {"report": {"checkpoint_status": "partial"}},
    ]
    spec = {
        "name": "w",
        "agents": {"echo": {"runner": "scripted", "script": {"d": [script]}}},
        "steps": [
            {"id": "d", "task": "do", "agent": "echo", "posture": "read_only"},
            {"id": "a", "run": "echo x > x.txt; echo '{\"k\": 1}'", "workspace": "isolated",
             "output": {"type": "object"}, "artifacts": ["x.txt"]},
            {"id": "m", "merge": ["a"], "depends_on": ["a"]},
            {"id": "b", "run": "false", "verify": [{"file_exists": "x"}],
             "retry": {"max_attempts": 2, "delay": "10ms"}},
            {"id": "c", "ask": {"question": "well?"}, "depends_on": ["m"]},
        ],
    }  # fmt: skip
    pixirnb.run(spec, workspace=home)
    return home


@pytest.mark.parametrize("log", ["log.jsonl", "sessions/d.1.jsonl"])
@given(st.data())
@BOUNDED
def test_a_log_of_any_shape_is_shown_or_refused(home: Path, log: str, data: st.DataObject) -> None:
    (run,) = (home / ".pixirnb" / "runs").glob("r-*")
    events = decode_lines((run / log).read_bytes()).events
    one = data.draw(st.sampled_from([event for event in events if event.data]))
    path = data.draw(st.sampled_from(list(places(one.data))))
    with forged(run / log, one, path, data.draw(VALUES.filter(is_json) | st.just(...))):
        asked(home, run.name)


@pytest.mark.parametrize(
    ("kind", "key"), [("decision_requested", "reason"), ("subagent_event", "event")]
)
def test_a_word_that_is_no_text_is_shown_or_refused(home: Path, kind: str, key: str) -> None:
    (run,) = (home / ".pixirnb" / "runs").glob("r-*")
    events = decode_lines((run / "log.jsonl").read_bytes()).events
    one = next(event for event in events if event.kind == kind)
    with forged(run / "log.jsonl", one, (key,), {}):
        asked(home, run.name)


@contextlib.contextmanager
def forged(file: Path, one: Event, path: tuple[Any, ...], new: Any) -> Iterator[None]:
    """A log with another value at one place of one of its events; its chain holds."""
    kept = file.read_bytes()
    lines, chain = [], GENESIS
    for event in decode_lines(kept).events:
        is_told = event.seq == one.seq
        data = changed(event.data, path, new) if is_told else event.data
        line, chain = encode(Event(event.seq, event.at, event.kind, data), chain)
        lines.append(line)
    try:
        file.write_bytes(b"".join(lines))
        yield
    finally:
        file.write_bytes(kept)


@pytest.mark.parametrize("new", [..., []], ids=["left out", "a list"])
def test_an_event_without_the_shape_of_its_kind_is_ignored_by_all_that_read_events(
    home: Path, new: Any
) -> None:
    (run,) = (home / ".pixirnb" / "runs").glob("r-*")
    firsts = {e.kind: e for e in reversed(decode_lines((run / "log.jsonl").read_bytes()).events)}
    del firsts["run_started"]  # without it there is no run
    for event in firsts.values():
        for key in event.data:
            with forged(run / "log.jsonl", event, (key,), new):
                record = pixirnb.open_run(run.name, workspace=home)
                events = record.history()
                step_activity(record, events)
                undone_since(events, events[:1])
                asked_only(home, ["doctor", run.name])


@given(
    st.sampled_from(["lease.json", "seal.json", "lock", "inbox/0.json"]),
    VALUES.filter(is_json) | st.just(...),
)
@settings(BOUNDED, max_examples=6)
def test_files_beside_a_log_of_any_shape_are_passed_over_or_refused(
    home: Path, name: str, value: Any
) -> None:
    (folder,) = (home / ".pixirnb" / "runs").glob("r-*")
    file = folder / name
    kept = file.read_bytes() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    try:
        file.write_bytes(b"\xff{" if value is ... else json.dumps(value).encode())
        asked(home, folder.name)
    finally:
        if kept is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(kept)


def asked(home: Path, run: str) -> None:
    """Have every verb that reads look at a run, and every picture be drawn."""
    for words in (
        ["show", run],
        ["show", run, "--json"],
        ["show", run, "b"],
        ["show", run, "--session", "d"],
        ["show", run, "--acp"],
        ["log", run],
        ["logs", run],
        ["watch", run],
        ["merge", run, "--preview"],
        ["runs"],
        ["doctor"],
        ["diff", run],
        ["compare", run, run],
        ["resume", run, "--dry-run"],
        ["export", run, "--to", str(home / "run.zip"), "--force"],
        ["export", run, "--to", str(home / "run.html"), "--html", "--force"],
    ):
        asked_only(home, words)
    judged(drawn, (home, run))


def asked_only(home: Path, words: list[str]) -> None:
    """Have one verb look at a run."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        perform([*words, "--state", str(home / ".pixirnb")])
    assert "Traceback" not in said.getvalue(), words
    assert "internal_error" not in said.getvalue(), words


def drawn(named: tuple[Path, str]) -> None:
    """What a notebook shows of a run: its HTML and its text, the conversation of its agent, the live graph and its tape."""
    opened = pixirnb.open_run(named[1], workspace=named[0])
    assert opened._repr_mimebundle_()
    assert str(opened.outcome)
    session = opened.session("d")
    assert str(session)
    assert draw_html(session_blocks(session.document()))
    events = [*opened.history()]
    plan = pinned_plan(fold(events))
    assert json.dumps(scene(named[1], plan, report(plan.workflow, Environment()).document()))
    tape = Tape(plan)
    tape.extend(events)
    assert json.dumps(tape.entries)
