"""Display of values of the pure floors: a plan, an outcome, a step of it, a diagnosis, a merge's report.

Those floors may not know the views, so the views teach them how to display themselves; every such value of `pixirnb` has
passed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from pixirnb.history.bundles import CheckpointBundle
from pixirnb.machine.diagnosis import Diagnosis
from pixirnb.machine.document_access import Attributes
from pixirnb.machine.merge_requests import MergeReport
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import PlanReport, report
from pixirnb.spec.workflow import Workflow
from pixirnb.views.basics.phrases import why
from pixirnb.views.basics.status_marks import step_at_rest, step_mark
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import Block, Paragraph
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.files.merge_report import merge_blocks
from pixirnb.views.run.bundle_view import UNSAFE, bundle_blocks, bundle_body
from pixirnb.views.run.housekeeping import diagnosis_blocks
from pixirnb.views.run.outcome_view import outcome_blocks, step_blocks
from pixirnb.views.run.planned_view import planned_blocks


class Bundle(Attributes):
    """A Checkpoint Bundle: a dict that shows itself, with its keys as attributes."""

    def __init__(self, document: CheckpointBundle, reason: str = "") -> None:
        """`reason`: why it is not safe to build on, where it is not."""
        super().__init__(document)
        self._reason = reason

    def _blocks(self) -> list[Block]:
        return bundle_blocks(cast("CheckpointBundle", self), self._reason)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle(self._blocks())

    def __repr__(self) -> str:
        return draw_text(self._blocks())


def unsafe_reason(step: StepDocument) -> str:
    """Return why a `StepOutcome.document()` is nothing to build on yet; empty where it is ready."""
    if step.get("checkpoint_status") == "checkpoint_ready":
        return ""
    return ": ".join(part for part in (step_mark(step).word, why(step)) if part)


def evidence_blocks(
    document: StepDocument, sentences: Sequence[str] = (), *, is_over: bool = False
) -> list[Block]:
    """Return how a step stands, `sentences` that say why, and its evidence if it left any; `is_over`: its run is."""
    document = step_at_rest(document) if is_over else document
    checkpoint = document.get("checkpoint")
    blocks = step_blocks(document, sentences)
    if checkpoint is None:
        return blocks
    if checkpoint.get("dependent_safe") is not True:
        blocks.append(Paragraph(UNSAFE.word))
    return [*blocks, *bundle_body(checkpoint)]


def _taught(blocks: Callable[[Any], list[Block]]) -> Callable[..., dict[str, str]]:
    def shown(value: object, **_: Any) -> dict[str, str]:
        return mimebundle(blocks(value))

    return shown


_HOOK: Final = "_repr_mimebundle_"
"""Method that IPython calls of a value it displays."""

_SHOWN: Final[dict[type, Callable[[Any], list[Block]]]] = {
    PlanReport: planned_blocks,
    Workflow: lambda workflow: planned_blocks(report(workflow, Environment())),
    RunOutcome: lambda outcome: outcome_blocks(outcome.document()),
    StepOutcome: lambda step: evidence_blocks(step.document()),
    Diagnosis: lambda diagnosis: diagnosis_blocks(diagnosis.document()),
    MergeReport: lambda report: merge_blocks(report.document()),
}

for _kind, _blocks in _SHOWN.items():
    setattr(_kind, _HOOK, _taught(_blocks))

# What was asked for by a call is often printed: a report reads alike there.
setattr(MergeReport, "__str__", lambda report: draw_text(merge_blocks(report.document())))  # noqa: B010
