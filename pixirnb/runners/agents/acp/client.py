"""Our side of an ACP conversation: keeps the agent's stream, decides its permission requests, and reads and writes
files for it within its sets.

    rules    an edit that names a path outside the write set is refused, whatever the mode
    mode     `read_only` refuses every change, `auto` allows it, `ask` asks a person
    files    as with our own tools: judged by the same sets, recorded as calls with their results; a write that differs
             from an approval, or repeats it, is asked about with its whole text
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

from acp import RequestError, schema
from msgspec.structs import replace

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.acp.modes import SessionMode
from pixirnb.runners.agents.acp.permission_calls import (
    READING,
    WRITING,
    OpenRequests,
    WriteGrants,
    is_reading,
    permission_request,
)
from pixirnb.runners.agents.acp.updates import AgentToolCall, Updates, diff_of
from pixirnb.runners.agents.channel import Channel, Failed, PriorApprovals
from pixirnb.runners.agents.json_lines import bounded_args, truncate_output
from pixirnb.runners.agents.tools.confinement import ConfinedPath, Confinement, Refused, shown
from pixirnb.runners.agents.tools.files import read_text, version_of, write_text
from pixirnb.sessions.permissions import Ruling, digest_of

T = TypeVar("T")
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

REFUSED: Final = -32001
"""The JSON-RPC code of a refused file request."""
_NO_YES: Final = Ruling(
    "deny",
    "allow_not_offered",
    "The request offers no option that allows this single call: ask again with an option of the kind `allow_once`.",
)
_CALL_CHANGED: Final = Ruling(
    "deny",
    "call_changed",
    "The call changed while a person was asked about it: ask again with the current call.",
)


class Client:
    """The client of one agent in one session. Implements the SDK's `Client`, its file requests and permissions."""

    def __init__(self, work: JsonObject, line: Channel) -> None:
        self.updates = Updates(line, work["session"]["model"])
        self.failure: asyncio.Future[Failed] = asyncio.get_running_loop().create_future()
        """Failure after which the turn cannot go on."""
        self.cancelled = asyncio.Event()
        """Set when the agent has been asked to end its turn."""
        self.requests = OpenRequests()
        self.session_id: str | None = None
        self.mode: SessionMode | None = None
        """The required session mode."""
        self._id = str(work["session"]["session_id"])
        self._line = line
        self._confinement = Confinement(work)
        self._limits = self._confinement.limits
        self._folders = (self._confinement.cwd, str(work["cwd"]))
        self._roots: dict[str, str] = work.get("roots") or {}
        self._leaves = WriteGrants()
        self._grants = PriorApprovals(work, line)
        self._count = 0

    def on_connect(self, conn: Any) -> None:
        """Do nothing: the SDK requires the method."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Apply an update, see `Updates`; an agent that leaves its mode ends its turn."""
        if session_id != self.session_id:
            return
        self.updates.take(update)
        if self.mode is not None and (failed := self.mode.left(update)) is not None:
            self.fail(failed)

    async def request_permission(
        self,
        session_id: str,  # noqa: ARG002 - the protocol's signature
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        """Answer by the rules, by the mode, or by a person."""
        with self.requests.answering():
            return await self._permitted(tool_call, options)

    async def _permitted(
        self, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> schema.RequestPermissionResponse:
        live = self.updates.learn_request(tool_call)
        # As it is shown: while a person reads, the agent may change it, or spell its paths in another way.
        call = replace(live)
        locations, ruling = self._judged(call)
        tool = f"acp:{call.kind}"
        args, digest = permission_request(
            call, [locations.get(path, path) for path in call.paths], self._folders, self._roots
        )
        is_changing = not is_reading(call)
        # What is allowed is this call: where a person decides, an agent may not take it for all that follow.
        kinds: tuple[OptionKind, ...] = ("allow_once", "allow_always")
        yes = _choice(options, *kinds[: 1 if is_changing and self._limits.mode == "ask" else 2])
        if ruling is None:
            ruling = self._limits.by_mode(digest) if is_changing else Ruling("allow")
        if yes is None and ruling.verdict != "deny":
            ruling = _NO_YES
        if ruling.verdict == "ask":
            ruling = await self._ask_person(tool, args, digest, call.call_id, call.title)
            if ruling is None:
                return _answer(None)
            now = permission_request(live, live.paths, self._folders, self._roots)[1]
            if ruling.verdict == "allow" and now != digest:
                ruling = _CALL_CHANGED
        else:
            self._record(tool, args, call.call_id, ruling, digest)
        if ruling.verdict == "allow":
            self._leaves.give(call, digest, locations)
            return _answer(yes)
        self.updates.end_call(live, ok=False, code=ruling.code, message=ruling.message)
        return _answer(_choice(options, "reject_once", "reject_always"))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> schema.WriteTextFileResponse:
        """Write a file of the write set for the agent."""
        del session_id
        args = {"path": shown(path, 1000), "characters": len(content)}

        async def write(call_id: str) -> str:
            location = self._confinement.writable(path)
            version = await off_loop(version_of, location)
            before = await self._before(location)
            if not self._leaves.use(location.path, before or "", content):
                await self._ask_to_write(location, before, content, call_id)
            await off_loop(self._line.ask, "commit", {})
            size = await off_loop(write_text, location, content, version)
            return f"Wrote {size:,} bytes to `{location.shown}`."

        await self._filed("fs/write_text_file", args, write)
        return schema.WriteTextFileResponse()

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **_: Any,
    ) -> schema.ReadTextFileResponse:
        """Read a file of the read set for the agent: `limit` lines from `line` on."""
        del session_id
        lines: list[str] = []
        call_args = {"path": shown(path, 1000), "line": line, "limit": limit}
        args = {name: value for name, value in call_args.items() if value is not None}

        async def read(_: str) -> str:
            text = await off_loop(read_text, self._confinement.readable(path))
            if line is not None or limit is not None:
                first = max((line or 1) - 1, 0)
                last = None if limit is None else first + max(limit, 0)
                text = "".join(text.splitlines(keepends=True)[first:last])
            lines.append(text)
            return f"{len(text):,} characters."

        await self._filed("fs/read_text_file", args, read)
        return schema.ReadTextFileResponse(content=lines[0])

    def fail(self, failed: Failed) -> None:
        """Fail the turn; the first reason is kept."""
        if not self.failure.done():
            self.failure.set_result(failed)

    async def _filed(self, name: str, args: JsonObject, act: Callable[[str], Any]) -> None:
        """Record a file request as a call with its result. Raises RequestError."""
        self._count += 1
        call_id = f"{name}-{self._count}"
        self.updates.pause()
        self._line.tell("tool_call", call_id=call_id, name=name, args=args)
        try:
            with self.requests.answering():
                output = await act(call_id)
        except Refused as refused:
            self._line.tell(
                "tool_result",
                call_id=call_id,
                ok=False,
                output=f"[refused: {refused.code}] {refused.message}",
                error={"kind": refused.code, "message": refused.message, "details": args},
            )
            if refused.code == "file_missing":
                raise RequestError.resource_not_found(args["path"]) from refused
            error = {"code": refused.code}
            raise RequestError(REFUSED, f"[{refused.code}] {refused.message}", error) from refused
        except Failed as failed:
            self.fail(failed)
            raise RequestError(REFUSED, failed.message, {"code": failed.kind}) from failed
        self._line.tell("tool_result", call_id=call_id, ok=True, output=output)

    async def _before(self, location: ConfinedPath) -> str | None:
        """Return the content of a file; None if it is not text, or missing."""
        try:
            return await off_loop(read_text, location)
        except Refused:
            return None

    async def _ask_to_write(
        self, location: ConfinedPath, before: str | None, content: str, call_id: str
    ) -> None:
        """Return when the mode or a person allows the write. Raises Refused, Failed."""
        args = {"path": location.path, "content": content}
        digest = digest_of("acp:write", args)
        ruling: Ruling | None = self._limits.by_mode(digest)
        if ruling is not None and ruling.verdict == "ask":
            why = f"write `{location.shown}` ({len(content):,} characters)"
            shown_args = {**args, "content": truncate_output(content)}
            if before is not None:
                shown_args["diff"] = truncate_output(diff_of(location.path, before, content))
            ruling = await self._ask_person("acp:write", shown_args, digest, call_id, why)
        elif ruling is not None:
            shown_args = {**args, "content": truncate_output(content)}
            self._grants.tell("acp:write", shown_args, digest, call_id)
        if ruling is None:
            raise Refused(
                "permission_required", "A person must approve this, and no person is available."
            )
        if ruling.verdict != "allow":
            raise Refused(ruling.code, ruling.message)

    def _judged(self, call: AgentToolCall) -> tuple[dict[str, str], Ruling | None]:
        """Return the files that a call names, by their names in the rules, and the refusal, if any."""
        locations: dict[str, str] = {}
        limits, changed = self._limits, {change.path for change in call.changes}
        refused: Ruling | None = None
        for path in call.paths:
            writes = path in changed or call.kind in WRITING
            if not writes and call.kind not in READING:
                continue
            refusal = limits.look_refusal if call.kind == "search" else limits.read_refusal
            try:
                locations[path] = self._confinement.location(path).path
                ruling = (limits.write_refusal if writes else refusal)(locations[path])
            except Refused as text:
                ruling = Ruling("deny", text.code, text.message)
            refused = refused or ruling
        return locations, refused

    async def _ask_person(
        self, tool: str, args: JsonObject, digest: str, call_id: str, why: str
    ) -> Ruling | None:
        """Return a person's decision; None if the turn ends because no person can be asked."""
        title = shown(why or tool, 400)
        data = {
            "tool": tool,
            "args": bounded_args(args),
            "digest": digest,
            "call_id": call_id,
            "why": title,
        }
        try:
            answer = await off_loop(self._line.ask, "permit", data)
        except Failed as failed:
            self.fail(failed)
            return None
        verdict, note = answer.get("verdict"), str(answer.get("note") or "").strip()
        if verdict == "allow":
            return Ruling("allow")
        if verdict != "unattended":
            message = f"A person denied this. {note}".strip()
            return Ruling("deny", "permission_denied", message)
        request = str(answer.get("request_id") or "")
        self.fail(
            Failed(
                "permission_required",
                f"approval required: {title} (no person was available); "
                f"run `pixirnb approve {request}` or `pixirnb deny {request}`",
                {"request_id": request, "tool": tool, "digest": digest, "wanted": title},
            )
        )
        await self.cancelled.wait()  # else the agent takes the answer for a refusal, and goes on
        return None

    def _record(
        self, tool: str, args: JsonObject, call_id: str, ruling: Ruling, digest: str
    ) -> None:
        """Record a request that needed no person now, with who decided it, or had before."""
        if ruling.verdict == "allow" and self._grants.tell(tool, args, digest, call_id):
            return
        self._count += 1
        request_id = f"{self._id}.rule.{self._count}"
        self._line.tell(
            "permission_requested", request_id=request_id, call_id=call_id, tool=tool, args=args
        )
        by = "rules" if ruling.code not in {"", "read_only"} else f"mode {self._limits.mode}"
        self._line.tell(
            "permission_decided",
            request_id=request_id,
            verdict=ruling.verdict,
            by=by,
            note=ruling.message,
        )


async def off_loop(call: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a blocking call, or raise its error.

    Uses a daemon thread: one that waits for a person must not delay the end.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # no error: it is what the call returned

    def work() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = call(*arguments)
        except BaseException as raised:  # noqa: BLE001 - whoever waits for it is told
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            return  # the loop is over, and nobody waits

    threading.Thread(target=work, daemon=True).start()
    return await future


def _choice(options: list[schema.PermissionOption], *kinds: OptionKind) -> str | None:
    """Return the first option of these kinds, the narrowest first; None if the agent offers none."""
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option.option_id
    return None


def _answer(option_id: str | None) -> schema.RequestPermissionResponse:
    if option_id is None:
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
    chosen = schema.AllowedOutcome(option_id=option_id, outcome="selected")
    return schema.RequestPermissionResponse(outcome=chosen)
