"""One segment of a glob, the part between two slashes, and whether two segments can name one file.

A segment without wildcards is a plain `str`; any other is a `Glob`. Each character of a glob is a
set of code points, so that `?`, `[a-z]` and `x` are compared in one way; `*` is `STAR`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

Ranges = tuple[tuple[int, int], ...]
"""Code points, as ascending, disjoint, inclusive ranges."""

STAR: Final = None
LONGEST_NAME: Final = 255
"""Maximum length of a file name, so of a segment."""

ANYTHING: Final[Ranges] = ((1, 46), (48, 0x10FFFF))
"""Every character except NUL and the slash."""

RESERVED: Final = frozenset([".git", ".pixirnb"])
"""The user's history and ours: at the top no set contains them, and no tool or copy touches them at any depth."""

_NO_NAMES: Final = frozenset([".", ".."])


@dataclass(frozen=True, slots=True)
class Glob:
    """A segment with wildcards."""

    tokens: tuple[Ranges | None, ...]
    prefix: str = field(compare=False)
    """The plain characters it begins with."""
    suffix: str = field(compare=False)
    """The plain characters it ends with."""
    head: tuple[Ranges, ...] = field(compare=False)
    """The characters before the first `*`; all of them without a `*`."""
    tail: tuple[Ranges, ...] | None = field(compare=False)
    """The characters after the last `*`, in reverse; None without a `*`."""

    @property
    def is_anything(self) -> bool:
        """Return whether this is `*` alone."""
        return self.tokens == (STAR,)


Segment = str | Glob


@lru_cache(maxsize=8192)
def parse_segment(text: str) -> Segment:
    """Parse one segment (no slash in it, not `**`). Raises ValueError with a sentence."""
    tokens: list[Ranges | None] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            if tokens and tokens[-1] is STAR:
                raise ValueError(
                    f"`**` in `{text}` matches whole folders only; write `**/` before the name"
                )
            tokens.append(STAR)
        elif char == "?":
            tokens.append(ANYTHING)
        elif char == "[":
            ranges, at = _class(text, at)
            tokens.append(ranges)
        elif char == "\\":
            if at == len(text):
                raise ValueError(f"`{text}` ends with a backslash; remove it")
            tokens.append(_one(text[at]))
            at += 1
        else:
            tokens.append(_one(char))
    if len(tokens) > LONGEST_NAME:
        raise ValueError(
            f"`{text[:40]}…` is longer than a file name can be ({LONGEST_NAME}); shorten it"
        )
    return _segment(tuple(tokens))


def names_something(segment: Segment, *, is_first: bool) -> bool:
    """Return whether the segment matches the name of any file that may be claimed."""
    return meet(segment, segment, is_first=is_first)


def is_named(segment: Segment, name: str) -> bool:
    """Return whether the segment matches all of `name`, a non-empty file name."""
    if isinstance(segment, str):
        return segment == name
    return _fits(segment.tokens, tuple(map(_one, name)))


def meet(one: Segment, other: Segment, *, is_first: bool = False) -> bool:
    """Return whether some file name matches both. RESERVED names are excluded from the first segment of a path."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other and one not in _barred(is_first=is_first)
    if isinstance(one, str):
        return one not in _barred(is_first=is_first) and is_named(other, one)
    if isinstance(other, str):
        return other not in _barred(is_first=is_first) and is_named(one, other)
    return _globs_meet(one, other, is_first)


@lru_cache(maxsize=65536)
def _globs_meet(one: Glob, other: Glob, is_first: bool) -> bool:
    if one.tail is not None and other.tail is not None:
        # Between the longer head and the longer tail each `*` takes in what the other pattern asks
        # for, however much that is: nothing but heads and tails can disagree.
        return _pairs_meet(one.head, other.head) and _pairs_meet(one.tail, other.tail)
    if one.tail is not None:
        one, other = other, one
    if not _fits(other.tokens, one.head):
        return False
    barred = [
        name
        for name in _barred(is_first=is_first)
        if len(name) == len(one.head) and is_named(one, name) and is_named(other, name)
    ]
    return not barred or _meet_unbarred(one.head, other.tokens, barred)


def _meet_unbarred(
    fixed: tuple[Ranges, ...], tokens: tuple[Ranges | None, ...], barred: list[str]
) -> bool:
    """Return whether both match some name that is not barred; `fixed` has no `*` and is short."""
    states: set[tuple[int, str | None]] = {(0, "")}
    for ranges in fixed:
        following: set[tuple[int, str | None]] = set()
        for position, spelled in _past_stars(states, tokens):
            if position == len(tokens):
                continue
            token = tokens[position]
            common = ranges if token is STAR else _common(ranges, token)
            after = position if token is STAR else position + 1
            # Keep the spelling only while it may still become a barred name.
            risky = {
                name[len(spelled)]
                for name in barred
                if spelled is not None and name.startswith(spelled)
            }
            following |= {
                (after, (spelled or "") + char)
                for char in risky
                if any(low <= ord(char) <= high for low, high in common)
            }
            if sum(high - low + 1 for low, high in common) > sum(
                any(low <= ord(char) <= high for low, high in common) for char in risky
            ):
                following.add((after, None))
        states = following
    return any(
        position == len(tokens) and (spelled is None or spelled not in barred)
        for position, spelled in _past_stars(states, tokens)
    )


def _past_stars(
    states: set[tuple[int, str | None]], tokens: tuple[Ranges | None, ...]
) -> set[tuple[int, str | None]]:
    """Return the states, and those reached by matching a `*` with nothing more."""
    return states | {
        (position + 1, spelled)
        for position, spelled in states
        if position < len(tokens) and tokens[position] is STAR
    }


def _fits(tokens: tuple[Ranges | None, ...], fixed: tuple[Ranges, ...]) -> bool:
    """Return whether `tokens` match some name drawn from `fixed`, one set of characters a position.

    Backtracks one step: if the rest fails, the last `*` takes one more position.
    """
    at = position = 0
    star, resume = -1, 0
    while position < len(fixed):
        token = tokens[at] if at < len(tokens) else ()
        if token is STAR:
            star, resume = at, position
            at += 1
        elif _common(token, fixed[position]):
            at += 1
            position += 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(token is STAR for token in tokens[at:])


def _pairs_meet(one: tuple[Ranges, ...], other: tuple[Ranges, ...]) -> bool:
    return all(_common(first, second) for first, second in zip(one, other, strict=False))


@lru_cache(maxsize=65536)
def _common(one: Ranges, other: Ranges) -> Ranges:
    return tuple(
        (max(low, start), min(high, end))
        for low, high in one
        for start, end in other
        if low <= end and start <= high
    )


def _barred(*, is_first: bool) -> frozenset[str]:
    return _NO_NAMES | RESERVED if is_first else _NO_NAMES


@lru_cache(maxsize=4096)
def _one(char: str) -> Ranges:
    return ((ord(char), ord(char)),)


def _segment(tokens: tuple[Ranges | None, ...]) -> Segment:
    first = tokens.index(STAR) if STAR in tokens else len(tokens)
    head = tuple(token for token in tokens[:first] if token is not STAR)
    prefix = _plain(head)
    if len(prefix) == len(tokens):
        return prefix
    backwards = tokens[::-1]
    last = backwards.index(STAR) if STAR in tokens else len(tokens)
    tail = tuple(token for token in backwards[:last] if token is not STAR)
    return Glob(tokens, prefix, _plain(tail)[::-1], head, tail if STAR in tokens else None)


def _plain(sets: tuple[Ranges, ...]) -> str:
    chars = []
    for ranges in sets:
        if len(ranges) != 1 or ranges[0][0] != ranges[0][1]:
            break
        chars.append(chr(ranges[0][0]))
    return "".join(chars)


def _class(text: str, at: int) -> tuple[Ranges, int]:
    """Return the characters of a `[…]` whose bracket opens just before `at`, and the position after it."""
    negated = text.startswith("!", at)
    if text.startswith("^", at):
        raise ValueError(f"`[^` in `{text}` is ambiguous; write `[!` to negate")
    at += negated
    chosen: list[tuple[int, int]] = []
    is_start = True
    while at < len(text) and (text[at] != "]" or is_start):
        if text.startswith(("[:", "[.", "[="), at):
            raise ValueError(
                f"character classes are not supported in `{text}`; write a range such as `[a-z]`"
            )
        low, at = _member(text, at)
        high = low
        if text.startswith("-", at) and at + 1 < len(text) and text[at + 1] != "]":
            high, at = _member(text, at + 1)
        if high < low:
            raise ValueError(
                f"range `{chr(low)}-{chr(high)}` in `{text}` is reversed; write `{chr(high)}-{chr(low)}`"
            )
        chosen.append((low, high))
        is_start = False
    if at >= len(text):
        raise ValueError(f"unclosed `[` in `{text}`; add `]`, or write `[[]` for a literal bracket")
    ranges = _common(_complement(chosen), ANYTHING) if negated else _union(chosen)
    if not ranges:
        raise ValueError(f"`[…]` in `{text}` matches no character; add one")
    return ranges, at + 1


def _member(text: str, at: int) -> tuple[int, int]:
    at += text[at] == "\\" and at + 1 < len(text)
    return ord(text[at]), at + 1


def _union(chosen: list[tuple[int, int]]) -> Ranges:
    """Return ascending, disjoint ranges within ANYTHING."""
    return _common(_complement(list(_complement(chosen))), ANYTHING)


def _complement(chosen: list[tuple[int, int]]) -> Ranges:
    gaps: list[tuple[int, int]] = []
    free = 0
    for low, high in sorted(chosen):
        if low > free:
            gaps.append((free, low - 1))
        free = max(free, high + 1)
    return tuple([*gaps, (free, 0x10FFFF)] if free <= 0x10FFFF else gaps)
