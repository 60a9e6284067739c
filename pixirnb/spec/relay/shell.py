"""Commands of a relay file, made safe: what a reference stands for travels in the environment, never pasted into a script.

    native script ──settle──▶ Settled(script, env, refused)

Where a reference stands free our own loader does so. In quotes, substitutions and heredocs it becomes `${STEP_X_OUTPUT}`,
a variable of the step's `env`. What another interpreter would read as code is refused.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from pixirnb.spec.expressions.references import BadReference, Reference, parse_references
from pixirnb.spec.expressions.shell_quoting import first_misplaced
from pixirnb.spec.relay.templates import BRACES

_HEREDOC: Final = re.compile(
    r"(?<!<)<<(?!<)(?P<tabs>-?)[ \t]*(?P<mark>\\?[\w.@%+,-]+|'[^'\n]*'|\"[^\"\n]*\")"
)
_SEPARATOR: Final = re.compile(r"[;|&(){}\n`]")
_READS_CODE: Final = re.compile(
    r"(?:.*/)?(?:sh|bash|dash|zsh|ksh|ash|fish|python|pypy|node|perl|ruby|php|lua|deno|bun)[0-9.]*"
)
_CODE_FLAG: Final = re.compile(r"-[A-Za-z]*[ceErp]|--(?:eval|print|command)|eval")
_MOST: Final = 100
"""References of one command: each is looked at with all of it."""
_GONE: Final = "x"
"""Stands for what was refused, so that the rest can be looked at."""
_ALL_CODE: Final = re.compile(r"(?:.*/)?(?:eval|ssh|su|awk|gawk|mawk|sed|gsed|trap)")


class Settled(Struct):
    """A script in which no reference stands where a shell would not keep its value whole."""

    script: str
    env: dict[str, str] = field(default_factory=dict)
    """Variable to reference."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Reference, and the place where its value could not be kept apart from code."""
    free: list[str] = field(default_factory=list)
    """References to steps that stand as a word of their own: one word, whatever is in it."""


def settle(script: str) -> Settled:
    """Make a script of native references one that may be run. Never raises."""
    done = Settled(script)
    while True:
        try:
            references = parse_references(done.script)
        except BadReference as bad:
            # A brace before a template: blanked, so that reading ends.
            start, end = bad.span
            done.refused.append((done.script[start:end], "after a brace"))
            done.script = done.script[:start] + _GONE + done.script[end:]
            continue
        if len(references) > _MOST:
            beyond = references[_MOST]
            done.refused.append((beyond.text, f"after {_MOST} others"))
            done.script = done.script[: beyond.start] + done.script[beyond.end :].replace("{{", "x")
            continue
        spans = [(reference.start, reference.end) for reference in references]
        misplaced = first_misplaced(done.script, spans)
        if misplaced is None:
            done.free = [each.text for each in references if each.source == "step"]
            return done
        _move(done, references[misplaced[0]], misplaced[1])


def _move(done: Settled, reference: Reference, position: str) -> None:
    """Give one misplaced reference a form that its place keeps whole."""
    before, after = done.script[: reference.start], done.script[reference.end :]
    is_text = reference.name == BRACES and reference.source == "input"
    match position:
        case "inside double quotes":
            reader = None if is_text else _reader(before, '"')
            put = "${%s}"
        case "inside single quotes":
            reader = None if is_text else _reader(before, "'")
            put = "'\"${%s}\"'"
        case "in a command inside double quotes":
            reader, put = None, '"${%s}"'
        case "inside ${ }":
            reader, put = None, "${%s}"
        case "inside backticks":
            opened = before.rfind("`") + 1
            reader = "backticks" if set("'\\") & set(before[opened:]) else None
            put = "${%s}" if before.count('"', opened) % 2 else '"${%s}"'
        case "in a heredoc":
            _move_in_heredoc(done, reference, is_text)
            return
        case "in a comment":
            done.script = before + reference.text[2:-2].strip() + after
            return
        case _:
            reader, put = position, ""
    if reader is None:
        done.script = before + put % _variable(done, reference) + after
    else:
        is_position = reader in {position, "backticks"}
        _refuse(done, reference, position if is_position else f"in code that `{reader}` reads")


def _refuse(done: Settled, reference: Reference, position: str) -> None:
    done.refused.append((reference.text, position))
    done.script = done.script[: reference.start] + _GONE + done.script[reference.end :]


def _move_in_heredoc(done: Settled, reference: Reference, is_text: bool) -> None:
    """Make a heredoc expand whose end mark is quoted: the quotes go, and its text is escaped."""
    script = done.script
    heredoc = _heredoc(script, reference.start)
    if heredoc is None:
        _refuse(done, reference, "in a heredoc")
        return
    mark, body, end = heredoc
    reader = None if is_text else _word(script[: mark.start()])
    if reader is not None:
        _refuse(done, reference, f"in code that `{reader}` reads")
        return
    put = "${" + _variable(done, reference) + "}"
    head, tail = script[body : reference.start], script[reference.end : end]
    bare = _bare(mark)
    if bare != mark["mark"]:
        if not re.fullmatch(r"[\w.@%+,-]+", bare):
            _refuse(done, reference, "in a heredoc")
            return
        head, tail = (re.sub(r"[\\$`]", r"\\\g<0>", text) for text in (head, tail))
    opening = script[: mark.start("mark")] + bare + script[mark.end("mark") : body]
    done.script = opening + head + put + tail + script[end:]


def _heredoc(script: str, at: int) -> tuple[re.Match[str], int, int] | None:
    """Return the `<<MARK` whose body holds `at`, with where the body begins and ends."""
    for mark in _HEREDOC.finditer(script, 0, at):
        body = script.find("\n", mark.end()) + 1
        if not 0 < body <= at:
            continue
        bare, end = _bare(mark), body
        for line in script[body:].split("\n"):
            if end >= len(script) or (line.lstrip("\t") if mark["tabs"] else line) == bare:
                break
            end += len(line) + 1
        if at < end:
            return mark, body, min(end, len(script))
    return None


def _bare(mark: re.Match[str]) -> str:
    return mark["mark"].strip("'\"").removeprefix("\\")


def _reader(before: str, quote: str) -> str | None:
    """Return the program that reads the quoted text behind `before` as code; None where it is only text."""
    opened = before.rfind(quote)
    words = _words(before[:opened])
    for index, word in enumerate(words):
        if _ALL_CODE.fullmatch(word):
            return word
        if _READS_CODE.fullmatch(word) and any(map(_CODE_FLAG.fullmatch, words[index + 1 :])):
            return word
    return None


def _word(before: str) -> str | None:
    """Return the interpreter that reads the heredoc which opens behind `before`."""
    for word in _words(before):
        if _READS_CODE.fullmatch(word) or word in {"ssh", "su"}:
            return word
    return None


def _words(before: str) -> list[str]:
    """Return the words of the simple command that is being written where `before` ends."""
    return _SEPARATOR.split(before)[-1].split()


def _variable(done: Settled, reference: Reference) -> str:
    """Return the variable that holds what a reference stands for; one each."""
    for name, text in done.env.items():
        if text == reference.text:
            return name
    word = re.sub(r"[^A-Z0-9]", "_", reference.name.upper())
    name = {"step": f"STEP_{word}_OUTPUT", "input": f"INPUT_{word}", "run": "RUN_ID"}[
        reference.source
    ]
    free, number = name, 1
    while free in done.env or free in done.script:
        number += 1
        free = f"{name}_{number}"
    done.env[free] = reference.text
    return free
