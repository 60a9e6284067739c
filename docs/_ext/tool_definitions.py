"""The tools that agents are offered, out of their definitions: what each says of itself, and every argument."""

from __future__ import annotations

from typing import Any

from pixirnb.agent_tools.definitions import SURFACE, Tool


def page() -> str:
    """One section a tool, as Markdown."""
    return "\n\n".join(map(_section, SURFACE))


def _section(tool: Tool) -> str:
    rows = [
        f"| `{name}` | {_kind(schema)} | {'yes' if name in tool.parameters['required'] else ''} | {_said(schema)} |"
        for name, schema in tool.parameters["properties"].items()
    ]
    table = "\n".join(["| argument | type | needed | means |", "|---|---|---|---|", *rows])
    ruled = "Changes things: ruled by the permission mode." if tool.mutates else "Starts nothing."
    return f"## {tool.name}\n\n{_escaped(tool.description)} {ruled}\n\n{table}"


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{word}`" for word in schema["enum"])
    kind = schema.get("type", "any value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _said(schema: dict[str, Any]) -> str:
    return _escaped(schema["description"])


def _escaped(text: str) -> str:
    """Braces would be taken for a substitution, bars for the end of a cell."""
    return text.replace("|", r"\|").replace("{{", r"\{\{").replace("}}", r"\}\}")
