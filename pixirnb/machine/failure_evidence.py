"""Evidence of a failure, for people: what each check expected and saw, the end of the output, and a hint where one is known.

All of it follows from the log; the event of an end has the raw facts. Source: contract.md §4 (error), §5 (checks).
"""

from __future__ import annotations

import re
from typing import Any, Final, TypedDict

from pixirnb.history.events import CheckResult, ErrorData
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonObject
from pixirnb.planning.plan import PlannedStep
from pixirnb.wording import cut, on_one_line

_ENDING: Final = 240
"""Maximum number of characters of an output in a finding."""
_CHECK: Final = 160
_TAIL: Final = 4_096
"""Maximum number of characters of an output that are searched; a foreign log may hold any number."""
_UNKNOWN_COMMAND: Final = re.compile(
    r"^(?:\S+: )*(?:line )?(?:\d+: )?([^\s:]+): (?:command )?not found$", re.MULTILINE
)
_NO_NAME: Final = re.compile(r"name '(?P<name>\w+)' is not defined")
_NO_KEY: Final = re.compile(r" of the cell: KeyError: '(?P<name>\w+)'$")
_NO_MODULE: Final = re.compile(r"No module named '(?P<name>\w+)")
_NOT_EXECUTABLE: Final = re.compile(
    r"^(?:\S+: )*(?:line )?(?:\d+: )?([^\s:]+): Permission denied$", re.MULTILINE
)
_DENIED: Final = re.compile(r"^PermissionError: .*Permission denied: (?P<path>.+)")
_MEANINGS: Final = {
    126: "command not executable",
    127: "command not found",
    137: "killed by SIGKILL",
}
_OUT_OF_MEMORY: Final = "often caused by lack of memory; use less or raise the limit"
_PROCESS: Final = (
    "set `process: true` (%%step: `--process`): a process can be stopped, a thread cannot"
)
_HINTS: Final = (
    ("timeout", "timed out", "raise `timeout` or split the step"),
    (
        "detached",
        "timed out",
        f"raise `timeout`, or {_PROCESS}",
    ),
    ("detached", "cannot be stopped", _PROCESS),
    ("crash", "SIGKILL", _OUT_OF_MEMORY),
    ("spawn_failed", "command not found", "install it or check PATH"),
    ("spawn_failed", "not executable", "run `chmod +x` on it, or check its first line"),
)
"""Kind of an error, a part of its message, and what usually helps."""
_EXPECTED: Final[dict[str, str]] = {
    "file_exists": "a file that matches",
    "output_contains": "this text in the output",
    "output_matches": "a match in the output",
    "schema": "an output of this schema",
    "git_changes": "a changed file that matches",
    "python": "true",
}


SILENT: Final = "the agent reported no `output`, but the step declares one"
UNREPORTED: Final = "the report has no `output`; the text of the agent is not JSON"
"""Mistakes of an agent's output that are none of its value: it gave none."""


class CheckFinding(TypedDict):
    """The result of one check of an attempt."""

    check: JsonObject
    passed: bool
    expected: str
    seen: str


def error_with_evidence(step: PlannedStep, state: StepState) -> ErrorData | None:
    """Return the error of a step with its evidence in `details`, as far as there is any.

    `checks`: every finding, if one failed; `traceback`, `frames`: where a check's function raised; `output_tail`: the end
    of what was printed; `hint`: what usually helps.
    """
    error, ended = state.error, state.ended
    if error is None or ended is None:
        return error
    details: JsonObject = dict(error["details"])
    if error["kind"] == "verification":
        details["checks"] = [finding(check) for check in state.checks]
        failed = [check["evidence"] for check in state.checks if not check["passed"]]
        raised = next((evidence for evidence in failed if "traceback" in evidence), {})
        details |= {key: raised[key] for key in ("traceback", "frames") if key in raised}
    if state.checkpoint_status in {"failed", "partial"} and (tail := ended.get("tail")):
        details["output_tail"] = tail
    call = str(getattr(step.spec, "call", None) or "")
    if text := hint(error, ended.get("exit_code"), ended.get("tail") or "", call):
        details["hint"] = text
    return {**error, "details": details}


def finding(check: CheckResult) -> CheckFinding:
    """Return what a check expected and what it saw, each as a phrase."""
    kind, argument = _parts(check["check"])
    evidence = check["evidence"]
    if kind == "exit_code":
        expected = f"exit code {argument}"
    elif kind == "command":
        expected = f"exit code {evidence.get('expected', 0)}"
    else:
        expected = _EXPECTED.get(kind, "")
    return {
        "check": check["check"],
        "passed": check["passed"],
        "expected": expected,
        "seen": _seen(kind, evidence),
    }


def check_phrase(check: JsonObject) -> str:
    """Return a check as a person writes it on one line: `file_exists build/x`."""
    kind, argument = _parts(check)
    if kind == "schema":
        return kind  # its problems say more
    words = " ".join(map(str, argument if isinstance(argument, list) else [argument]))
    return cut(on_one_line(f"{kind} {words}").strip(), _CHECK)


def hint(error: ErrorData, exit_code: int | None, tail: str, call: str) -> str:
    """Return what usually helps, of a failure that is known well; else nothing. `call`: the step's function."""
    message, kind = error["message"], error["kind"]
    if kind == "exit":
        return _exit_hint(exit_code, tail)
    if kind != "exception":
        return next((text for known, part, text in _HINTS if known == kind and part in message), "")
    if (match := _NO_NAME.search(message)) and call.startswith(":"):
        name = match["name"]
        if " of the cell: " in message:
            return f"import or define `{name}` in the cell, or pass plain data with `--use`"
        return (
            "notebook functions see only their own imports and arguments; "
            f"import or define `{name}` inside the function, or use %%step"
        )
    if (match := _NO_KEY.search(message)) and call.startswith(":"):
        frames = error["details"].get("frames") or [{}]
        if re.search(rf"\binputs\[(['\"]){match['name']}\1\]", str(frames[0].get("code"))):
            return f"declare `{match['name']}` under `inputs:` of the %%workflow cell"
    if "KeyError: 'PIXIRNB_" in message:
        return (
            "set `process: true` (%%step: `--process`): a thread has the environment of the kernel"
        )
    if match := _NO_MODULE.search(message):
        return f"install `{match['name']}`, or add its folder to PYTHONPATH"
    if match := _NO_NAME.search(message):
        return f"import or define `{match['name']}`"
    if match := _DENIED.search(message):
        return f"check the permissions of {match['path']}"
    if message.startswith("SystemExit"):
        return "the step called sys.exit(): return instead"
    return "use less memory or raise the limit" if message.startswith("MemoryError") else ""


def exit_message(exit_code: int | None, tail: str) -> str | None:
    """Return what an exit code that shells give a meaning says of a command; else None. `tail`: the end of its output."""
    what = _MEANINGS.get(exit_code or 0)
    if what is None:
        return None
    name = _named(exit_code, tail)
    return f"{what}{': ' if name else ''}{name} (exit {exit_code})"


def _named(exit_code: int | None, tail: str) -> str:
    """Return the command that a shell complained of last."""
    pattern = {127: _UNKNOWN_COMMAND, 126: _NOT_EXECUTABLE}.get(exit_code or 0)
    names = [] if pattern is None else pattern.findall(tail[-_TAIL:])
    return names[-1] if names else ""


def _exit_hint(exit_code: int | None, tail: str) -> str:
    name = _named(exit_code, tail)
    if exit_code == 127:
        return f"install `{name}` or check PATH" if name else "install the command or check PATH"
    if exit_code == 126:
        return f"run `chmod +x {name or 'FILE'}`, or check the first line of the file"
    if exit_code == 137:
        return _OUT_OF_MEMORY
    return ""


def _seen(kind: str, evidence: JsonObject) -> str:
    seen, output = evidence.get("saw"), evidence.get("output")
    if kind == "file_exists" and evidence.get("files") == []:
        return "no file matches" if seen == "0 found" else on_one_line(str(seen))
    if kind == "output_contains" and evidence.get("found") is True:
        return "found"
    parts = [seen] if isinstance(seen, str) else []
    if isinstance(output, str) and (text := on_one_line(output.strip()[-_ENDING:])):
        parts = [text] if kind.startswith("output") else [*parts, text]
    return ": ".join(parts)


def _parts(check: JsonObject) -> tuple[str, Any]:
    """Return the kind of a check and its argument; an `exit_code` next to a command belongs to that."""
    kind = next((key for key in check if key not in {"timeout", "exit_code"}), "exit_code")
    return kind, check.get(kind, "")
