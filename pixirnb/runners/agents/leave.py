"""A person's leave for one call: asked for in one way, whosever tool it is."""

from __future__ import annotations

from typing import Any, Protocol

from pixirnb.runners.agents.line import Failed


class Asks(Protocol):
    """What of a `Line` is needed."""

    def ask(self, question: str, data: dict[str, Any]) -> dict[str, Any]:
        """The engine's answer. Blocks. Raises Failed where nobody is there."""
        ...

    def tell(self, kind: str, **data: Any) -> None:
        """An event of the session."""
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
