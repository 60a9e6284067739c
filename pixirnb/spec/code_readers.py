"""Which words of an argv a program, above all a shell, reads as code, and which programs read code from standard input.

    bash -c CODE a b        CODE is code, later words are arguments
    python x.py a           the script decides: a file filled in there is run
    bash                    its standard input is code
    ssh host a b            passes its words on: every word is code, and so is its standard input

A list of names is never complete. So nothing relies on it alone: an unknown program gets no text as a word of its own
(`spec.agent_commands`). Pure; words are an argv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

_SHELLS: Final = (
    *("sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "oksh", "pdksh", "yash", "posh"),
    *("fish", "csh", "tcsh", "elvish", "nu", "xonsh", "pwsh", "powershell"),
)
_LETTERS: Final = {
    **dict.fromkeys((*_SHELLS, "python", "pypy", "ipython", "npx", "bunx"), "c"),
    **dict.fromkeys(("perl", "ruby", "node", "nodejs", "lua", "luajit", "bun", "julia"), "e"),
    **dict.fromkeys(("Rscript", "osascript"), "e"),
    "php": "r",
    **dict.fromkeys(("deno", "tclsh", "wish", "guile", "ghci", "irb", "jshell", "R"), ""),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "sed"), ""),
}
"""Program to the letter of the option that takes code; without that option its first argument is code."""
_FILTERS: Final = frozenset(("awk", "gawk", "mawk", "nawk", "sed", "npx", "bunx"))
"""Programs whose standard input is not code."""
_PROGRAM_FIRST: Final = frozenset(("awk", "gawk", "mawk", "nawk", "sed"))
"""Programs whose first argument is code."""
_JOINS: Final = frozenset(
    (
        *("ssh", "slogin", "autossh", "mosh", "rsh", "rlogin", "su", "runuser", "sg", "script"),
        *("watch", "expect", "parallel", "tmux", "screen", "dtach", "hyperfine", "eval"),
    )
)
"""Programs that join their words into a text for a shell."""
_RUNS: Final = frozenset(
    (
        *("sudo", "doas", "pkexec", "newgrp", "xargs", "find", "fd", "entr", "unbuffer", "flock"),
        *(
            "at",
            "batch",
            "crontab",
            "exec",
            "source",
            "make",
            "gdb",
            "telnet",
            "socat",
            "nc",
            "ncat",
        ),
    )
)
"""Programs that run a file named by their words, or their input."""
_ENTERS: Final = frozenset(
    (
        *(
            "docker",
            "podman",
            "nerdctl",
            "kubectl",
            "oc",
            "lxc",
            "machinectl",
            "distrobox",
            "toolbox",
        ),
        *("chroot", "nsenter", "unshare", "setarch", "linux32", "linux64", "fakeroot", "proot"),
        *(
            "firejail",
            "systemd-run",
            "dbus-run-session",
            "nix-shell",
            "vagrant",
            "poetry",
            "pipenv",
        ),
    )
)
"""Programs that start another one elsewhere; if none is named, or an image decides, it is a shell that reads their input."""
_WRAPPERS: Final = frozenset(
    (
        *(
            "env",
            "nice",
            "ionice",
            "chrt",
            "taskset",
            "nohup",
            "setsid",
            "stdbuf",
            "timeout",
            "time",
        ),
        *("busybox", "toybox", "tini", "dumb-init", "gosu", "su-exec", "chpst", "setpriv", "bwrap"),
        *("strace", "ltrace", "rlwrap", "xvfb-run", "caffeinate", "chronic", "command", "builtin"),
        *("proxychains", "torsocks", "faketime", "sshpass", "uv", "uvx", "mise", "direnv", "conda"),
        *("npm", "pnpm", "yarn", "op", "doppler", "dotenv"),
    )
)
"""Programs that start the program named among their words."""

_LONG: Final = frozenset(
    ("--command", "--eval", "--print", "--init-command", "--call", "--execute", "--run")
)
_TAKES_A_WORD: Final = frozenset(
    ("-o", "+o", "-O", "+O", "--rcfile", "--init-file", "-W", "-X", "-I", "-r", "--require", "-f")
)
_INPUTS: Final = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/tty"))
_NONE: Final[frozenset[int]] = frozenset()
_VERSION: Final = re.compile(r"[-.\d]+$")
_SHORT: Final = re.compile(r"-[A-Za-z]{1,4}")


class CodeReader(Struct, frozen=True):
    """A program in an argv that reads some of the later words as code."""

    name: str
    position: int
    code: frozenset[int]
    """Positions of words that are code. One past the end: the code is still to come."""
    start: int
    """Position of its first argument: words before it are options or a script."""
    reads_input: bool = False
    """True if its standard input is code."""
    hands_on: bool = False
    """True if it exists to run its words."""


def code_readers(words: Sequence[str]) -> Iterator[CodeReader]:
    """Yield every program among `words` that is known to read code: by its own name, by a path, or after another program."""
    if not words:
        return
    first = program_name(words[0])
    is_wrapper = first in _WRAPPERS | _RUNS | _ENTERS
    code: set[int] = set()
    for position, word in enumerate(words):
        name = program_name(word)
        is_program = position == 0 or "/" not in word or word.rpartition("/")[0].endswith("bin")
        is_behind = position == 0 or is_wrapper
        if name in _LETTERS and is_program:
            # A program that is the whole code of a shell gets none of the later words.
            reader = _reader(words[: position + 1] if position in code else words, position, name)
            code |= reader.code
            yield reader
        elif is_behind and (name in _JOINS or (name == "env" and _splits(words[position:]))):
            every = frozenset(range(position + 1, len(words) + 1))
            yield CodeReader(name, position, every, len(words) + 1, reads_input=True, hands_on=True)
        elif is_behind and name in _RUNS:
            yield CodeReader(name, position, _NONE, position + 1, reads_input=True, hands_on=True)
        elif is_behind and name in _ENTERS:
            yield CodeReader(name, position, _NONE, position + 1, reads_input=True)


def program_name(word: str) -> str:
    """Return a program's name without its folder and version."""
    name = word.rpartition("/")[2].removesuffix(".exe")
    name = _VERSION.sub("", name) or name
    return name if name in _LETTERS else name.lower()


def _splits(words: Sequence[str]) -> bool:
    """Return whether `env` splits a text into words."""
    return any(
        word.startswith("--split-string") or re.match(r"-[a-zA-Z0]*S", word) for word in words[1:]
    )


def _reader(words: Sequence[str], position: int, name: str) -> CodeReader:
    """Return the reader for a program of `_LETTERS`. In doubt a word is code."""
    letter = _LETTERS[name]
    code: set[int] = set()
    reads_input = False
    at = position + 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word in _INPUTS or word[:1] not in {"-", "+"}:
            break
        is_short = _SHORT.fullmatch(word) is not None
        reads_input = reads_input or word == "--interactive" or (is_short and _asks_on(name, word))
        is_module = is_short and name.startswith(("python", "pypy")) and word.endswith("m")
        if is_module:
            return CodeReader(name, position, _NONE, at + 2, reads_input)
        if word.startswith("--") and word.partition("=")[0] in _LONG:
            at += "=" not in word
            code.add(at)
        elif word in _TAKES_A_WORD:
            at += 1
        elif letter and letter in word and not word.startswith("--"):
            # A shell's letters are all options; others take their code in the same word too.
            at += letter == "c" or word.endswith(letter)
            code.add(at)
        at += 1
        if code and letter == "c":
            return CodeReader(name, position, frozenset(code), at, reads_input)
    if name in _PROGRAM_FIRST and not code:
        code.add(at)
    has_script = bool(code) or (at < len(words) and words[at] not in _INPUTS)
    reads_input = name not in _FILTERS and (reads_input or not has_script)
    return CodeReader(name, position, frozenset(code), at + (not code), reads_input)


def _asks_on(name: str, word: str) -> bool:
    """Return whether an option makes a program read its standard input in addition to its arguments."""
    return ("s" if name in _SHELLS else "i") in word and name not in {"perl", "ruby", "php"}
