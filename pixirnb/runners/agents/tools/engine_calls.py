"""The engine's own tools (`run_workflow` …) for an agent of ours: judged by its mode, approved, then called.

The engine decides which are offered. An agent with a list of tools has those in the list; a read-only agent is
offered, of tools that change something, only those with a dry run, and nothing else of them. The engine checks all
this again. Source: contract.md §7.
"""

from __future__ import annotations

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.runners.agents.approval import Asks, Grants, refusal_of
from pixirnb.runners.agents.channel import Failed
from pixirnb.sessions.events import Pair
from pixirnb.sessions.permissions import Limits, digest_of


class EngineTools:
    """The engine's tools of one attempt. Used from any thread."""

    def __init__(self, work: JsonMapping, line: Asks) -> None:
        """Read the tools of `work`, a program's input in `runners.agents`."""
        self._limits = Limits.of(work)
        self._line = line
        self._grants = Grants(work, line)
        self._events: list[Pair] = []
        self._offered = {
            str(tool["name"]): tool
            for tool in work.get("surface") or ()
            if (not self._limits.tools or tool["name"] in self._limits.tools)
            and (self._limits.mode != "read_only" or not tool["mutates"] or _can_be_tried(tool))
        }

    def definitions(self) -> list[JsonObject]:
        """Return `{name, description, parameters, mutates}` of each."""
        return list(self._offered.values())

    def take_events(self) -> list[Pair]:
        """Return events that the engine itself added to the session during calls, since the last call of this; they
        are in its log.
        """
        events, self._events = self._events, []
        return events

    def use(self, name: str, args: JsonObject, call_id: str) -> JsonObject:
        """Return the result of a call: `{"ok", "output"}`, and `"error": {"kind", "message", "details"}` if it failed.

        Raises Failed(`permission_required`) if no person can be asked, and Failed(`lost`).
        """
        tool = self._offered[name]
        if tool["mutates"] and args.get("dry_run") is not True:
            digest = digest_of(name, args)
            ruling = self._limits.by_mode(digest)
            if ruling.verdict == "deny":
                dry = " With `dry_run: true` you may see what it would do." * _can_be_tried(tool)
                return _refusal("permission_denied", f"{ruling.message}{dry}", {})
            if ruling.verdict == "ask":
                if refusal := self._ask(name, args, digest, call_id):
                    return refusal
            else:
                self._grants.tell(name, args, digest, call_id)
        try:
            answer = self._line.ask("call", {"tool": name, "args": args, "call_id": call_id})
        except Failed as failed:
            if failed.kind == "lost":
                raise
            return _refusal(failed.kind, failed.message, failed.details)
        self._events += [(kind, data) for kind, data in answer.get("told") or ()]
        result = {"ok": bool(answer.get("ok")), "output": str(answer.get("text") or "")}
        if not result["ok"]:
            error = {"kind": "refused", "message": result["output"], "details": {}}
            result["error"] = {**error, **(answer.get("error") or {})}
        return result

    def _ask(self, name: str, args: JsonObject, digest: str, call_id: str) -> JsonObject | None:
        """Return None if a person allows it, else the result for the agent. Raises Failed."""
        why = "start or steer work of its own"
        request = {"tool": name, "args": args, "digest": digest, "call_id": call_id, "why": why}
        refused = refusal_of(self._line, request)
        return (
            None
            if refused is None
            else _refusal("permission_denied", f"{refused} Go on without it.", {})
        )


def _can_be_tried(tool: JsonMapping) -> bool:
    return "dry_run" in tool["parameters"].get("properties", {})


def _refusal(kind: str, message: str, details: JsonObject) -> JsonObject:
    error = {"kind": kind, "message": message, "details": details}
    return {"ok": False, "output": f"[refused: {kind}] {message}", "error": error}
