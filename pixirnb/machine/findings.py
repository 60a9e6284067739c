"""One finding of a diagnosis: a problem of a run, with its evidence and the next action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, cast

from msgspec import Struct, field

if TYPE_CHECKING:
    from pixirnb.json_types import JsonObject
    from pixirnb.machine.outcome_documents import NextAction

Severity = Literal["warning", "blocked"]


class FindingDocument(TypedDict):
    """The JSON of a `Finding`."""

    code: str
    severity: Severity
    message: str
    step: str | None
    evidence: JsonObject
    next_action: NextAction | None


class DiagnosisDocument(TypedDict, total=False):
    """The JSON of a diagnosis of one run; of several runs only `status` and `runs`."""

    run_id: str
    status: str
    findings: list[FindingDocument]
    runs: list[DiagnosisDocument]


class Finding(Struct, frozen=True):
    """One problem of a run."""

    code: str
    severity: Severity
    message: str
    step: str | None = None
    evidence: JsonObject = field(default_factory=dict)
    next_action: NextAction | None = None
    """The action for it; None where there is nothing to run."""

    def document(self) -> FindingDocument:
        """Return the finding as the JSON of the reference."""
        return cast(
            "FindingDocument", {name: getattr(self, name) for name in self.__struct_fields__}
        )


def rest_of(entries: Sequence[object] | Mapping[str, object], listed: int) -> JsonObject:
    """Return the number of entries of a list that are not shown, where some are not."""
    return {"and_more": len(entries) - listed} if len(entries) > listed else {}
