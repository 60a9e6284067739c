"""A structured report as a log can hold it. What had to be changed for that is told where it matters."""

from __future__ import annotations

from typing import Any

from pixirnb.sessions.plain_data import plain_data


def reported(report: dict[str, Any]) -> dict[str, Any]:
    """A structured report as the log holds it; where that is not what was reported, its limitations say so."""
    kept: dict[str, Any] = plain_data(report)
    if kept == report:
        return kept
    said = kept.get("limitations") or []
    known = [str(each) for each in said] if isinstance(said, list) else [str(said)]
    return {**kept, "limitations": [*known, "report_not_plain_json"]}
