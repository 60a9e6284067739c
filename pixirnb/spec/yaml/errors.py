"""Errors of a YAML parser, rewritten for the author of a workflow: the line, the problem, the fix."""

from __future__ import annotations

import re
from typing import Final

import yaml
from yaml.reader import Reader, ReaderError

from pixirnb.spec.problems import SpecProblem

_QUOTED: Final = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*'")


def explain(error: yaml.YAMLError, text: str) -> SpecProblem:
    """Return the SpecProblem of a parser's error; its line is where the author must look."""
    if isinstance(error, ReaderError):
        odd = Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, odd.start()) + 1 if odd else 1
        what = f"the control character U+{ord(odd.group()):04X}" if odd else "an odd character"
        return SpecProblem(
            "yaml_character",
            (),
            f"the text holds {what}",
            "delete it, or write it as an escape",
            line,
        )
    if not isinstance(error, yaml.MarkedYAMLError):
        return SpecProblem("yaml_syntax", (), "the text is not YAML", "check it with a YAML linter")
    number = _line(error)
    rows = text.splitlines()
    row = rows[number - 1] if number <= len(rows) else ""
    if "{{" in _QUOTED.sub("", row):
        return SpecProblem(
            "unquoted_reference",
            (),
            "a value that begins with `{{` must be quoted in YAML",
            "put it in quotes",
            number,
        )
    if "\t" in row[: len(row) - len(row.lstrip())] or "'\\t'" in (error.problem or ""):
        return SpecProblem(
            "yaml_tab",
            (),
            "a tab indents this line",
            "indent with spaces: YAML allows no tabs",
            number,
        )
    problem_text = error.problem or "it cannot be read"
    context = f" {error.context}" if error.context else ""
    return SpecProblem(
        "yaml_syntax",
        (),
        f"the text is not YAML:{context} {problem_text}".replace("  ", " "),
        _fix(f"{error.context} {problem_text}"),
        number,
    )


def _line(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    # What was opened and never closed is noticed at the end of the text; the mistake is where it was opened.
    if error.context_mark is not None and error.context and "block" not in error.context:
        mark = error.context_mark
    return mark.line + 1 if mark is not None else 1


def _fix(words: str) -> str:
    if "escape" in words:
        return "write the character itself"
    if "quoted scalar" in words:
        return "close the quotes"
    if "flow sequence" in words:
        return "close the list with `]`, or put a comma between its items"
    if "flow mapping" in words:
        return "close the mapping with `}`, or put a comma between its keys"
    if "block" in words or "mapping values" in words:
        return "check the indentation, and quote text that holds `: ` or begins with a special character"
    if "simple key" in words:
        return "put a `:` and a space behind the key"
    return "quote text that begins with a special character"
