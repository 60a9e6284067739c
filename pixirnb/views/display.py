"""A document as a mime bundle: `text/plain` beside `text/html`, with the picture inside the HTML where converters keep it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, assert_never

from pixirnb.views import housework, html, text
from pixirnb.views.comparison import comparison_html, comparison_text
from pixirnb.views.drawing import Edges

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


def mimebundle(
    kind: DocumentKind,
    document: Any,
    edges: Edges = (),
    *,
    plan: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """`{"text/plain": …, "text/html": …}` of a document.

    `edges` are (dependency, dependent) pairs; `plan` is the plan document beside an outcome, `kinds` the kind of each step
    beside a plan. Both are optional.
    """
    match kind:
        case "plan":
            plain, markup = text.plan_text(document), html.plan_html(document, edges, kinds=kinds)
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
            plain, markup = text.bundle_text(document), html.bundle_html(document)
        case "value":
            plain, markup = text.value_text(document), html.value_html(document)
        case "diagnosis":
            plain = housework.diagnosis_text(document)
            markup = housework.diagnosis_html(document)
        case "comparison":
            plain, markup = comparison_text(document), comparison_html(document)
        case "prune":
            plain, markup = housework.prune_text(document), housework.prune_html(document)
        case _:
            assert_never(kind)
    return {"text/plain": plain, "text/html": markup}


class Rows(list[dict[str, Any]]):
    """The runs of a state folder: a list that shows itself as a table."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle("runs", {"runs": list(self)})

    def __repr__(self) -> str:
        return text.runs_text({"runs": list(self)})


class Bundle(dict[str, Any]):
    """A Checkpoint Bundle: a dict that shows itself."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle("bundle", dict(self))

    def __repr__(self) -> str:
        return text.bundle_text(self)
