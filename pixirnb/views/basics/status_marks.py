"""How each status looks, everywhere: a word, a one-column symbol, a tone and a shape. Views choose nothing else about it.

Only the run status `completed` has the tone `good`; a single step that is ready has its own, `ready`. Shapes differ as well as
colours, so that a grey print and a colour-blind reader see the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from pixirnb.machine.outcome_documents import FAILED_AS, RunDocument, StepDocument
from pixirnb.views.basics.sanitize import line

if TYPE_CHECKING:
    from pixirnb.history.step_state import StepState


class Mark(Struct, frozen=True):
    """The look of one status."""

    key: str
    """Our own name of the shape; safe as a CSS class."""
    word: str
    symbol: str
    """One terminal column."""
    tone: str
    """A class of the palette: good ready bad late half ask live idle."""

    def counted(self, count: int) -> str:
        """Return the word after a number of steps: `2 need a decision`."""
        verb, _, rest = self.word.partition(" ")
        return self.word if count == 1 else f"{_PLURAL.get(verb, verb)} {rest}".rstrip()

    def document(self) -> dict[str, str]:
        """Return `{key, word, symbol, tone}`; the shape is found by its key."""
        return {"key": self.key, "word": self.word, "symbol": self.symbol, "tone": self.tone}


_RUN: Final = {
    mark.key: mark
    for mark in (
        Mark("completed", "completed", "✓", "good"),
        Mark("running", "running", "▸", "live"),
        Mark("interrupted", "interrupted", "■", "half"),
        Mark("needs_orchestrator", "needs a decision", "◆", "ask"),
        Mark("partial", "partial", "◐", "half"),
        Mark("timed_out", "timed out", "◷", "late"),
        Mark("failed", "failed", "✗", "bad"),
    )
}
_STEP: Final = {
    mark.key: mark
    for mark in (
        Mark("checkpoint_ready", "ready", "✓", "ready"),
        Mark("failed", "failed", "✗", "bad"),
        Mark("timed_out", "timed out", "◷", "late"),
        Mark("partial", "partial", "◐", "half"),
        Mark("needs_orchestrator", "needs a decision", "◆", "ask"),
        Mark("decided", "decided, not applied", "◈", "ask"),
        Mark("permission", "needs permission", "◇", "ask"),
        Mark("held", "held", "‖", "idle"),
        Mark("skipped", "skipped", "»", "idle"),
        Mark("cancelled", "canceled", "⊘", "bad"),
        Mark("interrupted", "interrupted", "■", "half"),
        Mark("detached", "detached", "⊖", "late"),
        Mark("running", "running", "▸", "live"),
        Mark("ended", "finished, verifying", "◌", "live"),
        Mark("starting", "starting", "▷", "live"),
        Mark("retrying", "retrying", "↻", "late"),
        Mark("recheck", "pending re-check", "◍", "idle"),
        Mark("lost", "was running", "■", "half"),
        Mark("unretried", "retry pending", "↺", "half"),
        Mark("queued", "not started", "○", "idle"),
        Mark("undone", "merge undone", "↶", "half"),
    )
}
PLANNED: Final = Mark("planned", "planned", "○", "idle")
REFUSED: Final = Mark("failed", "not valid", "✗", "bad")
WARNING: Final = Mark("warning", "warning", "!", "half")
LOST: Final = _STEP["lost"]
"""A step that was running when the process that drove its run died: nothing runs any more, and nothing was recorded."""
_AT_REST: Final = {
    "running": "lost",
    "starting": "lost",
    "permission": "lost",
    "retrying": "unretried",
}
"""Looks that a run at rest cannot have, and what they become."""

STEP_MARKS: Final[tuple[Mark, ...]] = tuple(_STEP.values())
"""Every look a step can have."""
RUN_MARKS: Final[tuple[Mark, ...]] = tuple(_RUN.values())
"""Every look a run can have."""
QUIET: Final = frozenset({"checkpoint_ready", "queued"})
"""Looks of steps that a large run does not list one by one."""
LOUD: Final = frozenset(
    {"failed", "timed_out", "partial", "cancelled", "detached", "needs_orchestrator", "permission"}
)
"""Looks of steps that failed or ask: each is drawn by itself, whatever it is folded with."""
_PLURAL: Final = {"needs": "need", "was": "were"}
_LAST: Final = frozenset({"held", "skipped"})


def run_mark(status: Any) -> Mark:
    """Return the look of a run's status; a status that is none gets a neutral one that shows its text."""
    return _look(_RUN, status)


class StepLook(StepDocument, total=False):
    """Look of a step to the fold, before there is an outcome of it."""

    stage: str
    asks: bool
    decided: bool


def step_mark(step: StepDocument) -> Mark:
    """Return the look of a step outcome: its checkpoint status, or how its attempt stands while there is none.

    `retry`, `recheck`, `undone`, `starting`, `skipped` and the requests to approve of the document, or `stage`, `asks`
    and `decided` where the fold itself is asked, tell apart what no status does.
    """
    checkpoint, attempt = step.get("checkpoint_status"), step.get("subagent_status")
    if step.get("skipped") is True:
        return _STEP["skipped"]
    if checkpoint is not None:
        if checkpoint == "failed" and attempt in FAILED_AS:
            return _STEP[attempt]
        if checkpoint == "held" and attempt == "cancelled" and step.get("attempt"):
            return _STEP["cancelled"]  # it had run, so it was not merely kept from starting
        if checkpoint == "needs_orchestrator" and (step.get("decided") is True or is_decided(step)):
            return _STEP["decided"]
        return _look(_STEP, checkpoint)
    if isinstance(attempt, str) and attempt in _AT_REST.values():
        return _STEP[attempt]
    if step.get("asks") is True or _asks(step):
        return _STEP["permission"]
    if step.get("retry") is not None or step.get("stage") == "retrying":
        return _STEP["retrying"]
    if step.get("starting") is True or step.get("stage") == "scheduled":
        return _STEP["starting"]
    if step.get("undone") is True:
        return _STEP["undone"]
    if step.get("recheck") is True:
        return _STEP["recheck"]
    if attempt in {"running", "queued"}:
        return _STEP[attempt]
    # Ended, and no checkpoint decided yet: whatever the attempt claims of itself, nothing may build on it.
    return _STEP["queued" if attempt in {None, "not_applicable"} else "ended"]


def state_mark(state: StepState, *, is_live: bool = True, is_skipped: bool = False) -> Mark:
    """Return the look of a step's folded state, the same as of its outcome in a run that is live, or at rest.

    `is_skipped`: whether the step is one of `machine.required_steps.skipped_steps`.
    """
    look: StepLook = {
        "checkpoint_status": state.checkpoint_status,
        "subagent_status": state.subagent_status,
        "attempt": state.attempt,
        "stage": state.stage,
        "recheck": state.stage == "idle" and state.recheck,
        "undone": state.is_undone,
        "asks": bool(state.open_requests),
        "skipped": is_skipped,
        "decided": not (state.awaits_human or state.open_requests),
    }
    mark = step_mark(look)
    # Of one that was starting the start may have been lost with the process: what was intended may have begun.
    return mark if is_live else _STEP.get(_AT_REST.get(mark.key, ""), mark)


def in_view(steps: Iterable[StepDocument]) -> list[StepDocument]:
    """Return the step outcomes a reader looks for: all but the ready and the not started; the held and the skipped last."""
    marked = [(step_mark(step).key, step) for step in steps]
    loud = [pair for pair in marked if pair[0] not in QUIET]
    return [step for _, step in sorted(loud, key=lambda pair: pair[0] in _LAST)]


def count_mark(name: str, *, run_status: Any = "running") -> Mark:
    """Return the look of a key of an outcome's `counts`, in a run of that status."""
    return LOST if name == "running" != run_status else _look(_STEP, name)


def at_rest(document: RunDocument) -> RunDocument:
    """Return the outcome document, where a run that is over has no step that looks as if it still ran, or would try again."""
    steps = document.get("steps") or []
    if document.get("status") == "running":
        return document
    return {**document, "steps": [step_at_rest(step) for step in steps]}


def step_at_rest(step: StepDocument) -> StepDocument:
    """Return the outcome document of a step of a run that is over."""
    look = _AT_REST.get(step_mark(step).key)
    return {**step, "subagent_status": look} if look else step


def tally(marks: Iterable[Mark]) -> list[tuple[Mark, int]]:
    """Return how often each mark occurs, in the order of the table above."""
    counts: dict[Mark, int] = {}
    for mark in marks:
        counts[mark] = counts.get(mark, 0) + 1
    order = {key: position for position, key in enumerate(_STEP)}
    return sorted(counts.items(), key=lambda pair: (order.get(pair[0].key, 99), pair[0].word))


def is_decided(step: StepDocument) -> bool:
    """Return whether a person has decided a step, and nothing is left to do but to resume the run."""
    actions = [each["action"] for each in step.get("next_actions") or ()]
    is_open = step.get("checkpoint_status") in {"needs_orchestrator", "partial"}
    return is_open and actions == ["resume_run"]


def _asks(step: StepDocument) -> bool:
    """Return whether a step's agent asks for a permission, and a person can give it."""
    return any(each["action"] == "approve_request" for each in step.get("next_actions") or ())


def _look(table: Mapping[str, Mark], status: Any) -> Mark:
    known = table.get(status) if isinstance(status, str) else None
    if known is not None:
        return known
    return Mark("unknown", line(status, 40) or "unknown", "?", "idle")
