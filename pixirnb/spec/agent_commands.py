"""The command of a coding agent as its author writes it: its placeholders, and how it receives its task.

    argument   the task is filled in at `{prompt}`, or last: only for a known agent
    file       its path is filled in at `{prompt_file}`, or in PIXIRNB_PROMPT_FILE
    input      standard input: for every other `cli` command
    protocol   sent to an `acp` agent once it has answered

Nothing is filled in where it would be read as code, and no shell receives a task. The list of programs that read code
(`spec.code_readers`) can never be complete: so an unknown program gets no prompt as an argument. Pure; words are an argv.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final, Literal, get_args

from msgspec import Struct

from pixirnb.spec.code_readers import CodeReader, code_readers, program_name
from pixirnb.spec.did_you_mean import did_you_mean

PermissionMode = Literal["read_only", "ask", "auto"]
PERMISSION_MODES: Final[tuple[PermissionMode, ...]] = get_args(PermissionMode)
"""Permission for everything but reading, strictest first."""
PLACEHOLDERS: Final = ("prompt", "prompt_file", "model", "role", "cwd")
"""Placeholders in a command: `{prompt}` and so on."""
PROMPT_FILE: Final = "PIXIRNB_PROMPT_FILE"
"""The environment variable with the path of the prompt file."""
SUBCOMMANDS: Final[dict[str, str]] = {
    **dict.fromkeys(("claude", "copilot", "cursor-agent", "gemini", "qwen"), ""),
    "codex": "exec",
    **dict.fromkeys(("goose", "opencode"), "run"),
}
"""Program of a known agent to its subcommand that takes a task."""

Way = Literal["argument", "file", "input", "protocol"]

_PLACEHOLDER: Final = re.compile(r"\{(prompt|prompt_file|model|role|cwd)\}")
_UNKNOWN: Final = re.compile(r"(?<!\$)\{([A-Za-z][A-Za-z_]*)\}")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_BEFORE: Final = frozenset(
    (
        *("-p", "--print", "--prompt", "-t", "--text", "--", "--verbose", "--json", "--quiet"),
        *("--dangerously-skip-permissions", "--skip-git-repo-check", "--full-auto", "--yolo", "-y"),
        *("--dangerously-bypass-approvals-and-sandbox", "--allow-all-tools", "--allow-all-paths"),
        *("--no-session", "--no-color", "-s", "--silent", "--force"),
    )
)
"""Options of known agents whose next word is the prompt.

After other options a word may be settings, a server's command, a hook.
"""
_FIX: Final = (
    f'pass it as a file: `{{prompt_file}}` as a separate argument, or `sh -c` and "${PROMPT_FILE}"'
)
_ASIDE: Final = "pass it as an argument after the code"


class Misplaced(Struct, frozen=True):
    """A mistake in one word of a command."""

    code: str
    position: int
    message: str
    fix: str


def words_of(command: str | Sequence[str]) -> list[str]:
    """Return a command as an argv: a text is split at blanks. A text that cannot be split is one word."""
    if not isinstance(command, str):
        return list(command)
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def way_of(words: Sequence[str], runner: str, *, is_known: bool = False) -> Way | None:
    """Return how a command receives its task; None if it cannot. `is_known`: the command comes from a preset."""
    if runner == "acp":
        return "protocol"
    if any("{prompt}" in word for word in words):
        return "argument"
    if any("{prompt_file}" in word or PROMPT_FILE in word for word in words):
        return "file"
    if is_known or _takes_prompt([*words, "{prompt}"], len(words)):
        return "argument"
    return "input" if runner == "cli" else None


def complete_command(words: Sequence[str], runner: str, *, is_known: bool = False) -> list[str]:
    """Return the command with a placeholder for its task, if the task is an argument."""
    is_argument = way_of(words, runner, is_known=is_known) == "argument"
    has_placeholder = any("{prompt}" in word for word in words)
    return [*words, "{prompt}"] if is_argument and not has_placeholder else list(words)


def find_misplaced(
    words: Sequence[str], runner: str, *, is_known: bool = False
) -> Iterator[Misplaced]:
    """Yield the words of a completed command whose text would be read as code, and its unknown placeholders."""
    way = way_of(words, runner, is_known=is_known)
    whole = complete_command(words, runner, is_known=is_known)
    readers = list(code_readers(whole))
    refused = set()
    for reader in readers:
        if (
            runner != "acp"
            and reader.position not in refused
            and (why := _refusal(reader, way, len(whole)))
        ):
            refused.add(reader.position)
            yield Misplaced("prompt_in_shell", reader.position, why, _FIX)
    for position, word in enumerate(whole):
        risky = next(
            (
                name
                for name in _PLACEHOLDER.findall(word)
                if _is_code(name, position, whole, readers)
            ),
            None,
        )
        if risky is not None:
            yield Misplaced(
                "prompt_in_shell",
                min(position, len(words) - 1),
                f"`{{{risky}}}` would be read as code here",
                _FIX if risky in {"prompt", "prompt_file"} else _ASIDE,
            )
        elif "{prompt}" in word and not is_known and not _takes_prompt(whole, position):
            yield Misplaced(
                "prompt_in_argv",
                position,
                "`{prompt}` may be read as code or as an option by this program",
                "remove it to pass the task on standard input, or use `{prompt_file}`"
                if runner == "cli"
                else "use `{prompt_file}`",
            )
        elif not any(position in reader.code for reader in readers):
            yield from _unknown(word, position)
    if way is None:
        yield Misplaced(
            "prompt_nowhere",
            len(words) - 1,
            f"this `{runner}` command never receives the task",
            "add `{prompt_file}`",
        )


def _refusal(reader: CodeReader, way: Way | None, end: int) -> str | None:
    """Return why a command with a task may not contain this program; None if it may."""
    if reader.hands_on:
        return f"`{reader.name}` passes its arguments on to be run"
    if end in reader.code:
        return f"`{reader.name}` has no code argument and would run the next argument"
    if reader.reads_input and way == "input":
        return f"`{reader.name}` may run the task, which it would read on standard input"
    return None


def _is_code(
    placeholder: str, position: int, words: Sequence[str], readers: Sequence[CodeReader]
) -> bool:
    """Return whether the text filled in there would be run.

    The path of a prompt file may be part of code; alone it would be the script.
    """
    word = words[position]
    if program_name(words[0]) == "env" and _ASSIGNMENT.match(word):
        return True  # some variables name files to be run
    is_named = placeholder == "prompt_file" and word != "{prompt_file}"
    return any(
        not (is_named and not reader.hands_on)
        if position in reader.code
        else reader.position <= position < reader.start
        for reader in readers
    )


def _takes_prompt(words: Sequence[str], position: int) -> bool:
    """Return whether the word at `position` is a prompt to a known agent, and nothing else."""
    if position == 0 or (subcommand := SUBCOMMANDS.get(program_name(words[0]))) is None:
        return False
    if subcommand and (position < 2 or words[1] != subcommand):
        return False
    if not subcommand and position > 1 and not words[1].startswith("-"):
        return False  # a subcommand: some run commands
    option, equals, _ = words[position].partition("={prompt}")
    if equals:
        return option in _BEFORE and words[position] == f"{option}={{prompt}}"
    before = words[position - 1]
    return words[position] == "{prompt}" and (before in _BEFORE or before[:1] != "-")


def _unknown(word: str, position: int) -> Iterator[Misplaced]:
    for name in _UNKNOWN.findall(word):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            yield Misplaced(
                "placeholder_unknown",
                position,
                f"unknown placeholder `{{{name}}}`",
                did_you_mean(
                    f"{{{name}}}", map("{{{}}}".format, PLACEHOLDERS), otherwise=f"use {known}"
                ),
            )
