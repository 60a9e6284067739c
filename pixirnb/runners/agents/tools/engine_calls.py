"""The engine's own tools (`run_workflow` …) for an agent of ours: judged by its mode, approved, then called.

The engine decides which are offered. An agent with a list of tools has those in the list; a read-only agent is
offered, of tools that change something, only those with a dry run, and nothing else of them. The engine checks all
this again. Source: contract.md §7.
"""

from __future__ import annotations

import os
from typing import Final

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.planning.roots import WORKSPACE
from pixirnb.runners.agents.channel import Failed, PermissionChannel, PriorApprovals, refusal_of
from pixirnb.runners.agents.tools.confinement import Confinement, Refused
from pixirnb.runners.agents.tools.files import read_text
from pixirnb.sessions.events import Pair
from pixirnb.sessions.permissions import Limits, digest_of

_CHANGED: Final = "The workflow file changed while a person was asked: call the tool again."


class EngineTools:
    """The engine's tools of one attempt. Used from any thread."""

    def __init__(self, work: JsonMapping, line: PermissionChannel) -> None:
        """Read the tools of `work`, a program's input in `runners.agents`."""
        self._limits = Limits.of(work)
        self._line = line
        self._grants = PriorApprovals(work, line)
        self._confinement = Confinement(work)
        self._workspace = str((work.get("roots") or {}).get(WORKSPACE, work["workspace"]))
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
            try:
                refusal = self._refused(name, args, call_id)
            except Refused as refused:
                refusal = _refusal(refused.code, refused.message, {})
            if refusal is not None:
                return refusal
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

    def _refused(self, name: str, args: JsonObject, call_id: str) -> JsonObject | None:
        """Return None if its mode or a person allows a change, else the result for the agent. Raises Failed, Refused."""
        shown = self._shown(args)
        digest = digest_of(name, shown)
        ruling = self._limits.by_mode(digest)
        if ruling.verdict == "deny":
            is_dry = _can_be_tried(self._offered[name])
            dry = " Use `dry_run: true` to see what it would do." * is_dry
            return _refusal("permission_denied", f"{ruling.message}{dry}", {})
        if ruling.verdict != "ask":
            self._grants.tell(name, shown, digest, call_id)
            return None
        refusal = self._ask(name, shown, digest, call_id)
        if refusal is None and self._shown(args) != shown:
            return _refusal("call_changed", _CHANGED, {})
        return refusal

    def _shown(self, args: JsonObject) -> JsonObject:
        """Return the arguments as a person is asked about them: with the text of a workflow's file. Raises Refused."""
        if self._limits.mode != "ask" or not isinstance(args.get("file"), str):
            return args
        path = os.path.join(self._workspace, args["file"])  # noqa: PTH118 - as it was given
        return {**args, "content": read_text(self._confinement.readable(path))}

    def _ask(self, name: str, args: JsonObject, digest: str, call_id: str) -> JsonObject | None:
        """Return None if a person allows it, else the result for the agent. Raises Failed."""
        why = "start or control a run"
        request = {"tool": name, "args": args, "digest": digest, "call_id": call_id, "why": why}
        refused = refusal_of(self._line, request)
        return (
            None
            if refused is None
            else _refusal("permission_denied", f"{refused} Continue without it.", {})
        )


def _can_be_tried(tool: JsonMapping) -> bool:
    return "dry_run" in tool["parameters"].get("properties", {})


def _refusal(kind: str, message: str, details: JsonObject) -> JsonObject:
    error = {"kind": kind, "message": message, "details": details}
    return {"ok": False, "output": f"[refused: {kind}] {message}", "error": error}
