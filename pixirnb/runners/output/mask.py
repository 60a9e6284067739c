"""Masking of secrets in logs and views: values of variables whose names look secret become `***`.

Works across chunk borders, and with something inside that views leave out (unseen.py): a terminal's sequences stay, after the
stars. Of a secret of several lines each line is one. A text that was cut before it came here has a `…` at the cut: half a
secret next to it is masked too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from mmap import mmap
from typing import Any, Final, NamedTuple

from pixirnb.json_types import JsonMapping
from pixirnb.planning.environment import SHORTEST, STARS, is_secret_variable
from pixirnb.runners.output.painted_mask import PaintedMask
from pixirnb.runners.output.text_search import needles_of, pattern_of
from pixirnb.runners.output.unseen import CHARACTERS, Unseen, in_json, in_text

_QUOTE: Final = ord('"')
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*', re.DOTALL)
"""A string or a number in JSON."""
_NAMES: Final = frozenset(
    [
        "step",
        "steps",
        "attempts",
        "between",
        "built_on",
        "chosen",
        "merge",
        "undoes",
        "root",
        "name",
        "id",
        "kind",
        "method",
        "reason",
    ]
)
"""Members of events about files that the log is read by: names that the author gave, as in the workflow, and our own words."""
_NUMBER: Final = frozenset(b"0123456789.eE+-")
_CHUNK: Final = 1024 * 1024


_CUT: Final = re.compile(r"\n?\[?…(?:[^…\n]*…\]\n)?")
"""The mark of a cut, with what it says of the size: `…`, `\\n[… 12 bytes left out …]\\n`."""
_LETTERS: Final = 4
"""Minimum number of letters of half a secret."""


def secret_values(env: Mapping[str, str]) -> list[str]:
    """Return values of variables whose names contain KEY TOKEN SECRET PASSWORD or CREDENTIAL, at least 8 characters long."""
    values = {env.get(name, "") for name in env if is_secret_variable(name)}
    return sorted(value for value in values if len(value) >= SHORTEST)


_seen: tuple[dict[Any, Any], tuple[str, ...]] = ({}, ())
"""The variables of this process at the last look, as the system has them, and the secrets among them."""


def secrets_here() -> tuple[str, ...]:
    """Return the secrets of this process's environment; one object while the environment is unchanged."""
    global _seen
    # Not `os.environ` itself, which decodes every name and value that it compares: a chain of steps looks twice a step. A
    # program may have put a plain dict in its place.
    variables = getattr(os.environ, "_data", os.environ)
    seen, secrets = _seen
    if variables != seen:
        seen = dict(variables)
        secrets = tuple(secret_values(os.environ))
        _seen = (seen, secrets)
    return secrets


def _spellings(value: str) -> set[str]:
    """Return the forms of a secret: as it is, with a terminal's line ends, and as JSON and Python write it, or its bytes, in
    dumps of the environment.
    """
    plain = json.dumps(value, ensure_ascii=False)[1:-1]
    lines = value.replace("\n", "\r\n")
    # Python quotes a text by what else is in it: with a `"` somewhere, an apostrophe is written with a backslash.
    quoted = value + '"'
    written = {repr(value)[1:-1], ascii(value)[1:-1], repr(quoted)[1:-2], ascii(quoted)[1:-2]}
    data, quoted_data = (text.encode(errors="surrogateescape") for text in (value, quoted))
    written |= {repr(data)[2:-1], repr(quoted_data)[2:-2]}
    return {value, lines, plain, json.dumps(value)[1:-1], *written}


def _with_lines(values: Iterable[str]) -> Iterator[str]:
    """Yield each secret, and each of its lines: what shows a text often puts something before every line."""
    for value in values:
        yield value
        if "\n" in value:
            yield from (
                each for each in map(str.strip, value.splitlines()) if len(each) >= SHORTEST
            )


class _Search(NamedTuple):
    """Secrets as a mask looks for them."""

    longest_first: tuple[str, ...]
    """Every spelling of every secret."""
    secrets: tuple[bytes, ...]
    """The spellings as bytes."""
    numbers: tuple[bytes, ...]
    """Secrets that can stand in a number."""
    text: re.Pattern[str] | None
    """Pattern of all spellings; None where there is none."""


@lru_cache(maxsize=64)
def _search_for(values: frozenset[str]) -> _Search:
    # An empty value would be everywhere.
    spellings = {spelt for value in _with_lines(values) if value for spelt in _spellings(value)}
    longest_first = tuple(sorted(spellings, key=lambda value: (-len(value), value)))
    secrets = tuple(value.encode(errors="surrogateescape") for value in longest_first)
    numbers = tuple(secret for secret in secrets if _NUMBER.issuperset(secret))
    text = re.compile(pattern_of(longest_first)) if longest_first else None
    return _Search(longest_first, secrets, numbers, text)


class Mask:
    """Replacement of secrets. If two begin at one position the longer one is replaced."""

    def __init__(self, values: Iterable[str]) -> None:
        self._here: tuple[str, ...] = ()
        self._values = frozenset(values)
        self._search = _search_for(self._values)

    def refresh(self) -> bool:
        """Add the secrets that this process's environment has by now; return whether there are new ones."""
        here = secrets_here()
        if here is self._here:
            return False
        self._here = here
        return self.add(here)

    def add(self, secrets: Iterable[str]) -> bool:
        """Replace more secrets from now on; return whether there are new ones."""
        values = self._values.union(secrets)
        if values == self._values:
            return False
        self._values = values
        self._search = _search_for(values)
        return True

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """Return every spelling of every secret, longest first: another object once there are more."""
        return self._search.secrets

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        if self._search.text is None:
            return text
        masked = self._search.text.sub(STARS, text)
        if "…" in masked:
            masked = _without_halves(masked, self._search.longest_first)
        if CHARACTERS.search(masked) is None:
            return masked
        data = masked.encode("utf-8", "surrogatepass")
        for unseen in in_text():
            painted = PaintedMask(self.secrets, unseen)
            data = painted.feed(data) + painted.flush()
        return data.decode("utf-8", "surrogatepass")

    def beginning(self, text: str, limit: int) -> str:
        """Return the first `limit` characters without secrets, of a text that may have been cut in the middle of one."""
        if len(text) <= limit:
            return self.text(text)
        shown = self.stream().feed(text.encode("utf-8", "surrogatepass"))
        return shown.decode("utf-8", "surrogatepass")[:limit]

    def data(self, value: Any) -> Any:
        """Return plain data with secrets masked in every text."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.data(key): self.data(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.data(item) for item in value]
        return value

    def event(self, value: Any) -> Any:
        """Return the data of an event with secrets masked in every text but names, which the log is read by."""
        if isinstance(value, dict):
            return {key: item if key in _NAMES else self.event(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.event(item) for item in value]
        return self.data(value)

    def member(self, data: JsonMapping, name: str) -> Any:
        """Return the data of an event with secrets masked in one member."""
        return {**data, name: self.value(data[name])}

    def value(self, value: Any) -> Any:
        """Return JSON data of a user with secrets masked in every text, and in every number that holds one."""
        if isinstance(value, dict):
            return {self.data(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool) and self._search.numbers:
            return STARS if self._is_secret(repr(value).encode()) else value
        return self.data(value)

    def json(self, text: bytes | mmap) -> Iterator[bytes]:
        """Yield the pieces of a JSON text with secrets masked: a number that holds one becomes the text `***`."""
        stream, begin = StreamMask(self, in_json), 0
        for token in _TOKEN.finditer(text) if self._search.numbers else ():
            if text[token.start()] != _QUOTE and self._is_secret(token[0]):
                yield from map(stream.feed, _pieces(text, begin, token.start()))
                yield stream.feed(f'"{STARS}"'.encode())
                begin = token.end()
        yield from map(stream.feed, _pieces(text, begin, len(text)))
        yield stream.flush()

    def _is_secret(self, number: bytes) -> bool:
        return any(each in number for each in self._search.numbers)

    def stream(self) -> StreamMask:
        """Return a mask for one stream of bytes."""
        return StreamMask(self)


def _without_halves(text: str, secrets: Sequence[str]) -> str:
    """Return the text with stars in place of half a secret before and after each cut."""
    parts: list[str] = []
    begin = 0
    for cut in _CUT.finditer(text):
        head = max((_head_at(text, begin, cut.start(), each) for each in secrets), default=0)
        parts += [text[begin : cut.start() - head], STARS if head else "", cut[0]]
        tail = max((_tail_at(text, cut.end(), each) for each in secrets), default=0)
        parts.append(STARS if tail else "")
        begin = cut.end() + tail
    return "".join([*parts, text[begin:]])


def _head_at(text: str, begin: int, end: int, secret: str) -> int:
    """Return how many letters of a secret, but not all, stand before `end`; 0 for too few."""
    last, size = text[max(begin, end - _LETTERS) : end], len(secret) - 1
    while len(last) == _LETTERS and (at := secret.rfind(last, 0, size)) >= 0:
        length = at + _LETTERS
        if end - length >= begin and text.startswith(secret[:length], end - length):
            return length
        size = length - 1
    return 0


def _tail_at(text: str, begin: int, secret: str) -> int:
    """Return how many letters of a secret, but not all, stand at `begin`; 0 for too few."""
    first, at = text[begin : begin + _LETTERS], 0
    while len(first) == _LETTERS and (at := secret.find(first, at + 1)) >= 0:
        if text.startswith(secret[at:], begin):
            return len(secret) - at
    return 0


def _pieces(text: bytes | mmap, begin: int, end: int) -> Iterator[bytes]:
    return (text[at : min(at + _CHUNK, end)] for at in range(begin, end, _CHUNK))


def mask_here(env: Mapping[str, str]) -> Mask:
    """Return a mask for the secrets of a step's environment, and of this process's own, passed to the step or not."""
    mask = Mask(secret_values(env))
    mask.refresh()
    return mask


Read = Callable[[str, int], tuple[bytes, int]]
"""Function that reads the beginning of a blob, at most so many bytes, and its size."""


def mask_contents(read: Read) -> Read:
    """Return a function that reads contents of files to be shown: without the secrets of this process's environment."""
    mask = mask_here({})

    def read_masked(blob: str, limit: int) -> tuple[bytes, int]:
        data, size = read(blob, limit)
        stream, left_out = mask.stream(), size - len(data)
        # Of what was cut, the beginning of a secret is not shown either.
        shown = stream.feed(data) + (b"" if left_out else stream.flush())
        return shown, len(shown) + left_out

    return read_masked


class StreamMask:
    """Mask of bytes that come in chunks cut anywhere.

    Only bytes that may be the beginning of a secret are held back, so ordinary lines pass at once.
    """

    def __init__(self, mask: Mask, unseen: Callable[[], Sequence[Unseen]] = in_text) -> None:
        self._mask, self._unseen = mask, unseen
        self._held = b""
        self._search()

    def _search(self) -> None:
        self._secrets = self._mask.secrets
        self._needles = needles_of(self._secrets)
        unseen = () if self._needles is None else self._unseen()
        self._painted = [PaintedMask(self._secrets, each) for each in unseen]

    def feed(self, chunk: bytes) -> bytes:
        """Return the part of the stream that is safe to show now."""
        if self._secrets is not self._mask.secrets:  # the mask has got others since
            chunk = self.flush() + chunk
            self._search()
        if self._needles is None:
            return chunk
        shown = self._fed(chunk)
        for painted in self._painted:
            shown = painted.feed(shown)
        return shown

    def flush(self) -> bytes:
        """Return the bytes held back, at the end of the stream."""
        held, self._held = self._held, b""
        if self._needles is None:
            return held
        shown = self._needles.find.sub(STARS.encode(), held)
        for painted in self._painted:
            shown = painted.feed(shown) + painted.flush()
        return shown

    def _fed(self, chunk: bytes) -> bytes:
        assert self._needles is not None
        data = self._held + chunk
        shown: list[bytes] = []
        at = 0
        while True:
            safe_to = self._needles.possible_beginning(data, at)
            match = self._needles.find.search(data, at)
            if match is None or match.start() >= safe_to:
                break
            shown += [data[at : match.start()], STARS.encode()]
            at = match.end()
        shown.append(data[at:safe_to])
        self._held = data[safe_to:]
        return b"".join(shown)
