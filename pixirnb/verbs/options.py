"""Options and arguments of many verbs."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from pixirnb.ids import LAST, STANDARD_INPUT
from pixirnb.verbs.answers import Answer, Desk

_OF_FILES: Final = frozenset({"convert", "plan", "run"})
"""Verbs whose first argument is a workflow's file."""


@Parameter(name="*")
@dataclass
class Common:
    """Options of every verb."""

    state: Path | None = None
    """State folder, instead of the nearest `.pixirnb`."""
    json: Annotated[bool, Parameter(negative="")] = False
    """Print one JSON document on stdout."""


DeskHere = Annotated[Desk, Parameter(parse=False)]
"""Context of a surface: no word of the line."""
RunName = Annotated[
    str,
    Parameter(
        help="Run id or a unique part of it, its `--name`, `@last` or `-`, a workflow name, or the path of a run folder."
    ),
]
Inputs = Annotated[
    list[str] | None,
    Parameter(
        name=("--input", "-i"),
        negative="",
        metavar="NAME=VALUE",
        help="Set an input; repeatable.",
    ),
]
Workspace = Annotated[
    Path | None,
    Parameter(name=("--workspace", "-C"), help="Folder to work in, instead of the folder of FILE."),
]
Cluster = Annotated[
    str | None,
    Parameter(
        name="--cluster",
        help="Scheduler of the Dask cluster for steps with `placement: cluster`, or `local:N` for N workers here.",
    ),
]
PlanFormat = Annotated[
    Literal["text", "mermaid", "dot", "svg", "json", "github"],
    Parameter(
        name="--format", help="Form of the answer: text, a picture, GitHub annotations, or JSON."
    ),
]
RunFormat = Annotated[
    Literal["text", "github", "json"],
    Parameter(name="--format", help="Form of the outcome: text, GitHub annotations, or JSON."),
]
ShowFormat = Annotated[
    Literal["text", "mermaid", "dot", "svg", "json", "github"],
    Parameter(
        name="--format", help="Form of the outcome: text, a picture, GitHub annotations, or JSON."
    ),
]
JUnit = Annotated[
    Path | None,
    Parameter(name="--junit", metavar="FILE", help="Write the outcome to FILE as JUnit XML."),
]
Note = Annotated[str, Parameter(help="Reason, for the record.")]
Flag = Annotated[bool, Parameter(negative="")]
DryRun = Annotated[bool, Parameter(name=("--dry-run", "-n"), negative="")]
Quiet = Annotated[
    bool, Parameter(name=("--quiet", "-q"), negative="", help="Print only the final line.")
]
Tail = Annotated[bool, Parameter(negative="", help="Print the output of steps as it arrives.")]
NoResume = Annotated[
    bool, Parameter(negative="", help="Only record the decision; do not continue the run.")
]
TakeOver = Annotated[
    bool,
    Parameter(
        negative="", help="Take ownership of a run whose process on another host no longer runs."
    ),
]
TakeOverGone = Annotated[
    bool, Parameter(negative="", help="Take ownership of a run whose process no longer runs.")
]


def state_of(common: Common | None) -> Path | None:
    """Return the requested state folder."""
    return None if common is None else common.state


def is_json(common: Common | None) -> bool:
    """Return whether one JSON document is requested."""
    return common is not None and common.json


def is_attended(desk: Desk, common: Common | None) -> bool:
    """Return whether a person may be asked for permissions: one is there, and the answer is for people."""
    return desk.is_attended() and not is_json(common)


def done(sentence: str, run: str, common: Common | None) -> Answer:
    """Return the answer of a verb with nothing to show but its success."""
    document = {"ok": True, "run_id": run, "message": sentence}
    return Answer("message", document, is_json=is_json(common))


def with_last(tokens: Sequence[str]) -> list[str]:
    """Return the words of a line with `@last` for a lone `-` and that of `-/STEP.1.1`, or standard input where a verb takes
    a workflow's file.

    A `-` after an option is the option's.
    """
    meant = STANDARD_INPUT if tokens and tokens[0] in _OF_FILES else LAST
    return [
        meant + word[1:] if f"{word}/".startswith("-/") and not before.startswith("-") else word
        for before, word in zip(["", *tokens], tokens, strict=False)
    ]


def value_of(text: str | None) -> Any:
    """Return a typed value: JSON if it is valid, else the text itself, as it is for `NaN`."""
    if text is None:
        return None
    try:
        value = json_text.loads(text)
        json_text.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value
