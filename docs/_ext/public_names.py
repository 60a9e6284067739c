"""Public names with their signatures and docstrings, as Markdown: what editors show, for those who read pages."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from attribute_notes import notes

from pixirnb.spec.fields import SpecModel

SECTION: Final = re.compile(r"^(Args|Returns|Raises|Example):\n", re.MULTILINE)
WIDTH: Final = 100


def page(*paths: str) -> str:
    """One section a name, `package.module.name`; `-name` leaves a member out of all classes."""
    left_out = {path[1:] for path in paths if path.startswith("-")}
    return "\n\n".join(
        part
        for path in paths
        if not path.startswith("-")
        for part in _entry(path, _resolve(path), left_out)
    )


def _resolve(path: str) -> Any:
    home, _, name = path.rpartition(".")
    return getattr(import_module(home), name)


def _entry(path: str, value: Any, left_out: set[str]) -> Iterator[str]:
    name = path.rpartition(".")[2]
    yield f"### {name}"
    if not inspect.isclass(value):
        yield _signature(path, value)
        yield from _prose(value)
        return
    if path.count(".") > 1:
        yield f"`{path}`"
    yield from _prose(value)
    if issubclass(value, SpecModel):
        return  # its keys have a page of their own
    members = {each: found for each, found in _members(value) if each not in left_out}
    rows = [*_attributes(value, members)]
    if rows:
        yield "\n".join(["| attribute | type | is |", "|---|---|---|", *rows])
    for member, function in members.items():
        if callable(function):
            yield f"#### {name}.{member}"
            yield _signature(member, function)
            yield from _prose(function)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class and its own bases of this project define, in the order of the text; of an error only its own."""
    found: dict[str, Any] = {}
    for base in [cls] if issubclass(cls, Exception) else reversed(cls.__mro__):
        if base.__module__.startswith(("pixirnb.", "harness.")):
            own = _annotations(base)
            found |= dict.fromkeys(own) | {
                name: value
                for name, value in vars(base).items()
                if name in own or inspect.getdoc(value)
            }
    for name, value in found.items():
        if not name.startswith("_"):
            yield name, value.__func__ if isinstance(value, classmethod | staticmethod) else value


def _annotations(cls: type) -> dict[str, Any]:
    return dict(vars(cls).get("__annotations__", {}))


def _attributes(cls: type, members: dict[str, Any]) -> Iterator[str]:
    types = {
        name: kind for base in reversed(cls.__mro__) for name, kind in _annotations(base).items()
    }
    said = notes(cls)
    for name, value in members.items():
        if isinstance(value, property):
            kind = inspect.signature(value.fget).return_annotation if value.fget else ""
            means = " ".join((value.__doc__ or "").split()).removeprefix("Return ")
            yield _row(name, kind, means[:1].upper() + means[1:])
        elif not callable(value) and name in types:
            yield _row(name, types[name], said.get(name, ""))


def _row(*cells: str) -> str:
    name, kind, means = (str(cell).replace("|", r"\|") for cell in cells)
    return f"| `{name}` | `{kind}` | {means} |"


def _signature(name: str, function: Any) -> str:
    function = inspect.unwrap(function)
    signature = inspect.signature(function)
    rows, is_starred = [], False
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not is_starred:
            rows.append("*")
        is_starred = is_starred or each.kind in {each.KEYWORD_ONLY, each.VAR_POSITIONAL}
        rows.append(_parameter(each))
    rows = [row for row in rows if row != "self"]
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    head = f"{'async ' if is_async else ''}{name}"
    tail = (
        ""
        if signature.return_annotation is signature.empty
        else f" -> {signature.return_annotation}"
    )
    text = f"{head}({', '.join(rows)}){tail}"
    if len(text) > WIDTH:
        text = f"{head}(\n" + "".join(f"    {row},\n" for row in rows) + f"){tail}"
    return f"```text\n{text}\n```"


def _parameter(given: inspect.Parameter) -> str:
    stars = {given.VAR_POSITIONAL: "*", given.VAR_KEYWORD: "**"}.get(given.kind, "")
    kind = "" if given.annotation is given.empty else f": {given.annotation}"
    if given.default is given.empty:
        return f"{stars}{given.name}{kind}"
    shown = "…" if type(given.default) is object else repr(given.default)
    return f"{stars}{given.name}{kind} = {shown}"


def _prose(value: Any) -> Iterator[str]:
    """A docstring: its words, its arguments and errors as lists, its example as a block."""
    lead, *parts = SECTION.split(inspect.cleandoc(value.__doc__ or ""))
    yield lead.strip()
    for title, part in zip(parts[::2], parts[1::2], strict=True):
        body = textwrap.dedent(part).strip("\n")
        if title == "Example":
            yield f"```python\n{body}\n```"
        elif title == "Returns":
            yield f"Returns: {body}"
        else:
            items = [" ".join(item.split()) for item in re.split(r"\n(?! )", body)]
            rows = [": ".join(_item(*item.partition(": "))) for item in items]
            yield f"{title}:\n\n" + "\n".join(f"- {row}" for row in rows)


def _item(names: str, _colon: str, text: str) -> tuple[str, str]:
    return ", ".join(f"`{name}`" for name in names.split(", ")), text
