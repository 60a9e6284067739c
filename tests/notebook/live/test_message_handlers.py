"""A browser asks and wishes; the kernel answers each message, whatever it holds and wherever the run is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb import api, value_codec
from pixirnb.notebook.live.message_handlers import MessageHandlers
from pixirnb.operations.run import Run
from tests.stories.storyline import until
from tests.sweeps import examples

NUMBERS = "def numbers():\n    return {1: 'a', 2: 'b'}\n"
FRAME = (
    "def frame():\n    import pandas\n    return pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\n"
)
SPEC: dict[str, Any] = {
    "name": "asked",
    "steps": [
        {"id": "make", "run": "printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\n'"},
        {"id": "bad", "run": "echo oops; exit 3"},
        {"id": "after", "run": "true", "depends_on": ["bad"]},
        {"id": "numbers", "call": ":numbers", "posture": "read_only"},
        {"id": "frame", "call": ":frame", "posture": "read_only"},
        {"id": "gate", "ask": {"question": "Ship?", "choices": ["now", "later"]}},
        {"id": "ship", "run": "true", "depends_on": ["gate"]},
    ],
}
FUNCTIONS = {":numbers": NUMBERS, ":frame": FRAME}
SLOW: dict[str, Any] = {
    "name": "slow",
    "steps": [
        {"id": "a", "run": "echo begun; sleep 600"},
        {"id": "b", "run": "x", "depends_on": ["a"]},
    ],
}


def said(inquiries: MessageHandlers, **message: Any) -> dict[str, Any]:
    """The answer, which is there and is JSON."""
    reply = inquiries.answer({"id": 1, **message})
    assert json.loads(json.dumps(reply, allow_nan=False)) == reply
    assert reply["ok"], reply["error"]
    assert reply["re"] == 1
    return dict(reply["answer"])


def refused(inquiries: MessageHandlers, **message: Any) -> str:
    """The code of the refusal; it says what to do next."""
    reply = inquiries.answer({"id": 1, **message})
    assert not reply["ok"]
    assert reply["error"]["fix"]
    return str(reply["error"]["code"])


@pytest.fixture(scope="module")
def rested(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that parked: something is ready, failed, held, and asks."""
    place = tmp_path_factory.mktemp("rested")
    run = api.start(SPEC, workspace=place, functions=FUNCTIONS)
    assert run.wait().status == "needs_orchestrator"
    return run


@pytest.fixture
def parked(rested: Run, tmp_path: Path) -> Run:
    """A copy of it, to be changed: its folder, moved elsewhere."""
    return api.open_run(shutil.copytree(rested.folder, tmp_path / rested.folder.name))


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Run]:
    """A run whose first step prints a line and then waits for ever."""
    run = api.start(SLOW, workspace=tmp_path)
    until(lambda: "begun" in run.output("a"))
    yield run
    if run.is_live_here:
        run.cancel()
        run.wait()


# --- messages -------------------------------------------------------------------------------------------------------

LONG = "x" * 100_000
MALFORMED: list[Any] = [
    {},
    {"ask": "step"},
    {"ask": "nothing"},
    {"do": "explode"},
    {"ask": "step", "do": "cancel", "step": "make"},
    {"ask": ["step"]},
    {"ask": "step", "step": 7},
    {"ask": "step", "step": ""},
    {"ask": "step", "step": LONG},
    {"ask": "step", "step": "make", "at": "1"},
    {"ask": "step", "step": "make", "at": -1},
    {"ask": "step", "step": "make", "at": True},
    {"ask": "step", "step": "make", "at": 1.5},
    {"ask": "step", "step": "make", "at": 2**60},
    {"ask": "output", "step": "make", "attempt": "../../etc/passwd"},
    {"ask": "value", "step": "make", "load": 1},
    {"ask": "events", "limit": {}},
    {"ask": "forecast", "from": 1},
    {"do": "checkpoint", "name": None},
    {"do": "checkpoint", "name": "x", "note": 5},
    {"do": "checkpoint", "name": "x", "note": LONG},
    {"do": "decide", "step": "gate", "verdict": ["accept"]},
    {"do": "decide", "step": "gate", "verdict": "accept", "value": LONG},
    {"do": "decide", "step": "gate", "verdict": "accept", "resume": "no"},
    None,
    7,
    "ask",
    [],
]


@pytest.mark.parametrize("message", MALFORMED, ids=lambda message: repr(message)[:60])
def test_a_message_that_cannot_be_read_is_refused_as_such(rested: Run, message: Any) -> None:
    reply = MessageHandlers(rested).answer(message)

    assert not reply["ok"]
    assert reply["re"] is None
    assert reply["error"]["code"] == "message_unreadable"
    assert len(json.dumps(reply)) < 2_000


@pytest.mark.parametrize("asked", [0, 7, -3, "a-b", ""])
def test_a_reply_bears_the_number_of_its_message(rested: Run, asked: Any) -> None:
    assert MessageHandlers(rested).answer({"id": asked, "ask": "run"})["re"] == asked


@pytest.mark.parametrize("asked", [None, True, 1.5, [], {}, 2**80, LONG, "\u202e", "\ud800"])
def test_a_number_that_is_none_is_not_repeated(rested: Run, asked: Any) -> None:
    assert MessageHandlers(rested).answer({"id": asked, "ask": "run"})["re"] is None


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = [
    "step",
    "at",
    "attempt",
    "load",
    "from",
    "only",
    "until",
    "checkpoint",
    "limit",
    "name",
    "id",
]


@given(
    st.sampled_from(["step", "output", "value", "run", "forecast", "events", "tape", ""]),
    st.dictionaries(st.sampled_from(KEYS), PLAIN | st.sampled_from(["make", "gate", 1, 5])),
)
@settings(max_examples=examples(150))
def test_no_ask_raises_and_every_reply_is_json(
    rested: Run, ask: str, more: Mapping[str, Any]
) -> None:
    reply = MessageHandlers(rested).answer({**more, "ask": ask})

    json.dumps(reply, allow_nan=False).encode("utf-8")
    assert set(reply) == {"re", "ok", "answer" if reply["ok"] else "error"}
    assert reply["ok"] or reply["error"]["code"] != "internal_error"


def test_hostile_names_are_refused_in_words_that_are_safe_to_show(rested: Run) -> None:
    for name in ("../../etc", "\x1b[31m\u202e<script>", "\ud800", "a" * 200, "make\n"):
        reply = MessageHandlers(rested).answer({"ask": "step", "step": name})
        assert reply["error"]["code"] == "unknown_step"
        assert not {"\x1b", "\u202e", "\ud800"} & set(
            json.loads(json.dumps(reply["error"]["message"]))
        )


def test_what_nobody_foresaw_is_our_bug_and_says_so(rested: Run) -> None:
    class Broken(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise ZeroDivisionError(key)

        def __iter__(self) -> Iterator[str]:
            return iter(())

        def __len__(self) -> int:
            return 0

    assert MessageHandlers(rested).answer(Broken())["error"]["code"] == "internal_error"


# --- asks -----------------------------------------------------------------------------------------------------------


def test_a_panel_is_as_it_was_at_each_event_of_the_slider(rested: Run) -> None:
    asking, events = MessageHandlers(rested), rested.history()
    seqs = list(range(1, len(events) + 1))
    looks, back = (
        [said(asking, ask="step", step="bad", at=n)["mark"]["key"] for n in order]
        for order in (seqs, seqs[::-1])
    )

    assert looks == back[::-1]
    assert looks[0] == "queued"
    assert looks[-1] == "failed"
    assert said(asking, ask="step", step="bad", at=1)["is_past"]
    assert not said(asking, ask="step", step="bad", at=len(events) + 50)["is_past"]


def test_the_end_of_what_a_step_printed_comes_as_a_terminal_would_show_it(rested: Run) -> None:
    asking = MessageHandlers(rested)
    assert said(asking, ask="output", step="make")["segments"] == [["red", "red\n"], ["", "100%\n"]]
    assert said(asking, ask="output", step="make", at=1)["sentence"] == "No attempt yet."
    assert said(asking, ask="output", step="make", attempt=9)["segments"] == []
    assert said(asking, ask="output", step="gate")["sentence"] == "No output."
    assert said(asking, ask="step", step="bad")["error"]["tail"] == [["", "oops\n"]]


def test_of_a_long_output_the_last_whole_lines_are_shown_and_the_rest_is_counted(
    tmp_path: Path,
) -> None:
    line = "\\033[32mäöü {}\\033[0m\\n"
    printing = f"seq 20000 | xargs printf '{line.format('%s')}'"
    run = api.start({"name": "long", "steps": [{"id": "a", "run": printing}]}, workspace=tmp_path)
    run.wait()
    told = said(MessageHandlers(run), ask="output", step="a")

    assert told["bytes"] == told["shown"] + told["cut"]
    assert told["shown"] <= 64 * 1024
    assert told["segments"][0][0] == "green"
    assert told["segments"][0][1].startswith("äöü ")
    assert told["segments"][-1][1].endswith("20000\n")
    assert told["bytes"] == Path(told["path"]).stat().st_size
    assert told["can_load"]

    loaded = said(MessageHandlers(run), ask="output", step="a", load=True)
    assert told["shown"] < loaded["shown"] < loaded["bytes"]
    assert not loaded["can_load"]


def test_a_pickle_is_loaded_on_a_click_alone_and_only_where_the_signature_holds(
    parked: Run, tmp_path: Path, rested: Run
) -> None:
    asking = MessageHandlers(parked)
    unasked = said(asking, ask="value", step="numbers")
    assert (unasked["form"], unasked["can_load"]) == ("pickle", True)
    assert said(asking, ask="value", step="numbers", load=True)["text"] == "{1: 'a', 2: 'b'}"

    key = value_codec.user_key()
    place = next(Path.home().rglob("pixirnb/key"))
    try:
        place.write_bytes(bytes(32))
        assert not said(asking, ask="value", step="numbers")["can_load"]
        assert refused(asking, ask="value", step="numbers", load=True) == "value_not_trusted"
    finally:
        place.write_bytes(key)


def test_a_frame_is_a_table_without_a_click(rested: Run) -> None:
    told = said(MessageHandlers(rested), ask="value", step="frame")
    assert told["form"] == "frame"
    assert (told["heads"], told["rows"]) == (["a", "b"], [["1", "x"], ["2", "y"]])
    assert said(MessageHandlers(rested), ask="value", step="make")["text"].startswith("red\n")


def test_the_run_itself_says_how_it_stands_and_what_can_be_done(rested: Run) -> None:
    told = said(MessageHandlers(rested), ask="run")
    assert told["mark"]["key"] == "needs_orchestrator"
    assert told["can"] == {"cancel": False, "drain": False, "checkpoint": True, "resume": True}
    assert [action["action"] for action in told["actions"]] == ["decide_step", "retry_failed_steps"]
    assert told["checkpoints"][0]["forecast"] == {"ask": "forecast", "checkpoint": "end"}
    then = said(MessageHandlers(rested), ask="run", at=3)
    assert then["mark"]["key"] == "running"
    assert not any(then["can"].values())


def test_a_forecast_says_what_would_run_and_carries_the_wish_for_it(rested: Run) -> None:
    asking = MessageHandlers(rested)
    told = said(asking, ask="forecast", **{"from": "bad"})
    (runs,) = [group["rows"] for group in told["groups"] if group["mark"]["word"] == "run"]

    assert [step for row in runs for step in row["steps"]] == ["bad", "after"]
    assert told["wish"] == {"do": "resume", "from": "bad"}
    assert not told["is_nothing"]
    assert said(asking, ask="forecast", checkpoint="end")["wish"]["checkpoint"] == "end"
    assert refused(asking, ask="forecast", only="nobody") == "unknown_step"


def test_the_log_comes_in_lines_and_says_where_it_goes_on(rested: Run) -> None:
    asking, count = MessageHandlers(rested), len(rested.history())
    first = said(asking, ask="events", limit=3)
    rest = said(asking, ask="events", **{"from": first["next"]})

    assert [each["seq"] for each in first["events"] + rest["events"]] == list(range(1, count + 1))
    assert rest["next"] is None
    assert first["count"] == count


def keys(value: Any) -> set[str]:
    """Every key of a document; what a person's own data has for keys is not looked into."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    own = {name: part for name, part in value.items() if name != "value" or "form" in value}
    return set(value).union(*map(keys, own.values()))


def test_every_key_that_a_browser_is_sent_is_in_the_reference(rested: Run) -> None:
    page = Path(__file__).parents[3] / "docs" / "internals" / "live-view.md"
    known = set(re.findall(r"[a-z_]+", page.read_text(encoding="utf-8")))
    asking = MessageHandlers(rested)
    sent = [said(asking, ask="step", step=step) for step in rested.compiled().index]
    sent += [said(asking, ask=ask, step="frame") for ask in ("output", "value", "run", "events")]
    sent += [said(asking, ask="forecast")]
    assert sorted(keys(sent) - known) == []


# --- wherever the run is --------------------------------------------------------------------------------------------


def test_a_live_run_shows_what_it_prints_and_can_lose_a_step(slow: Run) -> None:
    asking = MessageHandlers(slow)
    panel, printed = said(asking, ask="step", step="a"), said(asking, ask="output", step="a")

    assert panel["can"] == {"rerun": False, "decide": False, "cancel": True}
    assert printed["is_running"]
    assert printed["segments"] == [["", "begun\n"]]
    assert said(asking, ask="run")["live"] == "here"
    assert refused(asking, do="resume") == "held_by_another"
    said(asking, **panel["wishes"]["cancel"])
    slow.wait()
    assert said(asking, ask="step", step="a")["mark"]["key"] == "cancelled"


def test_a_run_that_drains_starts_nothing_more(tmp_path: Path) -> None:
    waits = {"id": "a", "run": "while [ ! -e go ]; do sleep 0.05; done"}
    steps = [waits, {"id": "b", "run": "true", "depends_on": ["a"]}]
    run = api.start({"name": "drained", "steps": steps}, workspace=tmp_path)
    until(lambda: run.outcome.step("a").subagent_status == "running")
    said(MessageHandlers(run), do="drain")
    (tmp_path / "go").touch()
    assert run.wait().step("b").checkpoint_status == "held"


def test_a_run_of_another_process_is_read_and_cancelled_from_here(tmp_path: Path) -> None:
    script = (
        "import json, sys; from pathlib import Path; from pixirnb import api\n"
        "run = api.start(json.loads(sys.argv[1]), workspace=Path(sys.argv[2]))\n"
        "print(run.id, flush=True); run.wait()\n"
    )
    arguments = [sys.executable, "-c", script, json.dumps(SLOW), str(tmp_path)]
    owner = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        run = api.open_run(owner.stdout.readline().strip(), workspace=tmp_path)
        asking = MessageHandlers(run)
        until(lambda: said(asking, ask="step", step="a")["mark"]["key"] == "running")
        assert said(asking, ask="run")["live"] == "elsewhere"
        assert refused(asking, do="resume") == "held_by_another"
        said(asking, do="cancel")
        assert owner.wait() == 0
    finally:
        owner.kill()
        owner.communicate()
    told = said(asking, ask="run")
    assert (told["mark"]["key"], told["live"]) == ("interrupted", "")


def test_a_moved_folder_is_read_and_taken_up_where_it_is(parked: Run) -> None:
    followed: list[Run] = []
    asking = MessageHandlers(parked, on_taken_up=followed.append)
    wish = said(asking, ask="step", step="bad")["wishes"]["rerun"]
    told = said(asking, **wish)

    assert told["is_live"] or told["mark"]["key"] != "running"
    assert not told["is_new"]
    assert [run.id for run in followed] == [parked.id]
    parked.wait()
    assert len(said(asking, ask="step", step="bad")["attempts"]) == 2


def test_a_decision_goes_on_with_a_parked_run_and_a_second_one_is_refused(parked: Run) -> None:
    followed: list[Run] = []
    asking = MessageHandlers(parked, on_taken_up=followed.append)
    accept = said(asking, ask="step", step="gate")["wishes"]["accept"]

    assert refused(asking, **accept) == "not_a_choice"
    assert refused(asking, **{**accept, "verdict": "perhaps"}) == "unknown_verdict"
    said(asking, **accept, value="now", note="it is time")
    parked.wait()
    assert followed == [parked]
    told = said(asking, ask="step", step="gate")
    assert told["question"]["said"]["note"] == "it is time"
    assert said(asking, ask="step", step="ship")["mark"]["key"] == "checkpoint_ready"
    assert refused(asking, **accept, value="later") == "nothing_to_decide"


def test_a_checkpoint_is_saved_and_forked_from_and_the_run_stays_what_it_is(rested: Run) -> None:
    forks: list[Run] = []
    asking = MessageHandlers(rested, on_forked=forks.append)
    said(asking, do="checkpoint", name="here", note="before the talk")
    told = said(asking, do="resume", checkpoint="here")

    assert told["is_new"]
    assert forks[0].id == told["run_id"] != rested.id
    assert asking.run is rested
    assert said(asking, ask="run")["checkpoints"][0]["note"] == "before the talk"
    assert refused(asking, do="checkpoint", name="no name") == "bad_name"
    forks[0].wait()


def test_a_removed_folder_leaves_the_past_that_was_seen_and_says_that_it_is_gone(
    parked: Run,
) -> None:
    asking = MessageHandlers(parked)
    seen = said(asking, ask="step", step="bad", at=3)
    said(asking, ask="run")
    shutil.rmtree(parked.folder)

    assert said(asking, ask="step", step="bad", at=3) == seen
    for message in ({"ask": "step", "step": "bad"}, {"ask": "run"}, {"do": "resume"}):
        assert refused(asking, **message) == "unknown_run"


def test_a_damaged_log_is_shown_up_to_the_damage_and_offers_nothing(parked: Run) -> None:
    log = parked.folder / "log.jsonl"
    lines = log.read_bytes().split(b"\n")
    lines[-4] = lines[-4].replace(b'"seq":', b'"seq" :')
    log.write_bytes(b"\n".join(lines))
    asking = MessageHandlers(parked)
    told = said(asking, ask="step", step="bad")

    assert "The log is damaged" in told["why"][0]
    assert not any(told["can"].values())
    run = said(asking, ask="run")
    assert not any(run["can"].values())
    assert refused(asking, do="resume") == "log_damaged"
    log.write_bytes(b"")
    assert refused(MessageHandlers(parked), ask="step", step="bad") in {
        "log_damaged",
        "unknown_run",
    }


def test_a_log_that_grew_elsewhere_is_read_on_and_one_that_did_not_is_not_read_again(
    parked: Run,
) -> None:
    asking = MessageHandlers(parked)
    before = said(asking, ask="events")["count"]
    other = api.open_run(parked.folder)
    other.checkpoint("between", "")

    assert said(asking, ask="events")["count"] == before + 1
    assert said(asking, ask="run")["checkpoints"][0]["name"] == "between"


def test_a_run_that_a_cell_has_taken_up_is_live_here_for_a_view_that_was_there_before(
    tmp_path: Path,
) -> None:
    waits = "test -e first && { touch second; while [ ! -e go ]; do sleep 0.05; done; }"
    run = api.start({"name": "w", "steps": [{"id": "a", "run": waits}]}, workspace=tmp_path)
    asking = MessageHandlers(run)
    run.wait()
    (tmp_path / "first").touch()
    again = api.resume(run.folder)
    until((tmp_path / "second").exists)

    assert said(asking, ask="run")["live"] == "here"
    (tmp_path / "go").touch()
    assert again.wait().ok
    assert said(asking, ask="step", step="a")["mark"]["key"] == "checkpoint_ready"


@pytest.fixture
def died(tmp_path: Path) -> Run:
    """A run whose process died over its first step, which asks before it is done again."""
    steps = [{"id": "a", "run": "true", "rerun": "ask"}, {"id": "b", "run": "true", "depends_on": ["a"]}]  # fmt: skip
    run = api.start({"name": "died", "steps": steps}, workspace=tmp_path)
    run.wait()
    log = run.folder / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))
    (run.folder / "seal.json").unlink()  # a dead process leaves none
    return api.open_run(run.folder)


def test_a_step_that_a_death_cut_short_looks_so_and_is_asked_about_first(died: Run) -> None:
    asking = MessageHandlers(died)
    panel = said(asking, ask="step", step="a")
    told = said(asking, ask="forecast")

    assert panel["mark"]["key"] == "lost"
    assert [made["status"] for made in panel["attempts"]] == ["lost"]
    assert "was running when the run ended" in panel["headline"]
    assert [group["mark"]["word"] for group in told["groups"]] == ["may run", "ask first"]
    assert "ask about 1 first" in told["sentence"]


def test_a_run_whose_process_died_can_be_given_up_with_a_click(died: Run) -> None:
    followed: list[Run] = []
    asking = MessageHandlers(died, on_taken_up=followed.append)
    assert said(asking, ask="run")["can"]["cancel"]
    told = said(asking, do="cancel")

    assert (told["mark"]["key"], told["is_live"]) == ("interrupted", False)
    assert followed == [died]
    panel = said(asking, ask="step", step="a")
    assert panel["mark"]["key"] == "cancelled"
    assert panel["left"]["status"] == "lost"
    assert said(asking, ask="step", step="b")["mark"]["key"] == "held"
    assert not said(asking, ask="run")["can"]["cancel"]
