"""The command of a coding agent as its author writes it: which places in it are filled in, and where none may stand.

A place is an argument or a part of one. In text that an interpreter reads, a shell's above all, what is filled in would be read
as code: there the task travels in a file. Pure; words are an argv.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pixirnb.spec.suggestions import did_you_mean

PLACES: Final = ("prompt", "prompt_file", "model", "role", "cwd")
"""What is filled in: `{prompt}` and so on."""
PROMPT_FILE: Final = "PIXIRNB_PROMPT_FILE"
"""The variable that names the prompt's file, for commands that speak of it."""

_PLACE: Final = re.compile(r"\{(prompt|prompt_file|model|role|cwd)\}")
_UNKNOWN: Final = re.compile(r"(?<!\$)\{([A-Za-z][A-Za-z_]*)\}")
_SAFE: Final = frozenset({"prompt_file"})
"""Our own path: nobody else's words."""

_SHELLS: Final = ("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "su")
_READS: Final = {
    **dict.fromkeys((*_SHELLS, "python", "pypy"), "c"),
    **dict.fromkeys(("perl", "ruby", "node", "lua"), "e"),
    "php": "r",
    "env": "S",
}
"""Program to the letter of the option behind which it reads code, or a command line."""
_LONG: Final = frozenset({"--command", "--eval", "--print", "--split-string"})
_TAKES_A_WORD: Final = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file", "-W", "-X"})


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


def misplaced(words: Sequence[str]) -> Iterator[Misplaced]:
    """Places that stand in code, and places that there are none of."""
    code = _code(words)
    for position, word in enumerate(words):
        if position in code:
            risky = [name for name in _PLACE.findall(word) if name not in _SAFE]
            if risky:
                reader = _name(words[code[position]])
                yield Misplaced(
                    "prompt_in_shell",
                    position,
                    f"`{{{risky[0]}}}` stands in text that `{reader}` reads as code",
                    f'use "${PROMPT_FILE}" or `{{prompt_file}}` there, or give it as an argument of its own',
                )
            continue
        for name in _UNKNOWN.findall(word):
            if name not in PLACES:
                known = ", ".join(f"{{{place}}}" for place in PLACES)
                yield Misplaced(
                    "placeholder_unknown",
                    position,
                    f"`{{{name}}}` is nothing that is filled in",
                    did_you_mean(name, PLACES, otherwise=f"there are {known}"),
                )


def _code(words: Sequence[str]) -> dict[int, int]:
    """Positions of the words that are read as code, each with that of its reader."""
    found: dict[int, int] = {}
    for reader, word in enumerate(words):
        letter = _READS.get(_name(word).rstrip("0123456789."))
        if letter is not None and (position := _script(words, reader, letter)) is not None:
            found.setdefault(position, reader)
    return found


def _name(word: str) -> str:
    """A program's name without its folder."""
    return word.rpartition("/")[2]


def _script(words: Sequence[str], reader: int, letter: str) -> int | None:
    """Where the code of a reader stands; None where it reads none of these words as such."""
    is_next, skips = False, False
    for position in range(reader + 1, len(words)):
        word = words[position]
        if skips:
            skips = False
        elif word.startswith("--") and word.partition("=")[0] in _LONG:
            if "=" in word:
                return position
            is_next = True
        elif word in _TAKES_A_WORD:
            skips = True
        elif len(word) > 1 and word[0] in "-+":
            if word[1] != "-" and letter in word:
                if word.partition(letter)[2] and letter in "eSr":
                    return position  # the code is of the same word
                is_next = True
        else:
            return position if is_next else None
    return None
