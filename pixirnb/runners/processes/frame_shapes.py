"""The shape of every frame that a child may write: its keys, their types and bounds.

A step's own code can write to the report pipe, so a frame is read only if it is exactly what `FrameWriter` writes for
its kind of work; everything else is `Garbled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from pixirnb.history.codec import NotCanonicalError, canonical, encode_data
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Question
from pixirnb.runners.processes.frames import Garbled
from pixirnb.value_codec import INLINE_LIMIT

_OF_AGENTS: Final = frozenset(
    {"progress", "checkpoint", "tool", "session", "ask", "value", "error"}
)
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "python": frozenset({"progress", "value", "error"}),
    "script": _OF_AGENTS,
    "agent": _OF_AGENTS,
}
"""Kind of work to the frames that it writes."""
_NAME_LIMIT: Final = 1000
"""Maximum number of characters of a name: of an error's kind, an event, a type."""
_QUESTIONS: Final = frozenset(get_args(Question))


def require_shape(frame: JsonObject, work: str) -> None:
    """Raise Garbled if `frame` is not one that work of this kind writes."""
    kind = frame.get("frame")
    if not isinstance(kind, str) or kind not in _KINDS[work]:
        raise Garbled
    shape = {"frame": _is_name, "bytes": _is_size, **_SHAPES[kind]}
    if frame.keys() != shape.keys() or not all(holds(frame[key]) for key, holds in shape.items()):
        raise Garbled
    if kind == "value":
        is_stored = _is_stored(frame["stored"], frame["has_data"], frame["bytes"])
        if not (is_stored if work == "python" else frame["stored"] is None):
            raise Garbled
    elif frame["bytes"]:
        raise Garbled


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _NAME_LIMIT


def _is_size(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_fraction(value: object) -> bool:
    if value is None:
        return True
    return type(value) in {int, float} and 0 <= value <= 1  # type: ignore[operator]


def _is_data(value: object) -> bool:
    """Return whether it is an object; its content is made plain where it is kept."""
    return isinstance(value, dict)


def _is_loggable(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    try:
        encode_data(value)
    except NotCanonicalError:
        return False
    return True


def _is_stored(stored: Any, has_data: object, size: int) -> bool:
    """Return whether it is a value as `value_codec.encode` returns it, with or without bytes."""
    if not isinstance(stored, dict):
        return False
    form, named = stored.get("format"), stored.get("bytes")
    if has_data:
        keys = _WITH_BYTES.get(form) if isinstance(form, str) else None
        is_named = all(_is_name(stored.get(key, "")) for key in ("type", "glance"))
        return stored.keys() - {"glance"} == keys and is_named and _is_size(named) and named == size
    if size or form == "none":
        return not size and stored.keys() == {"format"}
    if form not in {"text", "json"} or stored.keys() != {"format", "value", "bytes"}:
        return False
    if form == "text" and not isinstance(stored["value"], str):
        return False
    try:
        canonical(stored["value"])
    except NotCanonicalError:
        return False
    return isinstance(named, int) and _is_size(named) and named <= INLINE_LIMIT


_SHAPES: Final[Mapping[str, Mapping[str, Callable[[Any], bool]]]] = {
    "progress": {"fraction": _is_fraction, "message": _is_text},
    "checkpoint": {"data": _is_data},
    "tool": {"data": _is_data},
    "session": {"kind": _is_name, "data": _is_data},
    "ask": {"id": _is_size, "question": _QUESTIONS.__contains__, "data": _is_data},
    "value": {"stored": lambda _: True, "has_data": lambda it: isinstance(it, bool)},
    "error": {"kind": _is_name, "message": _is_text, "details": _is_loggable},
}
_WITH_BYTES: Final[Mapping[str, set[str]]] = {
    "text": {"format", "bytes"},
    "json": {"format", "bytes"},
    "npy": {"format", "bytes", "type"},
    "parquet": {"format", "bytes", "type"},
    "pickle": {"format", "bytes", "type"},
}
