"""References: `{{ steps.ID.output }}` and its kin, parsed once at load, never pasted into a shell.

    text ──parse_references──▶ Reference, …          a requested value, and its position
    text ──Template.parse────▶ Template ──render──▶  the typed value, or text
    text ──shell_template────▶ ShellTemplate         a script reading values from its environment

The grammar between the braces: `steps.ID.output[.field…]`, `steps.ID.output_path`,
`steps.ID.summary`, `inputs.NAME[.field…]`, `run.id`. A field is a key of a mapping or, written as
digits, a place in a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pixirnb.ids import is_step_id
from pixirnb.spec.expressions.shell_quoting import first_misplaced

Part = Literal["output", "output_path", "summary", "value", "id"]
Source = Literal["step", "input", "run"]

SHELL_VARIABLE: Final = "PIXIRNB_REF_"
"""Prefix of the variables of a script: its n-th reference (from 1) is the variable with this prefix and n."""

_MOST_WRONG: Final = 20
"""Maximum number of mistakes reported for one text; the author sees the rest after fixing those."""
_FIELD: Final = re.compile(r"[A-Za-z0-9_-]+")
_GRAMMAR: Final = (
    "Write steps.ID.output, steps.ID.output.field, steps.ID.output_path, steps.ID.summary, "
    "inputs.NAME or run.id between the braces; keep braces meant as text apart from each other."
)


class BadReference(ValueError):
    """Raised when `{{ … }}` cannot be read, or is at a position where a shell would not keep it whole."""

    def __init__(
        self,
        code: Literal["bad_reference", "quoted_reference"],
        message: str,
        fix: str,
        *,
        span: tuple[int, int],
    ) -> None:
        super().__init__(message)
        self.span = span
        """Position in the text: `text[span[0]:span[1]]`."""
        self.code = code
        self.message = message
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Reference:
    """One `{{ … }}`: the value it names and its position in the text."""

    source: Source
    name: str
    """The step or input; `run` for `run.id`."""
    part: Part
    fields: tuple[str, ...]
    """Keys and indexes to follow into the value, outermost first; empty for all of it."""
    text: str
    """As written, braces included."""
    start: int
    end: int
    """`text` is `whole[start:end]`."""


def parse_references(text: str) -> tuple[Reference, ...]:
    """Return every reference of `text`, in order. Raises BadReference (`bad_reference`)."""
    if "{{" not in text:
        return ()
    references: list[Reference] = []
    start = text.find("{{")
    while start >= 0:
        close = text.find("}}", start + 2)
        again = text.find("{{", start + 2)
        if close < 0 or 0 <= again < close:
            near = text[start : start + 40]
            raise BadReference(
                "bad_reference",
                f"The braces opened at `{near}` do not close.",
                "Close them with }}.",
                span=(start, len(text) if again < 0 else again),
            )
        references.append(_reference(text, start, close + 2))
        start = again
    return tuple(references)


def pick(value: Any, reference: Reference) -> Any:
    """Follow the fields of `reference` into `value`. Raises LookupError if one is missing."""
    for name in reference.fields:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list | tuple) and name.isdecimal() and int(name[:9]) < len(value):
            value = value[int(name[:9])]
        else:
            raise LookupError(f"{reference.text}: the value has no field `{name}`")
    return value


def as_text(value: Any) -> str:
    """Return a value as text: strings unchanged, all else as compact JSON.

    Raises TypeError or ValueError for what JSON cannot hold.
    """
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Template:
    """Text split at its references, so that rendering is a join."""

    parts: tuple[str | Reference, ...]
    references: tuple[Reference, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Split `text` at its references. Raises BadReference."""
        references = parse_references(text)
        parts: list[str | Reference] = []
        position = 0
        for reference in references:
            parts += [text[position : reference.start], reference]
            position = reference.end
        parts.append(text[position:])
        return cls(tuple(part for part in parts if part != ""), references)


def render(template: Template, lookup: Callable[[Reference], Any]) -> Any:
    """Insert values. A template that is a single reference and nothing else yields the typed value."""
    if len(template.parts) == 1 and template.references:
        return lookup(template.references[0])
    return "".join(
        part if isinstance(part, str) else as_text(lookup(part)) for part in template.parts
    )


def render_value(value: Any, lookup: Callable[[Reference], Any]) -> Any:
    """Render every string of a nested value; lists and mappings are rebuilt, keys stay."""
    if isinstance(value, str):
        return render(Template.parse(value), lookup) if "{{" in value else value
    if isinstance(value, Mapping):
        return {key: render_value(item, lookup) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render_value(item, lookup) for item in value]
    return value


def read_all(text: str, *, is_script: bool) -> tuple[list[Reference], list[BadReference]]:
    """Return every readable reference of `text`, and all mistakes in the others, in order of position.

    A bad reference is blanked and the rest is read, so that one mistake hides no other; in a script, quoting is
    checked too.
    """
    wrong: list[BadReference] = []
    good: list[Reference] = []
    for read in (parse_references, shell_template) if is_script else (parse_references,):
        while len(wrong) < _MOST_WRONG:
            try:
                items = read(text)
            except BadReference as bad:
                wrong.append(bad)
                start, end = bad.span
                text = text[:start] + "x" * (end - start) + text[end:]
            else:
                if isinstance(items, tuple):
                    good = list(items)
                break
    return good, wrong


@dataclass(frozen=True, slots=True)
class ShellTemplate:
    """A script in which no value appears: each reference is a quoted environment variable."""

    script: str
    references: tuple[Reference, ...]
    """References in order: the n-th (from 1) is read from `PIXIRNB_REF_n`."""


def shell_template(text: str) -> ShellTemplate:
    """Make a `sh -c` script of `text`. Raises BadReference (`bad_reference`, `quoted_reference`).

    A reference must be at a position where `"$PIXIRNB_REF_n"` is a word or a part of one: not inside the author's
    quotes, backticks, `${ }`, arithmetic, comments or heredocs.
    """
    references = parse_references(text)
    if not references:
        return ShellTemplate(text, ())
    refusal = first_misplaced(text, [(reference.start, reference.end) for reference in references])
    if refusal is not None:
        refused, where = refusal
        raise BadReference(
            "quoted_reference",
            f"{references[refused].text} stands {where}, where a shell would not keep it whole.",
            "Close your quotes before it, the value is quoted for you; in a comment, heredoc, "
            "backticks, ${ } or arithmetic, use a shell variable assigned on a line above.",
            span=(references[refused].start, references[refused].end),
        )
    pieces: list[str] = []
    position = 0
    for number, reference in enumerate(references, 1):
        pieces += [text[position : reference.start], f'"${SHELL_VARIABLE}{number}"']
        position = reference.end
    return ShellTemplate("".join([*pieces, text[position:]]), references)


def _reference(text: str, start: int, end: int) -> Reference:
    written = text[start:end]
    words = written[2:-2].strip().split(".")
    source, name, part = words[0], words[1] if len(words) > 1 else "", ""
    fields: list[str] = []
    kind: Source
    if source == "steps" and is_step_id(name) and len(words) > 2:
        kind, part, fields = "step", words[2], words[3:]
    elif source == "inputs" and is_step_id(name):
        kind, part, fields = "input", "value", words[2:]
    elif words == ["run", "id"]:
        kind, name, part = "run", "run", "id"
    else:
        message = f"`{written}` is not a reference."
        raise BadReference("bad_reference", message, _GRAMMAR, span=(start, end))
    if any(_FIELD.fullmatch(word) is None for word in fields):
        message = f"`{written}` has a field that is not a name."
        raise BadReference("bad_reference", message, _GRAMMAR, span=(start, end))
    match part:
        case "output" | "value" | "id":
            return Reference(kind, name, part, tuple(fields), written, start, end)
        case "output_path" | "summary" if not fields:
            return Reference(kind, name, part, (), written, start, end)
        case _:
            message = f"`{written}` names no part of a step."
            raise BadReference("bad_reference", message, _GRAMMAR, span=(start, end))
