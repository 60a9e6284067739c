"""References: `{{ steps.ID.output }}` and its kin, parsed once at load, never pasted into a shell.

    text ──parse_references──▶ Reference, …          a requested value, and its position
    text ──Template.parse────▶ Template ──render──▶  the typed value, or text
    text ──shell_template────▶ ShellTemplate         a script reading values from its environment

The grammar between the braces: `steps.ID.output[.field…]`, `steps.ID.output_path`,
`steps.ID.summary`, `inputs.NAME[.field…]`, `run.id`, and under `for_each` `item[.field…]` and
`index`. A field is a key of a mapping or, written as digits, a place in a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from pixirnb.ids import is_step_id
from pixirnb.spec.expressions.shell_quoting import first_misplaced

Part = Literal["output", "output_path", "summary", "value", "id", "index"]
Source = Literal["step", "input", "run", "item"]

SHELL_VARIABLE: Final = "PIXIRNB_REF_"
"""Prefix of the variables of a script: its n-th reference (from 1) is the variable with this prefix and n."""

_MOST_WRONG: Final = 20
"""Maximum number of mistakes reported for one text; the author sees the rest after fixing those."""
_FIELD: Final = re.compile(r"[A-Za-z0-9_-]+")
_GRAMMAR: Final = (
    "use steps.ID.output[.field], steps.ID.output_path, steps.ID.summary, inputs.NAME or run.id; "
    "to print literal braces, write `{ {`"
)
_SHOWN: Final = 80
"""Maximum length of a corrected line in a fix."""


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


class Reference(Struct, frozen=True):
    """A `{{ … }}`: the value it names and its position in the text."""

    source: Source
    name: str
    """The step or input; `run` for `run.id`; for an item its step once that is known (`planning.items.bind`), else `item`."""
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
                f"unclosed reference `{near}`",
                "add `}}`",
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


class Template(Struct, frozen=True):
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


class ShellTemplate(Struct, frozen=True):
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
            f"`{references[refused].text}` is {where}: pixirnb quotes the value itself",
            _outside(text, references[refused], where),
            span=(references[refused].start, references[refused].end),
        )
    pieces: list[str] = []
    position = 0
    for number, reference in enumerate(references, 1):
        pieces += [text[position : reference.start], f'"${SHELL_VARIABLE}{number}"']
        position = reference.end
    return ShellTemplate("".join([*pieces, text[position:]]), references)


def outside_quotes(text: str) -> str:
    """Return a script with its references moved out of the author's quotes, as far as that makes them right."""
    for _ in range(_MOST_WRONG):
        try:
            references = parse_references(text)
        except BadReference:
            return text
        spans = [(reference.start, reference.end) for reference in references]
        refusal = first_misplaced(text, spans)
        if refusal is None or refusal[1] not in _QUOTES:
            return text
        before, reference, after = _moved_out(text, references[refusal[0]], _QUOTES[refusal[1]])
        text = before + reference + after
    return text


_QUOTES: Final = {"inside double quotes": '"', "inside single quotes": "'"}


def _moved_out(text: str, reference: Reference, quote: str) -> tuple[str, str, str]:
    """Return the text before a reference, with quotes closed, the reference, and the text after it, with quotes opened."""
    before, after = text[: reference.start] + quote, quote + text[reference.end :]
    return before.removesuffix(quote * 2), reference.text, after.removeprefix(quote * 2)


def _outside(text: str, reference: Reference, where: str) -> str:
    """Return the fix for a reference at a position where a shell would not keep its value whole."""
    if where not in _QUOTES:
        return f"assign it on a line above, `value={reference.text}`, and use `$value` here"
    before, _, after = _moved_out(text, reference, _QUOTES[where])
    line = before.rpartition("\n")[2] + reference.text + after.partition("\n")[0]
    is_short = len(line) <= _SHOWN and "`" not in line and line.count("{{") == 1
    return f"write `{line.strip()}`" if is_short else "close the quotes before it"


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
    elif words[0] == "item" or words == ["index"]:
        kind, name, part = "item", "item", "value" if words[0] == "item" else "index"
        fields = words[1:]
    else:
        message = f"invalid reference `{written}`"
        raise BadReference("bad_reference", message, _GRAMMAR, span=(start, end))
    if any(_FIELD.fullmatch(word) is None for word in fields):
        message = f"invalid field in `{written}`"
        raise BadReference("bad_reference", message, _GRAMMAR, span=(start, end))
    match part:
        case "output" | "value" | "id" | "index":
            return Reference(kind, name, part, tuple(fields), written, start, end)
        case "output_path" | "summary" if not fields:
            return Reference(kind, name, part, (), written, start, end)
        case _:
            message = f"invalid part of a step in `{written}`"
            raise BadReference("bad_reference", message, _GRAMMAR, span=(start, end))
