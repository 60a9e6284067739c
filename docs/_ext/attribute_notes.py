"""The sentences beneath attributes: what the code says of a field where it declares it."""

from __future__ import annotations

import ast
import inspect
import textwrap


def notes(cls: type) -> dict[str, str]:
    """Attribute to the docstring beneath it, on one line, for a class and what it inherits."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pixirnb."):
            found |= _own(base)
    return found


def summary(cls: type) -> str:
    """The class's own docstring, on one line."""
    return " ".join((cls.__doc__ or "").split())


def _own(cls: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
            case _:
                continue
    return found
