"""A coding agent that speaks the Agent Client Protocol: started, prompted once, followed to the end of its turn.

    start → initialize → new session → prompt ─▶ end_turn: completed
                                             └─▶ anything else: Failed with the reason

We start the agent ourselves, in a group of its own, with our standard error: a child of the SDK would not be ended
with its descendants, and would block when its standard error is full. A stop becomes `session/cancel`; the reaper
ends an agent that ignores it. Needs the extra `acp`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from typing import Any, Final, cast

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, schema
from pydantic import ValidationError

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.acp.client import Client
from pixirnb.runners.agents.acp.modes import AUTH_REQUIRED, SessionMode
from pixirnb.runners.agents.channel import Channel, Failed
from pixirnb.runners.agents.commands import (
    TOOLS_NAME,
    AgentCommand,
    ended_badly,
    prepare_command,
    tool_server,
)
from pixirnb.runners.agents.tools.confinement import other_roots
from pixirnb.system.version import release
from pixirnb.wording import cut

LINE_LIMIT: Final = 50 * 1024 * 1024
"""Maximum number of bytes of one message."""
_LAST_WORDS_S: Final = 0.5
"""Seconds that one side may take to follow when the other has ended."""
_EXIT_S: Final = 2.0
"""Seconds that an agent may take to exit after its input is closed, and again after SIGTERM."""

_ENDS: Final[dict[str, tuple[str, str]]] = {
    "max_tokens": (
        "turn_limit",
        "agent {name} reached its token limit for a turn",
    ),
    "max_turn_requests": (
        "turn_limit",
        "agent {name} reached its limit of requests in a turn",
    ),
    "refusal": ("refused", "agent {name} refused to continue with this task"),
    "cancelled": (
        "agent_cancelled",
        "agent {name} reports that its turn was canceled, but not by pixirnb",
    ),
}


def run(work: JsonObject, line: Channel) -> None:
    """Perform the work.

    Raises Failed: `crash exit turn_limit refused permission_required agent_silent agent_failed auth_required
    agent_mode_missing agent_mode_left protocol_mismatch protocol_error agent_cancelled`, and the errors of
    `commands.prepare_command`.
    """
    log = _quiet_logging()
    with prepare_command(work, takes_prompt=False) as command:
        asyncio.run(_Conversation(work, line, command, log).hold())


class _Conversation:
    def __init__(
        self, work: JsonObject, line: Channel, command: AgentCommand, log: _OneLine
    ) -> None:
        self._work = work
        self._log = log
        self._is_greeted = False
        self._line = line
        self._command = command
        self._name = command.name
        self._auth = ""

    async def hold(self) -> None:
        """Run the agent from its start to its end."""
        process, exited = await self._start()
        client = Client(self._work, self._line)
        assert process.stdin is not None
        assert process.stdout is not None
        # The SDK's protocol has every method of an editor; agents do not call those we do not advertise.
        connection = connect_to_agent(cast("Any", client), process.stdin, process.stdout)
        try:
            usage = await self._turn_or_end(exited, client, connection)
        except BaseException:
            client.updates.end(is_clean=False)
            await self._dismiss(process, exited)
            raise
        client.updates.end(is_clean=True)
        if usage is not None and (usage.input_tokens or usage.output_tokens):
            self._line.tell(
                "provider_usage",
                model=self._work["session"]["model"],
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
            )
        await self._dismiss(process, exited)

    async def _start(self) -> tuple[asyncio.subprocess.Process, asyncio.Future[int]]:
        loop = asyncio.get_running_loop()
        try:
            transport, pipes = await loop.subprocess_exec(
                lambda: _Pipes(loop),
                *self._command.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=None,
                cwd=self._work["cwd"],
                start_new_session=True,
            )
        except OSError as error:
            text = error.strerror or str(error)
            message = f"agent {self._name} cannot be started: {text}"
            raise Failed("spawn_failed", message, {"errno": error.errno}) from error
        self._pipes = pipes
        return asyncio.subprocess.Process(transport, pipes, loop), pipes.exited

    async def _turn_or_end(
        self, gone: asyncio.Future[int], client: Client, connection: Any
    ) -> schema.Usage | None:
        """Wait for the turn, unless a failure, a stop or the agent's end comes first. Raises Failed."""
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        turn = asyncio.create_task(self._turn(client, connection))
        stop = asyncio.create_task(stopped.wait())
        try:
            ends: set[asyncio.Future[Any]] = {turn, gone, stop, client.failure}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if turn.done() and turn.exception() is None:
                # What it asked before its turn ended is answered first: where nobody can, the attempt waits for a person.
                answered = asyncio.create_task(client.requests.answered.wait())
                open_ends: set[asyncio.Future[Any]] = {answered, stop, client.failure}
                await asyncio.wait(open_ends, return_when=asyncio.FIRST_COMPLETED)
                answered.cancel()
            if client.failure.done() and not stopped.is_set():
                await self._cancel(client, connection, turn, _EXIT_S)
                raise client.failure.result()
            if stopped.is_set():
                await self._cancel(client, connection, turn, 0.6 * float(self._work["grace_s"]))
                raise Failed("interrupted", f"agent {self._name} was stopped")
            if gone.done():
                await asyncio.wait({turn}, timeout=_LAST_WORDS_S)
            if not turn.done() or isinstance(turn.exception(), ConnectionError):
                raise await self._lost(gone)
            return self._judged(turn)
        finally:
            for task in (turn, stop):
                task.cancel()

    async def _turn(self, client: Client, connection: Any) -> schema.PromptResponse:
        hello_s = float(self._command.agent["hello_s"])
        offered = self._command.agent["files"]
        files = schema.FileSystemCapabilities(
            read_text_file="read" in offered, write_text_file="write" in offered
        )
        try:
            async with asyncio.timeout(hello_s):
                greeted = await connection.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=schema.ClientCapabilities(fs=files),
                    client_info=schema.Implementation(name="pixirnb", version=release()),
                )
                self._is_greeted = True
                self._check(greeted)
                session = await connection.new_session(
                    cwd=str(self._work["cwd"]),
                    additional_directories=self._folders(greeted),
                    mcp_servers=self._tools(),
                )
                client.session_id = session.session_id
                if (mode := self._command.session_mode) is not None:
                    client.mode = SessionMode(self._name, self._command.permission, mode)
                    await client.mode.enter(connection, session)
        except TimeoutError as error:
            message = f"agent {self._name} did not answer within {hello_s:g} s"
            raise Failed("agent_silent", message, {"hello_s": hello_s}) from error
        text = schema.TextContentBlock(type="text", text=self._work["prompt"])
        answer: schema.PromptResponse = await connection.prompt(
            session_id=session.session_id, prompt=[text]
        )
        return answer

    def _check(self, greeted: schema.InitializeResponse) -> None:
        methods = [str(getattr(method, "name", "")) for method in greeted.auth_methods or []]
        self._auth = ", ".join(name for name in methods if name)
        if greeted.protocol_version != PROTOCOL_VERSION:
            raise Failed(
                "protocol_mismatch",
                f"agent {self._name} uses version {greeted.protocol_version} of the Agent Client Protocol, "
                f"pixirnb version {PROTOCOL_VERSION}; install a compatible release of the agent",
                {"agent": greeted.protocol_version, "client": PROTOCOL_VERSION},
            )

    def _folders(self, greeted: schema.InitializeResponse) -> list[str] | None:
        folders: list[str] = [*self._work["additional_paths"], *other_roots(self._work)]
        if self._command.agent["folders"]:
            return None  # it was given them as it was started
        can = greeted.agent_capabilities and greeted.agent_capabilities.session_capabilities
        return folders if folders and can and can.additional_directories is not None else None

    def _tools(self) -> list[Any]:
        """Return our own tools, as a server that the agent starts; empty if there are none."""
        server = tool_server(self._work)
        if server is None:
            return []
        program, *args = server
        return [schema.McpServerStdio(name=TOOLS_NAME, command=program, args=args, env=[])]

    def _judged(self, turn: asyncio.Task[schema.PromptResponse]) -> schema.Usage | None:
        """Return the usage of a turn that ended. Raises Failed."""
        try:
            answer = turn.result()
        except RequestError as error:
            raise self._refused(error) from error
        except (ValidationError, TypeError, ValueError) as error:
            text = str(error).splitlines()[0]
            message = f"agent {self._name} sent an invalid protocol answer: {text}"
            raise Failed("protocol_error", message) from error
        if answer.stop_reason == "end_turn":
            return answer.usage
        kind, message = _ENDS[answer.stop_reason]
        raise Failed(kind, message.format(name=self._name), {"stop_reason": answer.stop_reason})

    def _refused(self, error: RequestError) -> Failed:
        if error.code == AUTH_REQUIRED:
            how = f" (it offers: {self._auth})" if self._auth else ""
            names = ", ".join(self._command.agent["env"])
            env = f", or pass its variables with `pass_env` ({names})" if names else ""
            return Failed(
                "auth_required",
                f"agent {self._name} requires a login{how}; log in once with its own program{env}",
            )
        text = f"{error}: {error.data}" if error.data else str(error)
        message = f"agent {self._name} reported an error: {cut(text, 1000)}"
        return Failed("agent_failed", message, {"code": error.code, "said": cut(text, 1000)})

    async def _lost(self, gone: asyncio.Future[int]) -> Failed:
        """Return the failure of a broken conversation: the agent ended, or closed the pipe."""
        await asyncio.wait({gone}, timeout=_LAST_WORDS_S)
        if self._pipes.is_too_long:
            message = f"agent {self._name} sent a line longer than {LINE_LIMIT >> 20} MiB"
            return Failed("protocol_error", message)
        if not gone.done():
            message = f"agent {self._name} closed its output or sent invalid protocol data during its turn"
            return Failed("protocol_error", message)
        failed = ended_badly(gone.result(), self._name)
        details = {"exit_code": gone.result()} if failed is None else failed.details
        how = "exited with code 0" if failed is None else failed.message
        how = how.removeprefix(f"agent {self._name} ")
        if self._log.has_stray and not self._is_greeted and failed is None:
            message = (
                f"agent {self._name} printed text that is not the Agent Client Protocol, and {how}"
            )
            return Failed("protocol_error", message, details)
        message = f"agent {self._name} {how} before its turn ended"
        return Failed("crash", message, details)

    async def _cancel(
        self, client: Client, connection: Any, turn: asyncio.Task[Any], limit_s: float
    ) -> None:
        """Ask the agent to end its turn, and wait briefly for its last messages."""
        try:
            async with asyncio.timeout(limit_s):
                if client.session_id is not None:
                    await connection.cancel(session_id=client.session_id)
                client.cancelled.set()
                if client.session_id is not None:
                    await asyncio.wait({turn})
        except (TimeoutError, ConnectionError, RequestError):
            client.cancelled.set()  # it is ended all the same

    async def _dismiss(
        self, process: asyncio.subprocess.Process, exited: asyncio.Future[int]
    ) -> None:
        """End the agent: close its input, then SIGTERM, then SIGKILL."""
        assert process.stdin is not None
        process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None and process.returncode is None:
                try:
                    os.killpg(process.pid, number)
                except ProcessLookupError:
                    pass  # gone, and not heard of yet: the loop must not close before it is
            await asyncio.wait({exited}, timeout=_EXIT_S)
            if exited.done():
                return


class _Pipes(asyncio.subprocess.SubprocessStreamProtocol):
    """The pipes of an agent, and its exit code at its exit: `Process.wait` also waits for all that hold its output."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=LINE_LIMIT, loop=loop)
        self.exited: asyncio.Future[int] = loop.create_future()
        self.is_too_long = False
        """True once the agent was killed for a line that does not end: the SDK would collect it until memory is full."""
        self._length = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._agent = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Take what the agent sends, unless its line is too long."""
        assert isinstance(data, bytes)
        _, end, rest = data.rpartition(b"\n")
        self._length = len(rest) if end else self._length + len(rest)
        if self._length <= LINE_LIMIT:
            super().pipe_data_received(fd, data)
        elif not self.is_too_long:
            self.is_too_long = True
            self._agent.kill()

    def process_exited(self) -> None:
        code = self._agent.get_returncode()
        assert code is not None
        self.exited.set_result(code)
        super().process_exited()


class _OneLine(logging.Formatter):
    """A formatter for the SDK's log of unreadable messages, without a traceback."""

    has_stray = False
    """True once the agent sent a line that is not JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            self.has_stray = True
            return "[acp] ignored a line that is not JSON"
        text = (
            f"{type(error).__name__}: {str(error).splitlines()[0]}" if error and str(error) else ""
        )
        return cut(f"[acp] {record.getMessage()} {text}".rstrip(), 500)


def _quiet_logging() -> _OneLine:
    handler, formatter = logging.StreamHandler(), _OneLine()
    handler.setFormatter(formatter)
    logging.getLogger().handlers[:] = [handler]
    return formatter
