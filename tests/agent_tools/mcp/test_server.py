"""`pixirnb mcp`, spoken to by the SDK's own client over the standard streams of a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

import pixirnb
from pixirnb import api
from pixirnb.agent_tools.mcp.server import WireLines, parent_of
from pixirnb.errors import InvalidArguments
from pixirnb.runners.processes.process_tree import TAG
from pixirnb.verbs.answers import Desk
from pixirnb.verbs.app import perform

if TYPE_CHECKING:  # slow to load: not in every process that collects
    import mcp_types as types
    from mcp import Client, StdioServerParameters
    from mcp.client.session import ElicitationFnT

ROOT = Path(pixirnb.__file__).parents[1]
"""Of the package under test, which may be a copy with a bug."""
GOOD = {"name": "good", "steps": [{"id": "a", "run": "echo hi", "posture": "read_only"}]}
LATE = {
    "name": "late",
    "steps": [
        {"id": "a", "run": "echo it completed"},
        {"id": "b", "run": "sleep 60", "timeout": "500ms"},
    ],
}
LONG = {"name": "long", "steps": [{"id": "a", "run": "sleep 60"}]}
QUESTION = {"name": "asks", "steps": [{"id": "q", "ask": {"question": "Ship it?"}}]}


def server(workspace: Path, *words: str, **env: str) -> StdioServerParameters:
    """How a client starts it."""
    from mcp import StdioServerParameters

    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "pixirnb", "mcp", "--workspace", str(workspace), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
    )


@asynccontextmanager
async def client(
    given: StdioServerParameters, mode: str = "auto", answering: ElicitationFnT | None = None
) -> AsyncIterator[Client]:
    """A client that has begun to speak to it."""
    from mcp import Client

    async with Client(given, mode=mode, elicitation_callback=answering) as found:
        yield found


async def called(speaker: Client, tool: str, **args: Any) -> tuple[bool, str, dict[str, Any]]:
    """Whether a tool did what it was asked, its text, and its document."""
    result = await speaker.call_tool(tool, args)
    said = cast("types.TextContent", result.content[0])
    return not result.is_error, said.text, result.structured_content


def statuses(workspace: Path) -> dict[str, str]:
    """Workflow to status, of the runs of a workspace."""
    return {str(row["workflow"]): row["status"] for row in api.runs(workspace=workspace)}


def person(asked: list[str], *words: bool) -> ElicitationFnT:
    """A person who answers the questions in turn."""
    import mcp_types as types

    left = list(words)

    async def said(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        del context
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"allow": left.pop(0)})

    return said


def test_an_agent_outside_plans_runs_decides_and_is_told_what_came_of_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with client(server(tmp_path, "--permission", "auto")) as speaker:
            offered = {tool.name: tool for tool in (await speaker.list_tools()).tools}
            assert set(offered) == {
                "run_workflow",
                "resume_workflow",
                "inspect_run",
                "decide_step",
                "diagnose_run",
                "workflow_checkpoint_save",
            }
            assert offered["inspect_run"].annotations is not None
            assert offered["inspect_run"].annotations.read_only_hint is True
            ok, text, _ = await called(speaker, "run_workflow", workflow=GOOD, dry_run=True)
            assert ok
            assert text.startswith("Nothing was started.")
            assert not (tmp_path / ".pixirnb").exists()
            ok, text, document = await called(speaker, "run_workflow", workflow=GOOD)
            assert ok
            assert "completed" in text
            assert document["status"] == "completed"
            ok, text, document = await called(speaker, "run_workflow", workflow=LATE)
            assert ok
            assert "ended partial" in text
            assert "complet" not in text.lower()
            ok, text, document = await called(speaker, "run_workflow", workflow={"name": "x"})
            assert not ok
            assert document["error"]["code"] == "invalid_args"
            assert "steps" in text
            _, _, parked = await called(speaker, "run_workflow", workflow=QUESTION)
            run_id = parked["run_id"]
            ok, text, _ = await called(
                speaker, "workflow_checkpoint_save", run_id=run_id, name="parked"
            )
            assert ok
            ok, text, document = await called(
                speaker, "decide_step", run_id=run_id, step="q", verdict="accept"
            )
            assert document["status"] == "completed"

    anyio.run(story)
    decided = api.open_run(api.runs(workspace=tmp_path)[0]["run_id"], workspace=tmp_path).history()
    who = [event.data["by"] for event in decided if event.kind == "decision_recorded"]
    assert who[0].startswith("mcp client ")


def test_an_agent_outside_decides_nothing_in_a_run_that_a_person_started(tmp_path: Path) -> None:
    run = api.start(QUESTION, workspace=tmp_path)
    api.wait(run)

    async def story() -> None:
        async with client(server(tmp_path, "--permission", "auto")) as speaker:
            for verdict in ("accept", "reject"):
                _, _, document = await called(
                    speaker, "decide_step", run_id=run.id, step="q", verdict=verdict
                )
                assert document["error"]["code"] == "decision_by_agent"

    anyio.run(story)
    assert run.status == "needs_orchestrator"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_changes_things_is_asked_of_the_person_behind_the_client(
    mode: str, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def story() -> None:
        async with client(server(tmp_path), mode, person(asked, True, False)) as speaker:
            ok, _, _ = await called(speaker, "run_workflow", workflow=GOOD)
            assert ok
            claim = {"id": "a", "run": "echo checkpoint_status: checkpoint_ready \u202e"}
            ok, text, document = await called(
                speaker, "run_workflow", workflow={**GOOD, "steps": [claim]}
            )
            assert document["error"]["code"] == "permission_denied"
            assert "the user denied it" in text
            ok, _, _ = await called(speaker, "run_workflow", workflow=GOOD, dry_run=True)
            assert ok

    anyio.run(story)
    assert len(asked) == 2
    assert "Data from the agent (not instructions):\n> {" in asked[0]
    assert '"echo checkpoint_status: checkpoint_ready \\u202e"' in asked[1]
    assert len(api.runs(workspace=tmp_path)) == 1


def test_who_cannot_be_asked_is_refused_and_told_how_it_can_be_allowed(tmp_path: Path) -> None:
    async def story() -> None:
        async with client(server(tmp_path)) as speaker:
            ok, text, document = await called(speaker, "run_workflow", workflow=GOOD)
            assert not ok
            assert document["error"]["code"] == "permission_denied"
            assert "--permission auto" in text

    anyio.run(story)
    assert api.runs(workspace=tmp_path) == []


def test_an_answer_to_another_question_allows_nothing(tmp_path: Path) -> None:
    import mcp_types as types

    async def story() -> None:
        yes = types.ElicitResult(action="accept", content={"allow": True})
        # Its client says that it can ask, and then answers what it was not asked.
        async with client(server(tmp_path), answering=person([])) as speaker:
            first = await speaker.session.call_tool(
                "run_workflow", {"workflow": GOOD}, allow_input_required=True
            )
            assert isinstance(first, types.InputRequiredResult)
            for state, workflow in ((first.request_state, LONG), ("made-up", GOOD)):
                result = await speaker.session.call_tool(
                    "run_workflow",
                    {"workflow": workflow},
                    input_responses={"permission": yes},
                    request_state=state,
                    allow_input_required=True,
                )
                assert isinstance(result, types.CallToolResult)
                assert result.is_error

    anyio.run(story)
    assert api.runs(workspace=tmp_path) == []


def test_runs_end_with_the_client_and_with_the_call_that_waits_for_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with client(server(tmp_path, "--permission", "auto")) as speaker:
            ok, _, document = await called(speaker, "run_workflow", workflow=LONG, max_wait_s=0.3)
            assert ok
            assert document["status"] == "running"
            with anyio.move_on_after(2):
                await called(speaker, "run_workflow", workflow={**LONG, "name": "given-up"})
            with anyio.fail_after(60):
                while statuses(tmp_path).get("given-up") != "interrupted":  # noqa: ASYNC110
                    await anyio.sleep(0.1)
            assert statuses(tmp_path)["long"] == "running"

    anyio.run(story)
    assert statuses(tmp_path) == {"given-up": "interrupted", "long": "interrupted"}


def test_the_agent_of_a_step_is_held_to_its_run_though_it_comes_from_outside(
    tmp_path: Path,
) -> None:
    run = api.start(QUESTION, workspace=tmp_path)
    run.wait()

    async def story() -> None:
        given = server(tmp_path, "--permission", "auto", **{TAG: f"{run.id}/q.1"})
        async with client(given) as speaker:
            _, _, document = await called(
                speaker, "decide_step", run_id=run.id, step="q", verdict="accept"
            )
            assert document["error"]["code"] == "decision_by_agent"
            _, _, inner = await called(speaker, "run_workflow", workflow=GOOD)
            nested = api.open_run(inner["run_id"], workspace=tmp_path)
            assert nested.state.parent is not None
            assert nested.state.parent["run_id"] == run.id
            _, _, parked = await called(speaker, "run_workflow", workflow=QUESTION)
            delegated = {"run_id": parked["run_id"], "step": "q", "verdict": "accept"}
            _, _, decided = await called(speaker, "decide_step", **delegated)
            assert decided["status"] == "completed"

    anyio.run(story)
    assert run.status == "needs_orchestrator"


def test_a_tag_that_only_an_environment_bears_decides_nothing_of_another_connection(
    tmp_path: Path,
) -> None:
    run = api.start(QUESTION, workspace=tmp_path)
    run.wait()

    async def story() -> None:
        given = server(tmp_path, "--permission", "auto", **{TAG: f"{run.id}/q.1"})
        async with client(given) as speaker:
            _, _, parked = await called(speaker, "run_workflow", workflow=QUESTION)
        async with client(given) as speaker:
            delegated = {"run_id": parked["run_id"], "step": "q", "verdict": "accept"}
            _, _, document = await called(speaker, "decide_step", **delegated)
            assert document["error"]["code"] == "decision_by_agent"

    anyio.run(story)


def test_only_below_the_live_owner_of_its_run_is_an_agent_proven(tmp_path: Path) -> None:
    run = api.start(LONG, workspace=tmp_path)
    asked = partial(parent_of, run.store, f"{run.id}/a.1")
    told = [asked(owner) for owner in (os.getpid(), os.getppid(), None)]
    run.cancel()
    run.wait()
    told.append(asked(os.getpid()))
    assert [is_proven for _, is_proven in told] == [True, False, False, False]
    assert [parent and parent["depth"] for parent, _ in told] == [0, 1, 0, 1]


def test_a_polite_signal_ends_it_though_its_client_says_nothing(tmp_path: Path) -> None:
    given = server(tmp_path)
    with subprocess.Popen(
        [given.command, *given.args],
        env=given.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        )
        process.stdin.flush()
        assert b'"serverInfo"' in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 130
        assert process.stdout.read() == b""


def test_lines_come_as_they_were_sent_however_they_were_cut() -> None:
    async def story() -> None:
        reading, writing = os.pipe()
        try:
            os.write(writing, b'{"a":')
            os.write(writing, b"1}\n\xff\nrest")
            os.close(writing)
            found = [line async for line in WireLines(reading)]
            assert found == ['{"a":1}\n', "\ufffd\n"]
        finally:
            os.close(reading)

    anyio.run(story)


def test_a_file_can_be_read_where_nothing_can_be_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"one\ntwo\n")

    async def story() -> None:
        with path.open("rb", buffering=0) as file:
            assert [line async for line in WireLines(file.fileno())] == ["one\n", "two\n"]

    anyio.run(story)


def test_a_cell_is_told_that_it_cannot_serve() -> None:
    with pytest.raises(InvalidArguments, match="does not work in a cell"):
        perform(Desk(is_notebook=True), ["mcp"])


def test_without_the_sdk_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from pixirnb.cli import app; sys.exit(app.perform(['mcp']))"
    said = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=server(tmp_path).env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 5
    assert said.stdout == ""
    assert "[extra_missing]" in said.stderr
    assert "pixirnb[mcp]" in said.stderr


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


def call(number: int, tool: str, **args: Any) -> dict[str, Any]:
    """A call as it goes over the wire."""
    params = {"name": tool, "arguments": args}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def spoken(workspace: Path, lines: list[bytes], replies: int) -> list[dict[str, Any]]:
    """What the server says to these lines, until it has said so much; what it asks is answered with a list."""
    command = [sys.executable, "-m", "pixirnb", "mcp", "--workspace", str(workspace)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ}, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in lines:
            process.stdin.write(line + b"\n")
        process.stdin.flush()
        said: list[dict[str, Any]] = []
        for _ in range(replies):
            said.append(json.loads(process.stdout.readline()))
            if said[-1].get("method") == "elicitation/create":
                reply = {"jsonrpc": "2.0", "id": said[-1]["id"], "result": [True]}
                process.stdin.write(json.dumps(reply).encode() + b"\n")
                process.stdin.flush()
        process.stdin.close()
    return said


def test_what_is_no_message_is_passed_over_and_half_a_character_is_answered(tmp_path: Path) -> None:
    lines = [json.dumps(HELLO).encode(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}']
    lines += [b"\xff\xfe{", b"[]", b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', b"x" * (65 << 20)]
    lines += [json.dumps(call(2, "inspect_run", run_id="r-\ud800")).encode()]
    lines += [json.dumps(call(3, "inspect_run", run_id="r\0")).encode()]
    lines += [json.dumps(call(4, "no\0tool")).encode()]
    told = {each.get("id"): each for each in spoken(tmp_path, lines, 4)}
    assert set(told) == {1, 2, 3, 4}
    codes = [told[n]["result"]["structuredContent"]["error"]["code"] for n in (2, 3)]
    assert "internal_error" not in codes
    assert "internal_error" not in json.dumps(told[4])


def test_an_answer_that_is_none_denies_and_does_not_hang(tmp_path: Path) -> None:
    lines = [json.dumps(HELLO).encode(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}']
    lines += [json.dumps(call(2, "run_workflow", workflow=GOOD)).encode()]
    told = spoken(tmp_path, lines, 3)
    assert told[1]["method"] == "elicitation/create"
    assert told[2]["result"]["structuredContent"]["error"]["code"] == "permission_denied"


def test_a_client_that_reads_no_answer_ends_the_server_quietly(tmp_path: Path) -> None:
    given = server(tmp_path)
    with subprocess.Popen(
        [given.command, *given.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=given.env,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
