"""What one step leaves, the next may use: by reference, typed, never pasted, and never longer than it can bear."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments
from pixirnb.operations.run import Run
from tests.stories.storyline import ended, facts, over, shell, spec

pytestmark = pytest.mark.story

HOSTILE = "$(touch pwned); `touch pwned` \"'; touch pwned #\n* ~ \\ é {{ run.id }}"


def given(workspace: Path, *steps: dict[str, Any]) -> Run:
    """A finished run with an input nobody should trust."""
    run, _ = ended(workspace, *steps, inputs={"text": {"type": "string"}}, given={"text": HOSTILE})
    assert not (workspace / "pwned").exists()
    return run


def test_a_hostile_value_stays_a_value_in_a_shell_text(tmp_path: Path) -> None:
    run = given(tmp_path, shell("a", "printf %s {{ inputs.text }}"))
    assert run.value("a") == HOSTILE


def test_a_hostile_value_is_one_argument_in_an_argv(tmp_path: Path) -> None:
    run = given(tmp_path, shell("a", ["printf", "%s|%s", "{{ inputs.text }}", "x"]))
    assert run.value("a") == HOSTILE + "|x"


def test_a_hostile_value_arrives_whole_in_env_and_in_with(tmp_path: Path) -> None:
    run = given(
        tmp_path,
        shell("a", 'printf %s "$SAID"', env={"SAID": "{{ inputs.text }}"}),
        {"id": "b", "call": "builtins:dict", "with": {"said": "{{ inputs.text }}"}},
    )
    assert run.value("a") == HOSTILE
    assert run.value("b") == {"said": HOSTILE}


def test_a_hostile_output_stays_a_value_in_the_next_step_and_its_checks(tmp_path: Path) -> None:
    run = given(
        tmp_path,
        shell("a", "printf %s {{ inputs.text }}"),
        shell(
            "b",
            "printf %s {{ steps.a.output }}",
            "a",
            verify=[{"command": "test -n {{ steps.a.output }}"}],
        ),
    )
    assert run.value("b") == HOSTILE
    assert run.outcome.status == "completed"


def test_a_check_is_given_values_in_a_text_and_in_an_argv(tmp_path: Path) -> None:
    argv = ["sh", "-c", 'test "$1" != 5', "sh", "{{ steps.a.output }}"]
    _, outcome = ended(
        tmp_path,
        shell("a", "echo 5"),
        shell("other", "true", "a", verify=[{"command": argv}]),
        shell(
            "same", "true", "a", verify=[{"command": ["test", "{{ steps.a.output }}", "=", "5"]}]
        ),
        shell("item", "true", for_each=[1], verify=[{"command": ["test", "{{ item }}", "=", "1"]}]),
    )
    found = {step.step_id: step.checkpoint_status for step in outcome.steps}
    assert (found["other"], found["same"]) == ("failed", "checkpoint_ready")
    assert found["item@0"] == "checkpoint_ready"


def test_values_keep_their_types_in_with(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        {"id": "a", "call": "builtins:dict", "with": {"rows": [1, 2.5, None, True], "d": {"k": "v"}}},
        {
            "id": "b",
            "call": "builtins:dict",
            "with": {"all": "{{ steps.a.output }}", "one": "{{ steps.a.output.rows }}", "t": "n={{ steps.a.output.d.k }}"},
            "depends_on": ["a"],
        },
    )  # fmt: skip
    assert outcome.status == "completed"
    assert run.value("b") == {
        "all": {"rows": [1, 2.5, None, True], "d": {"k": "v"}},
        "one": [1, 2.5, None, True],
        "t": "n=v",
    }


def test_a_working_directory_may_be_referred_to_but_never_leads_out(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    steps = (
        shell("where", "echo {{ inputs.d }}"),
        shell("a", "pwd", "where", cwd="{{ inputs.d }}"),
    )
    inputs = {"d": {"type": "string"}}
    run, _ = ended(tmp_path, *steps, inputs=inputs, given={"d": "sub"})
    assert run.value("a") == str(tmp_path / "sub")
    for place, kind in (("..", "path_escapes"), ("nowhere", "path_missing")):
        _, outcome = ended(tmp_path, *steps, inputs=inputs, given={"d": place})
        assert ((at := outcome.step("a").error) and at["kind"]) == kind


def test_a_value_too_large_for_the_environment_is_refused_and_its_path_offered(
    tmp_path: Path,
) -> None:
    big = "head -c 70000 /dev/zero | tr '\\0' x"
    _, outcome = ended(
        tmp_path,
        shell("big", big),
        shell("fits", "printf %s {{ steps.just.output }} | wc -c", "just"),
        shell("just", "head -c 65536 /dev/zero | tr '\\0' x"),
        shell("paste", "echo {{ steps.big.output }}", "big"),
        shell("path", "wc -c < {{ steps.big.output_path }}", "big"),
    )
    error = outcome.step("paste").error
    assert error is not None
    assert error["kind"] == "reference_too_large"
    assert "output_path" in error["message"]
    assert outcome.step("path").summary == "70000"
    assert outcome.step("fits").summary == "65536"


def test_a_summary_is_the_last_line_that_says_something(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        shell("a", "printf 'one\\ntwo\\n\\n   \\n'"),
        shell("b", "echo got {{ steps.a.summary }} of {{ run.id }}", "a"),
    )
    assert outcome.step("a").summary == "two"
    assert run.value("b") == f"got two of {run.id}"


def test_a_when_reads_values_small_and_large(tmp_path: Path) -> None:
    _, outcome = ended(
        tmp_path,
        shell("big", "head -c 20000 /dev/zero | tr '\\0' x"),
        shell("yes", "true", "big", when="{{ steps.big.output }} != ''"),
        shell("no", "true", "big", when="{{ steps.big.output }} == 'y'"),
        shell("after", "true", "no"),
    )
    assert outcome.step("yes").checkpoint_status == "checkpoint_ready"
    seen = '"' + 78 * "x" + "… (text) == 'y'"
    assert outcome.step("no").held_by == {"kind": "when", "step": None, "seen": seen}
    assert outcome.step("after").checkpoint_status == "held"
    assert outcome.status == "completed"


def test_large_output_lies_in_a_blob_and_is_read_back_whole(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, shell("a", "seq 1 20000"))
    stored = facts(run, "attempt_ended")[0]["output"]
    assert "value" not in stored
    assert stored["blob"].startswith("b2:")
    assert run.value("a").splitlines() == [str(n) for n in range(1, 20001)]
    assert max(map(len, (run.folder / "log.jsonl").read_bytes().splitlines())) < 256 * 1024


def test_an_output_log_keeps_head_and_tail_of_what_is_too_long(tmp_path: Path) -> None:
    noise = "echo first >&2; head -c 12000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo last >&2"
    run, outcome = ended(tmp_path, shell("a", noise))
    assert outcome.status == "completed"
    text = run.output("a")
    assert text.startswith("first\n")
    assert text.endswith("last\n")
    assert "bytes left out here" in text
    assert 10 * 1024**2 <= len(text) < 10 * 1024**2 + 70_000
    record = facts(run, "attempt_ended")[0]["output_log"]
    assert record["truncated"]
    assert record["bytes"] > 12_000_000


def test_output_that_is_not_utf8_is_shown_and_kept(tmp_path: Path) -> None:
    run, outcome = ended(tmp_path, shell("a", "printf 'caf\\351 \\377\\n'"))
    assert outcome.status == "completed"
    assert run.value("a") == "caf\ufffd \ufffd"
    assert (run.folder / "output" / "a.1.log").read_bytes() == b"caf\xe9 \xff\n"


# --- the next attempt is told what went wrong ------------------------------------------------------------------------

RETRY = {"max_attempts": 2, "delay": 0, "include_failure_context": True}


def test_the_next_attempt_of_a_command_is_told_what_went_wrong(tmp_path: Path) -> None:
    told = 'test -n "$PIXIRNB_FAILURE_CONTEXT" && echo "$PIXIRNB_FAILURE_CONTEXT" || { echo oops >&2; exit 7; }'
    run, outcome = ended(tmp_path, shell("a", told, retry=RETRY))
    assert outcome.status == "completed"
    assert "(exit)" in run.value("a")
    assert "oops" in run.value("a")


def test_the_next_attempt_starts_whatever_bytes_the_last_one_printed(tmp_path: Path) -> None:
    told = 'test -n "$PIXIRNB_FAILURE_CONTEXT" || { printf "one\\0two"; exit 7; }'
    source = (
        "def again():\n    import os\n"
        "    if 'PIXIRNB_FAILURE_CONTEXT' not in os.environ:\n        raise ValueError('a\\0b')\n"
    )
    steps = [
        shell("a", told, retry=RETRY),
        {"id": "b", "call": ":again", "process": True, "retry": RETRY},
        {"id": "c", "call": ":again", "retry": {**RETRY, "classes": ["exit"]}},
    ]
    run = api.start({"name": "t", "steps": steps}, workspace=tmp_path, functions={":again": source})
    assert run.wait().status == "completed"
    assert [run.outcome.step(name).attempt for name in "abc"] == [2, 2, 2]


@pytest.mark.parametrize(
    "step",
    [
        {"run": ["echo", "{{ steps.a.output }}"]},
        {"run": "true", "env": {"X": "{{ steps.a.output }}"}},
        {"run": "true", "verify": [{"command": "echo {{ steps.a.output }}"}]},
        {"run": "true", "verify": [{"command": ["echo", "{{ steps.a.output }}"]}]},
    ],
)
def test_a_value_with_a_nul_byte_is_no_argument_and_no_variable(
    step: dict[str, Any], tmp_path: Path
) -> None:
    _, outcome = ended(
        tmp_path, shell("a", "printf 'one\\0two'"), {"id": "b", "depends_on": ["a"], **step}
    )
    error = outcome.step("b").error
    assert error is not None
    assert error["kind"] == "reference_has_nul"
    assert "steps.a.output" in error["message"]


def test_the_next_attempt_of_a_function_is_told_what_went_wrong(tmp_path: Path) -> None:
    source = (
        "def again():\n    import os\n    said = os.environ.get('PIXIRNB_FAILURE_CONTEXT')\n"
        "    if not said:\n        raise ValueError('the first time')\n    return said\n"
    )
    run = api.start(
        {"name": "t", "steps": [{"id": "a", "call": ":again", "process": True, "retry": RETRY}]},
        workspace=tmp_path,
        functions={":again": source},
    )
    assert run.wait().status == "completed"
    assert "the first time" in run.value("a")


def test_the_next_attempt_of_an_agent_finds_it_at_the_end_of_its_task(tmp_path: Path) -> None:
    agents = {
        "w": {"runner": "scripted", "script": {"a": [[{"say": "half"}, {"fail": "crash", "message": "bang"}], []]}}
    }  # fmt: skip
    run, _ = ended(
        tmp_path, {"id": "a", "task": "Do it.", "agent": "w", "retry": RETRY}, agents=agents
    )
    said = run.output("a")
    assert said.startswith("Do it.\n")
    assert "bang" in said
    assert "half" in said


# --- secrets ---------------------------------------------------------------------------------------------------------

SECRET = "hunter2-hunter2"
QUOTED = 'pä"ss\\word-123'


def test_a_secret_reaches_neither_log_nor_file_nor_value_nor_listener(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints it in two writes, so that it is cut by a chunk's border."""
    monkeypatch.setenv("STORY_API_TOKEN", SECRET)
    heard: list[str] = []
    script = (
        "import os,sys,time; s=os.environ['STORY_API_TOKEN']; w=sys.stdout\n"
        "w.write('begin ' + s[:6]); w.flush(); time.sleep(0.2)\n"
        "w.write(s[6:] + ' end\\n'); w.flush(); sys.stderr.write(s + '\\n')"
    )
    run = api.start(
        {
            "name": "t",
            "steps": [
                shell("a", ["python", "-c", script]),
                shell("b", 'echo "{\\"k\\": \\"$STORY_API_TOKEN\\"}"; exit 3', "a", output={}),
                {"id": "c", "call": ":f", "process": True},
                {"id": "d", "call": ":g", "process": True},
                shell("big", 'for i in $(seq 3000); do echo "$STORY_API_TOKEN"; done'),
            ],
        },
        workspace=tmp_path,
        functions={
            ":f": "def f():\n    import os\n    return {'k': [os.environ['STORY_API_TOKEN']]}\n",
            ":g": "def g():\n    import os\n    raise ValueError(os.environ['STORY_API_TOKEN'])\n",
        },
        listeners=[lambda news: heard.append(repr(news))],
    )
    run.wait()
    assert run.value("a") == "begin *** end"
    assert run.value("c") == {"k": ["***"]}
    assert any("***" in news for news in heard)
    assert SECRET not in "".join(heard)
    for path in run.folder.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_a_secret_that_json_escapes_is_masked_in_values_large_and_small_keys_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORY_API_TOKEN", QUOTED)
    source = "def f(n):\n    import os\n    s = os.environ['STORY_API_TOKEN']\n    return {'k': [s] * n, s: 1}\n"
    call = {"call": ":f", "process": True}
    run = api.start(
        {
            "name": "t",
            "steps": [
                {"id": "big", **call, "with": {"n": 3000}},
                {"id": "small", **call, "with": {"n": 1}},
                shell(
                    "env",
                    [
                        "python",
                        "-c",
                        "import os, json; print(dict(os.environ)); print(json.dumps(dict(os.environ)))",
                    ],
                ),
                shell("text", 'for i in $(seq 3000); do printf "%s\\n" "$STORY_API_TOKEN"; done'),
            ],
        },
        workspace=tmp_path,
        functions={":f": source},
    )
    assert run.wait().ok
    assert run.value("big") == {"k": ["***"] * 3000, "***": 1}
    assert run.value("small") == {"k": ["***"], "***": 1}
    assert set(run.value("text").splitlines()) == {"***"}
    for path in run.folder.rglob("*"):
        if path.is_file():
            assert b"word-123" not in path.read_bytes(), path


def test_a_secret_in_a_text_that_is_escaped_twice_is_not_in_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORY_API_TOKEN", QUOTED)
    source = "def f():\n    import json, os\n    return {'k': json.dumps(os.environ['STORY_API_TOKEN'])}\n"
    step = {"id": "a", "call": ":f"}
    run = api.start({"name": "t", "steps": [step]}, workspace=tmp_path, functions={":f": source})
    assert run.wait().step("a").summary == "{'k': '\"***\"'}"
    assert "word-123" not in (run.folder / "log.jsonl").read_text()


@pytest.mark.parametrize("is_process", [False, True])
def test_a_secret_that_is_a_number_is_masked_in_values_of_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_process: bool
) -> None:
    monkeypatch.setenv("STORY_PIN_TOKEN", "987654321012")
    source = (
        "def f(n):\n    import os\n    return {'k': [int(os.environ['STORY_PIN_TOKEN']), 7] * n}\n"
    )
    sizes = {"small": 1, "large": 30_000, "huge": 100_000}
    steps = [
        {"id": name, "call": ":f", "process": is_process, "with": {"n": n}}
        for name, n in sizes.items()
    ]
    run = api.start({"name": "t", "steps": steps}, workspace=tmp_path, functions={":f": source})
    assert run.wait(120).ok
    for name, n in sizes.items():
        assert run.value(name) == {"k": ["***", 7] * n}
    for path in run.folder.rglob("*"):
        if path.is_file():
            assert b"987654321012" not in path.read_bytes(), path


def test_a_short_value_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORY_API_TOKEN", "seven77")
    run, _ = ended(tmp_path, shell("a", 'echo "$STORY_API_TOKEN"'))
    assert run.value("a") == "seven77"


@pytest.mark.parametrize("is_process", [False, True])
def test_a_value_that_exits_when_it_is_handed_on_fails_its_step_and_not_the_engine(
    tmp_path: Path, is_process: bool
) -> None:
    (tmp_path / "exits_when_read.py").write_text(
        "class Value:\n"
        "    def __init__(self): self.x = 1\n"
        "    def __setstate__(self, state): raise SystemExit(3)\n"
        "def make(): return Value()\n"
        "def take(given): return 1\n"
    )
    _, outcome = ended(
        tmp_path,
        {"id": "makes", "call": "exits_when_read:make"},
        {
            "id": "takes",
            "call": "exits_when_read:take",
            "with": {"given": "{{ steps.makes.output }}"},
            "depends_on": ["makes"],
            "process": is_process,
        },
    )
    error = outcome.step("takes").error
    assert error is not None
    assert "step called sys.exit(3)" in error["message"]
    _, outcome = ended(tmp_path, {"id": "next", "run": "true"})
    assert outcome.status == "completed"


@pytest.mark.parametrize("workspace", ["shared", "isolated"])
def test_a_process_of_a_step_knows_where_it_is(tmp_path: Path, workspace: str) -> None:
    (tmp_path / ".gitignore").write_text(".pixirnb/\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    names = ("RUN_ID", "STEP_ID", "ATTEMPT", "STATE", "WORKSPACE")
    words = " ".join(f'"$PIXIRNB_{name}"' for name in names)
    step = shell("a", f"printf '%s\\n' {words} \"$PWD\"; test $PIXIRNB_ATTEMPT = 2")
    step |= {"retry": {"max_attempts": 2, "delay": 0}, "workspace": workspace, "write_set": ["x"]}
    run = api.start({"name": "w", "steps": [step]}, workspace=tmp_path)
    assert run.wait(60).ok
    *told, workspace_seen, here = run.value("a").splitlines()
    assert told == [run.id, "a", "2", str(run.folder.parents[1])]
    assert workspace_seen == here


def test_a_result_that_a_step_wrote_over_is_given_to_no_other_and_made_again(
    tmp_path: Path,
) -> None:
    steps = (
        shell("make", "head -c 20000 /dev/zero | tr '\\0' x"),
        shell("short", "printf short"),
        shell(
            "vandal",
            "for f in {{ steps.make.output_path }} {{ steps.short.output_path }}; "
            "do chmod u+w $f; echo evil >> $f; done",
            "make",
            "short",
        ),
        shell("use", "wc -c < {{ steps.make.output_path }}", "vandal"),
        shell("cat", "cat {{ steps.short.output_path }}", "vandal"),
    )
    run, outcome = ended(tmp_path, *steps)
    assert outcome.status == "partial"
    error = outcome.step("use").error
    assert error is not None
    assert (error["kind"], error["message"]) == (
        "blob_damaged",
        "the stored output of `make` is damaged; resume the run: `make` is rerun",
    )
    assert run.value("cat") == "short"
    again = api.resume(run.id, workspace=tmp_path)
    assert again.wait().ok
    assert again.value("use").strip() == "20000"
    assert again.diagnose().status == "ready"


@pytest.mark.parametrize("size", [1, 20_000])
def test_bytes_that_are_no_text_are_no_json_whatever_their_number(
    tmp_path: Path, size: int
) -> None:
    printed = f"""printf '"'; head -c {size} /dev/zero | tr '\\0' '\\377'; printf '"'"""
    _, outcome = ended(tmp_path, shell("a", printed, output={"type": "string"}))
    error = outcome.step("a").error
    assert error is not None
    assert error["kind"] == "output_invalid"
    assert "invalid unicode code point at line 1 column 2" in error["message"]


def test_bytes_that_are_no_text_are_replaced_in_a_text(tmp_path: Path) -> None:
    use = shell("b", "printf %s {{ steps.a.output }}", "a")
    run, outcome = ended(tmp_path, shell("a", "printf 'a\\377'"), use)
    assert outcome.ok
    assert run.value("b") == "a\ufffd"


def test_a_when_on_a_value_that_cannot_be_loaded_runs_nothing(tmp_path: Path) -> None:
    printed = json.dumps({"passed": False, "log": "A" * 50_000})
    (tmp_path / "printed.json").write_text(printed)
    run, outcome = ended(
        tmp_path,
        shell("tests", "cat printed.json", output={"type": "object"}),
        shell("deploy", "touch deployed", "tests", when="{{ steps.tests.output.passed }} != false"),
    )
    assert outcome.ok, "deploy is skipped"
    blobs = [path for path in (run.folder / "blobs").rglob("*") if path.is_file()]
    [blob] = [path for path in blobs if path.stat().st_size > 40_000]
    blob.unlink()
    again = api.resume(run.id, workspace=tmp_path, only="deploy").wait()
    error = again.step("deploy").error
    assert error is not None
    assert error["kind"] == "value_unreadable"
    assert error["message"] == "`when`: the value of `tests` cannot be loaded"
    assert not (tmp_path / "deployed").exists()


def question(text: str, *after: str) -> dict[str, Any]:
    """A step that asks."""
    return {"id": "gate", "ask": {"question": text}, "depends_on": list(after)}


def test_a_question_shows_the_file_of_an_output_and_outputs_too_large_for_the_log(
    tmp_path: Path,
) -> None:
    text = "see {{ steps.small.output_path }}: {{ steps.big.output.words }}"
    run, outcome = ended(
        tmp_path,
        shell("small", "echo hello"),
        shell("big", 'printf \'{"words": "%030000d"}\' 1', output={"type": "object"}),
        question(text, "small", "big"),
    )
    assert outcome.status == "needs_orchestrator"
    [asked] = facts(run, "decision_requested")
    path, _, words = asked["question"].removeprefix("see ").partition(": ")
    assert Path(path).read_text(encoding="utf-8") == "hello"
    assert words == f"{1:030000d}"


def test_a_when_compares_the_path_of_an_output_not_what_it_holds(tmp_path: Path) -> None:
    _, outcome = ended(
        tmp_path,
        shell("a", "echo hello"),
        shell("b", "true", "a", when="{{ steps.a.output_path }} != 'hello'"),
    )
    assert outcome.step("b").checkpoint_status == "checkpoint_ready"


def test_a_question_about_a_value_that_cannot_be_loaded_is_not_asked(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        shell("a", "seq 20000"),
        shell("b", "true", "a"),
        question("Ship {{ steps.a.output }}?", "b"),
    )
    assert outcome.status == "needs_orchestrator"
    blobs = [path for path in (run.folder / "blobs").rglob("*") if path.is_file()]
    [blob] = [path for path in blobs if path.stat().st_size > 40_000]
    blob.unlink()
    error = api.resume(run.id, workspace=tmp_path, only="gate").wait().step("gate").error
    assert error is not None
    assert error["kind"] == "value_unreadable"
    assert error["message"] == "the question: the value of `a` cannot be loaded"


def test_a_question_about_a_field_that_is_not_there_is_not_asked(tmp_path: Path) -> None:
    _, outcome = ended(
        tmp_path,
        shell("a", "echo '{}'", output={"type": "object"}),
        question("Ship {{ steps.a.output.version }}?", "a"),
    )
    error = outcome.step("gate").error
    assert error is not None
    assert error["kind"] == "reference_missing"


def test_a_step_added_later_never_gets_an_answer_that_was_not_given(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, question("Ship?"))
    assert run.accept("gate").wait().ok
    use = shell("use", "echo {{ steps.gate.output }}", "gate")
    edited = {"name": "t", "steps": [question("Ship?"), use]}
    for act in (api.plan_resume, api.resume):
        with pytest.raises(InvalidArguments) as refused:
            act(run, spec=edited)
        assert refused.value.code == "not_a_choice"
    again = api.resume(run, spec=edited, from_step="gate")
    again.wait()
    last = again.accept("gate", "now")
    assert last.wait().ok
    assert last.value("use") == "now"


ROWS = [{"name": "Ada", "age": 36}, {"age": 1, "name": "Bo"}]
KEYS = """
def make():
    return {"zeta": 1, "alpha": ROWS}

def keys(**given):
    return repr(given)
""".replace("ROWS", repr(ROWS))


def test_the_order_of_keys_is_the_same_after_a_restart(tmp_path: Path) -> None:
    functions = {":make": KEYS, ":keys": KEYS}
    given = {
        "made": "{{ steps.make.output }}",
        "told": "{{ inputs.told }}",
        "here": {"z": 1, "a": 2},
    }
    before = {"id": "before", "call": ":keys", "with": given, "depends_on": ["make"]}
    items = over("items", [{"z": 1, "a": 2}], "test -e go && echo {{ item }}", "make")
    steps: list[dict[str, Any]] = [
        {"id": "make", "call": ":make"},
        before,
        shell("gate", "test -e go", "make"),
        {**before, "id": "after", "depends_on": ["make", "gate"]},
        items,
    ]
    told = {"told": {"y": 1, "b": 2}}
    workflow = spec(*steps) | {"inputs": {"told": {"type": "object"}}}
    first = api.run(workflow, told, workspace=tmp_path, functions=functions)
    assert first.status == "partial"
    (tmp_path / "go").touch()
    resumed = api.resume(first.run_id, workspace=tmp_path)
    assert resumed.wait().ok
    assert resumed.value("after") == resumed.value("before")
    assert resumed.value("before") == repr(
        {"made": {"zeta": 1, "alpha": ROWS}, **told, "here": {"z": 1, "a": 2}}
    )
    assert resumed.value("items@0") == '{"z":1,"a":2}'
    assert repr(api.open_run(first.run_id, workspace=tmp_path).value("make")["alpha"]) == repr(ROWS)
