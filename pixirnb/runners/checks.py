"""Declared checks: each records what ran and what it saw, as evidence in the bundle. Source: contract.md §5.

A check never raises for its result: a check that cannot run does not pass.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, assert_never, cast

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.history.events import CheckResult as CheckRecord
from pixirnb.json_types import JsonObject, deep_copy
from pixirnb.planning.globs.pattern import Pattern, matches
from pixirnb.planning.roots import repo_of
from pixirnb.protocols.ports import Offload
from pixirnb.protocols.work import Ended, PythonWork, ShellWork, UnloadedValue, Work
from pixirnb.runners.artifact_globs import Ground, is_single, search
from pixirnb.runners.output.printed import SEARCHED_BYTES, Printed, contains
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.spec.limits import OFFERED_BYTES
from pixirnb.spec.policies import Check
from pixirnb.spec.schemas import may_take_long, schema_problems
from pixirnb.wording import cut

_SHOWN: Final = 20
_TAIL: Final = 500

SEARCH: Final = "pixirnb.runners.artifact_globs:search"
JSON_PROBLEMS: Final = "pixirnb.runners.output.printed:json_problems"
NOT_READ: Final = object()
UNREADABLE: Final = "the result of the function cannot be read"
_RAISED: Final = ("traceback", "frames")
"""Keys in the details of a function that raised: the place."""


def too_large(printed: Printed) -> str:
    """Return why a text is too large for a value."""
    if not printed.is_whole:
        return f"the output is larger than the {printed.size} bytes that are stored"
    return (
        f"the output has {printed.size} bytes, more than the limit of {OFFERED_BYTES} for a value"
    )


class CheckOutput(Struct, frozen=True):
    """The output of a check, as far as it is kept."""

    text: str
    is_cut: bool = False
    """True if more was printed: `text` is the beginning, `tail` the end of all of it."""
    tail: str = ""


Nested = Callable[[Work], Awaitable[tuple[Ended, CheckOutput]]]
"""Function that runs a command or a function as part of the attempt; returns its end and its output."""


class CheckInput(Struct, frozen=True):
    """The results of an attempt, for its checks."""

    ground: Ground
    exit_code: int | None
    printed: Printed
    """Standard output; an agent's without the echo of its task."""
    value: Any
    """The value of the step; NOT_READ if it is printed output that is too large to parse before it is needed."""
    sources: dict[str, str]
    offload: Offload
    """Runs short blocking calls off the loop."""
    is_json: bool = False
    """True if the output is the value as JSON."""
    merged_in: str | None = None
    """The merge that brought the changes of an earlier attempt into the files of this one."""
    changed: Mapping[str, Sequence[str]] | None = None
    """By root: the paths that the attempt changed in folders of its own; None if it works in the user's."""
    heads: Mapping[str, str] = field(default_factory=dict)
    """By folder of the user's, as `find_heads` names it: the commit that git was at when the attempt began; empty: none."""

    async def read(self) -> Any:
        """Return the output as the value of the step; JSON is parsed by the check that gets it."""
        text = await self.offload(self.printed.read)
        return UnloadedValue({"format": "json"}, text.encode()) if self.is_json else text


async def find_heads(checks: tuple[Check, ...], ground: Ground, nested: Nested) -> dict[str, str]:
    """Return by folder the commit that git is at, for `git_changes` in the user's folders; empty where git knows none."""
    heads: dict[str, str] = {}
    for pattern in (str(check.argument) for check in checks if check.kind == "git_changes"):
        repo = repo_of(pattern)
        if repo is None or repo in ground.repos:
            folder = "." if repo is None else str(ground.repos[repo])
            command = ["git", "-C", folder, "rev-parse", "--verify", "--quiet", "HEAD"]
            how, head = await nested(ShellWork(command))
            heads[folder] = head.text.strip() if how.status == "completed" else ""
    return heads


def looks_at_output(checks: tuple[Check, ...]) -> bool:
    """Return whether any check looks at the printed output, whatever the value."""
    return any(check.kind in {"output_contains", "output_matches"} for check in checks)


async def perform_checks(
    checks: tuple[Check, ...], left: CheckInput, nested: Nested
) -> list[CheckRecord]:
    """Perform every check, in order; a failure does not skip the others."""
    return [await _perform(check, left, nested) for check in checks]


async def _perform(check: Check, left: CheckInput, nested: Nested) -> CheckRecord:
    written = check.document()
    passed: bool
    evidence: JsonObject
    kind = check.kind
    match kind:
        case "exit_code":
            passed = left.exit_code == check.exit_code
            evidence = {"saw": f"exit code {left.exit_code}"}
        case "file_exists":
            passed, evidence = await _file_exists(str(check.argument), left, nested)
        case "output_contains":
            passed, evidence = await _output_contains(str(check.argument), left.printed, nested)
            evidence |= {} if passed else await _ending(left)
        case "output_matches":
            passed, evidence = await _output_matches(str(check.argument), left.printed, nested)
            evidence |= {} if passed else await _ending(left)
        case "schema":
            schema = cast("JsonObject", check.argument)
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
    value: Any, schema: JsonObject, nested: Nested, offload: Offload
) -> list[str]:
    """Return `schema_problems`, computed off the loop; a slow schema is checked in a process that can be killed."""
    if not may_take_long(schema) and not isinstance(value, UnloadedValue):
        return await offload(schema_problems, value, schema)
    arguments = {"value": value, "schema": schema}
    return await function_problems("pixirnb.spec.schemas:schema_problems", arguments, nested)


async def function_problems(call: str, arguments: JsonObject, nested: Nested) -> list[str]:
    """Return the problems that a function of ours reports from a separate process; its failure counts as a problem."""
    is_unloaded = isinstance(arguments.get("value"), UnloadedValue)
    work = PythonWork(call, arguments, None, process=True, holds_unloaded=is_unloaded)
    how, _ = await nested(work)
    return problems_of(how)


def problems_of(how: Ended) -> list[str]:
    """Return the problems that a function reported; its failure and an unreadable report count as a problem."""
    if how.status != "completed":
        return [how.message or f"the check ended: {how.status}"]
    problems = result_of(how)
    is_read = isinstance(problems, list) and all(isinstance(each, str) for each in problems)
    return problems if is_read else [UNREADABLE]


def result_of(how: Ended) -> Any:
    """Return what a check's function returned; NOT_READ for all but JSON that fits an event."""
    value = how.value
    if value is None or value["format"] not in {"text", "json", "none"} or how.payload is not None:
        return NOT_READ
    return value.get("value")


async def _file_exists(pattern: str, left: CheckInput, nested: Nested) -> tuple[bool, JsonObject]:
    """Search for a glob in a separate process: a walk through a large tree can be killed."""
    if is_single(pattern):
        text, why = await left.offload(search, left.ground, pattern), ""
    else:
        arguments = {"ground": left.ground, "pattern": pattern}
        text, why = await _result_of(SEARCH, arguments, nested)
    if why:
        return False, {"saw": why}
    has_match, evidence = json.loads(text)
    return has_match, evidence


async def _schema_problems(schema: JsonObject, left: CheckInput, nested: Nested) -> list[str]:
    if left.value is not NOT_READ:
        return await find_schema_problems(left.value, schema, nested, left.offload)
    if not left.printed.is_offered:
        return [too_large(left.printed)]
    if left.is_json:
        arguments = {"printed": left.printed.argument, "schema": schema}
        return await function_problems(JSON_PROBLEMS, arguments, nested)
    return await find_schema_problems(await left.read(), schema, nested, left.offload)


async def _output_contains(text: str, printed: Printed, nested: Nested) -> tuple[bool, JsonObject]:
    """Search the output; a long one is read in a separate process, which can be killed."""
    if printed.path is None:
        is_contained, why = contains(printed.argument, text), ""
    else:
        is_contained, why = await _looked(
            "contains", {"printed": printed.argument, "text": text}, nested
        )
    evidence: JsonObject = {
        "saw": why or f"{printed.size} bytes of output",
        "found": bool(is_contained),
    }
    if not is_contained and not printed.is_whole:
        evidence["saw"] = f"only the first {printed.size} bytes of the output are stored"
    return bool(is_contained), evidence


async def _output_matches(
    pattern: str, printed: Printed, nested: Nested
) -> tuple[bool, JsonObject]:
    """Match the output in a separate process: a pattern that backtracks for ever can be killed."""
    if not printed.is_whole or printed.size > SEARCHED_BYTES:
        saw = (
            f"{printed.size} bytes of output, more than the limit of {SEARCHED_BYTES} for patterns"
        )
        return False, {"saw": saw}
    arguments = {"pattern": pattern, "printed": printed.argument}
    match, why = await _looked("first_match", arguments, nested)
    if why:
        return False, {"saw": why}
    return match is not None, {"saw": "no match in the output" if match is None else match}


async def _ending(left: CheckInput) -> JsonObject:
    """Return the end of the output that a check did not pass on."""
    try:
        return {"output": await left.offload(left.printed.ending, _TAIL)}
    except OSError as error:
        return {"output": f"the output cannot be read: {error.strerror}"}


async def _looked(function: str, arguments: JsonObject, nested: Nested) -> tuple[Any, str]:
    """Return the result of a function of `printed`, or why it failed."""
    return await _result_of(f"pixirnb.runners.output.printed:{function}", arguments, nested)


async def _result_of(call: str, arguments: JsonObject, nested: Nested) -> tuple[Any, str]:
    """Return the result of a function of ours in a separate process, or why it failed."""
    how, _ = await nested(PythonWork(call, arguments, None, process=True))
    if how.status != "completed":
        return None, how.message or how.status
    result = result_of(how)
    return (None, UNREADABLE) if result is NOT_READ else (result, "")


async def _command(check: Check, nested: Nested) -> tuple[bool, JsonObject]:
    command = check.command
    assert command is not None
    expected = 0 if check.exit_code is None else check.exit_code
    work = ShellWork(command if isinstance(command, str) else list(command), is_written=True)
    done = await _in_time(work, check, nested)
    if done is None:
        return _late(check)
    how, output = done
    saw = f"exit code {how.exit_code}" if how.exit_code is not None else how.message or how.status
    evidence = {"saw": saw, "expected": expected, "output": (output.tail or output.text)[-_TAIL:]}
    return how.exit_code == expected, evidence


async def _git_changes(pattern: str, left: CheckInput, nested: Nested) -> tuple[bool, JsonObject]:
    """Compare trees where the attempt had folders of its own; else ask git for changes and for commits since it began."""
    repo = repo_of(pattern)
    if repo is not None and repo not in left.ground.repos:
        return False, {"saw": f"`repos.{repo}` is not a repository of this step"}
    if left.changed is not None:
        listed = _Listed(left.ground.within(left.changed, repo))
        pattern = pattern if repo is None else pattern.partition(":")[2]
    else:
        folder = "."
        if repo is not None:
            folder, pattern = _inside(left.ground.repos[repo], pattern)
        listed = await _status(folder, nested)
        if listed.refusal:
            return False, {"saw": f"git failed: {listed.refusal}"}
        if (head := left.heads.get(folder)) is not None:
            committed = await _committed(folder, head, nested)
            listed.paths = list(dict.fromkeys([*listed.paths, *committed.paths]))
            listed.is_cut |= committed.is_cut
            listed.refusal = committed.refusal
    try:
        glob = Pattern.parse(pattern)
    except ValueError as error:
        return False, {"saw": f"invalid pattern: {error}"}
    paths = listed.paths
    matching = await left.offload(lambda: [path for path in paths if matches(glob, f"./{path}")])
    saw = f"{len(matching)} of {len(paths)} changed paths match"
    if listed.refusal:
        saw += f"; commits since then are unknown: {listed.refusal}"
    if listed.is_cut:
        saw += "; the list is incomplete because it is too long"
    if not matching and left.merged_in is not None:
        saw += f"; its earlier changes are already merged ({left.merged_in}) and do not count"
    return bool(matching), {"saw": saw, "files": matching[:_SHOWN]}


class _Listed(Struct):
    """Paths as git lists them, from the top level of a repository."""

    paths: list[str]
    is_cut: bool = False
    refusal: str = ""


async def _status(folder: str, nested: Nested) -> _Listed:
    """Return the paths below a folder that are not as in the last commit."""
    listed = await _listed(folder, nested, "status", "--porcelain", "-z", "--untracked-files=all")
    entries, listed.paths = iter(listed.paths), []
    for entry in entries:
        if len(entry) > 3:
            listed.paths.append(entry[3:])
            kinds = {*entry[:2]}  # in the index, in the folder
            if not kinds.isdisjoint("RC"):
                old = next(entries, "")
                listed.paths += [old] if "R" in kinds else []
    return listed


async def _committed(folder: str, head: str, nested: Nested) -> _Listed:
    """Return the paths below a folder that the last commit holds differently than `head`; all where that is empty."""
    if not head:
        tree = ("ls-tree", "-r", "-z", "--name-only", "--full-name", "HEAD")
        listed = await _listed(folder, nested, *tree)
        return replace(listed, refusal="")  # still no commit: its status has said everything
    words = ("diff", "--name-only", "-z", "--no-renames", "--no-relative", head, "HEAD")
    return await _listed(folder, nested, *words)


async def _listed(folder: str, nested: Nested, *words: str) -> _Listed:
    how, output = await nested(ShellWork(["git", "-C", folder, *words, "--", "."]))
    if how.status != "completed":
        return _Listed([], refusal=how.message or output.text[-200:] or how.status)
    return _Listed([path for path in output.text.split("\0")[:-1] if path], output.is_cut)


def _inside(folder: Path, pattern: str) -> tuple[str, str]:
    """Return a repository's folder, and a glob in it as git names paths: from its top level, which may be above."""
    glob = pattern.partition(":")[2]
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return str(folder), (folder.relative_to(top) / glob).as_posix() if top != folder else glob


async def _python(check: Check, left: CheckInput, nested: Nested) -> tuple[bool, JsonObject]:
    name = check.python
    assert name is not None
    value = left.value
    if value is NOT_READ:
        if not left.printed.is_offered:
            return False, {"saw": too_large(left.printed)}
        value = await left.read()
    is_unloaded = isinstance(value, UnloadedValue)
    work = PythonWork(
        name,
        {"output": deep_copy(value)},  # its own: what a check changes is neither stored nor checked
        left.sources.get(name),
        # A thread cannot be ended when its own time is over.
        process=check.timeout is not None or (is_unloaded and value.is_foreign),
        is_check=True,
        holds_unloaded=is_unloaded,
    )
    done = await _in_time(work, check, nested)
    if done is None:
        return _late(check)
    how, _ = done
    if how.status != "completed":
        where: JsonObject = {key: how.details[key] for key in _RAISED if key in how.details}
        return False, {"saw": how.message or how.status, **where}
    match result_of(how):
        case [bool() as verdict, str() as text]:
            return verdict, {"saw": cut(f"returned {text}", 200)}
        case _:
            return False, {"saw": UNREADABLE}


async def _in_time(work: Work, check: Check, nested: Nested) -> tuple[Ended, CheckOutput] | None:
    """Return the end and the output of a check's work; None if its time was over first."""
    await in_task()
    with anyio.move_on_after(None if check.timeout is None else check.timeout / 1000):
        return await nested(work)
    return None


def _late(check: Check) -> tuple[bool, JsonObject]:
    assert check.timeout is not None
    saw = f"timed out after {check.timeout / 1000} s"
    return False, {"saw": saw, "timeout_ms": check.timeout}
