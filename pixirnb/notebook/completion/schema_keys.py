"""The language of a workflow, read off the models that check it, so that what is offered is what is accepted.

    shape_at(path) ──▶ Shape        what belongs there: keys of a model, items, one of a few words
    Shape.keys     ──▶ Key, …       each with the sentence that stands beneath its field

A step's kind keys exclude each other: which keys a step has left depends on what it says already.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from msgspec import Struct
from pydantic import BaseModel

from pixirnb.notebook.completion.flow_style import NodePath
from pixirnb.spec.agent_scripts import ACTIONS, REPORT_KEYS
from pixirnb.spec.policies import CHECK_KINDS, Agent, Check, RetryClass
from pixirnb.spec.steps import (
    KIND_KEYS,
    AgentStep,
    DecisionStep,
    MergeStep,
    PythonStep,
    Shared,
    ShellStep,
)
from pixirnb.spec.workflow import Workflow

Nature = Literal["keys", "list", "map", "words", "flag", "other"]
_STEPS: Final = (ShellStep, PythonStep, AgentStep, DecisionStep, MergeStep)
_OF_KIND: Final = {model.kind: model for model in _STEPS}
_OF_COMMAND: Final = frozenset({"command", "exit_code", "timeout"})

_ACTION_ABOUT: Final = {
    "say": "text it prints",
    "sleep": "time to wait",
    "write": "a file to write, with `text` as its content",
    "delete": "a file to delete",
    "fail": "end with an error of this kind, and `message`",
    "tool": "a tool to call, with `args` and `result`",
    "report": "the structured report",
    "hang": "true: never end",
    "crash": "end by this signal",
    "exit": "exit with this code",
    "marker": "the last line: `checkpoint_status: …`",
}
_ADDITIONAL_ABOUT: Final = {
    "text": "what it writes",
    "message": "what went wrong",
    "args": "arguments of the tool",
    "result": "result of the tool",
}
_REPORT_ABOUT: Final = {
    "checkpoint_status": "status of the work",
    "summary": "one or two sentences",
    "output": "the value, as data",
    "limitations": "what is missing or uncertain",
    "seams": "where the work must fit that of other steps",
}


class Shape(Struct, frozen=True):
    """Valid content of a node: keys, items, words."""

    nature: Nature = "other"
    models: tuple[type[BaseModel], ...] = ()
    """For keys: one model, or one for each kind of step."""
    inner: Shape | None = None
    """Shape of the items of a list, or of the values of a map with free keys."""
    words: tuple[str, ...] = ()
    table: tuple[Key, ...] = ()
    """For keys that no model describes."""

    def keys(self, written: Iterable[str] = ()) -> dict[str, Key]:
        """Return the keys that may be added to the `written` ones."""
        written = frozenset(written)
        models = self.models
        if models == _STEPS:
            kinds = {_OF_KIND[KIND_KEYS[key]] for key in written if key in KIND_KEYS}
            models = tuple(kinds) if len(kinds) == 1 else models
        table = {key.name: key for key in self.table}
        for model in models:
            table |= {key.name: key for key in _keys_of(model)}
        if self.models == _STEPS:
            # What makes this step before what any step may say.
            table = dict(sorted(table.items(), key=lambda item: _rank(item[0])))
        closed: frozenset[str] = frozenset()
        if models == (Check,):
            closed = _closed_of_check(written)
        elif self.table:
            closed = _closed_of_action(written, frozenset(table))
        elif any(key in KIND_KEYS for key in written):
            closed = frozenset(KIND_KEYS)
        return {name: key for name, key in table.items() if name not in written | closed}


class Key(Struct, frozen=True):
    """A key an author may write."""

    name: str
    about: str
    shape: Shape


OTHER: Final = Shape()


def shape_at(path: NodePath) -> Shape:
    """Return the shape of the node at a path of a body; OTHER if the language does not define one."""
    shape = Shape("keys", (Workflow,))
    for part in path:
        match shape.nature:
            case "list" | "map" if shape.inner is not None:
                shape = shape.inner
            case "keys" if isinstance(part, str):
                key = shape.keys().get(part) or _key(shape, part)
                shape = OTHER if key is None else key.shape
            case _:
                return OTHER
    return shape


def _key(shape: Shape, name: str) -> Key | None:
    return next((k for model in shape.models for k in _keys_of(model) if k.name == name), None)


def _rank(name: str) -> int:
    return (
        0 if name == "id" else 1 if name in KIND_KEYS else 3 if name in Shared.model_fields else 2
    )


@cache
def _keys_of(model: type[BaseModel]) -> tuple[Key, ...]:
    about = _sentences(model)
    keys = []
    for name, field in model.model_fields.items():
        is_script = model is Agent and name == "script"
        shape = _script() if is_script else _shape(field.annotation)
        keys.append(Key(field.alias or name, about.get(name, ""), shape))
    return tuple(keys)


def _shape(annotation: Any) -> Shape:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(inner[0])
    if origin is Literal:
        return Shape("words", words=tuple(str(word) for word in inner))
    if origin in {Union, UnionType}:
        shapes = [_shape(each) for each in inner if each is not type(None)]
        models = tuple(model for shape in shapes for model in shape.models)
        if len(shapes) == 1 or not models:
            return shapes[0]
        return Shape("keys", models)
    if origin in {tuple, list} and inner:
        return Shape("list", inner=_shape(inner[0]))
    if origin is dict and len(inner) == 2:
        return Shape("map", inner=_shape(inner[1]))
    if annotation is bool:
        return Shape("flag", words=("true", "false"))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape("keys", (annotation,))
    return OTHER


@cache
def _script() -> Shape:
    """Return a scripted agent's story: step to attempts, attempt to actions."""
    statuses = Shape("words", words=("checkpoint_ready", "partial", "needs_orchestrator", "failed"))
    errors = Shape("words", words=get_args(RetryClass))
    report = Shape(
        "keys",
        table=tuple(
            Key(name, about, statuses if name == "checkpoint_status" else OTHER)
            for name, about in _REPORT_ABOUT.items()
            if name in REPORT_KEYS
        ),
    )
    special = {"report": report, "fail": errors, "hang": Shape("flag", words=("true",))}
    additional = {name for _, others in ACTIONS.values() for name in others}
    action = Shape(
        "keys",
        table=(
            *(Key(name, _ACTION_ABOUT.get(name, ""), special.get(name, OTHER)) for name in ACTIONS),
            *(Key(name, _ADDITIONAL_ABOUT.get(name, ""), OTHER) for name in sorted(additional)),
        ),
    )
    attempts = Shape("list", inner=Shape("list", inner=action))
    return Shape("map", inner=attempts)


def _closed_of_check(written: frozenset[str]) -> frozenset[str]:
    """Return the keys that a check with these keys excludes: it has one kind."""
    kinds = frozenset(CHECK_KINDS)
    if "command" in written:
        return (kinds | {"timeout"}) - _OF_COMMAND
    if "python" in written:
        return kinds
    if written == {"exit_code"}:
        return (kinds | {"timeout"}) - {"command"}
    return kinds | {"timeout"} if written else frozenset({"timeout"})


def _closed_of_action(written: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    """Return the keys that an action with these keys excludes: all that do not go with its kind."""
    if not names & ACTIONS.keys():
        return frozenset()
    kind = next((name for name in ACTIONS if name in written), None)
    allowed = frozenset(ACTIONS) if kind is None else frozenset(ACTIONS[kind][1])
    return names - allowed


def _sentences(model: type[BaseModel]) -> dict[str, str]:
    """Return the sentence beneath each field; none where the source cannot be read."""
    sentences: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            sentences |= _written_in(base.__module__).get(base.__name__, {})
    return sentences


@cache
def _written_in(module: str) -> dict[str, dict[str, str]]:
    """Map class to field to sentence, of a module's source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, SyntaxError):
        return {}
    return {
        node.name: {
            field.target.id: " ".join(text.value.value.split())
            for field, text in zip(node.body, node.body[1:], strict=False)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
