"""The tools of our own agents as a model sees them: names, descriptions and JSON schemas."""

from __future__ import annotations

from typing import Any, Final

from pixirnb.json_types import JsonObject
from pixirnb.sessions.permissions import TOOLS
from pixirnb.wording import cut

_PATH: Final = {"type": "string", "description": "Relative to your working folder."}

_WORDS: Final[dict[str, tuple[str, JsonObject, list[str]]]] = {
    "read": (
        "Read lines of a text file. Long files are returned in parts; the end of each part gives the offset of the next.",
        {
            "path": _PATH,
            "offset": {
                "type": "integer",
                "minimum": 1,
                "description": "First line, counted from 1.",
            },
            "limit": {"type": "integer", "minimum": 1, "description": "Maximum number of lines."},
        },
        ["path"],
    ),
    "list": (
        "List the entries of a folder: folders end in `/`, links in `@`.",
        {"path": _PATH},
        [],
    ),
    "search": (
        "Find lines in a file, or in all files below a folder, as `path:line: text`.",
        {
            "pattern": {"type": "string", "description": "Plain text, unless `regex` is true."},
            "path": _PATH,
            "regex": {
                "type": "boolean",
                "description": "The pattern is a Python regular expression.",
            },
            "ignore_case": {"type": "boolean"},
            "glob": {
                "type": "string",
                "description": "Only files with matching names, such as `*.py`.",
            },
        },
        ["pattern"],
    ),
    "write": (
        "Write a whole text file atomically; missing folders are created.",
        {"path": _PATH, "content": {"type": "string"}},
        ["path", "content"],
    ),
    "edit": (
        "Replace text in a file. `old` must occur exactly as given, and only once unless `all` is true.",
        {
            "path": _PATH,
            "old": {"type": "string"},
            "new": {"type": "string"},
            "all": {"type": "boolean", "description": "Replace every occurrence."},
        },
        ["path", "old", "new"],
    ),
    "shell": (
        "Run a command line with `sh` in your working folder. Its child processes end with it; long output is cut in the "
        "middle. Keep to the files you may write: this tool cannot check that before, and it is checked after.",
        {
            "command": {"type": "string"},
            "timeout": {
                "type": "number",
                "minimum": 1,
                "maximum": 600,
                "description": "Timeout in seconds (default 120).",
            },
        },
        ["command"],
    ),
}

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def definition(name: str) -> JsonObject:
    """Return `{name, description, parameters, mutates}` of one tool; `parameters` is a JSON schema."""
    description, properties, required = _WORDS[name]
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        "mutates": TOOLS[name].mutates,
    }


def mistake(name: str, args: Any) -> str | None:
    """Return the mistake in the arguments of a call, in a sentence; None if they are valid."""
    _, properties, required = _WORDS[name]
    if not isinstance(args, dict):
        return f"The arguments of `{name}` must be one JSON object."
    for key in required:
        if args.get(key) is None:
            return f"`{name}` needs `{key}`."
    for key, value in args.items():
        schema = properties.get(key)
        if schema is None:
            taken = ", ".join(f"`{known}`" for known in properties)
            return f"`{name}` has no argument `{cut(str(key), 60)}`; its arguments are {taken}."
        if value is None:
            continue
        kinds = _TYPES[schema["type"]]
        is_number = isinstance(value, int | float)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            return f"`{key}` of `{name}` must be of type {schema['type']}."
        if is_number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            return f"`{key}` of `{name}` is too small or too large."
    return None
