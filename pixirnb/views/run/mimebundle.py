"""A document as a mime bundle: `text/plain` beside `text/html`, with the picture inside the HTML where converters keep it.

And what the pure floors make, shown: a plan, an outcome, a step of it, a diagnosis. Those floors may not know the views, so the
views teach them how to display themselves; whoever has such a value from `pixirnb` has passed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, assert_never, cast

from pixirnb.history.bundles import CheckpointBundle
from pixirnb.machine.diagnosis import Diagnosis
from pixirnb.machine.merge_requests import MergeDocument, MergeReport
from pixirnb.machine.outcome import RunOutcome, StepDocument, StepOutcome
from pixirnb.planning.delegations import Delegation, delegations
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import PlanDocument, PlanReport, report
from pixirnb.spec.workflow import Workflow
from pixirnb.views.basics.html_cards import card
from pixirnb.views.basics.markup import prose
from pixirnb.views.basics.phrases import why
from pixirnb.views.basics.status_marks import step_mark
from pixirnb.views.files.merge_report import merge_html, merge_text
from pixirnb.views.picture.drawing import Edges
from pixirnb.views.run import housekeeping, html, text
from pixirnb.views.run.comparison import comparison_html, comparison_text
from pixirnb.views.run.delegations import PROMPTS
from pixirnb.views.run.isolation_overview import Copies, copies

DocumentKind = Literal[
    "plan",
    "outcome",
    "resume",
    "runs",
    "error",
    "bundle",
    "value",
    "diagnosis",
    "comparison",
    "prune",
]


_PROMPTED: Final = 1000
"""Steps of a workflow whose prompts are composed to be looked at with its plan: that takes planning it again."""


def mimebundle(
    kind: DocumentKind,
    document: Any,
    edges: Edges = (),
    *,
    plan: PlanDocument | None = None,
    kinds: Mapping[str, str] | None = None,
    delegations: Sequence[Delegation] = (),
    prompts: Mapping[str, str] | None = None,
    copies: Copies | None = None,
    reason: str = "",
) -> dict[str, str]:
    """`{"text/plain": …, "text/html": …}` of a document.

    `edges` are (dependency, dependent) pairs; `plan` is the plan document beside an outcome, `kinds` the kind of each step
    beside a plan, `delegations` who does what in it, `prompts` what agents are told, `copies` who works apart; `reason`
    why a bundle is not safe to build on.
    """
    match kind:
        case "plan":
            plain = text.plan_text(document, delegations, copies)
            markup = html.plan_html(
                document,
                edges,
                kinds=kinds,
                delegations=delegations,
                prompts=prompts,
                copies=copies,
            )
        case "outcome":
            plain = text.outcome_text(document)
            markup = html.outcome_html(document, edges, plan=plan)
        case "resume":
            plain, markup = text.resume_text(document), html.resume_html(document)
        case "runs":
            plain, markup = text.runs_text(document), html.runs_html(document)
        case "error":
            plain, markup = text.error_text(document), html.error_html(document)
        case "bundle":
            plain, markup = text.bundle_text(document, reason), html.bundle_html(document, reason)
        case "value":
            plain, markup = text.value_text(document), html.value_html(document)
        case "diagnosis":
            plain = housekeeping.diagnosis_text(document)
            markup = housekeeping.diagnosis_html(document)
        case "comparison":
            plain, markup = comparison_text(document), comparison_html(document)
        case "prune":
            plain, markup = housekeeping.prune_text(document), housekeeping.prune_html(document)
        case _:
            assert_never(kind)
    return {"text/plain": plain, "text/html": markup}


class Bundle(dict[str, Any]):
    """A Checkpoint Bundle: a dict that shows itself."""

    def __init__(self, document: CheckpointBundle, reason: str = "") -> None:
        """`reason`: why it is not safe to build on, where it is not."""
        super().__init__(document)
        self._reason = reason

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle("bundle", dict(self), reason=self._reason)

    def __repr__(self) -> str:
        return text.bundle_text(cast("CheckpointBundle", self), self._reason)


def unsafe_reason(step: StepDocument) -> str:
    """Why a `StepOutcome.document()` is nothing to build on yet; empty where it is ready."""
    if step.get("checkpoint_status") == "checkpoint_ready":
        return ""
    return ": ".join(part for part in (step_mark(step).word, why(step)) if part)


def plan_bundle(planned: PlanReport) -> dict[str, str]:
    """A plan, with its picture."""
    edges = [(before, step.id) for step in planned.spec.steps for before in step.depends_on]
    kinds = {step.id: step.kind for step in planned.spec.steps}
    found = delegations(planned.spec)
    prompts = prompts_of(planned, found)
    document = planned.document()
    return mimebundle(
        "plan",
        document,
        edges,
        kinds=kinds,
        delegations=found,
        prompts=prompts,
        copies=copies(planned.spec),
    )


def prompts_of(planned: PlanReport, found: Sequence[Delegation]) -> dict[str, str]:
    """The first prompts of a plan that can run and is not large, by step."""
    if not found or not planned.ok or len(planned.spec.steps) > _PROMPTED:
        return {}
    return planned.prompts(each.step for each in found[:PROMPTS])


def step_bundle(document: StepDocument, sentences: Sequence[str] = ()) -> dict[str, str]:
    """A `StepOutcome.document()`: how it stands, `sentences` that say why, and its evidence where it left any."""
    checkpoint = document.get("checkpoint")
    standing = "\n".join(text.steps_lines([document]))
    told = text.explain_text(sentences)
    said = "\n".join(part for part in (standing, told) if part)
    if checkpoint is None:
        return {"text/plain": said, "text/html": html.step_html(document, sentences)}
    shown = mimebundle("bundle", checkpoint, reason=unsafe_reason(document))
    beside = "".join(f"<p>{prose(words)}</p>" for words in sentences)
    return {
        "text/plain": f"{said}\n{shown['text/plain']}",
        "text/html": shown["text/html"] + (card(beside) if beside else ""),
    }


def merge_bundle(document: MergeDocument) -> dict[str, str]:
    """A `MergeReport.document()`."""
    return {"text/plain": merge_text(document), "text/html": merge_html(document)}


def _taught(bundle: Callable[[Any], dict[str, str]]) -> Callable[..., dict[str, str]]:
    def shown(value: object, **_: Any) -> dict[str, str]:
        return bundle(value)

    return shown


_HOOK: Final = "_repr_mimebundle_"
"""What IPython asks of a value it displays."""

_SHOWN: Final[dict[type, Callable[[Any], dict[str, str]]]] = {
    PlanReport: plan_bundle,
    Workflow: lambda workflow: plan_bundle(report(workflow, Environment())),
    RunOutcome: lambda outcome: mimebundle("outcome", outcome.document()),
    StepOutcome: lambda step: step_bundle(step.document()),
    Diagnosis: lambda diagnosis: mimebundle("diagnosis", diagnosis.document()),
    MergeReport: lambda report: merge_bundle(report.document()),
}

for _kind, _bundle in _SHOWN.items():
    setattr(_kind, _HOOK, _taught(_bundle))

# What was asked for by a call is often printed: a report reads the same there.
setattr(MergeReport, "__str__", lambda report: merge_text(report.document()))  # noqa: B010
