"""An approval for one call: an earlier one for this step is reused, else a person is asked.

The session records who approved, and on which request. Requests have one form for all tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.runners.agents.channel import Failed


class GrantChannel(Protocol):
    """The part of a `Channel` needed to reuse an approval."""

    def tell(self, kind: str, **data: Any) -> None:
        """Log an event of the session."""
        ...


class Asks(GrantChannel, Protocol):
    """The part of a `Channel` needed to ask a person."""

    def ask(self, question: str, data: JsonObject) -> JsonObject:
        """Return the engine's answer. Blocks. Raises Failed if it is gone."""
        ...


def refusal_of(line: Asks, requested: JsonObject) -> str | None:
    """Ask a person and wait: return None if allowed, else the sentence that it is not.

    `requested`: `{tool, args, digest, call_id, why}`. Raises Failed(`permission_required`) if no person can be asked.
    """
    answer = line.ask("permit", requested)
    verdict, note = answer.get("verdict"), str(answer.get("note") or "").strip()
    if verdict == "allow":
        return None
    if verdict == "unattended":
        request = str(answer.get("request_id") or "")
        raise Failed(
            "permission_required",
            f"approval required: {requested['why']} (no person was available); "
            f"run `pixirnb approve {request}` or `pixirnb deny {request}`",
            {
                "request_id": request,
                "tool": requested["tool"],
                "digest": requested["digest"],
                "wanted": requested["why"],
            },
        )
    return "A person denied this." + (f" Their note: {note}" if note else "")


class Grants:
    """The earlier approvals of one attempt."""

    def __init__(self, work: JsonMapping, line: GrantChannel) -> None:
        """Read the approvals of `work`, a program's input in `runners.agents`; its `granted` has `{request_id, by,
        note}` by digest.
        """
        self._known: Mapping[str, JsonObject] = work.get("granted") or {}
        self._is_asking = work["session"].get("permission_mode") == "ask"
        self._line = line

    def tell(self, tool: str, args: Any, digest: str, call_id: str) -> bool:
        """Log who approved a call; False without an earlier approval."""
        known = self._known.get(digest)
        if known is None or not self._is_asking:
            return False
        request = {"request_id": known["request_id"]}
        self._line.tell("permission_requested", **request, call_id=call_id, tool=tool, args=args)
        words = {"verdict": "allow", "by": known["by"], "note": known["note"]}
        self._line.tell("permission_decided", **request, **words)
        return True
