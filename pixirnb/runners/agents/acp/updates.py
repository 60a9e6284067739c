"""The stream of an ACP agent as events of its session: chunks joined to messages, tools to calls and their results.

No message is final before the turn has ended: it is logged when something else follows it, the last one at the end.
"""

from __future__ import annotations

from difflib import unified_diff
from typing import Any, Final, Protocol

from acp import schema
from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.json_lines import as_text, bounded_args, orphan, truncate_output

_OVER: Final = frozenset({"completed", "failed"})
_DIFF_LINES: Final = 2_000
"""Maximum number of lines for a diff, which would take too long; of longer texts the new one is shown."""


class UpdateChannel(Protocol):
    """The part of a `Channel` that is used here."""

    def tell(self, kind: str, **data: Any) -> None:
        """Log an event of the session."""
        ...

    def say(self, text: str) -> None:
        """Show text of the agent as it comes."""
        ...

    def progress(self, message: str, fraction: float | None = None) -> None:
        """Report progress."""
        ...


class ProposedEdit(Struct, frozen=True):
    """An edit that a call announces, of a file or a passage in it."""

    path: str
    before: str | None
    """Text before; None for a new file."""
    after: str

    @property
    def diff(self) -> str:
        """Return its lines, with `-` and `+`."""
        return diff_of(self.path, self.before, self.after)


class AgentToolCall(Struct, eq=False):
    """A call of the agent's own tool, as far as it is known."""

    call_id: str
    title: str = ""
    kind: str = "other"
    input: Any = None
    content: list[Any] = field(default_factory=list)
    raw_output: Any = None
    locations: list[str] = field(default_factory=list)
    is_logged: bool = False
    is_over: bool = False
    refusal: str = ""
    """Reason of the refusal; empty if not refused."""

    def learn(self, update: schema.ToolCall | schema.ToolCallUpdate) -> None:
        """Apply an update; fields that it leaves out stay."""
        self.title = update.title or self.title
        self.kind = update.kind or self.kind
        if update.raw_input is not None:
            self.input = update.raw_input
        if update.content is not None:
            self.content = list(update.content)
        if update.raw_output is not None:
            self.raw_output = update.raw_output
        if update.locations is not None:
            self.locations = [location.path for location in update.locations]

    @property
    def args(self) -> JsonObject:
        """Return the known arguments."""
        diff = truncate_output("\n".join(change.diff for change in self.changes))
        args = {"title": self.title, "paths": self.paths, "input": self.input, "diff": diff}
        return {name: value for name, value in args.items() if value}

    @property
    def changes(self) -> list[ProposedEdit]:
        """Return the edits that it announces."""
        return [
            ProposedEdit(block.path, block.old_text, block.new_text)
            for block in self.content
            if isinstance(block, schema.FileEditToolCallContent)
        ]

    @property
    def paths(self) -> list[str]:
        """Return the files that it names."""
        return list(dict.fromkeys([*self.locations, *(change.path for change in self.changes)]))

    @property
    def output(self) -> str:
        """Return its result as text."""
        texts = [text for block in self.content if (text := _shown(block))]
        return truncate_output("\n".join(texts) if texts else as_text(self.raw_output))


class Updates:
    """Updates of a session, applied in order. Belongs to one thread."""

    def __init__(self, line: UpdateChannel, model: str | None) -> None:
        self._line = line
        self._model = model
        self._message: list[str] = []
        self._message_id: str | None = None
        self._thoughts: list[str] = []
        self._is_mid_line = False
        self.calls: dict[str, AgentToolCall] = {}

    def take(self, update: Any) -> None:
        """Apply one update of the session; other kinds are ignored."""
        match update:
            case schema.AgentMessageChunk():
                self._speak(block_text(update.content), update.message_id)
            case schema.AgentThoughtChunk():
                self._end_message()
                self._thoughts.append(block_text(update.content))
            case schema.ToolCallStart() | schema.ToolCallProgress():
                self.learn(update, update.status)
            case schema.AgentPlanUpdate():
                self._plan(update.entries)
            case _:
                pass

    def learn_request(self, update: schema.ToolCallUpdate) -> AgentToolCall:
        """Return the call that the agent asks about, logged: one that was over begins again, as it is known."""
        call = self.calls.get(update.tool_call_id)
        if call is not None and call.is_over:
            self.calls[call.call_id] = replace(
                call, raw_output=None, is_logged=False, is_over=False, refusal=""
            )
        call = self.learn(update)
        self.tell_call(call)
        return call

    def learn(
        self, update: schema.ToolCall | schema.ToolCallUpdate, status: str | None = None
    ) -> AgentToolCall:
        """Return the call of an update; log it if it is new, with its result if it is over."""
        call = self.calls.get(update.tool_call_id)
        is_again = isinstance(update, schema.ToolCallStart) and call is not None and call.is_over
        if call is None or is_again:
            call = self.calls[update.tool_call_id] = AgentToolCall(update.tool_call_id)
        call.learn(update)
        if call.is_over:
            if call.refusal and status == "completed":
                self._defied(call)
            return call
        # Some agents name a tool before they know its arguments, and send those with the next update.
        if call.input is not None or status != "pending":
            self.tell_call(call)
        if status in _OVER:
            self.end_call(call, ok=status == "completed")
        return call

    def tell_call(self, call: AgentToolCall) -> None:
        """Log a call, unless it is. A message that a known call stands in goes on: half a secret is no secret to a mask."""
        if call.is_logged:
            return
        self.pause(keep=call)
        call.is_logged = True
        args = bounded_args(call.args)
        self._line.tell("tool_call", call_id=call.call_id, name=call.kind, args=args)

    def end_call(self, call: AgentToolCall, *, ok: bool, code: str = "", message: str = "") -> None:
        """Log the result of a call. `code`: of a refusal."""
        self.tell_call(call)
        self.pause(keep=call)
        call.is_over, call.refusal = True, code
        if ok:
            self._line.tell("tool_result", call_id=call.call_id, ok=True, output=call.output)
            return
        text = message or call.output
        error = {
            "kind": code or "tool_failed",
            "message": truncate_output(text, 400),
            "details": {},
        }
        output = f"[refused: {code}] {text}" if code else text
        self._line.tell("tool_result", call_id=call.call_id, ok=False, output=output, error=error)

    def pause(self, *, keep: AgentToolCall | None = None) -> None:
        """Log the text so far, and delayed calls, before something else."""
        self._end_thoughts()
        self._end_message()
        for call in self.calls.values():
            if call is not keep and not call.is_logged:
                call.is_logged = True
                args = bounded_args(call.args)
                self._line.tell("tool_call", call_id=call.call_id, name=call.kind, args=args)

    def end(self, *, is_clean: bool) -> None:
        """End the turn. Clean: the last message is final, and open calls are closed. Else it was cut off."""
        self._end_thoughts()
        text, self._message = "".join(self._message), []
        if self._is_mid_line:
            self._line.say("\n")
        if not is_clean:
            if text:
                self._tell_message(text, partial=True)
            self.pause()
            return
        self.pause()
        for call in self.calls.values():
            if not call.is_over:
                call.is_over = True
                self._line.tell("tool_result", **orphan(call.call_id, call.kind))
        self._tell_message(text, final=True)

    def _speak(self, text: str, message_id: str | None) -> None:
        if self._message and message_id != self._message_id:
            self._end_message()
        self._message_id = message_id
        if not text:
            return
        self._end_thoughts()
        if not self._message and self._is_mid_line:
            self._line.say("\n")
        self._message.append(text)
        self._line.say(text)
        self._is_mid_line = not text.endswith("\n")

    def _end_message(self) -> None:
        if self._message:
            text, self._message = "".join(self._message), []
            self._tell_message(text)

    def _tell_message(self, text: str, *, partial: bool = False, final: bool = False) -> None:
        self._line.tell(
            "assistant_message", text=text, partial=partial, final=final, model=self._model
        )

    def _end_thoughts(self) -> None:
        if self._thoughts:
            text, self._thoughts = "".join(self._thoughts), []
            self._line.tell("reasoning", text=truncate_output(text), model=self._model)

    def _defied(self, call: AgentToolCall) -> None:
        """Record that the agent did what was refused, as a separate call."""
        call.refusal = ""
        args = bounded_args(call.args)
        self._line.tell("tool_call", call_id=call.call_id, name=call.kind, args=args)
        output = f"[executed by the agent although it was refused]\n{call.output}"
        self._line.tell("tool_result", call_id=call.call_id, ok=True, output=output)

    def _plan(self, entries: list[schema.PlanEntry]) -> None:
        done = sum(entry.status == "completed" for entry in entries)
        current = next((e.content for e in entries if e.status == "in_progress"), "")
        if entries:
            text = (
                f"{done} of {len(entries)}: {current}" if current else f"{done} of {len(entries)}"
            )
            self._line.progress(truncate_output(text, 400), done / len(entries))


def block_text(block: Any) -> str:
    """Return a block of content as text; other content is named."""
    match block:
        case schema.TextContentBlock():
            return block.text
        case schema.ResourceContentBlock():
            return f"[{block.name}: {block.uri}]"
        case schema.EmbeddedResourceContentBlock():
            text = getattr(block.resource, "text", None)
            return text if isinstance(text, str) else f"[{block.resource.uri}]"
        case _:
            return f"[{getattr(block, 'type', 'something')}]"


def diff_of(name: str, before: str | None, after: str) -> str:
    """Return a change as lines with `-` and `+`; of a very long text the new one. `before`: None for a new file."""
    old, new = [] if before is None else before.split("\n"), after.split("\n")
    if (
        new[-1] == "" and (old or [""])[-1] == ""
    ):  # a last line break of both is no line; of one, it is the change
        old, new = old[:-1], new[:-1]
    if len(old) + len(new) > _DIFF_LINES:
        return (
            f"+++ {name} ({len(old):,} lines become {len(new):,}; this is the text after)\n{after}"
        )
    was = "/dev/null" if before is None else name
    return "\n".join(unified_diff(old, new, was, name, lineterm=""))


def _shown(block: Any) -> str:
    match block:
        case schema.ContentToolCallContent():
            return block_text(block.content)
        case schema.FileEditToolCallContent():
            return f"[changed {block.path}]"
        case schema.TerminalToolCallContent():
            return f"[terminal {block.terminal_id}]"
        case _:
            return ""
