"""The answer of `smoke`, for a terminal: each scenario, what it proved, and where the evidence lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.show_value import shown


def smoke_text(document: Mapping[str, Any]) -> str:
    """A line a scenario, a line a proof; what failed says what to do."""
    is_dry = document.get("dry_run") is True
    mode = line(document.get("mode"), 20)
    head = f"smoke, {mode}" + (", dry run: nothing was run or written" if is_dry else "")
    rows = [head]
    for entry in document.get("scenarios") or []:
        mark = "✓" if entry.get("ok") is True else "✗"
        name = f"{mark} {line(entry.get('scenario'), 40)}: {line(entry.get('status'), 40)}"
        rows += ["", name + (f"  {line(entry['run_id'], 60)}" if entry.get("run_id") else "")]
        for check in entry.get("checks") or []:
            # Of what was only planned nothing is proven.
            word = "planned" if is_dry else "proven"
            told = word if check.get("passed") is True else f"NOT {word}"
            evidence = line(shown(check.get("evidence"), limit=400), 160)
            rows.append(f"    {line(check.get('check'), 40)}: {told}  {evidence}")
        error = entry.get("error")
        if error:
            rows.append(f"    {line(error.get('code'), 60)}: {line(error.get('message'), 400)}")
            rows.append(f"    → {line(error.get('fix'), 400)}")
        if entry.get("log"):
            rows.append(f"    log: {line(entry['log'], 400)}")
    if document.get("evidence"):
        rows += ["", f"evidence: {line(document['evidence'], 400)}"]
    return "\n".join(rows)
