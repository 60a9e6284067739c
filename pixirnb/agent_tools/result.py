"""The result of a tool: whether it succeeded, text for the agent, and data.

A run that did not complete is no error of the tool: it did its work, and reports the end of the run. A wrong call is
`invalid_args`, with the reason and every problem. Source: contract.md §4, §7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from pixirnb.agent_tools.text import truncate_document
from pixirnb.errors import InternalError, InvalidArguments, InvalidSpec, PixirnbError, Problem
from pixirnb.json_types import JsonObject
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.problem_list import error_blocks

_RESUME: Final = re.compile(r"`(?:pixirnb )?resume (\S+)(?: --from (\S+))?`")
"""A command line in a fix: an agent has the tool for it."""
_SHOW: Final = re.compile(r"`pixirnb show (\S+)(?: (\S+))?`")
_SEAM: Final = re.compile(r"`pixirnb decide (\S+) (\S+) accept --note WHY`")
_INPUT: Final = re.compile(r"--input (\w+)=[^`]*")
_PART: Final = re.compile(r"--(from|only|until)\b")
_SHELL: Final = re.compile(r"`pixirnb |%pixir|--[a-z]")
"""Commands and options that no tool of an agent has: a person uses them."""


class Result(Struct, frozen=True):
    """One result."""

    ok: bool
    text: str
    data: JsonObject = field(default_factory=dict)
    """The document of the reference, shortened to fit; an error's document if it is not ok."""

    def document(self) -> JsonObject:
        """Return `{ok, text, data}`, and if it is not ok `error {kind, message, details}` as in a session's log."""
        document: JsonObject = {"ok": self.ok, "text": self.text, "data": self.data}
        if not self.ok:
            error = self.data["error"]
            document["error"] = {
                "kind": error["code"],
                "message": f"{error['message']} {error['fix']}".strip(),
                "details": error["details"],
            }
        return document


def ok_result(text: str, document: Mapping[str, object]) -> Result:
    """Return the result of a success."""
    return Result(ok=True, text=text, data=truncate_document(document))


def refusal_result(error: PixirnbError) -> Result:
    """Return the result of a refusal, with its reason. A wrong call is `invalid_args`; its reason is the error's own code."""
    document = error.document()
    error_data = document["error"]
    if isinstance(error, InvalidSpec | InvalidArguments):
        error_data["details"] = {"reason": error_data["code"], **error_data["details"]}
        error_data["code"] = "invalid_args"
    if isinstance(error, InvalidSpec) and error.problems:
        error_data["fix"] = error_data["fix"] or "fix the errors listed; nothing was started"
    if error_data["code"] == "unknown_run":
        error_data["fix"] = "pass a run_id that `run_workflow` returned"
    error_data["message"] = _PART.sub(r"\1", error_data["message"])
    for each in (error_data, *error_data["details"].get("errors", ())):
        each["fix"] = _spelled(each["fix"])
    text = draw_text(error_blocks(document))
    if error_data["code"] == "invalid_args" and not error_data["details"].get("errors"):
        # The text has it already.
        code = error_data["details"]["reason"]
        problem = Problem(
            code,
            error_data["path"] or "",
            error_data["message"],
            error_data["fix"],
            error_data["line"],
        )
        error_data["details"]["errors"] = [problem.document()]
    return Result(ok=False, text=text, data=truncate_document(document))


def _spelled(fix: str) -> str:
    """Return a fix with the tools in the place of command lines."""
    fix = _RESUME.sub(lambda match: _call("resume_workflow", match, "run_id", "from"), fix)
    fix = _SHOW.sub(lambda match: _call("inspect_run", match, "run_id", "step"), fix)
    more = {"verdict": "accept", "note": "WHY"}
    fix = _SEAM.sub(lambda match: _call("decide_step", match, "run_id", "step", **more), fix)
    fix = _PART.sub(r"\1", _INPUT.sub(r'"inputs": {"\1": VALUE}', fix))
    return f"a person: {fix}" if _SHELL.search(fix) and "a person" not in fix else fix


def _call(tool: str, match: re.Match[str], *names: str, **more: str) -> str:
    arguments = {name: value for name, value in zip(names, match.groups(), strict=True) if value}
    return f"`{tool} {json.dumps({**arguments, **more})}`"


def bug_result(error: Exception) -> Result:
    """Return the result for our bug, which is reported and never raised."""
    return refusal_result(
        InternalError(
            f"pixirnb failed: {type(error).__name__}: {error}",
            fix="logs on disk are intact; please report this",
        )
    )
