"""The reading of one relay file: typed looks at its keys, what is wrong, what is worth a note, and where all of it stands.

Paths are those of the relay file. Nothing raises: what cannot be read is a mistake, and reading goes on without it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeGuard, TypeVar

from msgspec import Struct, field

from pixirnb.ids import is_step_id
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.durations import format_duration
from pixirnb.spec.fields import shown
from pixirnb.spec.known_words import one_of
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.relay.keys import Keys
from pixirnb.spec.source_map import PathParts

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST: Final = 64
_MOST: Final = 10**15 - 1

T = TypeVar("T")


class _Shape(Struct, Generic[T], frozen=True):
    """Required type of a value."""

    types: type[T] | tuple[type[T], ...]
    what: str
    fix: str


_TEXT: Final = _Shape(str, "a string", "quote it")
_FLAG: Final = _Shape(bool, "true or false", "write `true` or `false` without quotes")
_LIST: Final[_Shape[Any]] = _Shape(
    (list, tuple), "a list", "write it in `[ ]`, or as lines that begin with `-`"
)
_MAPPING: Final[_Shape[dict[str, Any]]] = _Shape(dict, "a mapping", "write `key: value` pairs")


class RelayParser(Struct):
    """Parser of a file: collects mistakes and warnings while it is read."""

    mistakes: list[SpecProblem] = field(default_factory=list)
    notes: list[SpecProblem] = field(default_factory=list)
    moved: dict[PathParts, PathParts] = field(default_factory=dict)
    """A path of the native workflow to that in the file it comes from."""

    def wrong(self, code: str, parts: PathParts, message: str, fix: str) -> None:
        """Note a mistake: the file cannot run."""
        self.mistakes.append(SpecProblem(code, parts, message, fix))

    def note(self, code: str, parts: PathParts, message: str, fix: str) -> None:
        """Note a warning: it runs, and not in every way as its own runner would run it."""
        self.notes.append(SpecProblem(code, parts, message, fix))

    def keys(self, mapping: Mapping[str, Any], parts: PathParts, known: Keys) -> None:
        """Note the keys that change nothing, and those the format does not have."""
        for written, value in mapping.items():
            key = str(written)
            if key in known.inert:
                # Switched off, or said to be as it is anyway.
                if value is not None and value is not False:
                    message = f"`{key}` is ignored: {known.inert[key]}"
                    self.note("relay_inert", (*parts, key), message, "remove it")
            elif key not in known.read:
                message = f"unknown key `{key}` in a {known.what} is ignored"
                fix = did_you_mean(key, known.known, otherwise="remove it")
                self.note("relay_unknown_key", (*parts, key), message, fix)

    def _is(self, value: object, at: PathParts, shape: _Shape[T]) -> TypeGuard[T]:
        if isinstance(value, shape.types):
            return True
        self.wrong("wrong_type", at, f"expected {shape.what}, got {shown(value)}", shape.fix)
        return False

    def _look(
        self, mapping: Mapping[str, Any], key: str, parts: PathParts, shape: _Shape[T]
    ) -> T | None:
        value = mapping.get(key)
        return value if value is not None and self._is(value, (*parts, key), shape) else None

    def text(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> str | None:
        """Return a text; None if there is none or it is no text. The mistake of a number says to quote it."""
        return self._look(mapping, key, parts, _TEXT)

    def needed(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> str | None:
        """Read a text that must be there and say something."""
        value, at = self.text(mapping, key, parts), (*parts, key)
        if mapping.get(key) is None:
            self.wrong("missing_key", at, f"missing key `{key}`", f"add `{key}`")
        elif value is not None and not value.strip():
            self.wrong("empty", at, f"`{key}` is empty", f"add a value to `{key}`")
            return None
        return value

    def no_choice(self, parts: PathParts, value: str, what: str, choices: Collection[str]) -> None:
        """Add a mistake: `value`, at `parts`, is none of the choices of `what`."""
        fix = did_you_mean(value, choices, otherwise=f"use {one_of(choices)}")
        self.wrong("not_a_choice", parts, f"unknown {what} `{value:.80}`", fix)

    def flag(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> bool:
        """Read true or false; true where nothing is said."""
        return self._look(mapping, key, parts, _FLAG) is not False

    def count(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> int | None:
        """Read a whole number, 0 or more."""
        value = mapping.get(key)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            fix = "write it without quotes and fraction"
            self.wrong("wrong_type", (*parts, key), f"expected an integer, got {shown(value)}", fix)
        elif not 0 <= value <= _MOST:
            fix = "use a number from 0 to 15 digits"
            self.wrong("out_of_range", (*parts, key), f"{shown(value)} is out of range", fix)
        else:
            return value
        return None

    def span(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> str | None:
        """Return milliseconds as a duration of ours."""
        value = self.count(mapping, key, parts)
        if value == 0:
            fix = "use at least 1 (milliseconds)"
            self.wrong("bad_duration", (*parts, key), "0 is not a duration above zero", fix)
            return None
        return None if value is None else format_duration(value)

    def mapping(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> dict[str, Any]:
        """Read a mapping; an empty one where there is none."""
        return self._look(mapping, key, parts, _MAPPING) or {}

    def items(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> list[Any]:
        """Read a list of anything; an empty one where there is none."""
        return [*(self._look(mapping, key, parts, _LIST) or ())]

    def _each(
        self, mapping: Mapping[str, Any], key: str, parts: PathParts, shape: _Shape[T]
    ) -> Iterator[tuple[PathParts, T]]:
        for index, item in enumerate(self.items(mapping, key, parts)):
            at = (*parts, key, index)
            if self._is(item, at, shape):
                yield at, item

    def texts(self, mapping: Mapping[str, Any], key: str, parts: PathParts) -> list[str]:
        """Read the texts of a list."""
        return [text for _, text in self._each(mapping, key, parts, _TEXT)]

    def mappings(
        self, mapping: Mapping[str, Any], key: str, parts: PathParts
    ) -> Iterator[tuple[PathParts, dict[str, Any]]]:
        """Read the mappings of a list, each with its path."""
        return self._each(mapping, key, parts, _MAPPING)

    def named(
        self, mapping: Mapping[str, Any], key: str, known: Keys, what: str
    ) -> list[tuple[str, str, PathParts, dict[str, Any]]]:
        """Read the mappings of a list of the file: `name`, the name here, path. A second `what` of a name is a mistake."""
        entries: dict[str, tuple[PathParts, dict[str, Any]]] = {}
        for parts, item in self.mappings(mapping, key, ()):
            self.keys(item, parts, known)
            name = self.needed(item, "name", parts)
            if name in entries:
                message = f"duplicate name: {what} `{name:.80}` exists"
                self.wrong("duplicate_id", (*parts, "name"), message, "rename it")
            elif name is not None:
                entries[name] = (parts, item)
        safe = safe_names(entries)
        return [(name, safe[name], *there) for name, there in entries.items()]

    def renamed(self, parts: PathParts, name: str, safe: str) -> None:
        """Tell what a name is called here, where that differs."""
        if name != safe:
            message = f"`{name:.80}` is renamed to `{safe}`"
            fix = "use letters, digits, `_` and `-`, at most 64, beginning with a letter or digit"
            self.note("relay_renamed", parts, message, fix)


class RelayDraft(Struct):
    """A mapping of the native workflow while it is written, and where each of its keys comes from."""

    reading: RelayParser
    own: PathParts
    """Its path there."""
    native: dict[str, Any] = field(default_factory=dict)

    def put(self, key: str, value: object, at: PathParts | None = None) -> None:
        """Write a key, unless there is nothing to say; `at` is where it stands in the file."""
        if value is not None and value != []:
            self.native[key] = value
            self.came(key, at=at)

    def came(self, *key: str | int, at: PathParts | None) -> None:
        """Remember where a key, or something in it, comes from."""
        if at is not None:
            self.reading.moved[*self.own, *key] = at

    def policies(
        self,
        mapping: Mapping[str, Any],
        parts: PathParts,
        retry: Mapping[str, Any],
        at: tuple[PathParts, PathParts] | None = None,
    ) -> None:
        """Read the time-out and retries of `mapping`; `retry` is the rest of those, `at` the path of both, if not `parts`."""
        of_timeout, of_retries = at or ((*parts, "timeoutMs"), (*parts, "retries"))
        self.put("timeout", self.reading.span(mapping, "timeoutMs", parts), of_timeout)
        retries = self.reading.count(mapping, "retries", parts)
        if retries is not None:
            self.put("retry", {"max_attempts": retries + 1, **retry}, of_retries)


def safe_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return each name once, with a safe one that no other has; names that are safe already keep themselves."""
    unique = list(dict.fromkeys(names))
    used = {*taken, *(name for name in unique if is_step_id(name))}
    by_name: dict[str, str] = {}
    for name in unique:
        if is_step_id(name):
            by_name[name] = name
            continue
        # `u` for `ü`: letters without their marks, where they have some.
        apart = unicodedata.normalize("NFKD", name)
        plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
        stem = _UNSAFE.sub("-", plain).lstrip("_-")[:_LONGEST].rstrip("-") or "unnamed"
        safe, number = stem, 1
        while safe in used:
            number += 1
            safe = f"{stem[: _LONGEST - 8]}-{number}"
        used.add(safe)
        by_name[name] = safe
    return by_name
