"""The structured report of an agent that calls tools: the arguments of `report_checkpoint`, and their mistakes."""

from __future__ import annotations

from typing import Any, Final

from pixirnb.json_types import JsonObject
from pixirnb.sessions.turn import REPORT_TOOL
from pixirnb.spec.schemas import schema_problems

NAME: Final = REPORT_TOOL

STATUSES: Final = ("checkpoint_ready", "partial", "needs_orchestrator", "failed")

DEFINITION: Final[JsonObject] = {
    "name": NAME,
    "description": (
        "Report the status of the task, once, as your last action. "
        "`checkpoint_ready`: the work is complete and usable by later steps. "
        "`partial`: useful but not complete. `needs_orchestrator`: a person must decide. `failed`: the task could not be done."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "checkpoint_status": {"type": "string", "enum": list(STATUSES)},
            "summary": {"type": "string", "description": "What was done, in a few sentences."},
            "output": {"description": "The result itself, if the task asks for one."},
            "limitations": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Known limitations for later steps: gaps, doubts, unverified parts.",
            },
            "seams": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Places where this work must be reconciled with the work of others.",
            },
        },
        "required": ["checkpoint_status", "summary"],
    },
    "mutates": False,
}


def mistakes(args: Any) -> list[str]:
    """Return the mistakes in the arguments of a report; empty if it is acceptable."""
    if not isinstance(args, dict):
        return ["the arguments must be one JSON object."]
    wrong = []
    if args.get("checkpoint_status") not in STATUSES:
        wrong.append(f"`checkpoint_status` must be one of {', '.join(STATUSES)}.")
    if not isinstance(args.get("summary"), str) or not args["summary"].strip():
        wrong.append("`summary` must be a text that describes what was done.")
    for name in ("limitations", "seams"):
        texts = args.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            wrong.append(f"`{name}` must be a list of strings.")
    unknown = sorted(set(args) - set(DEFINITION["parameters"]["properties"]))
    if unknown:
        wrong.append(f"unknown arguments: {', '.join(f'`{name}`' for name in unknown)}.")
    return wrong


def output_mistakes(args: JsonObject, declared: Any) -> list[str]:
    """Return the mistakes in the output of valid arguments that claim to be ready.

    `declared`: a schema, or a model of the user's, which only the engine can ask.
    """
    if declared is None or args["checkpoint_status"] != "checkpoint_ready":
        return []
    if args.get("output") is None:
        return ["`output` is missing, and the step declares one."]
    problems = [] if isinstance(declared, str) else schema_problems(args["output"], declared)
    return [f"`output` does not match its schema: {'; '.join(problems)}."] if problems else []


def report_of(args: JsonObject) -> JsonObject:
    """Return the report of valid arguments."""
    report = {"checkpoint_status": args["checkpoint_status"], "summary": args["summary"].strip()}
    report |= {name: args[name] for name in ("limitations", "seams") if args.get(name)}
    return report | ({"output": args["output"]} if args.get("output") is not None else {})
