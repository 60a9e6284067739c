"""What a person has allowed this step before: used again, the session says whose word it was, and on which request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Tells(Protocol):
    """What of a `Line` is needed."""

    def tell(self, kind: str, **data: Any) -> None:
        """An event of the session."""
        ...


class Grants:
    """Those of one attempt."""

    def __init__(self, work: Mapping[str, Any], line: Tells) -> None:
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
