"""A fake coding agent that speaks the Agent Client Protocol on standard input and output, and does what its arguments say.

    python -m pixirnb.testing.agents.acp say:Hello tool:read:a.py ask:edit:src/a.py say:Done.

Each argument is an act, done in order when it is prompted (`\\n` is a new line, `$NAME` a variable of its environment):

    say:TEXT  think:TEXT  echo        a message, in two chunks · a thought · the prompt said back
    plan:A:B  usage:IN:OUT            a plan of which A is done · what the turn cost
    tool:KIND:TITLE  broken:TITLE     a tool of its own that succeeds · one that fails
    orphan:TITLE                      a tool that it never speaks of again
    tick:A:B                          says A and B, and between the two that a tool goes on, and no more of it
    ask:KIND:PATH                     asks leave for a tool; with it, writes PATH by its own hand
    again:KIND:PATH                   asks leave for the call of the act before, which may be over; with it, writes PATH
    propose:KIND:PATH:OLD:NEW         asks leave for a tool with a diff, and leaves it there
    unheard:KIND:PATH:OLD:NEW         asks likewise, and goes on without the answer
    swap:KIND:PATH:NEW:LATER          asks leave for an edit to NEW, and makes it a KIND to LATER while it is asked;
                                      KIND `execute`: asks leave for the command NEW, and makes it LATER
    hand:PATH:TEXT                    writes by its own hand without a request, as its mode `act` lets it; in others it does not
    write:PATH:TEXT  read:PATH        through the client's file requests
    use:TOOL:JSON                     calls a tool of the first server it was given, and says what it answers
    offered                           says which file requests it was offered
    env:NAME  exec:COMMAND            says a variable's value · starts a shell command in a session of its own
    share:COMMAND                     the same, and it holds the standard output of the agent
    flood:KIB  noise                  writes to standard error · writes what is no protocol to standard output
    crash:CODE  kill:SIGNAL           ends itself
    pause:SECONDS                     waits to be cancelled, so long at most
    hang  deaf                        waits to be cancelled · is never to be stopped politely (put it first)
    end:REASON                        ends the turn: refusal, max_tokens, max_turn_requests, cancelled
    mute  protocol:N  auth            answers nothing · speaks another version · wants a login (put them first)
    modes:A,B  spelling:WORD          what it may be put into, `act,read_only,ask` unless said; as `modes`, `options` or `both`
    rigid  stuck  leave:MODE          refuses to change its mode · says it did and did not (put them first) · changes it itself

Until a client sets its mode, it is in the first of its modes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from pixirnb.testing.agents.acp_connection import Connection, call_tool

_EARLY: Final = frozenset(
    {"mute", "protocol", "auth", "deaf", "modes", "spelling", "rigid", "stuck"}
)
_MODES: Final = "act,read_only,ask"
_OPTIONS: Final = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


class FakeAgent(Connection):
    """One agent on one pair of pipes."""

    def __init__(self, acts: list[str]) -> None:
        """`acts`: as in the module's table."""
        super().__init__("fake-1")
        parted = [act.partition(":") for act in acts]
        self._early = {name: rest for name, _, rest in parted if name in _EARLY}
        self._acts = [(name, rest) for name, _, rest in parted if name not in _EARLY]
        self._cancelled = threading.Event()
        self._cwd = Path()
        self._prompt = ""
        self._files: dict[str, bool] = {}
        self._servers: list[dict[str, Any]] = []
        self._modes = [name for name in self._early.get("modes", _MODES).split(",") if name]
        self._spelling = self._early.get("spelling", "modes")
        self._mode = self._modes[0] if self._modes else "act"

    def serve(self) -> None:
        """Answer until standard input ends."""
        if "deaf" in self._early:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for line in sys.stdin:
            message = json.loads(line)
            if "mute" in self._early:
                continue
            if "method" not in message:
                self._answered(message)
                continue
            self._on_message(message)

    def _on_message(self, message: dict[str, Any]) -> None:
        number, params = message.get("id"), message.get("params") or {}
        match message["method"]:
            case "initialize":
                self._files = params.get("clientCapabilities", {}).get("fs", {})
                version = int(self._early.get("protocol") or 1)
                methods = [{"id": "login", "name": "Log in with the fake"}]
                self._send(
                    id=number,
                    result={
                        "protocolVersion": version,
                        "agentCapabilities": {},
                        "authMethods": methods if "auth" in self._early else [],
                    },
                )
            case "session/new" if "auth" in self._early:
                error = {"code": -32000, "message": "Authentication required"}
                self._send(id=number, error=error)
            case "session/new":
                self._cwd = Path(params["cwd"])
                self._servers = params.get("mcpServers", [])
                self._send(id=number, result={"sessionId": self._session, **self._offered()})
            case "session/set_mode":
                self._put_into(params["modeId"], number, {})
            case "session/set_config_option":
                self._put_into(params["value"], number, None)
            case "session/prompt":
                self._prompt = "".join(block.get("text", "") for block in params["prompt"])
                threading.Thread(target=self._turn, args=(number,), daemon=True).start()
            case "session/cancel":
                self._cancelled.set()
            case _ if number is not None:
                error = {"code": -32601, "message": "Method not found"}
                self._send(id=number, error=error)
            case _:
                pass  # a notification of something it has no use for

    def _offered(self) -> dict[str, Any]:
        """Return its modes, in the spelling it speaks; nothing where it has none."""
        capabilities: dict[str, Any] = {}
        if self._modes and self._spelling in {"modes", "both"}:
            known = [{"id": name, "name": name.title()} for name in self._modes]
            capabilities["modes"] = {"currentModeId": self._mode, "availableModes": known}
        if self._modes and self._spelling in {"options", "both"}:
            capabilities["configOptions"] = self._options()
        return capabilities

    def _options(self) -> list[dict[str, Any]]:
        """Return the mode among other things that may be chosen."""
        choices = {"model": ["small", "large"], "mode": self._modes}
        return [
            {
                "id": f"the-{category}",
                "name": category.title(),
                "category": category,
                "type": "select",
                "currentValue": self._mode if category == "mode" else values[0],
                "options": [{"value": value, "name": value.title()} for value in values],
            }
            for category, values in choices.items()
        ]

    def _put_into(self, mode: str, number: Any, result: dict[str, Any] | None) -> None:
        """Put an agent into a mode. `result`: the answer of the old spelling; the new one answers with all that is chosen."""
        if "rigid" in self._early or mode not in self._modes:
            self._send(id=number, error={"code": -32602, "message": "no such mode for you"})
            return
        if "stuck" not in self._early:
            self._mode = mode
        elif result is not None:  # the answer of the old spelling says nothing
            self._update("current_mode_update", currentModeId=self._mode)
        self._send(
            id=number, result={"configOptions": self._options()} if result is None else result
        )

    def _turn(self, number: int) -> None:
        reason = "end_turn"
        for count, (name, rest) in enumerate(self._acts, start=1):
            if self._cancelled.is_set() and "deaf" not in self._early:
                reason = "cancelled"
                break
            if name == "end":
                reason = rest
                break
            text = os.path.expandvars(rest).replace("\\n", "\n")
            self._act(name, text, f"call-{count - (name == 'again')}")
        if self._cancelled.is_set() and "deaf" not in self._early:
            reason = "cancelled"
        usage = {"totalTokens": 0, "inputTokens": 0, "outputTokens": 0}
        for name, rest in self._acts:
            if name == "usage":
                inward, _, outward = rest.partition(":")
                usage = {
                    "totalTokens": int(inward) + int(outward),
                    "inputTokens": int(inward),
                    "outputTokens": int(outward),
                }
        self._send(id=number, result={"stopReason": reason, "usage": usage})

    def _act(self, name: str, rest: str, call: str) -> None:
        first, _, second = rest.partition(":")
        match name:
            case "say":
                self._say(rest)
            case "echo":
                self._say(self._prompt)
            case "think":
                self._update("agent_thought_chunk", content={"type": "text", "text": rest})
            case "plan":
                self._plan(first, second)
            case "tool" | "broken" | "orphan":
                self._tool(name, first, second or first, call)
            case "tick":
                self._tool("orphan", "other", "tick", call)
                self._say(first)
                self._update("tool_call_update", toolCallId=call, status="in_progress")
                self._say(second)
            case "ask" | "again":
                self._ask(first, second, call, is_new=name == "ask")
            case "propose":
                self._propose(first, second, call)
            case "unheard":
                asking = threading.Thread(
                    target=self._propose, args=(first, second, call), daemon=True
                )
                asking.start()
                time.sleep(0.2)  # until it has asked
            case "swap":
                self._swap(first, second, call)
            case "hand":
                self._write_by_hand(first, second)
            case "leave":
                self._mode = rest
                self._update("current_mode_update", currentModeId=rest)
            case "write":
                self._file("fs/write_text_file", first, content=second)
            case "read":
                self._file("fs/read_text_file", rest)
            case "use":
                self._use(first, second)
            case "offered":
                self._say(
                    " ".join(sorted(name for name, is_offered in self._files.items() if is_offered))
                )
            case "env":
                self._say(f"{rest}={os.environ.get(rest, '<unset>')}")
            case "exec" | "share":
                subprocess.Popen(
                    ["sh", "-c", rest],
                    start_new_session=True,
                    stdout=subprocess.DEVNULL if name == "exec" else None,
                )
            case "flood":
                for _ in range(int(rest)):
                    sys.stderr.write("x" * 1023 + "\n")
            case "noise":
                self._write("this is no protocol\n")
            case "crash":
                sys.stderr.write("about to crash\n")
                sys.stderr.flush()
                os._exit(int(rest or 3))
            case "kill":
                os.kill(os.getpid(), int(rest or 9))
            case "hang":
                self._hang()
            case "pause":
                self._cancelled.wait(float(rest))
            case "usage":
                pass  # told with the end of the turn
            case _:
                sys.stderr.write(f"no such act: {name}\n")
                os._exit(2)

    def _say(self, text: str) -> None:
        middle = len(text) // 2
        for piece in (text[:middle], text[middle:]):
            if piece:
                self._update("agent_message_chunk", content={"type": "text", "text": piece})

    def _plan(self, done: str, next_: str) -> None:
        entries = [
            {"content": done, "priority": "medium", "status": "completed"},
            {"content": next_ or "rest", "priority": "medium", "status": "in_progress"},
        ]
        self._update("plan", entries=entries)

    def _tool(self, how: str, kind: str, title: str, call: str) -> None:
        kind = kind if how == "tool" else "execute"
        begun = {"toolCallId": call, "title": title, "kind": kind, "status": "pending"}
        self._tell({"sessionUpdate": "tool_call", **begun, "rawInput": {"title": title}})
        if how == "orphan":
            return
        status = "completed" if how == "tool" else "failed"
        block = {"type": "content", "content": {"type": "text", "text": f"{title}: {status}"}}
        self._update("tool_call_update", toolCallId=call, status=status, content=[block])

    def _ask(self, kind: str, path: str, call: str, *, is_new: bool) -> None:
        target = self._cwd / path
        tool = {
            "toolCallId": call,
            "title": f"Change {path}",
            "kind": kind,
            "status": "pending",
            "locations": [{"path": str(target)}],
            "rawInput": {"path": path},
        }
        if is_new:
            self._tell({"sessionUpdate": "tool_call", **tool})
        answer = self._request("session/request_permission", toolCall=tool, options=_OPTIONS)
        outcome = answer.get("result", {}).get("outcome", {})
        chosen = outcome.get("optionId", outcome.get("outcome"))
        if chosen in {"yes", "always"}:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("changed by hand\n", encoding="utf-8")
            self._update("tool_call_update", toolCallId=call, status="completed")
        elif chosen != "cancelled":
            self._update("tool_call_update", toolCallId=call, status="failed")
        self._say(f"[{chosen}]")

    def _propose(self, kind: str, rest: str, call: str) -> None:
        path, old, new = rest.split(":", 2)
        diff = {"type": "diff", "path": str(self._cwd / path), "oldText": old or None}
        tool = {
            "toolCallId": call,
            "title": f"Change {path}",
            "kind": kind,
            "content": [{**diff, "newText": new}],
        }
        answer = self._request("session/request_permission", toolCall=tool, options=_OPTIONS)
        outcome = answer.get("result", {}).get("outcome", {})
        self._say(f"[{outcome.get('optionId', outcome.get('outcome'))}]")

    def _swap(self, kind: str, rest: str, call: str) -> None:
        path, new, later = rest.split(":", 2)
        requested: dict[str, Any] = {"toolCallId": call, "title": f"Change {path}", "kind": "edit"}
        replacement: dict[str, Any] = {"toolCallId": call, "kind": kind}
        if kind == "execute":
            requested |= {"kind": kind, "title": new, "rawInput": {"command": new}}
            replacement |= {"title": later, "rawInput": {"command": later}}
        else:
            diff = {"type": "diff", "path": str(self._cwd / path), "oldText": None}
            requested["content"] = [{**diff, "newText": new}]
            replacement["content"] = [{**diff, "newText": later}]
        self._request(
            "session/request_permission",
            lambda: self._tell({"sessionUpdate": "tool_call_update", **replacement}),
            toolCall=requested,
            options=_OPTIONS,
        )

    def _use(self, tool: str, args: str) -> None:
        if not self._servers:
            self._say("[no server]")
            return
        self._say(f"[{call_tool(self._servers[0], tool, args)}]\n")

    def _write_by_hand(self, path: str, text: str) -> None:
        if self._mode == "act":
            (self._cwd / path).write_text(text, encoding="utf-8")
        self._say(f"[mode {self._mode}]")

    def _file(self, method: str, path: str, **more: Any) -> None:
        answer = self._request(method, path=str(self._cwd / path), **more)
        if "error" in answer:
            self._say(f"[{answer['error']['message']}]")
        else:
            self._say(f"[{(answer.get('result') or {}).get('content', 'written')}]")

    def _hang(self) -> None:
        while "deaf" in self._early or not self._cancelled.is_set():
            time.sleep(0.02)


if __name__ == "__main__":
    FakeAgent(sys.argv[1:]).serve()
