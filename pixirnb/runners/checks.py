"""Declared checks: each says what ran and what it saw, and that stands in the bundle as evidence. Source: contract.md §5.

A check never raises for what it finds: a check that cannot be made is a check that does not pass.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, assert_never, cast

import anyio

from pixirnb.history.events import CheckResult as CheckRecord
from pixirnb.planning.globs.pattern import Pattern, matches
from pixirnb.planning.roots import repo_of
from pixirnb.protocols.ports import Offload
from pixirnb.protocols.work import Ended, PythonWork, ShellWork, Work
from pixirnb.runners.artifact_globs import Ground
from pixirnb.runners.output.printed import SEARCHED_BYTES, Printed, contains
from pixirnb.spec.limits import OFFERED_BYTES
from pixirnb.spec.policies import Check
from pixirnb.spec.schemas import may_take_long, schema_problems

_SHOWN: Final = 20
_TAIL: Final = 500

JSON_PROBLEMS: Final = "pixirnb.runners.output.printed:json_problems"
NOT_READ: Final = object()


def too_large(printed: Printed) -> str:
    """Why a text is not handed on as a value."""
    if not printed.is_whole:
        return f"more was printed than the {printed.size} bytes that are kept"
    return (
        f"it is {printed.size} bytes, more than the {OFFERED_BYTES} that are handed on as a value"
    )


@dataclass(frozen=True, slots=True)
class CheckOutput:
    """What a check printed, as far as it is kept."""

    text: str
    is_cut: bool = False
    """More was printed: `text` is the beginning, `tail` the end of all of it."""
    tail: str = ""


Nested = Callable[[Work], Awaitable[tuple[Ended, CheckOutput]]]
"""Runs a command or a function as part of the attempt: how it ended, and what it printed."""


@dataclass(frozen=True, slots=True)
class CheckInput:
    """What the attempt left, for its checks to look at."""

    ground: Ground
    exit_code: int | None
    printed: Printed
    """Standard output, an agent's without the echo of its task."""
    value: Any
    """What the step left; NOT_READ where it is what was printed, too large to be read before it is wanted."""
    sources: dict[str, str]
    offload: Offload
    """Keeps what may take a moment off the loop."""
    is_json: bool = False
    """What was printed is the value as JSON."""
    merged_in: str | None = None
    """The merge that brought what an attempt before it changed into the files that this one began from."""

    async def read(self) -> Any:
        """The value out of what was printed, where it is offered as one."""
        text = await self.offload(self.printed.read)
        return await self.offload(json.loads, text) if self.is_json else text


def looks_at_output(checks: tuple[Check, ...]) -> bool:
    """Whether any of them looks at what was printed, whatever is the value."""
    return any(check.kind in {"output_contains", "output_matches"} for check in checks)


async def perform_checks(
    checks: tuple[Check, ...], left: CheckInput, nested: Nested
) -> list[CheckRecord]:
    """Make every check, in order; the first that fails does not spare the others."""
    return [await _perform(check, left, nested) for check in checks]


async def _perform(check: Check, left: CheckInput, nested: Nested) -> CheckRecord:
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
            passed, evidence = await _output_contains(str(check.argument), left.printed, nested)
        case "output_matches":
            passed, evidence = await _output_matches(str(check.argument), left.printed, nested)
        case "schema":
            schema = cast("dict[str, Any]", check.argument)
            problems = await _schema_problems(schema, left, nested)
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


async def find_schema_problems(
    value: Any, schema: dict[str, Any], nested: Nested, offload: Offload
) -> list[str]:
    """As `schema_problems`, off the loop; one that may take long is tried in a process that can be ended."""
    if not may_take_long(schema):
        return await offload(schema_problems, value, schema)
    arguments = {"value": value, "schema": schema}
    return await problems_found("pixirnb.spec.schemas:schema_problems", arguments, nested)


async def problems_found(call: str, arguments: dict[str, Any], nested: Nested) -> list[str]:
    """What a function of ours finds wrong, in a process of its own; why it could not look counts as a problem."""
    how, _ = await nested(PythonWork(call, arguments, None, process=True))
    if how.status != "completed":
        return [how.message or f"checking it ended as {how.status}"]
    found = None if how.value is None else how.value.get("value")
    return list(found or [])


def _file_exists(pattern: str, left: CheckInput) -> tuple[bool, dict[str, Any]]:
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


async def _schema_problems(schema: dict[str, Any], left: CheckInput, nested: Nested) -> list[str]:
    if left.value is not NOT_READ:
        return await find_schema_problems(left.value, schema, nested, left.offload)
    if not left.printed.is_offered:
        return [too_large(left.printed)]
    if left.is_json:
        arguments = {"printed": left.printed.argument, "schema": schema}
        return await problems_found(JSON_PROBLEMS, arguments, nested)
    return await find_schema_problems(await left.read(), schema, nested, left.offload)


async def _output_contains(
    wanted: str, printed: Printed, nested: Nested
) -> tuple[bool, dict[str, Any]]:
    """Long output is read in a process of its own, which can be ended like any other work."""
    if printed.path is None:
        found, why = contains(printed.argument, wanted), ""
    else:
        found, why = await _looked(
            "contains", {"printed": printed.argument, "wanted": wanted}, nested
        )
    evidence: dict[str, Any] = {
        "saw": why or f"{printed.size} bytes of output",
        "found": bool(found),
    }
    if not found and not printed.is_whole:
        evidence["saw"] = f"only the first {printed.size} bytes of the output were kept"
    return bool(found), evidence


async def _output_matches(
    pattern: str, printed: Printed, nested: Nested
) -> tuple[bool, dict[str, Any]]:
    """In a process of its own: a pattern that backtracks for ever can then be ended like any other work."""
    if not printed.is_whole or printed.size > SEARCHED_BYTES:
        saw = f"{printed.size} bytes of output: a pattern is looked for in {SEARCHED_BYTES} at most"
        return False, {"saw": saw}
    arguments = {"pattern": pattern, "printed": printed.argument}
    found, why = await _looked("first_match", arguments, nested)
    if why:
        return False, {"saw": why}
    return found is not None, {"saw": "no match in the output" if found is None else found}


async def _looked(function: str, arguments: dict[str, Any], nested: Nested) -> tuple[Any, str]:
    """What a function of `printed` found, or why it could not look."""
    work = PythonWork(f"pixirnb.runners.output.printed:{function}", arguments, None, process=True)
    how, _ = await nested(work)
    if how.status != "completed":
        return None, how.message or how.status
    return (None if how.value is None else how.value.get("value")), ""


async def _command(check: Check, nested: Nested) -> tuple[bool, dict[str, Any]]:
    command = check.command
    assert command is not None
    expected = 0 if check.exit_code is None else check.exit_code
    work = ShellWork(command if isinstance(command, str) else list(command))
    done = await _in_time(work, check, nested)
    if done is None:
        return _late(check)
    how, said = done
    saw = f"exit code {how.exit_code}" if how.exit_code is not None else how.message or how.status
    evidence = {"saw": saw, "expected": expected, "output": (said.tail or said.text)[-_TAIL:]}
    return how.exit_code == expected, evidence


async def _git_changes(
    pattern: str, left: CheckInput, nested: Nested
) -> tuple[bool, dict[str, Any]]:
    repo = repo_of(pattern)
    if repo is not None and repo not in left.ground.repos:
        return False, {"saw": f"`repos.{repo}` is not among the repositories that this step uses"}
    folder, pattern = (".", pattern) if repo is None else _inside(left.ground.repos[repo], pattern)
    try:
        wanted = Pattern.parse(pattern)
    except ValueError as error:
        return False, {"saw": f"the pattern cannot be looked up: {error}"}
    command = ["git", "-C", folder, "status", "--porcelain", "-z", "--untracked-files=all"]
    how, listed = await nested(ShellWork([*command, "--", "."]))
    if how.status != "completed":
        return False, {"saw": f"git cannot say: {how.message or listed.text[-200:]}"}
    changed: list[str] = []
    entries = iter(listed.text.rpartition("\0")[0].split("\0"))
    for entry in entries:
        if len(entry) > 3:
            changed.append(entry[3:])
            if entry[0] in "RC":
                next(entries, None)
    found = [path for path in changed if matches(wanted, path)]
    saw = f"{len(found)} of {len(changed)} changed paths match"
    if listed.is_cut:
        saw += "; the list was too long to be read to its end"
    if not found and left.merged_in is not None:
        saw += (
            f"; what it changed before is merged already ({left.merged_in}), so it began from that"
        )
    return bool(found), {"saw": saw, "files": found[:_SHOWN]}


def _inside(folder: Path, pattern: str) -> tuple[str, str]:
    """A repository's folder, and a glob in it as git names paths: from the top of what it keeps, which may lie above."""
    glob = pattern.partition(":")[2]
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return str(folder), (folder.relative_to(top) / glob).as_posix() if top != folder else glob


async def _python(check: Check, left: CheckInput, nested: Nested) -> tuple[bool, dict[str, Any]]:
    name = check.python
    assert name is not None
    value = left.value
    if value is NOT_READ:
        if not left.printed.is_offered:
            return False, {"saw": too_large(left.printed)}
        value = await left.read()
    work = PythonWork(
        call=name, arguments={"output": value}, source=left.sources.get(name), process=False
    )
    done = await _in_time(work, check, nested)
    if done is None:
        return _late(check)
    how, _ = done
    if how.status != "completed":
        return False, {"saw": how.message or how.status}
    value = None if how.value is None else how.value.get("value")
    return bool(value), {"saw": f"returned {value!r}"[:200]}


async def _in_time(work: Work, check: Check, nested: Nested) -> tuple[Ended, CheckOutput] | None:
    """What became of the work of a check; None where its time was up before."""
    with anyio.move_on_after(None if check.timeout is None else check.timeout / 1000):
        return await nested(work)
    return None


def _late(check: Check) -> tuple[bool, dict[str, Any]]:
    assert check.timeout is not None
    saw = f"not done within {check.timeout / 1000} s"
    return False, {"saw": saw, "timeout_ms": check.timeout}
