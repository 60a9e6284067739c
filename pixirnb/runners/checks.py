"""Declared checks: each says what ran and what it saw, and that stands in the bundle as evidence. Source: contract.md §5.

A check never raises for what it finds: a check that cannot be made is a check that does not pass.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, assert_never, cast

import anyio
import anyio.to_thread

from pixirnb.history.events import Check as CheckRecord
from pixirnb.planning.paths import Pattern, matches
from pixirnb.runners.findings import Ground
from pixirnb.spec.policies import Check
from pixirnb.spec.schemas import may_take_long, schema_problems
from pixirnb.work import Ended, PythonWork, ShellWork, Work

_SHOWN: Final = 20
_TAIL: Final = 500

Nested = Callable[[Work], Awaitable[tuple[Ended, str]]]
"""Runs a command or a function as part of the attempt: how it ended, and the tail of what it printed."""


@dataclass(frozen=True, slots=True)
class Left:
    """What the attempt left, for its checks to look at."""

    ground: Ground
    exit_code: int | None
    text: str
    """Standard output, an agent's without the echo of its task."""
    value: Any
    sources: dict[str, str]
    merged_in: str | None = None
    """The merge that brought what an attempt before it changed into the files that this one began from."""


async def perform_checks(
    checks: tuple[Check, ...], left: Left, nested: Nested
) -> list[CheckRecord]:
    """Make every check, in order; the first that fails does not spare the others."""
    return [await _perform(check, left, nested) for check in checks]


async def _perform(check: Check, left: Left, nested: Nested) -> CheckRecord:
    written = check.model_dump(mode="json", by_alias=True, exclude_unset=True)
    passed: bool
    evidence: dict[str, Any]
    kind = check.kind
    match kind:
        case "exit_code":
            passed = left.exit_code == check.exit_code
            evidence = {"saw": f"exit code {left.exit_code}"}
        case "file_exists":
            passed, evidence = _file_exists(str(check.argument), left)
        case "output_contains":
            passed = str(check.argument) in left.text
            evidence = {"saw": f"{len(left.text)} characters of output", "found": passed}
        case "output_matches":
            passed, evidence = await _output_matches(str(check.argument), left, nested)
        case "schema":
            schema = cast("dict[str, Any]", check.argument)
            problems = await find_schema_problems(left.value, schema, nested)
            passed, evidence = not problems, {"saw": "; ".join(problems) or "the output matches"}
        case "command":
            passed, evidence = await _command(check, nested)
        case "git_changes":
            passed, evidence = await _git_changes(str(check.argument), left, nested)
        case "python":
            passed, evidence = await _python(check, left, nested)
        case _:
            assert_never(kind)
    return {"check": written, "passed": passed, "evidence": evidence}


async def find_schema_problems(value: Any, schema: dict[str, Any], nested: Nested) -> list[str]:
    """As `schema_problems`, off the loop; one that may take long is tried in a process that can be ended."""
    if not may_take_long(schema):
        return await anyio.to_thread.run_sync(schema_problems, value, schema)
    arguments = {"value": value, "schema": schema}
    work = PythonWork("pixirnb.spec.schemas:schema_problems", arguments, None, process=True)
    how, _ = await nested(work)
    if how.status != "completed":
        return [how.message or f"checking it ended as {how.status}"]
    found = None if how.value is None else how.value.get("value")
    return list(found or [])


def _file_exists(pattern: str, left: Left) -> tuple[bool, dict[str, Any]]:
    try:
        found = left.ground.find(pattern)
    except (ValueError, OSError) as error:
        return False, {"saw": f"the pattern cannot be looked up: {error}"}
    folder = left.ground.folder
    names = [
        str(path.relative_to(folder)) if path.is_relative_to(folder) else name
        for name, path in found[:_SHOWN]
    ]
    return bool(found), {"saw": f"{len(found)} found", "files": names}


async def _output_matches(pattern: str, left: Left, nested: Nested) -> tuple[bool, dict[str, Any]]:
    """In a process of its own: a pattern that backtracks for ever can then be ended like any other work."""
    arguments = {"pattern": pattern, "text": left.text}
    work = PythonWork("pixirnb.runners.models:first_match", arguments, None, process=True)
    how, _ = await nested(work)
    if how.status != "completed":
        return False, {"saw": how.message or how.status}
    found = None if how.value is None else how.value.get("value")
    return found is not None, {"saw": "no match in the output" if found is None else found}


async def _command(check: Check, nested: Nested) -> tuple[bool, dict[str, Any]]:
    command = check.command
    assert command is not None
    expected = 0 if check.exit_code is None else check.exit_code
    work = ShellWork(command if isinstance(command, str) else list(command))
    done = await _in_time(work, check, nested)
    if done is None:
        return _late(check)
    how, tail = done
    saw = f"exit code {how.exit_code}" if how.exit_code is not None else how.message or how.status
    evidence = {"saw": saw, "expected": expected, "output": tail[-_TAIL:]}
    return how.exit_code == expected, evidence


async def _git_changes(pattern: str, left: Left, nested: Nested) -> tuple[bool, dict[str, Any]]:
    work = ShellWork(["git", "status", "--porcelain", "-z", "--untracked-files=all", "--", "."])
    how, listed = await nested(work)
    if how.status != "completed":
        return False, {"saw": f"git cannot say: {how.message or listed[-200:]}"}
    wanted = Pattern.parse(pattern)
    changed: list[str] = []
    entries = iter(listed.split("\0"))
    for entry in entries:
        if len(entry) > 3:
            changed.append(entry[3:])
            if entry[0] in "RC":
                next(entries, None)
    found = [path for path in changed if matches(wanted, path)]
    saw = f"{len(found)} of {len(changed)} changed paths match"
    if not found and left.merged_in is not None:
        saw += (
            f"; what it changed before is merged already ({left.merged_in}), so it began from that"
        )
    return bool(found), {"saw": saw, "files": found[:_SHOWN]}


async def _python(check: Check, left: Left, nested: Nested) -> tuple[bool, dict[str, Any]]:
    name = check.python
    assert name is not None
    work = PythonWork(
        call=name, arguments={"output": left.value}, source=left.sources.get(name), process=False
    )
    done = await _in_time(work, check, nested)
    if done is None:
        return _late(check)
    how, _ = done
    if how.status != "completed":
        return False, {"saw": how.message or how.status}
    value = None if how.value is None else how.value.get("value")
    return bool(value), {"saw": f"returned {value!r}"[:200]}


async def _in_time(work: Work, check: Check, nested: Nested) -> tuple[Ended, str] | None:
    """What became of the work of a check; None where its time was up before."""
    with anyio.move_on_after(None if check.timeout is None else check.timeout / 1000):
        return await nested(work)
    return None


def _late(check: Check) -> tuple[bool, dict[str, Any]]:
    assert check.timeout is not None
    saw = f"not done within {check.timeout / 1000} s"
    return False, {"saw": saw, "timeout_ms": check.timeout}
