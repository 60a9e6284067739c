"""Every kind of event with its fields, out of `pixirnb.history.events`.

A field without a sentence beneath it means what its name means everywhere (`field_meanings`); one that neither explains ends
the writing.
"""

from __future__ import annotations

import types
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from attribute_notes import notes, summary
from field_meanings import MEANINGS

from pixirnb.history import events, file_events

_PARTS: Final = (
    events.Owner,
    events.ItemData,
    events.ErrorData,
    events.HeldBy,
    events.CheckResult,
    events.StoredValue,
    events.PayloadRecord,
    events.Reason,
    file_events.ArtifactData,
    file_events.OutputLog,
    events.Validation,
    events.ResumeStep,
    events.Parent,
    file_events.Changes,
    file_events.FileChange,
    file_events.PathList,
    file_events.CapturedRoot,
    file_events.MergedRoot,
    file_events.ConflictedFile,
    file_events.ConflictSide,
    file_events.SeenRoot,
    file_events.SolvedFile,
)
_NAMED: Final = {
    events.SubagentStatus: "subagent status",
    events.CheckpointStatus: "checkpoint status",
    events.RunStatus: "run status",
    events.ResumeAction: "resume action",
    events.ResumeReason: "resume reason",
}
_WORDS: Final = {
    events.PathText: "path",
    str: "text",
    int: "integer",
    bool: "boolean",
    Any: "any value",
    type(None): "null",
}


def page() -> str:
    """Kinds, then the parts they are made of, then the closed sets of words; as Markdown."""
    kinds = get_args(events.Kind)
    sections = ["## Kinds"]
    unused = []
    for kind in kinds:
        name = "".join(part.title() for part in kind.split("_"))
        shape = getattr(events, name, None) or getattr(file_events, name, None)
        if shape is None:
            unused.append(kind)
        else:
            sections.append(_section(f"### {kind}", shape))
    if unused:
        sections.append(
            "### Kinds without a writer\n\nReserved, read where they occur, and written by nothing yet: "
            + ", ".join(f"`{kind}`" for kind in unused)
            + "."
        )
    sections.append("## Parts")
    sections += [_section(f"### {shape.__name__}", shape) for shape in _PARTS]
    sections.append("## Words")
    sections.append(
        "\n".join(
            [
                "| set | words |",
                "|---|---|",
                *(
                    f"| {name} | {' '.join(f'`{word}`' for word in get_args(words))} |"
                    for words, name in _NAMED.items()
                ),
                f"| held by | {' '.join(f'`{word}`' for word in get_args(events.HeldKind))} |",
            ]
        )
    )
    return "\n\n".join(sections)


def _section(heading: str, shape: Any) -> str:
    said = notes(shape) if isinstance(shape, type) else {}
    rows = []
    for name, hint in get_type_hints(shape, include_extras=True).items():
        is_optional = get_origin(hint) is NotRequired
        kind = _words(get_args(hint)[0] if is_optional else hint)
        key = f"`{name}`" + (" (optional)" if is_optional else "")
        means = said.get(name) or MEANINGS.get(name)
        if means is None:
            raise ValueError(f"nothing says what `{name}` of {heading} means")
        cells = (key, kind, means)
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    table = "\n".join(["| field | type | means |", "|---|---|---|", *rows])
    return f"{heading}\n\n{summary(shape)}\n\n{table}"


def _words(hint: Any) -> str:
    if hint in _NAMED:
        return _NAMED[hint]
    if hint in _WORDS:
        return _WORDS[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return " or ".join(_words(each) for each in arguments)
    if origin is Literal:
        return " ".join(f"`{word}`" for word in arguments)
    if origin is Annotated:
        return "mapping"  # events.OPEN
    if origin is list:
        return f"list of {_words(arguments[0])}"
    if origin is dict:
        return "mapping" if arguments[1] is Any else f"mapping of text to {_words(arguments[1])}"
    return f"[{hint.__name__}](#{hint.__name__.lower()})"
