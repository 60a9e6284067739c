"""What a tool answers: whether it did what was asked, text for the agent, and the same as data.

A run that did not complete is no error of the tool: it did what was asked, and says how the run ended. What was asked wrongly
is `invalid_args`, with the reason and every problem. Source: contract.md §4, §7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pixirnb.agent_tools.text import refusal_text, truncate_document
from pixirnb.errors import InternalError, InvalidArguments, InvalidSpec, PixirnbError, Problem


@dataclass(frozen=True, slots=True)
class Result:
    """One answer."""

    ok: bool
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    """The document of the reference, cut down to what fits; an error's where it is not ok."""

    def document(self) -> dict[str, Any]:
        """`{ok, text, data}`, and where it is not ok `error {kind, message, details}` as in a session's log."""
        document: dict[str, Any] = {"ok": self.ok, "text": self.text, "data": self.data}
        if not self.ok:
            told = self.data["error"]
            document["error"] = {
                "kind": told["code"],
                "message": f"{told['message']} {told['fix']}".strip(),
                "details": told["details"],
            }
        return document


def ok_result(text: str, document: dict[str, Any]) -> Result:
    """It did what was asked."""
    return Result(ok=True, text=text, data=truncate_document(document))


def refusal_result(error: PixirnbError) -> Result:
    """It did nothing, and why. What the agent asked wrongly is `invalid_args`; its reason is the error's own code."""
    document = error.document()
    told = document["error"]
    if isinstance(error, InvalidSpec | InvalidArguments):
        told["details"] = {"reason": told["code"], **told["details"]}
        told["code"] = "invalid_args"
    if isinstance(error, InvalidSpec) and error.problems:
        told["fix"] = told["fix"] or "Mend what is listed; nothing was started."
    text = refusal_text(document)
    if told["code"] == "invalid_args" and not told["details"].get("errors"):
        # The text has it already.
        code = told["details"]["reason"]
        problem = Problem(
            code,
            told["path"] or "",
            told["message"],
            told["fix"],
            told["line"],
        )
        told["details"]["errors"] = [problem.document()]
    return Result(ok=False, text=text, data=truncate_document(document))


def bug_result(error: Exception) -> Result:
    """Our bug: said as one, never raised at the agent."""
    return refusal_result(
        InternalError(
            f"pixirnb failed: {type(error).__name__}: {error}",
            fix="Logs on disk are sound; a person may want to report this.",
        )
    )
