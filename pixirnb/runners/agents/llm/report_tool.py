"""The structured report of an agent that calls tools: the arguments of `report_checkpoint`, and their mistakes."""

from __future__ import annotations

from typing import Any, Final

from pixirnb.json_types import JsonObject
from pixirnb.sessions.turn import REPORT_TOOL

NAME: Final = REPORT_TOOL

STATUSES: Final = ("checkpoint_ready", "partial", "needs_orchestrator", "failed")

DEFINITION: Final[JsonObject] = {
    "name": NAME,
    "description": (
        "Report how the task stands, once, as the last thing you do. `checkpoint_ready`: others can build on it. "
        "`partial`: useful and not done. `needs_orchestrator`: a person must decide. `failed`: it could not be done."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "checkpoint_status": {"type": "string", "enum": list(STATUSES)},
            "summary": {"type": "string", "description": "What was done, in a few sentences."},
            "output": {"description": "The result itself, where the task asks for one."},
            "limitations": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What the next one must know: gaps, doubts, what was not tried.",
            },
            "seams": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Where this work meets that of others and has to be brought together.",
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
        wrong.append("`summary` must be text that says what was done.")
    for name in ("limitations", "seams"):
        texts = args.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            wrong.append(f"`{name}` must be a list of texts.")
    unknown = sorted(set(args) - set(DEFINITION["parameters"]["properties"]))
    if unknown:
        wrong.append(f"it takes no {', '.join(f'`{name}`' for name in unknown)}.")
    return wrong


def report_of(args: JsonObject) -> JsonObject:
    """Return the report of valid arguments."""
    report = {"checkpoint_status": args["checkpoint_status"], "summary": args["summary"].strip()}
    report |= {name: args[name] for name in ("limitations", "seams") if args.get(name)}
    return report | ({"output": args["output"]} if args.get("output") is not None else {})
