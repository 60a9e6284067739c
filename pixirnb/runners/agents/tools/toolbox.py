"""The tools of our own agents: judged by the rules, asked for where a person has to, carried out, and told as a result.

    use     arguments → places → `decide` → (`permit`) → the act → {"ok", "output", "error"?}

Nothing an agent says makes this raise: what is refused is a result with a code and a sentence that says what to do instead.
Only where a person would have to be asked and nobody is there does the turn end. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.permission import Asks, Grants, refusal_of
from pixirnb.runners.agents.tools.confinement import ConfinedPath, Confinement, Refused, shown
from pixirnb.runners.agents.tools.definitions import definition, mistake
from pixirnb.runners.agents.tools.excerpt import excerpt
from pixirnb.runners.agents.tools.files import edit, list_folder, read, version_of, write
from pixirnb.runners.agents.tools.search import search
from pixirnb.runners.agents.tools.shell import shell
from pixirnb.sessions.permissions import TOOLS, decide, digest_of

Act = Callable[[Confinement, Mapping[str, Any]], str | dict[str, Any]]

_ACTS: Final[dict[str, Act]] = {
    "read": read,
    "list": list_folder,
    "search": search,
    "write": write,
    "edit": edit,
    "shell": shell,
}
_NOT_THE_ACT: Final = frozenset({"timeout"})
"""Arguments that are no part of what is allowed: the same act, given longer."""


class Toolbox:
    """The tools of one attempt. Used from any thread."""

    def __init__(self, work: Mapping[str, Any], line: Asks) -> None:
        """`work`: as a program of `runners.agents` is handed it."""
        self._confinement = Confinement(work)
        self._limits = self._confinement.limits
        self._line = line
        self._grants = Grants(work, line)

    def definitions(self) -> list[dict[str, Any]]:
        """`{name, description, parameters, mutates}` of each tool that this agent has any use of."""
        return [
            definition(name)
            for name, rule in TOOLS.items()
            if (not self._limits.tools or name in self._limits.tools)
            and not (rule.mutates and self._limits.mode == "read_only")
        ]

    def use(self, name: str, args: Any, call_id: str) -> dict[str, Any]:
        """What came of a call: `{"ok", "output"}`, and `"error": {"kind", "message", "details"}` where it is not ok.

        Raises Failed(`permission_required`) where a person has to be asked and none is there, and what `ask` raises.
        """
        try:
            return self._used(name, args, call_id)
        except Refused as refused:
            return _refusal(name, refused.code, refused.message)
        except Failed:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a tool of ours trips over, the turn goes on and says so
            said = f"`{shown(name, 60)}` failed: {type(error).__name__}: {shown(str(error))}"
            return _refusal(name, "tool_failed", f"{said}. It may or may not have acted: look.")

    def _used(self, name: str, args: Any, call_id: str) -> dict[str, Any]:
        if name in TOOLS and (wrong := mistake(name, args)) is not None:
            raise Refused("invalid_args", wrong)
        rule = TOOLS.get(name)
        given = {key: value for key, value in args.items() if value is not None} if rule else {}
        places: dict[str, ConfinedPath] = {}
        if rule is not None and (not self._limits.tools or name in self._limits.tools):
            for key in dict.fromkeys((*rule.reads, *rule.looks, *rule.writes)):
                places[key] = self._confinement.place(given.get(key, "."))
        judged = {key: value for key, value in given.items() if key not in _NOT_THE_ACT}
        judged |= {key: place.path for key, place in places.items()}
        ruling = decide(self._limits, name, judged)
        if ruling.verdict == "deny":
            raise Refused(ruling.code, ruling.message)
        if ruling.verdict == "ask":
            if name == "write":  # what a person writes while being asked is not written over
                given["version"] = version_of(places["path"])
            self._ask(name, judged, call_id)
        elif rule is not None and rule.mutates:
            self._grants.tell(name, judged, digest_of(name, judged), call_id)
        result = _ACTS[name](self._confinement, {**given, **places})
        if isinstance(result, dict):
            return result
        return {"ok": True, "output": excerpt(result)}

    def _ask(self, name: str, judged: dict[str, Any], call_id: str) -> None:
        """Return when a person has allowed it. Raises Refused, Failed."""
        digest = digest_of(name, judged)
        wanted = _wanted(name, judged)
        asked = {"tool": name, "args": judged, "digest": digest, "call_id": call_id, "why": wanted}
        refused = refusal_of(self._line, asked)
        if refused is not None:
            raise Refused(
                "permission_denied",
                f"{refused} Do not try it in another way: go on without it, or say so in your report.",
            )


def _wanted(name: str, judged: Mapping[str, Any]) -> str:
    """What a call would do, in words for the person who is asked."""
    path = shown(str(judged.get("path", "")))
    match name:
        case "write":
            return f"write `{path}` ({len(judged['content'].encode(errors='replace')):,} bytes)"
        case "edit":
            return f"change `{path}`"
        case _:
            return f"run `{shown(str(judged.get('command', name)), 400)}`"


def _refusal(name: str, code: str, message: str) -> dict[str, Any]:
    error = {"kind": code, "message": message, "details": {"tool": str(name)[:80]}}
    return {"ok": False, "output": f"[refused: {code}] {message}", "error": error}
