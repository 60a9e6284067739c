"""A permission for one call: what a person allowed this step before is used again, and else a person is asked.

The session says whose word it was, and on which request. It is asked for in one way, whosever tool it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pixirnb.runners.agents.channel import Failed


class GrantChannel(Protocol):
    """What of a `Channel` is needed to use a permission again."""

    def tell(self, kind: str, **data: Any) -> None:
        """An event of the session."""
        ...


class Asks(GrantChannel, Protocol):
    """What of a `Channel` is needed to ask a person."""

    def ask(self, question: str, data: dict[str, Any]) -> dict[str, Any]:
        """The engine's answer. Blocks. Raises Failed where nobody is there."""
        ...


def refusal_of(line: Asks, asked: dict[str, Any]) -> str | None:
    """None where a person allows it, else the sentence that they did not. Waits for them.

    `asked`: `{tool, args, digest, call_id, why}`. Raises Failed(`permission_required`) where nobody is there to be asked.
    """
    answer = line.ask("permit", asked)
    verdict, note = answer.get("verdict"), str(answer.get("note") or "").strip()
    if verdict == "allow":
        return None
    if verdict == "unattended":
        request = str(answer.get("request_id") or "")
        raise Failed(
            "permission_required",
            f"`{asked['tool']}` wants to {asked['why']}, and nobody is there to allow it. "
            f"`pixirnb approve {request}` allows it, `pixirnb deny {request}` does not.",
            {
                "request_id": request,
                "tool": asked["tool"],
                "digest": asked["digest"],
                "wanted": asked["why"],
            },
        )
    return "A person did not allow this." + (f" They said: {note}" if note else "")


class Grants:
    """Those of one attempt."""

    def __init__(self, work: Mapping[str, Any], line: GrantChannel) -> None:
        """`work`: as a program of `runners.agents` is handed it; its `granted` has `{request_id, by, note}` by digest."""
        self._known: Mapping[str, dict[str, Any]] = work.get("granted") or {}
        self._is_asking = work["session"].get("permission_mode") == "ask"
        self._line = line

    def tell(self, tool: str, args: Any, digest: str, call_id: str) -> bool:
        """Leave in the session by whose word a call is done; False where it is not done by a person's."""
        known = self._known.get(digest)
        if known is None or not self._is_asking:
            return False
        request = {"request_id": known["request_id"]}
        self._line.tell("permission_requested", **request, call_id=call_id, tool=tool, args=args)
        words = {"verdict": "allow", "by": known["by"], "note": known["note"]}
        self._line.tell("permission_decided", **request, **words)
        return True
