"""An agent's tools without an agent: work as a program is handed it, and an engine's end of the line with prepared answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixirnb.runners.agents.tools.toolbox import Toolbox


@dataclass(slots=True)
class Attendant:
    """Answers what a toolbox asks, and remembers it."""

    verdict: str = "allow"
    """`allow`, `deny` or `unattended`."""
    note: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def tell(self, kind: str, **data: Any) -> None:
        """See `runners.agents.channel.Line.tell`."""
        self.events.append({"kind": kind, **data})

    def ask(self, question: str, data: dict[str, Any]) -> dict[str, Any]:
        """See `runners.agents.channel.Line.ask`."""
        self.requests.append({"question": question, **data})
        return {
            "request_id": f"r-1/step.1.{len(self.requests)}",
            "verdict": self.verdict,
            "by": "somebody",
            "note": self.note,
        }


def agent_work(workspace: Path, **fields: Any) -> dict[str, Any]:
    """Return the work for an agent's program. `fields`: of its session, or `cwd`, `granted`, `additional_paths`, `roots`."""
    outer_keys = ("granted", "additional_paths", "roots")
    outer: dict[str, Any] = {name: fields.pop(name) for name in outer_keys if name in fields}
    cwd = str(fields.pop("cwd", workspace))
    session = {
        "posture": "writer",
        "permission_mode": "auto",
        "read_set": ["**/*"],
        "write_set": ["**/*"],
        "tools": [],
        **fields,
    }
    return {"session": session, "workspace": str(workspace), "cwd": cwd, **outer}


def toolbox(workspace: Path, attendant: Attendant | None = None, **fields: Any) -> Toolbox:
    """Return the tools of an agent that works in `workspace`; see `agent_work`."""
    return Toolbox(agent_work(workspace, **fields), attendant or Attendant())
