"""The command of a coding agent as its author writes it: which places in it are filled in, and how it is handed its task.

    argument   the task stands at `{prompt}`, or last: only in the command of an agent that is known
    file       its path stands at `{prompt_file}`, or in PIXIRNB_PROMPT_FILE
    input      standard input: for every other `cli` command
    protocol   what an `acp` agent is told once it has answered

Nothing is filled in where it would be read as code, and no shell is handed a task. The list of programs that do read code
(`spec.code_readers`) can never be whole: so a program that nobody knows gets no prompt as a word. Pure; words are an argv.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pixirnb.spec.code_readers import CodeReader, code_readers, program_name
from pixirnb.spec.did_you_mean import did_you_mean

PLACES: Final = ("prompt", "prompt_file", "model", "role", "cwd")
"""What is filled in: `{prompt}` and so on."""
PROMPT_FILE: Final = "PIXIRNB_PROMPT_FILE"
"""The variable that names the prompt's file, for commands that speak of it."""
SUBCOMMANDS: Final[dict[str, str]] = {
    **dict.fromkeys(("claude", "copilot", "cursor-agent", "gemini", "qwen"), ""),
    "codex": "exec",
    **dict.fromkeys(("goose", "opencode"), "run"),
}
"""Known agents by their program, and the word behind it with which they take a task."""

Way = Literal["argument", "file", "input", "protocol"]

_PLACE: Final = re.compile(r"\{(prompt|prompt_file|model|role|cwd)\}")
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
"""Options of known agents behind which a word is the prompt. Others may take it as settings, a server's command, a hook."""
_MEND: Final = f'hand it over as a file: `{{prompt_file}}` as an argument of its own, or `sh -c` and "${PROMPT_FILE}"'
_ASIDE: Final = "give it as an argument behind the code, which finds it in its arguments"


@dataclass(frozen=True, slots=True)
class Misplaced:
    """What is wrong with one word of a command."""

    code: str
    position: int
    message: str
    fix: str


def words_of(command: str | Sequence[str]) -> list[str]:
    """A command as an argv: blanks part a text's words. One that cannot be parted is one word."""
    if not isinstance(command, str):
        return list(command)
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def way_of(words: Sequence[str], runner: str, *, is_known: bool = False) -> Way | None:
    """How a command is handed its task; None where it cannot be. `is_known`: the command is that of a preset."""
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
    """The command with a place for its task, where that is an argument."""
    is_given = way_of(words, runner, is_known=is_known) == "argument"
    has_place = any("{prompt}" in word for word in words)
    return [*words, "{prompt}"] if is_given and not has_place else list(words)


def find_misplaced(
    words: Sequence[str], runner: str, *, is_known: bool = False
) -> Iterator[Misplaced]:
    """Text that would be read as code, and places that there are none of, in a command as it will be completed."""
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
            yield Misplaced("prompt_in_shell", reader.position, why, _MEND)
    for position, word in enumerate(whole):
        risky = next(
            (name for name in _PLACE.findall(word) if _is_code(name, position, whole, readers)),
            None,
        )
        if risky is not None:
            yield Misplaced(
                "prompt_in_shell",
                min(position, len(words) - 1),
                f"`{{{risky}}}` stands where it would be read as code",
                _MEND if risky in {"prompt", "prompt_file"} else _ASIDE,
            )
        elif "{prompt}" in word and not is_known and not _takes_prompt(whole, position):
            yield Misplaced(
                "prompt_in_argv",
                position,
                "`{prompt}` would be a word of a program that may read it as code or as an option",
                "leave it out, and the task comes on standard input; or write `{prompt_file}`"
                if runner == "cli"
                else "write `{prompt_file}`",
            )
        elif not any(position in reader.code for reader in readers):
            yield from _unknown(word, position)
    if way is None:
        yield Misplaced(
            "prompt_nowhere",
            len(words) - 1,
            f"a `{runner}` agent that is not known has no place for its task",
            "add `{prompt_file}` to its command",
        )


def _refusal(reader: CodeReader, way: Way | None, end: int) -> str | None:
    """Why a program may not be part of a command that is handed a task; None where it may."""
    if reader.hands_on:
        return f"`{reader.name}` hands words on to be run"
    if end in reader.code:
        return f"`{reader.name}` is given no code of its own, and would run what comes next"
    if reader.reads_input and way == "input":
        return f"`{reader.name}` may run what it reads on standard input, and the task would come there"
    return None


def _is_code(
    place: str, position: int, words: Sequence[str], readers: Sequence[CodeReader]
) -> bool:
    """Whether what is filled in there would be run. A path of ours may stand within code; alone it would be the script."""
    word = words[position]
    if program_name(words[0]) == "env" and _ASSIGNMENT.match(word):
        return True  # some variables name files to be run
    is_named = place == "prompt_file" and word != "{prompt_file}"
    return any(
        not (is_named and not reader.hands_on)
        if position in reader.code
        else reader.position <= position < reader.start
        for reader in readers
    )


def _takes_prompt(words: Sequence[str], position: int) -> bool:
    """Whether the word there is a prompt to a known agent, and nothing else."""
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
        if name not in PLACES:
            known = ", ".join(f"{{{place}}}" for place in PLACES)
            yield Misplaced(
                "placeholder_unknown",
                position,
                f"`{{{name}}}` is nothing that is filled in",
                did_you_mean(name, PLACES, otherwise=f"there are {known}"),
            )
