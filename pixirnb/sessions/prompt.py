"""What an agent is told: its role, its task, what came before it, what it may touch, and how to report. Pure.

What other steps left is quoted as data, bounded, and never as a line that could pass for the agent's own report.
Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pixirnb.sessions.quoting import quoted


@dataclass(frozen=True, slots=True)
class Upstream:
    """What a step this one depends on left."""

    step: str
    summary: str
    output: str
    """As text, whole; what does not fit is left out here."""
    limitations: tuple[str, ...] = ()
    place: str | None = None
    """Where the whole of it lies, for reading."""


@dataclass(frozen=True, slots=True)
class Brief:
    """All a prompt is composed from."""

    task: str
    role: str = ""
    upstream: tuple[Upstream, ...] = ()
    posture: str = "writer"
    permission_mode: str = "ask"
    read_set: tuple[str, ...] = ()
    write_set: tuple[str, ...] = ()
    output: dict[str, Any] | str | None = None
    """The declared output: a JSON schema, or a model's name."""
    checks: tuple[str, ...] = ()
    has_report_tool: bool = False
    failure_context: str = ""


OUTPUT_LIMIT = 4000
"""Characters of one upstream output that are quoted."""


def compose(brief: Brief) -> str:
    """The prompt of an attempt."""
    parts = [brief.role.strip(), brief.task.strip()]
    parts += [_quoted(upstream) for upstream in brief.upstream]
    if brief.failure_context:
        parts.append(quoted("the attempt before this one", brief.failure_context))
    parts.append(_limits(brief))
    parts.append(_report(brief))
    return "\n\n".join(part for part in parts if part) + "\n"


def _quoted(upstream: Upstream) -> str:
    said = [f"summary: {upstream.summary}"] if upstream.summary else []
    said += [f"known limitation: {text}" for text in upstream.limitations]
    if upstream.output and upstream.output.strip() != upstream.summary.strip():
        cut = upstream.output[:OUTPUT_LIMIT]
        rest = len(upstream.output) - len(cut)
        said.append(cut + (f"\n[{rest} more characters]" if rest else ""))
    if upstream.place:
        said.append(f"all of it: {upstream.place}")
    return quoted(f"step {upstream.step}", "\n".join(said))


def _limits(brief: Brief) -> str:
    if brief.posture == "read_only" or brief.permission_mode == "read_only":
        writes = "You may read and must not change anything."
    else:
        writes = f"You may write only what matches: {_globs(brief.write_set)}."
    return f"You may read what matches: {_globs(brief.read_set or ('**/*',))}. {writes}"


def _globs(patterns: Sequence[str]) -> str:
    return ", ".join(f"`{pattern}`" for pattern in patterns)


def _report(brief: Brief) -> str:
    how = (
        "When you are done, call the tool `report_checkpoint`."
        if brief.has_report_tool
        else "End your last message with a line that says `checkpoint_status:` and one of the four words."
    )
    words = (
        "`checkpoint_ready` means that others can build on it; `partial`, that it is useful and not done; "
        "`needs_orchestrator`, that a person must decide something; `failed`, that it could not be done."
    )
    return f"{how} {words}"
