"""The answer of `smoke`: each scenario, what it proved, and where the evidence lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.show_value import shown
from pixirnb.views.blocks.model import Block, Code, Paragraph, Section


def smoke_blocks(document: Mapping[str, Any]) -> list[Block]:
    """Return a section for each scenario, with a line for each proof; what failed says what to do."""
    is_dry = document.get("dry_run") is True
    head = f"smoke, {line(document.get('mode'), 20)}"
    evidence = document.get("evidence")
    return [
        Paragraph(head + (", dry run: nothing was run or written" if is_dry else "")),
        *(_scenario(entry, is_dry=is_dry) for entry in document.get("scenarios") or []),
        Paragraph(f"evidence: {line(evidence, 400)}" if evidence else "", is_apart=True),
    ]


def _scenario(entry: Mapping[str, Any], *, is_dry: bool) -> Section:
    mark = "✓" if entry.get("ok") is True else "✗"
    name = f"{mark} {line(entry.get('scenario'), 40)}: {line(entry.get('status'), 40)}"
    proofs = [_proof(check, is_dry=is_dry) for check in entry.get("checks") or []]
    rest = []
    if error := entry.get("error"):
        rest = [f"{error.get('code')}: {error.get('message')}", f"→ {error.get('fix')}"]
    rest += [f"log: {line(entry['log'], 400)}"] if entry.get("log") else []
    run_id = (Code(entry["run_id"], 60),) if entry.get("run_id") else ()
    return Section((name, *run_id), list(map(Paragraph, [*proofs, *rest])))


def _proof(check: Mapping[str, Any], *, is_dry: bool) -> str:
    # Of what was only planned nothing is proven.
    word = "planned" if is_dry else "proven"
    verdict = word if check.get("passed") is True else f"NOT {word}"
    seen = check.get("evidence")
    evidence = line(shown(seen, limit=400), 160) if seen or not is_dry else ""
    return f"{line(check.get('check'), 40)}: {verdict}  {evidence}".rstrip()
