"""Words that may stand last on an unfinished command line: runs, their steps and checkpoints, statuses, examples.

Asked by the completion scripts where they know nothing themselves; files are the shell's.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_RUNS: Final = frozenset(
    {
        *("resume", "fork", "watch", "show", "status", "logs", "events", "log", "diff", "doctor"),
        *("compare", "decide", "cancel", "merge", "checkpoint", "export", "prune"),
    }
)
"""Verbs whose first argument is a run."""
_MORE: Final = {
    **dict.fromkeys(("compare", "prune"), "run"),
    **dict.fromkeys(("show", "status", "logs", "cancel", "decide", "merge", "diff"), "step"),
    "fork": "checkpoint",
}
"""Verbs to what their further arguments are."""
_OPTIONS: Final = {
    **dict.fromkeys(("--from", "--only", "--until", "--session", "--prompt"), "step"),
    "--resume": "run",
    "--status": "status",
    "--checkpoint": "checkpoint",
}
"""Options to what their values are."""
_LISTED: Final = 200
_PLAIN: Final = re.compile(r"[\w@%+:,./-]+")
"""A word that every shell reads as itself."""


def candidates(words: Sequence[str], options: str) -> list[str]:
    """Return the words that may stand in the place of the last one; `options` take a value."""
    *before, last = words
    option, equals, typed = last.partition("=")
    begin = f"{option}{equals}" if equals and option.startswith("--") else ""
    given, arguments = _read(before, options.split())
    if not begin:
        typed = last
    option = option if begin else before[-1] if before and before[-1] in options.split() else ""
    kind = _OPTIONS.get(option, "") if option else _argument(arguments)
    *listed, _ = typed.rpartition(",") if kind == "status" else ("",)
    begin += "".join(listed)
    values = _values(kind, arguments, given.get("--state"))
    # Names come from logs, which anybody may have written: what a shell would read as more than a word is left out.
    plain = (begin + each for each in values if _PLAIN.fullmatch(each))
    return [word for word in plain if word.startswith(last)]


def _read(words: Sequence[str], options: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the values of options, and the verb with its arguments."""
    given: dict[str, str] = {}
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in options:
            given[word] = next(rest, "")
        elif equals and name in options:
            given[name] = value
        elif not word.startswith("-"):
            arguments.append(word)
    return given, arguments


def _argument(arguments: Sequence[str]) -> str:
    """Return what the next argument is; empty for what the shell completes, such as a file."""
    verb, *before = arguments or ("",)
    if verb in _RUNS and not before:
        return "run"
    if verb == "decide" and len(before) == 2:
        return "verdict"
    if verb in {"approve", "deny"} and not before:
        return "request"
    if verb == "run" and before:
        return "step"
    return "example" if verb == "examples" else _MORE.get(verb, "")


def _values(kind: str, arguments: Sequence[str], state: str | None) -> Iterable[str]:
    from pixirnb import api

    verb, first = (*arguments, "", "")[:2]
    match kind:
        case "run":
            rows = api.runs(state=state, limit=_LISTED)
            named = [str(row.get(key) or "") for key in ("name", "workflow") for row in rows]
            return dict.fromkeys(["@last", *filter(None, named), *(row["run_id"] for row in rows)])
        case "step" if verb in {"run", "plan"}:
            # A pipe would be waited for, and emptied.
            return (
                [step.id for step in api.load(Path(first)).steps] if Path(first).is_file() else ()
            )
        case "step":
            return api.open_run(first, state=state).compiled().index
        case "checkpoint":
            saved = api.open_run(first, state=state).state.checkpoints
            return dict.fromkeys(each["name"] for each in saved)
        case "request":
            runs = [
                api.open_run(row["run_id"], state=state) for row in api.runs(state=state, limit=20)
            ]
            return [each["request_id"] for run in runs for each in run.state.open_permissions()]
        case "verdict":
            return ("accept", "reject")
        case "status":
            from pixirnb.verbs.answers import EXIT_OF

            return EXIT_OF
        case "example":
            from pixirnb.verbs.setup import example_names

            return example_names()
        case _:
            return ()
