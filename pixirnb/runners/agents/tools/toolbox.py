"""The tools of our own agents: judged by the rules, approved by a person if needed, executed, and answered.

    use     arguments → places → `decide` → (`permit`) → the act → {"ok", "output", "error"?}

No arguments of an agent make this raise: a refusal is a result with a code and a sentence with the alternative. The
turn ends only if a person must be asked and none can be. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.runners.agents.channel import Failed, PermissionChannel, PriorApprovals, refusal_of
from pixirnb.runners.agents.tools.confinement import ConfinedPath, Confinement, Refused, shown
from pixirnb.runners.agents.tools.excerpt import excerpt
from pixirnb.runners.agents.tools.files import edit, list_folder, read, version_of, write
from pixirnb.runners.agents.tools.search import search
from pixirnb.runners.agents.tools.shell import shell
from pixirnb.sessions.permissions import TOOLS, decide, digest_of
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


Act = Callable[[Confinement, JsonMapping], str | JsonObject]

_ACTS: Final[dict[str, Act]] = {
    "read": read,
    "list": list_folder,
    "search": search,
    "write": write,
    "edit": edit,
    "shell": shell,
}
_NOT_THE_ACT: Final = frozenset({"timeout"})
"""Arguments that an approval ignores: more time for the same action."""


class Toolbox:
    """The tools of one attempt. Used from any thread."""

    def __init__(self, work: JsonMapping, line: PermissionChannel) -> None:
        """Read the tools of `work`, a program's input in `runners.agents`."""
        self._confinement = Confinement(work)
        self._limits = self._confinement.limits
        self._line = line
        self._grants = PriorApprovals(work, line)

    def definitions(self) -> list[JsonObject]:
        """Return `{name, description, parameters, mutates}` of each tool that this agent can use."""
        return [
            definition(name)
            for name, rule in TOOLS.items()
            if (not self._limits.tools or name in self._limits.tools)
            and not (rule.mutates and self._limits.mode == "read_only")
        ]

    def use(self, name: str, args: Any, call_id: str) -> JsonObject:
        """Return the result of a call: `{"ok", "output"}`, and `"error": {"kind", "message", "details"}` if it failed.

        Raises Failed(`permission_required`) if no person can be asked, and the errors of `ask`.
        """
        try:
            return self._used(name, args, call_id)
        except Refused as refused:
            return _refusal(name, refused.code, refused.message)
        except Failed:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a tool of ours trips over, the turn goes on and says so
            text = f"`{shown(name, 60)}` failed: {type(error).__name__}: {shown(str(error))}"
            return _refusal(
                name, "tool_failed", f"{text}. It may or may not have had an effect: check."
            )

    def _used(self, name: str, args: Any, call_id: str) -> JsonObject:
        if name in TOOLS and (wrong := mistake(name, args)) is not None:
            raise Refused("invalid_args", wrong)
        rule = TOOLS.get(name)
        given = {key: value for key, value in args.items() if value is not None} if rule else {}
        locations: dict[str, ConfinedPath] = {}
        if rule is not None and (not self._limits.tools or name in self._limits.tools):
            for key in dict.fromkeys((*rule.reads, *rule.looks, *rule.writes)):
                locations[key] = self._confinement.location(given.get(key, "."))
        judged = {key: value for key, value in given.items() if key not in _NOT_THE_ACT}
        judged |= {key: location.path for key, location in locations.items()}
        ruling = decide(self._limits, name, judged)
        if ruling.verdict == "deny":
            raise Refused(ruling.code, ruling.message)
        if ruling.verdict == "ask":
            if name == "write":  # keep what a person writes meanwhile
                given["version"] = version_of(locations["path"])
            self._ask(name, judged, call_id)
        elif rule is not None and rule.mutates:
            self._grants.tell(name, judged, digest_of(name, judged), call_id)
        result = _ACTS[name](self._confinement, {**given, **locations})
        if isinstance(result, dict):
            return result
        return {"ok": True, "output": excerpt(result)}

    def _ask(self, name: str, judged: JsonObject, call_id: str) -> None:
        """Return when a person has allowed it. Raises Refused, Failed."""
        digest = digest_of(name, judged)
        action = _action(name, judged)
        request = {
            "tool": name,
            "args": judged,
            "digest": digest,
            "call_id": call_id,
            "why": action,
        }
        refused = refusal_of(self._line, request)
        if refused is not None:
            raise Refused(
                "permission_denied",
                f"{refused} Do not attempt it in another way: continue without it, or state it in your report.",
            )


def _action(name: str, judged: JsonMapping) -> str:
    """Return the action of a call in words for a person."""
    path = shown(str(judged.get("path", "")))
    match name:
        case "write":
            return f"write `{path}` ({len(judged['content'].encode(errors='replace')):,} bytes)"
        case "edit":
            return f"change `{path}`"
        case _:
            return f"run `{shown(str(judged.get('command', name)), 400)}`"


def _refusal(name: str, code: str, message: str) -> JsonObject:
    error = {"kind": code, "message": message, "details": {"tool": cut(str(name), 80)}}
    return {"ok": False, "output": f"[refused: {code}] {message}", "error": error}
