"""The `verification` of a relay step and the conditions of its preflight, as checks of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pixirnb.spec.relay.folders import normal
from pixirnb.spec.relay.keys import VERIFICATION
from pixirnb.spec.relay.parser import RelayParser
from pixirnb.spec.source_map import PathParts

KINDS: Final = ("output_contains", "exit_code", "file_exists", "custom", "pr_url")
_CUSTOM_TIMEOUT: Final = "30s"
"""Time-out of its own runner for a custom check."""
_GLOB: Final = frozenset("*?[]{}\\")


def read_check(
    reading: RelayParser, step: Mapping[str, Any], parts: PathParts, cwd: str | None
) -> dict[str, Any] | None:
    """Read the check a step declares; None where it declares none, or one that looks at nothing.

    A `command` in it still holds templates of the file.
    """
    data = reading.mapping(step, "verification", parts)
    at = (*parts, "verification")
    if not data:
        return None
    reading.keys(data, at, VERIFICATION)
    kind = reading.needed(data, "type", at)
    if kind is not None and kind not in KINDS:
        reading.no_choice((*at, "type"), kind, "type of verification", KINDS)
        return None
    raw = data.get("value")
    # Its own runner takes a number for text.
    if isinstance(raw, int | float) and not isinstance(raw, bool) and abs(raw) < 2**53:
        value = f"{raw:.15g}"
    else:
        value = reading.text(data, "value", at) or ""
    where = (*at, "value")
    match kind:
        case "output_contains":
            if not value:
                reading.wrong("empty", where, "the expected text is empty", "add the expected text")
                return None
            return {"output_contains": value}
        case "exit_code":
            return _exit_code(reading, value.strip(), where)
        case "file_exists":
            return _file(reading, value, where, cwd)
        case "custom":
            if not value.strip():
                reading.note(
                    "relay_inert", where, "an empty command checks nothing", "write a command"
                )
                return None
            limit = reading.span(data, "timeoutMs", at)
            return {"command": value, "timeout": limit or _CUSTOM_TIMEOUT}
        case "pr_url":
            owner = re.escape(value.strip()) if value.strip() else r"[^/\s]+/[^/\s]+"
            return {"output_matches": rf"https://github\.com/{owner}/pull/\d+"}
        case _:
            return None


def _exit_code(reading: RelayParser, value: str, where: PathParts) -> dict[str, Any] | None:
    if value in {"", "0"}:
        return {"exit_code": 0}
    reading.note(
        "relay_inert",
        where,
        f"`exit_code: {value:.40}` is ignored: a step with another exit code than 0 fails",
        "make the command exit with 0 on success",
    )
    return None


def _file(
    reading: RelayParser, value: str, where: PathParts, cwd: str | None
) -> dict[str, Any] | None:
    """Return the path of a file for a check: relay's runner looks from the workspace, we from the step's own folder."""
    segments = normal(value)
    if not segments:
        reading.wrong("empty", where, "the file name is empty", "add the path of the file")
        return None
    if segments[0] == "":
        return {"command": ["test", "-e", "/".join(segments)]}
    if segments[0] == "..":
        message = f"`{value:.200}` is outside the workspace"
        fix = "use a file in the workspace, or `type: custom`"
        reading.wrong("path_escapes", where, message, fix)
        return None
    if cwd is not None and cwd.startswith("repos."):
        message = f"`{value:.200}` is relative to the folder of the step, `{cwd}`"
        reading.note("relay_differs", where, message, "write it relative to that folder")
    elif cwd is not None:
        inside = normal(cwd)
        if segments[: len(inside)] == inside and len(segments) > len(inside):
            segments = segments[len(inside) :]
        else:
            up = "../" * len(inside)
            return {"command": ["test", "-e", up + "/".join(segments)]}
    path = "/".join(segments)
    if _GLOB & set(path):
        return {"command": ["test", "-e", f"./{path}"]}
    return {"file_exists": path}


def preflight_checks(
    reading: RelayParser, item: Mapping[str, Any], parts: PathParts
) -> list[tuple[dict[str, Any], PathParts]]:
    """Return the checks of the output by `failIf` and `successIf`, each with its path in the file."""
    result: list[tuple[dict[str, Any], PathParts]] = []
    words = {"non-empty": r"\A\s*\Z", "empty": r"\S"}
    for key in ("failIf", "successIf"):
        text, at = reading.text(item, key, parts), (*parts, key)
        if text and key == "failIf" and text in words:
            result.append(({"output_matches": words[text]}, at))
        elif text and _is_pattern(reading, text, at):
            pattern = rf"\A(?![\s\S]*(?:{text}))" if key == "failIf" else text
            result.append(({"output_matches": pattern}, at))
    return result


def _is_pattern(reading: RelayParser, pattern: str, at: PathParts) -> bool:
    try:
        re.compile(pattern)
        re.compile(rf"(?:{pattern})")
    except (re.error, RecursionError, OverflowError) as wrong:
        message = f"invalid regular expression: {wrong}"
        reading.wrong("bad_pattern", at, message, "use the syntax of Python")
        return False
    return True
