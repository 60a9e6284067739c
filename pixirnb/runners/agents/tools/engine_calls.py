"""The engine's own tools (`run_workflow` …) as an agent of ours uses them: judged by its mode, asked for, then called.

They are offered as the engine says. An agent that was given a list of tools has those of them that it names; one that may only
read is offered of what changes things that which it can try dry, and is refused the rest of it. The engine holds it to the same
once more. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.permission import Asks, Grants, refusal_of
from pixirnb.sessions.events import Pair
from pixirnb.sessions.permissions import Limits, digest_of


class EngineTools:
    """Those of one attempt. Used from any thread."""

    def __init__(self, work: Mapping[str, Any], line: Asks) -> None:
        """`work`: as a program of `runners.agents` is handed it."""
        self._limits = Limits.of(work)
        self._line = line
        self._grants = Grants(work, line)
        self._told: list[Pair] = []
        self._offered = {
            str(tool["name"]): tool
            for tool in work.get("surface") or ()
            if (not self._limits.tools or tool["name"] in self._limits.tools)
            and (self._limits.mode != "read_only" or not tool["mutates"] or _can_be_tried(tool))
        }

    def definitions(self) -> list[dict[str, Any]]:
        """`{name, description, parameters, mutates}` of each."""
        return list(self._offered.values())

    def take_told(self) -> list[Pair]:
        """What the engine has told the session by itself during the calls since this was last asked: in its log already."""
        told, self._told = self._told, []
        return told

    def use(self, name: str, args: dict[str, Any], call_id: str) -> dict[str, Any]:
        """What came of a call: `{"ok", "output"}`, and `"error": {"kind", "message", "details"}` where it is not ok.

        Raises Failed(`permission_required`) where a person has to be asked and none is there, and Failed(`lost`).
        """
        tool = self._offered[name]
        if tool["mutates"] and args.get("dry_run") is not True:
            digest = digest_of(name, args)
            ruling = self._limits.by_mode(digest)
            if ruling.verdict == "deny":
                dry = " With `dry_run: true` you may see what it would do." * _can_be_tried(tool)
                return _refusal("permission_denied", f"{ruling.message}{dry}", {})
            if ruling.verdict == "ask":
                if refusal := self._asked(name, args, digest, call_id):
                    return refusal
            else:
                self._grants.tell(name, args, digest, call_id)
        try:
            answer = self._line.ask("call", {"tool": name, "args": args, "call_id": call_id})
        except Failed as failed:
            if failed.kind == "lost":
                raise
            return _refusal(failed.kind, failed.message, failed.details)
        self._told += [(kind, data) for kind, data in answer.get("told") or ()]
        result = {"ok": bool(answer.get("ok")), "output": str(answer.get("text") or "")}
        if not result["ok"]:
            said = {"kind": "refused", "message": result["output"], "details": {}}
            result["error"] = {**said, **(answer.get("error") or {})}
        return result

    def _asked(
        self, name: str, args: dict[str, Any], digest: str, call_id: str
    ) -> dict[str, Any] | None:
        """None where a person allows it, else what the agent is told. Raises Failed."""
        why = "start or steer work of its own"
        asked = {"tool": name, "args": args, "digest": digest, "call_id": call_id, "why": why}
        refused = refusal_of(self._line, asked)
        return (
            None
            if refused is None
            else _refusal("permission_denied", f"{refused} Go on without it.", {})
        )


def _can_be_tried(tool: Mapping[str, Any]) -> bool:
    return "dry_run" in tool["parameters"].get("properties", {})


def _refusal(kind: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    error = {"kind": kind, "message": message, "details": details}
    return {"ok": False, "output": f"[refused: {kind}] {message}", "error": error}
