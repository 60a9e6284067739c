"""Errors of a YAML parser, rewritten for the author of a workflow: the line to look at, the problem, the fix."""

from __future__ import annotations

import re
from typing import Final

import yaml
from yaml.reader import Reader, ReaderError

from pixirnb.spec import limits
from pixirnb.spec.expressions.references import outside_quotes
from pixirnb.spec.problems import SpecProblem

_QUOTED: Final = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*'")
_KEY: Final = re.compile(r"\s*(?:- +)*(?P<key>[A-Za-z_][\w-]*)(?P<colon>:?)(?P<rest>.*)")
_VALUE: Final = re.compile(r"\s*(?:- +)*(?P<key>[\w-]+): +(?P<value>[^\"'#\[{|>].*: .*)")

_IN_BRACES: Final = re.compile(
    r"\{.*?\b(?P<key>[\w-]+): +(?P<value>[^\s\"'\[{|>&*!,}][^,{}]*?(?:\{\{[^{}]*\}\}[^,{}]*| #[^,{}]*)+)"
)
"""A plain value between braces, with what only quotes keep there: a reference, or what reads as a comment."""
_DASHED: Final = re.compile(r"-[A-Za-z_][\w-]*: ")
_BLOCK: Final = re.compile(r"(?P<indent>\s*(?:- +)*)(?P<key>[\w-]+): *[|>][+-]?\d?\s*")


def explain(error: yaml.YAMLError, text: str) -> SpecProblem:
    """Return the SpecProblem of a parser's error; its line is where the author must look."""
    if isinstance(error, ReaderError):
        odd = Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, odd.start()) + 1 if odd else 1
        what = f"control character U+{ord(odd.group()):04X}" if odd else "invalid character"
        return SpecProblem("yaml_character", (), what, "remove it, or write it as an escape", line)
    if not isinstance(error, yaml.MarkedYAMLError):
        return SpecProblem("yaml_syntax", (), "invalid YAML", "check it with a YAML linter")
    number, rows = _line(error), text.splitlines()
    if "maximum nesting depth" in str(error.problem):  # the parser's own limit, since PyYAML 6.0.4
        message = f"the text is nested deeper than {limits.NESTING} levels"
        return SpecProblem("limit_exceeded", (), message, "flatten it (limit: nesting)", number)
    row = rows[number - 1] if number <= len(rows) else ""
    if (quoted := _unquoted(error, rows, number)) is not None:
        return quoted
    if "{{" in _QUOTED.sub("", row):
        return SpecProblem("unquoted_reference", (), UNQUOTED, 'quote it: `"{{ … }}"`', number)
    if (tabbed := _tab(error, rows, number)) is not None:
        return SpecProblem("yaml_tab", (), "tab in indentation", "use spaces", tabbed)
    line, message, fix = _syntax(error, rows, number)
    return SpecProblem("yaml_syntax", (), message, fix, line)


UNQUOTED: Final = "unquoted reference: YAML reads bare braces as a mapping"


def _unquoted(error: yaml.MarkedYAMLError, rows: list[str], number: int) -> SpecProblem | None:
    """Return the mistake of a value between braces that only quotes keep whole, where there is one."""
    last = error.problem_mark.line + 1 if error.problem_mark is not None else number
    for line, row in enumerate(rows[number - 1 : max(last, number)], number):
        if (match := _IN_BRACES.search(row)) is None:
            continue
        value = match["value"].strip()
        value = outside_quotes(value) if match["key"] == "run" else value
        value = value.replace("'", "''")
        written = f"quote the whole value: `{match['key']}: '{value}'`"
        fix = written if len(value) <= 60 else "quote the whole value"
        if "{{" in value:
            return SpecProblem("unquoted_reference", (), UNQUOTED, fix, line)
        return SpecProblem(
            "yaml_syntax", (), "` #` begins a comment that hides the rest", fix, line
        )
    return None


def _line(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    # What was opened and never closed is noticed at the end of the text; the mistake is where it was opened.
    if error.context_mark is not None and error.context and "block" not in error.context:
        mark = error.context_mark
    return mark.line + 1 if mark is not None else 1


def _tab(error: yaml.MarkedYAMLError, rows: list[str], number: int) -> int | None:
    """Return the line that a tab indents, if that is the mistake."""
    words = error.problem or ""
    # What was being read when the tab came may have begun lines before.
    last = len(rows) if "tab character" in words else number
    for line in range(number, last + 1):
        row = rows[line - 1] if line <= len(rows) else ""
        if "\t" in row[: len(row) - len(row.lstrip())]:
            return line
    return number if "'\\t'" in words else None


def _syntax(error: yaml.MarkedYAMLError, rows: list[str], number: int) -> tuple[int, str, str]:
    """Return line, message and fix of a mistake in the syntax."""
    words = f"{error.context} {error.problem}"
    row = rows[number - 1] if number <= len(rows) else ""
    if "escape" in words:
        return (
            number,
            "invalid escape in double quotes",
            "use single quotes, or write the character itself",
        )
    if "quoted scalar" in words:
        return number, "unclosed quotes", "close the quotes"
    if "flow sequence" in words:
        return number, "unclosed list, or a comma is missing in it", "add `]` or `,`"
    if "flow mapping" in words:
        return number, "unclosed mapping, or a comma is missing in it", "add `}` or `,`"
    if "mapping values" in words or "simple key" in words:
        return _colon(rows, number)
    if "block" in words:
        return _indentation(rows, number)
    if "alias" in words or "cannot start any token" in words:
        start = 0 if error.problem_mark is None else error.problem_mark.column
        char = "*" if "alias" in words else row[start : start + 1]
        return number, f"an unquoted value cannot begin with `{char}`", "quote the value"
    return number, f"invalid YAML: {error.problem or 'it cannot be read'}", "quote the value"


def _colon(rows: list[str], number: int) -> tuple[int, str, str]:
    """Return line, message and fix where a colon is missing, or is in a value."""
    row = rows[number - 1] if number <= len(rows) else ""
    if (match := _VALUE.match(row)) is not None and "`" not in row:
        key, value = match["key"], match["value"].rstrip()
        value = outside_quotes(value) if key == "run" else value
        # Within single quotes YAML reads all but the quote itself as it is.
        quoted = (
            f'"{value}"' if not {'"', "\\"} & {*value} else "'" + value.replace("'", "''") + "'"
        )
        fix = f"quote it: `{key}: {quoted}`" if len(value) <= 60 else "quote the value"
        return number, f"the value of `{key}` contains `: `", fix
    if (header := _unindented(rows, number)) is not None:
        return header
    # The parser notices a missing colon at the next one.
    for line in range(number, 0, -1):
        above = rows[line - 1] if line <= len(rows) else ""
        if not above.strip() or above.lstrip().startswith("#"):
            continue
        match = _KEY.match(above)
        if match is not None and not (match["colon"] and match["rest"][:1] in {"", " "}):
            key, rest = match["key"], match["rest"].strip()
            if match["colon"]:
                return line, f"missing space after `{key}:`", f"write `{key}: {rest[:40]}`"
            return (
                line,
                f"missing `:` after `{key}`",
                f"write `{key}: {rest[:40]}`".replace(": `", ":`"),
            )
        if line < number:
            break
    return _indentation(rows, number)


def _indentation(rows: list[str], number: int) -> tuple[int, str, str]:
    above = rows[number - 2].strip() if number > 1 else ""
    if _DASHED.match(above):  # to YAML a key that begins with a dash
        return number - 1, "missing space after `-`", f"write `- {above[1:41]}`"
    return number, "wrong indentation", "align the line with the keys above it"


def _unindented(rows: list[str], number: int) -> tuple[int, str, str] | None:
    """Return the mistake of a block whose first line has no more indentation than its key, where it is one."""
    above = (at for at in range(min(number, len(rows)) - 2, -1, -1) if _BLOCK.fullmatch(rows[at]))
    at = next(above, None)
    if at is None or (header := _BLOCK.fullmatch(rows[at])) is None:
        return None
    row, key = rows[at + 1], _KEY.match(rows[at + 1])
    is_key = key is not None and bool(key["colon"])
    if is_key or len(row) - len(row.lstrip()) > len(header["indent"]):
        return None
    words = f"{header['key']}: {rows[at].rstrip()[-1]}"
    return (
        at + 2,
        f"the text below `{words}` is not indented",
        f"indent it more than `{header['key']}`",
    )
