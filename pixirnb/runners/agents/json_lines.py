"""The JSON lines of a coding agent, read as events of its session by the rules of its preset. No process, no clock.

A rule is a table: `{match, each, where, kind, fields…}`. It applies to a line in which every path of `match` has the value
written; with `each` it applies to every item of the list at that path that satisfies `where`, and its fields are looked up
there. Paths are keys with dots between them.

    kind         fields                                    becomes
    message      text                                      an assistant_message
    delta        text                                      a piece of one: pieces are joined
    reasoning    text                                      reasoning
    tool_call    call_id name args                         a tool_call
    tool_result  call_id output [name args], failed        its tool_result; where it was not called yet, its call too
    usage        input_tokens output_tokens                provider_usage
    final        text                                      the message that ends the turn
    failed       text [error_kind]                         the end of a turn that went wrong

The message before the end is the final one, whether or not a `final` repeats it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.json_types import JsonObject
from pixirnb.runners.processes.frames import cut

OUTPUT_LIMIT: Final = 16 * 1024
"""Maximum number of characters of a tool's output in a session; the number of omitted ones is added."""
ARGS_LIMIT: Final = 64 * 1024
"""Maximum number of characters of a call's arguments, as JSON."""

_FIELDS: Final[dict[str, frozenset[str]]] = {
    "message": frozenset({"text"}),
    "delta": frozenset({"text"}),
    "reasoning": frozenset({"text"}),
    "tool_call": frozenset({"call_id", "name", "args"}),
    "tool_result": frozenset({"call_id", "name", "args", "output", "failed"}),
    "usage": frozenset({"input_tokens", "output_tokens"}),
    "final": frozenset({"text"}),
    "failed": frozenset({"text", "error_kind"}),
}
_CONDITIONS: Final = frozenset({"match", "each", "where", "kind"})


class Wrong(Struct, frozen=True):
    """A failed turn, as the agent reported it."""

    kind: str
    message: str


class Transcript(Struct):
    """Converter of an agent's lines to `(kind, data)` of session events; undecided ones are delayed."""

    rules: Sequence[JsonObject]
    model: str | None = None
    wrong: Wrong | None = None
    """The failure that the agent reported."""
    error: str = ""
    """The last error that it reported without failing its turn: the reason if it exits."""
    _held: str | None = None
    """The last whole message: final, unless more comes."""
    _pieces: list[str] = field(default_factory=list)
    _called: dict[str, str] = field(default_factory=dict)
    """Calls without a result: id to name."""
    _seen: set[str] = field(default_factory=set)

    def take(self, line: JsonObject) -> Iterator[tuple[str, JsonObject | str]]:
        """Yield the events of one line; `("say", text)` is text to show as it comes."""
        if line.get("type") == "error":
            self.error = truncate_output(_error_text(line), 2000)
        for rule in self.rules:
            for item in _applicable(rule, line):
                yield from self._apply(rule, item)

    def end(self, *, is_clean: bool) -> Iterator[tuple[str, JsonObject]]:
        """Yield the delayed events. A clean end makes the last message final, and closes open calls."""
        yield from self._whole()
        held, self._held = self._held, None
        if not is_clean:
            if held is not None:
                yield "assistant_message", self._message(held, final=False)
            return
        for call_id, name in self._called.items():
            yield "tool_result", orphan(call_id, name)
        self._called.clear()
        if held is not None:
            yield "assistant_message", self._message(held, final=True)

    def _apply(self, rule: JsonObject, item: Any) -> Iterator[tuple[str, JsonObject | str]]:
        kind = rule["kind"]
        match kind:
            case "delta":
                text = as_text(find(item, rule["text"]))
                if not self._pieces:
                    yield from self._release()
                self._pieces.append(text)
                yield "say", text
            case "message" | "final":
                yield from self._say(as_text(find(item, rule["text"])), is_final=kind == "final")
            case "reasoning":
                yield from self._release()
                if text := as_text(find(item, rule["text"])):
                    yield "reasoning", {"text": truncate_output(text), "model": self.model}
            case "tool_call":
                yield from self._release()
                yield from self._call(rule, item)
            case "tool_result":
                yield from self._release()
                yield from self._result(rule, item)
            case "usage":
                yield (
                    "provider_usage",
                    {
                        "model": self.model,
                        "input_tokens": _number(find(item, rule["input_tokens"])),
                        "output_tokens": _number(find(item, rule["output_tokens"])),
                    },
                )
            case _:
                message_text = as_text(find(item, rule["text"]))
                # The first failure is kept: later lines describe it in general terms.
                self.wrong = self.wrong or Wrong(
                    rule.get("error_kind", "agent_failed"), truncate_output(message_text, 2000)
                )

    def _say(self, text: str, *, is_final: bool) -> Iterator[tuple[str, JsonObject | str]]:
        yield from self._whole()
        if not text or (is_final and self._held == text):
            return
        yield from self._release()
        self._held = text
        yield "say", text + "\n"

    def _whole(self) -> Iterator[tuple[str, JsonObject]]:
        """Join pieces to the held message."""
        if self._pieces:
            text, self._pieces = "".join(self._pieces), []
            yield from self._release()
            self._held = text

    def _release(self) -> Iterator[tuple[str, JsonObject]]:
        """Release the held message as an intermediate one."""
        if self._pieces:
            text, self._pieces = "".join(self._pieces), []
            yield "assistant_message", self._message(text, final=False)
        if self._held is not None:
            held, self._held = self._held, None
            yield "assistant_message", self._message(held, final=False)

    def _message(self, text: str, *, final: bool) -> JsonObject:
        return {"text": text, "partial": False, "final": final, "model": self.model}

    def _call(self, rule: JsonObject, item: Any) -> Iterator[tuple[str, JsonObject]]:
        call_id = as_text(find(item, rule["call_id"])) or f"call-{len(self._seen) + 1}"
        if call_id in self._seen:
            return
        self._seen.add(call_id)
        name = as_text(find(item, rule.get("name", ""))) or "tool"
        self._called[call_id] = name
        args = bounded_args(find(item, rule.get("args", "")))
        yield "tool_call", {"call_id": call_id, "name": name, "args": args}

    def _result(self, rule: JsonObject, item: Any) -> Iterator[tuple[str, JsonObject]]:
        call_id = as_text(find(item, rule["call_id"]))
        if call_id not in self._seen:
            yield from self._call(rule, item)
        if self._called.pop(call_id, None) is None:
            return
        has_failed = bool(rule.get("failed")) and _matches(rule["failed"], item)
        output = truncate_output(as_text(find(item, rule["output"])))
        data: JsonObject = {"call_id": call_id, "ok": not has_failed, "output": output}
        if has_failed:
            data["error"] = {
                "kind": "tool_failed",
                "message": truncate_output(output, 400),
                "details": {},
            }
        yield "tool_result", data


def wrong_rule(rule: object) -> str:
    """Return the mistake in a rule; empty if there is none."""
    if not isinstance(rule, dict):
        return "a rule must be a table"
    kind = rule.get("kind")
    if not isinstance(kind, str) or kind not in _FIELDS:
        return f"kind must be one of {', '.join(_FIELDS)}"
    if unknown := sorted(set(rule) - _CONDITIONS - _FIELDS[kind]):
        return f"unknown key {unknown[0]!r} in a rule of kind {kind}"
    optional = {"name", "args", "failed", "error_kind"}
    if missing := sorted(_FIELDS[kind] - optional - set(rule)):
        return f"a rule of kind {kind} needs {missing[0]!r}"
    for key in ("match", "where", "failed"):
        if not isinstance(rule.get(key, {}), dict):
            return f"{key} must be a table of paths and values"
    texts = {"each", *_FIELDS[kind]} - {"failed"}
    if any(not isinstance(rule.get(key, ""), str) for key in texts):
        return "paths must be strings"
    return "" if rule.get("match") else "a rule needs a `match`"


def find(item: Any, path: str) -> Any:
    """Return the value at `path`; None if there is none."""
    if not path:
        return None
    for key in path.split("."):
        if not isinstance(item, dict):
            return None
        item = item.get(key)
    return item


def as_text(value: Any) -> str:
    """Return text unchanged; lists of text blocks joined; anything else as JSON."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list() if value and all(isinstance(block, dict) for block in value):
            texts = [block["text"] for block in value if isinstance(block.get("text"), str)]
            if texts:
                return "\n".join(texts)
    return json.dumps(value, ensure_ascii=False, default=str)


def _error_text(line: JsonObject) -> str:
    """Return the text of a line of type `error`, from any of the usual keys."""
    paths = ("message", "error.message", "error.data.message", "error", "data.message")
    return next((text for path in paths if (text := as_text(find(line, path)))), "")


def truncate_output(text: str, limit: int = OUTPUT_LIMIT) -> str:
    """Return the beginning of `text`, with the number of omitted characters; never half a secret of this process."""
    return cut(text, limit)


def bounded_args(args: Any) -> Any:
    """Return arguments unchanged; if they are too large, the beginning of their JSON."""
    text = json.dumps(args, ensure_ascii=False, default=str)
    return args if len(text) <= ARGS_LIMIT else {"cut": truncate_output(text)}


def orphan(call_id: str, name: str) -> JsonObject:
    """Return a result for a call whose agent ended its turn without one."""
    return {
        "call_id": call_id,
        "ok": False,
        "output": f"The agent ended its turn without a result of `{name}`.",
        "error": {
            "kind": "orphan_tool_call",
            "message": f"`{name}` has no result.",
            "details": {"tool": name, "reason": "turn_ended"},
        },
        "synthetic": True,
    }


def _applicable(rule: JsonObject, line: JsonObject) -> Iterable[Any]:
    if not _matches(rule["match"], line):
        return []
    if "each" not in rule:
        return [line]
    items = find(line, rule["each"])
    if not isinstance(items, list):
        return []
    return [item for item in items if _matches(rule.get("where", {}), item)]


def _matches(conditions: JsonObject, item: Any) -> bool:
    """Return whether the conditions hold; `false` also matches a missing key, because agents omit those."""
    return all(
        (not find(item, path)) if value is False else find(item, path) == value
        for path, value in conditions.items()
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
