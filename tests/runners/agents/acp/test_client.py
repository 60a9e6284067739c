"""An agent that speaks ACP: streamed, asked, bounded and ended, over real pipes with a real process."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pixirnb.protocols.ports import Question
from pixirnb.protocols.work import Ended, Progress
from pixirnb.runners.processes import orphans
from pixirnb.system.process_life import is_alive
from pixirnb.testing.contracts.runner import RUN_ID, Rehearsal
from pixirnb.testing.fakes.agent_stage import Answers, coding_agent, fake, session_events, staged
from tests.sweeps import first_of, first_rows


def perform(
    folder: Path, *acts: str, answers: Answers | None = None, **limits: Any
) -> tuple[Ended, Rehearsal]:
    return staged(
        coding_agent("acp", fake("acp", *acts), folder, **limits), folder, answers=answers
    )


def results(rehearsal: Rehearsal) -> list[tuple[bool, str | None]]:
    """Whether each tool result was ok, and the kind of its error."""
    found = session_events(rehearsal, "tool_result")
    return [(data["ok"], data.get("error", {}).get("kind")) for _, data in found]


def decided(rehearsal: Rehearsal) -> list[tuple[str, str]]:
    return [
        (data["verdict"], data["by"]) for _, data in session_events(rehearsal, "permission_decided")
    ]


# --- what it streams ------------------------------------------------------------------------------------------------


def test_a_turn_becomes_a_session_in_its_order(tmp_path: Path) -> None:
    ended, rehearsal = perform(
        tmp_path,
        *("think:Hm.", "say:Looking.", "plan:look:work", "tool:read:a.py", "broken:b.py"),
        *("usage:5:7", "say:Done.\\ncheckpoint_status: checkpoint_ready"),
    )
    assert ended.status == "completed"
    assert [kind for kind, _ in session_events(rehearsal)] == [
        *("reasoning", "assistant_message", "tool_call", "tool_result", "tool_call", "tool_result"),
        *("assistant_message", "provider_usage"),
    ]
    assert results(rehearsal) == [(True, None), (False, "tool_failed")]
    finals = [
        (data["text"], data["final"]) for _, data in session_events(rehearsal, "assistant_message")
    ]
    assert finals == [
        ("Looking.", False),
        ("Done.\ncheckpoint_status: checkpoint_ready", True),
    ]
    assert rehearsal.text() == "Looking.\nDone.\ncheckpoint_status: checkpoint_ready\n"
    steps = [event for event in rehearsal.events if isinstance(event, Progress)]
    assert steps == [Progress(0.5, "1 of 2: work")]


def test_an_update_of_a_known_call_is_no_end_of_a_message(tmp_path: Path) -> None:
    acts = ("tick:The key is sk-3kd9:-02jf.",)
    _, rehearsal = perform(tmp_path, *acts)
    [(_, message)] = session_events(rehearsal, "assistant_message")
    assert message["text"] == "The key is sk-3kd9-02jf."


def test_a_call_left_open_is_closed_before_the_turn_is_completed(tmp_path: Path) -> None:
    ended, rehearsal = perform(tmp_path, "orphan:thing", "say:Done.")
    assert ended.status == "completed"
    assert results(rehearsal) == [(False, "orphan_tool_call")]
    assert session_events(rehearsal)[-1][1]["final"] is True


def test_the_prompt_reaches_it_whole(tmp_path: Path) -> None:
    prompt = "ü" * 100_000 + " {cwd}"
    _, rehearsal = perform(tmp_path, "echo", prompt=prompt)
    assert rehearsal.text() == prompt + "\n"


def test_a_flood_on_standard_error_and_noise_on_the_wire_hold_nothing_up(tmp_path: Path) -> None:
    ended, rehearsal = perform(tmp_path, "flood:1024", "noise", "say:through", "noise")
    assert (ended.status, rehearsal.text()) == ("completed", "through\n")
    assert len(rehearsal.text("stderr")) > 1024 * 1024
    assert "Traceback" not in rehearsal.text("stderr")


# --- what it asks leave for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "option", "result"),
    [("allow", "yes", (True, None)), ("deny", "no", (False, "permission_denied"))],
)
def test_a_persons_word_is_carried_to_the_agent(
    verdict: str, option: str, result: tuple[bool, str | None], tmp_path: Path
) -> None:
    answers = Answers([verdict])
    ended, rehearsal = perform(tmp_path, "ask:edit:src/a.py", answers=answers)
    assert ended.status == "completed"
    assert rehearsal.text() == f"[{option}]\n"
    assert results(rehearsal) == [result]
    assert (tmp_path / "src/a.py").exists() == (verdict == "allow")
    [asked] = answers.requests
    assert asked["tool"] == "acp:edit"
    assert asked["args"]["paths"] == ["src/a.py"]
    assert asked["call_id"] == session_events(rehearsal, "tool_call")[0][1]["call_id"]


def test_what_a_person_allowed_this_step_is_not_asked_again(tmp_path: Path) -> None:
    answers = Answers(["allow"])
    perform(tmp_path, "ask:edit:src/a.py", answers=answers)
    again = Answers(["deny"])
    _, rehearsal = perform(
        tmp_path, "ask:edit:src/a.py", answers=again, granted=[answers.requests[0]["digest"]]
    )
    assert again.requests == []
    assert decided(rehearsal) == [("allow", "ada")]
    assert session_events(rehearsal, "permission_decided")[0][1]["request_id"] == "r-1/step.0.1"


def test_where_nobody_is_there_the_turn_ends_and_says_how_to_allow_it(tmp_path: Path) -> None:
    ended, rehearsal = perform(tmp_path, "ask:edit:a.py", "say:never", "hang")
    assert (ended.status, ended.error_kind) == ("failed", "permission_required")
    assert "pixirnb approve r-1/step.1.1" in ended.message
    assert ended.details["request_id"] == "r-1/step.1.1"
    assert "never" not in rehearsal.text()
    assert not (tmp_path / "a.py").exists()


@pytest.mark.parametrize(
    ("limits", "cases"),
    [
        (
            {"mode": "auto"},
            [
                ("edit", "src/a.py", "mode auto"),
                ("execute", "src/b.py", "mode auto"),
                ("edit", "other/a.py", "rules"),
                ("edit", "../a.py", "rules"),
                ("edit", "src/.env", "rules"),
                ("delete", ".git/config", "rules"),
                ("read", "secret/b.py", "rules"),
            ],
        ),
        (
            {"mode": "read_only"},
            [
                ("edit", "src/a.py", "mode read_only"),
                ("execute", "src/a.py", "mode read_only"),
                ("unheard_of", "src/a.py", "mode read_only"),
                ("read", "src/b.py", "mode read_only"),
            ],
        ),
        ({"mode": "ask"}, [("read", "src/a.py", "mode ask"), ("move", "other/a.py", "rules")]),
        ({"mode": "auto", "posture": "read_only"}, [("edit", "src/a.py", "mode read_only")]),
    ],
    ids=["auto", "read_only", "ask", "reader"],
)
def test_mode_and_sets_answer_where_no_person_has_to(
    limits: dict[str, Any], cases: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    answers = Answers(["allow"])
    acts = [f"ask:{kind}:{path}" for kind, path, _ in cases]
    sets = {"write_set": ["src/**"], "read_set": ["src/**", "other/**"]}
    ended, rehearsal = perform(workspace, *acts, answers=answers, **sets, **limits)
    assert ended.status == "completed"
    assert answers.requests == []
    reads = limits.get("posture") == "read_only" or limits["mode"] == "read_only"
    allowed = [by != "rules" and not (reads and kind != "read") for kind, _, by in cases]
    assert rehearsal.text().split() == ["[yes]" if is_allowed else "[no]" for is_allowed in allowed]
    verdicts = ["allow" if is_allowed else "deny" for is_allowed in allowed]
    assert decided(rehearsal) == list(zip(verdicts, [by for _, _, by in cases], strict=True))
    written = {path.relative_to(workspace).as_posix() for path in workspace.rglob("*.*")}
    made = {path for (_, path, _), yes in zip(cases, allowed, strict=True) if yes}
    assert written == made


# --- what it has read and written for it ------------------------------------------------------------------------------


def test_files_of_its_sets_are_read_and_written_for_it(tmp_path: Path) -> None:
    ended, rehearsal = perform(
        tmp_path, "write:src/a.py:one\\ntwo", "read:src/a.py", mode="auto", write_set=["src/**"]
    )
    assert ended.status == "completed"
    assert (tmp_path / "src/a.py").read_text() == "one\ntwo"
    assert rehearsal.text() == "[written]\n[one\ntwo]\n"
    names = [data["name"] for _, data in session_events(rehearsal, "tool_call")]
    assert names == ["fs/write_text_file", "fs/read_text_file"]
    assert results(rehearsal) == [(True, None), (True, None)]


@pytest.mark.parametrize("mode", first_of(["auto", "ask", "read_only"]))
def test_a_write_outside_the_write_set_is_refused_and_recorded_in_every_mode(
    mode: str, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "link").symlink_to(tmp_path)
    answers = Answers(["allow"])
    ended, rehearsal = perform(
        workspace,
        *("write:other/a.py:x", "write:../b.py:x", "write:src/link/c.py:x", "write:.git/hooks/d:x"),
        answers=answers,
        mode=mode,
        write_set=["src/**"],
    )
    assert ended.status == "completed"
    assert answers.requests == []
    kinds = {kind for ok, kind in results(rehearsal) if not ok}
    assert len(results(rehearsal)) == 4
    expected = {"outside_write_set", "outside_workspace", "reserved_path"}
    assert kinds == expected if mode != "read_only" else "read_only" in kinds
    files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert files == []


def test_a_write_is_asked_for_unless_the_edit_was_allowed(tmp_path: Path) -> None:
    answers = Answers(["allow"])
    ended, rehearsal = perform(tmp_path, "ask:edit:a.py", "write:a.py:x", answers=answers)
    assert ended.status == "completed"
    assert [asked["tool"] for asked in answers.requests] == ["acp:edit"]
    refused = Answers(["deny"])
    ended, rehearsal = perform(tmp_path, "write:b.py:x", answers=refused)
    assert [asked["tool"] for asked in refused.requests] == ["acp:write"]
    assert results(rehearsal) == [(False, "permission_denied")]
    assert not (tmp_path / "b.py").exists()


def wanted(answers: Answers) -> list[tuple[str, str]]:
    """Tool, and what it would be used on, of each question a person was asked."""
    args = [asked["args"] for asked in answers.requests]
    named = [each.get("content") or each["paths"][0] for each in args]
    return list(zip([asked["tool"] for asked in answers.requests], named, strict=True))


@pytest.mark.parametrize("kind", first_of(["execute", "read", "search", "delete", "move"], 2))
def test_leave_for_anything_but_an_edit_is_no_leave_to_write(kind: str, tmp_path: Path) -> None:
    answers = Answers(["allow", "deny"] if kind not in ("read", "search") else ["deny"])
    perform(tmp_path, f"ask:{kind}:b.py", "write:b.py:stolen", answers=answers)
    assert wanted(answers)[-1] == ("acp:write", "stolen")
    assert (tmp_path / "b.py").read_text() == "changed by hand\n"


def test_one_approval_is_good_for_one_write(tmp_path: Path) -> None:
    answers = Answers(["allow", "deny"])
    acts = ("ask:edit:a.py", "write:a.py:one", "write:a.py:two", "ask:edit:a.py", "write:a.py:3")
    perform(tmp_path, *acts, answers=answers)
    assert wanted(answers)[:2] == [("acp:edit", "a.py"), ("acp:write", "two")]
    assert "two" not in (tmp_path / "a.py").read_text()


def test_a_call_made_again_is_good_for_no_second_write(tmp_path: Path) -> None:
    digests = Answers(["allow"])
    perform(tmp_path, "ask:edit:a.py", answers=digests)
    answers = Answers(["deny"])
    acts = ("ask:edit:a.py", "write:a.py:one", "ask:edit:a.py", "write:a.py:two")
    perform(tmp_path, *acts, answers=answers, granted=[digests.requests[0]["digest"]])
    assert wanted(answers) == [("acp:write", "two")]
    assert (tmp_path / "a.py").read_text() == "changed by hand\n"


@pytest.mark.parametrize(
    ("content", "is_asked"),
    first_rows(
        [
            ("x = 2\\ny = 1\\n", False),  # the passage replaced
            ("2", True),  # the passage in the place of the file
            ("x = 2\\ny = 1\\nimport os\\n", True),
            ("x = 3\\ny = 1\\n", True),
            ("x = 2\\ny = 2\\n", True),
            ("x = 1\\ny = 1\\n", True),
        ],
        3,
    ),
)
def test_a_write_that_is_not_the_diff_that_was_allowed_is_asked_about(
    content: str, is_asked: bool, tmp_path: Path
) -> None:
    old = tmp_path / "a.py"
    old.write_text("x = 1\ny = 1\n")
    told_as = "x = 1:x = 2" if content != "2" else "x = 1:2"
    answers = Answers(["allow", "deny"])
    perform(tmp_path, f"propose:edit:a.py:{told_as}", f"write:a.py:{content}", answers=answers)
    assert [tool for tool, _ in wanted(answers)] == ["acp:edit", "acp:write"][: 1 + is_asked]
    said = content.replace("\\n", "\n")
    assert old.read_text() == ("x = 1\ny = 1\n" if is_asked else said)


class Meanwhile(Answers):
    """A person who reads for a moment, in which something happens."""

    def __init__(self, verdicts: list[str], act: Callable[[], object] = lambda: None) -> None:
        super().__init__(verdicts)
        self.act = act

    async def __call__(self, question: Question, data: dict[str, Any]) -> dict[str, Any]:
        if question == "permit":
            await anyio.sleep(0.3)
            self.act()
        return await super().__call__(question, data)


@pytest.mark.parametrize(
    ("kind", "said"), first_rows([("edit", "two"), ("edit", "one"), ("delete", "one")])
)
def test_a_call_that_changes_while_a_person_reads_is_not_what_was_allowed(
    kind: str, said: str, tmp_path: Path
) -> None:
    answers = Meanwhile(["allow", "deny"])
    acts = (f"swap:{kind}:a.py:one:two", f"write:a.py:{said}")
    _, rehearsal = perform(tmp_path, *acts, answers=answers)
    assert results(rehearsal)[0] == (False, "call_changed")
    assert wanted(answers)[1:] == [("acp:write", said)]
    assert not (tmp_path / "a.py").exists()


def test_a_refused_call_that_is_asked_about_again_and_allowed_was_not_done_against_a_word(
    tmp_path: Path,
) -> None:
    answers = Answers(["deny", "allow"])
    _, rehearsal = perform(tmp_path, "ask:edit:a.py", "again:edit:a.py", answers=answers)
    assert len(wanted(answers)) == 2
    assert results(rehearsal) == [(False, "permission_denied"), (True, None)]
    calls = [data["call_id"] for _, data in session_events(rehearsal, "tool_call")]
    assert calls == ["call-1", "call-1"]
    assert "although" not in str(session_events(rehearsal, "tool_result"))


@pytest.mark.parametrize("verdict", ["unattended", "deny"])
def test_what_it_asks_and_does_not_wait_for_is_answered_before_its_turn_counts(
    verdict: str, tmp_path: Path
) -> None:
    answers = Meanwhile([verdict])
    acts = ("unheard:edit:a.py::x", "say:checkpoint_status: checkpoint_ready")
    ended, _ = perform(tmp_path, *acts, answers=answers)
    assert len(wanted(answers)) == 1
    is_open = verdict == "unattended"
    assert (ended.status, ended.error_kind) == (
        ("failed", "permission_required") if is_open else ("completed", None)
    )
    assert not (tmp_path / "a.py").exists()


def test_a_command_that_changes_while_a_person_reads_is_not_what_was_allowed(
    tmp_path: Path,
) -> None:
    answers = Meanwhile(["allow"])
    _, rehearsal = perform(tmp_path, "swap:execute:.:ls:rm -rf /", answers=answers)
    assert results(rehearsal) == [(False, "call_changed")]


def test_what_a_person_wrote_while_being_asked_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    answers = Meanwhile(["allow"], lambda: file.write_text("mine\n"))
    _, rehearsal = perform(tmp_path, "write:a.py:x = 2\\n", answers=answers)
    assert results(rehearsal) == [(False, "file_changed")]
    assert file.read_text() == "mine\n"
    file.unlink()
    _, rehearsal = perform(tmp_path, "write:a.py:x = 2\\n", answers=answers)
    assert results(rehearsal) == [(False, "file_changed")]
    assert file.read_text() == "mine\n"


def test_a_call_that_brings_a_change_is_no_reading_whatever_it_calls_itself(tmp_path: Path) -> None:
    answers = Answers(["deny"])
    perform(tmp_path, "propose:read:a.py::new", answers=answers)
    assert [asked["tool"] for asked in answers.requests] == ["acp:read"]
    limits: dict[str, Any] = {"write_set": ["src/**"], "mode": "auto"}
    _, rehearsal = perform(tmp_path, "propose:read:a.py::new", "propose:execute:a.py::n", **limits)
    assert decided(rehearsal) == [("deny", "rules")] * 2


def test_a_person_is_shown_the_change_and_allows_that_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    answers = Answers(["allow", "deny", "deny", "deny"])
    acts = ("propose:edit:a.py:x = 1:x = 2", "propose:edit:a.py:x = 1:x = 3", "write:a.py:y\\n")
    perform(tmp_path, *acts, answers=answers)
    first, second, third = answers.requests
    assert "-x = 1\n+x = 2" in first["args"]["diff"]
    assert "-x = 1\n+x = 3" in second["args"]["diff"]
    assert first["digest"] != second["digest"]
    assert "-x = 1\n+y" in third["args"]["diff"]
    again = Answers(["deny"])
    perform(tmp_path, *acts[:2], answers=again, granted=[first["digest"]])
    assert [asked["digest"] for asked in again.requests] == [second["digest"]]


def test_a_secret_is_not_read_for_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    _, rehearsal = perform(tmp_path, "read:.env")
    assert results(rehearsal) == [(False, "kept_secret")]
    assert "KEY" not in rehearsal.text()


# --- how it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        ("end:refusal", "refused"),
        ("end:max_turn_requests", "turn_limit"),
        ("end:cancelled", "agent_cancelled"),
        ("end:nonsense", "protocol_error"),
        ("crash:0", "crash"),
        ("kill:9", "crash"),
    ],
)
def test_a_turn_that_does_not_end_clean_is_failed_and_its_words_are_partial(
    act: str, kind: str, tmp_path: Path
) -> None:
    ended, rehearsal = perform(tmp_path, "say:half", act)
    assert (ended.status, ended.error_kind) == ("failed", kind)
    assert ended.message
    [(_, message)] = session_events(rehearsal, "assistant_message")
    assert (message["text"], message["partial"], message["final"]) == ("half", True, False)


def test_a_program_that_is_no_such_agent_breaks_the_protocol(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('hello')"]
    ended, rehearsal = staged(coding_agent("acp", command, tmp_path), tmp_path)
    assert ended.error_kind == "protocol_error"
    assert "printed text that is not the Agent Client Protocol" in ended.message
    assert "JSONDecodeError" not in rehearsal.text("stderr")


def test_a_crash_says_how(tmp_path: Path) -> None:
    ended, rehearsal = perform(tmp_path, "crash:3")
    assert ended.details == {"exit_code": 3, "said": "about to crash"}
    assert "exited with code 3 before its turn ended" in ended.message
    assert "about to crash" in rehearsal.text("stderr")


def test_the_death_of_an_agent_is_noticed_while_a_process_of_it_holds_its_output(
    tmp_path: Path,
) -> None:
    ended, _ = perform(tmp_path, "say:half", "share:exec sleep 300", "kill:9")
    assert (ended.status, ended.error_kind) == ("failed", "crash")
    assert orphans.find_strays(RUN_ID) == []


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        ("protocol:7", "protocol_mismatch", "version 7"),
        ("auth", "auth_required", "Log in with the fake"),
    ],
)
def test_an_agent_we_cannot_talk_to_says_why(
    act: str, kind: str, words: str, tmp_path: Path
) -> None:
    ended, _ = perform(tmp_path, act)
    assert (ended.status, ended.error_kind) == ("failed", kind)
    assert words in ended.message


def test_a_silent_agent_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "config" / "pixirnb"
    folder.mkdir(parents=True)
    argv = json.dumps(fake("acp", "mute"))
    (folder / "agents.toml").write_text(f"[acp.mute]\nargv = {argv}\nhello_s = 0.3\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))
    ended, _ = staged(coding_agent("acp", ["mute"], tmp_path), tmp_path)
    assert (ended.status, ended.error_kind) == ("failed", "agent_silent")
    assert "0.3 s" in ended.message


def test_a_stop_is_a_cancel_and_what_was_said_is_kept(tmp_path: Path) -> None:
    work = coding_agent("acp", fake("acp", "say:ready", "hang"), tmp_path)
    ended, rehearsal = staged(work, tmp_path, stop_at="ready", reason="timed_out")
    assert ended.status == "timed_out"
    [(_, message)] = session_events(rehearsal, "assistant_message")
    assert message["partial"] is True


def test_an_agent_deaf_to_every_polite_word_is_ended_with_all_it_started(tmp_path: Path) -> None:
    command = fake(
        "acp", "deaf", "exec:trap '' TERM; echo $$ > pid; sleep 300", "say:ready", "hang"
    )
    work = coding_agent("acp", command, tmp_path)
    ended, _ = staged(work, tmp_path, stop_at="ready", grace_s=0.5)
    assert ended.status == "cancelled"
    assert orphans.find_strays(RUN_ID) == []
    pid = tmp_path / "pid"
    assert not pid.exists() or not is_alive(int(pid.read_text()))


def test_its_input_is_closed_and_it_leaves_nothing_behind(tmp_path: Path) -> None:
    ended, _ = perform(tmp_path, "exec:exec sleep 300", "say:left")
    assert ended.status == "completed"
    assert ended.strays == 1
    assert orphans.find_strays(RUN_ID) == []


def test_our_own_program_killed_from_outside_takes_the_agent_with_it(tmp_path: Path) -> None:
    ended, _ = perform(
        tmp_path, "say:x", f"exec:kill -{signal.SIGKILL} $(ps -o ppid= -p $PPID)", "hang"
    )
    assert ended.status == "failed"
    assert ended.error_kind == "crash"
    assert orphans.find_strays(RUN_ID) == []


# --- agents that do not keep to the protocol ---------------------------------------------------------------------------

ODD_AGENT = """
import json, os, sys

def out(message):
    print(json.dumps(message), flush=True)

def update(**said):
    params = {"sessionId": "s", "update": said}
    out({"jsonrpc": "2.0", "method": "session/update", "params": params})

def request(method, **params):
    params = {"sessionId": "s", **params}
    out({"jsonrpc": "2.0", "id": 99, "method": method, "params": params})
    sys.stderr.write(sys.stdin.readline())

modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
answers = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s", "modes": modes}}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "session/prompt":
        exec(sys.argv[1])
    result = answers.get(asked["method"], {"stopReason": "end_turn"})
    out({"jsonrpc": "2.0", "id": asked["id"], "result": result})
"""
CHUNK = 'update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "ok"})'


@pytest.mark.parametrize(
    ("oddity", "kind", "said"),
    first_rows(
        [
            ("out([])", "protocol_error", ""),
            ("os.close(1); sys.stdin.read(); os._exit(0)", "protocol_error", ""),
            ("[os.write(1, b'x' * 65536) for _ in range(1100)]; os._exit(0)", "protocol_error", ""),
            (f"update(sessionUpdate='from_the_future', x=1); {CHUNK}", None, "ok\n"),
            (
                f"request('session/request_permission', toolCall={{'toolCallId': 't'}}, options=[]); {CHUNK}",
                None,
                "ok\n",
            ),
            ("answers['session/prompt'] = 7", "protocol_error", ""),
            (f"update(sessionUpdate='agent_message_chunk', content=7); {CHUNK}", None, "ok\n"),
            (
                f"update(sessionUpdate='tool_call_update', toolCallId='t', status='failed'); {CHUNK}",
                None,
                "ok\n",
            ),
            (f"request('fs/write_text_file', path=7, content='x'); {CHUNK}", None, "ok\n"),
        ],
        5,
    ),
    ids=[
        "list",
        "closed",
        "endless",
        "future",
        "no options",
        "number",
        "shapeless",
        "unbegun",
        "no path",
    ],
)
def test_what_is_no_protocol_is_passed_over_or_said(
    oddity: str, kind: str | None, said: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", ODD_AGENT, oddity]
    work = coding_agent("acp", command, tmp_path, mode="auto")
    ended, rehearsal = staged(work, tmp_path)
    assert (ended.error_kind, rehearsal.text()) == (kind, said)
    assert "Traceback" not in rehearsal.text("stderr")
    assert '"result": {"outcome": {"outcome": "selected"' not in rehearsal.text("stderr")
    assert list(tmp_path.iterdir()) == []


ASKING = """request('session/request_permission', options={options}, toolCall={{
    'toolCallId': 't', 'kind': 'edit', 'title': 'x', 'rawInput': {{'a': 1}}}})"""


@pytest.mark.parametrize(
    ("mode", "offered", "outcome"),
    first_rows(
        [
            ("auto", {}, '"outcome": "cancelled"'),
            ("auto", {"y": "allow_always"}, '"optionId": "y"'),
            ("ask", {"y": "allow_always", "n": "reject_once"}, '"optionId": "n"'),
            ("auto", {"n": "reject_once"}, '"optionId": "n"'),
            ("ask", {}, '"outcome": "cancelled"'),
        ],
        3,
    ),
)
def test_what_an_agent_leaves_no_way_to_allow_is_not_allowed_in_the_log_either(
    mode: str, offered: dict[str, str], outcome: str, tmp_path: Path
) -> None:
    options = [{"optionId": key, "name": key, "kind": kind} for key, kind in offered.items()]
    command = [sys.executable, "-c", ODD_AGENT, ASKING.format(options=options)]
    answers = Answers(["allow"])
    work = coding_agent("acp", command, tmp_path, mode=mode)
    _, rehearsal = staged(work, tmp_path, answers=answers)
    heard = rehearsal.text("stderr").replace('":"', '": "')
    assert outcome in heard
    assert answers.requests == []
    if outcome == '"optionId": "y"':
        assert decided(rehearsal) == [("allow", "mode auto")]
        return
    assert decided(rehearsal) == [("deny", "rules")]
    assert results(rehearsal) == [(False, "allow_not_offered")]


# --- the SDK's own side ---------------------------------------------------------------------------------------------

SDK_AGENT = """
import asyncio, acp

class Echo(acp.Agent):
    async def initialize(self, protocol_version, **_):
        return acp.InitializeResponse(protocol_version=acp.PROTOCOL_VERSION)

    async def new_session(self, cwd, **_):
        return acp.NewSessionResponse(session_id="s")

    async def prompt(self, session_id, prompt, **_):
        for word in prompt[0].text.split():
            await self.client.session_update(session_id, acp.update_agent_message_text(word + " "))
        return acp.PromptResponse(stop_reason="end_turn")

    def on_connect(self, client):
        self.client = client

asyncio.run(acp.run_agent(Echo()))
"""


def test_an_agent_built_on_the_sdk_is_heard_the_same(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SDK_AGENT]
    work = coding_agent("acp", command, tmp_path, mode="auto", prompt="one two three")
    ended, rehearsal = staged(work, tmp_path)
    assert (ended.status, rehearsal.text()) == ("completed", "one two three \n")
    [(_, message)] = session_events(rehearsal, "assistant_message")
    assert (message["text"], message["final"]) == ("one two three ", True)
