"""Whether two globs claim a path in common, found by walking both as automata at once.

A pattern is read into segments, a segment into sets of characters. Two segments meet where some name takes both to their end;
two patterns meet where some path does, and a pattern's end goes on for ever, since it claims all below what it matches.
Characters are tried by representatives: one of each interval that the classes of both patterns cut out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

Letters = tuple[tuple[tuple[int, int], ...], bool]
"""Ranges of code points, and whether everything but those is meant."""
Letter = Letters | None
"""None is `*`: any number of any characters."""
Segment = tuple[Letter, ...] | None
"""None is `**`: any number of segments."""
Globs = tuple[str | None, tuple[tuple[Segment, ...], ...]]
"""The repository (None: the workspace), and the pattern once for each choice of its braces."""

_ANY: Final[Letters] = (((47, 47), (0, 0)), True)
_HIDDEN: Final = frozenset({".git", ".pixirnb"})
"""At the top of a workspace or a repository these are in no set."""
_UNNAMED: Final = frozenset({".", ".."})


@lru_cache(maxsize=65536)
def meet(one: str, other: str) -> bool:
    """Whether some path is claimed by both patterns. Symmetric."""
    if one > other:
        return meet(other, one)
    first, second = read(one), read(other)
    return first[0] == second[0] and any(
        _paths_meet(mine, theirs) for mine in first[1] for theirs in second[1]
    )


def covers(pattern: str, path: str) -> bool:
    """Whether a pattern claims a file. The path is taken letter by letter: nothing in it is a sign."""
    claimed, named = read(pattern), _named(path)
    if claimed[0] != named[0]:
        return False
    return any(_covered(segments, named[1]) for segments in claimed[1])


def _named(path: str) -> tuple[str | None, tuple[Segment, ...]]:
    repo: str | None = None
    if path.startswith("repos.") and ":" in path:
        repo, path = path[6:].split(":", 1)
    words = [word for word in path.split("/") if word not in {"", "."}]
    return repo, tuple(tuple((((ord(c), ord(c)),), False) for c in word) for word in words)


def _covered(pattern: tuple[Segment, ...], names: tuple[Segment, ...]) -> bool:
    pending, seen = [(0, 0)], {(0, 0)}
    while pending:
        at, place = pending.pop()
        if at == len(pattern) and (place or not pattern):
            return True
        moves: list[tuple[int, int]] = []
        if at < len(pattern) and pattern[at] is None:
            moves.append((at + 1, place))
        is_within = at < len(pattern) and place < len(names)
        if is_within and segments_meet(pattern[at], names[place], place == 0):
            moves.append((at + (pattern[at] is not None), place + 1))
        for each in moves:
            if each not in seen:
                seen.add(each)
                pending.append(each)
    return False


@lru_cache(maxsize=8192)
def read(pattern: str) -> Globs:
    """The pattern as segments."""
    repo: str | None = None
    if pattern.startswith("repos.") and ":" in pattern:
        repo, pattern = pattern[6:].split(":", 1)
    return repo, tuple({_segments(spelled): None for spelled in _spelled(pattern)})


def _segments(pattern: str) -> tuple[Segment, ...]:
    words = [word for word in pattern.split("/") if word not in {"", "."}]
    return tuple(None if word == "**" else _letters(word) for word in words)


def _letters(word: str) -> tuple[Letter, ...]:
    letters: list[Letter] = []
    at = 0
    while at < len(word):
        char = word[at]
        end = _class_end(word, at) if char == "[" else at
        if char == "*":
            letters.append(None)
        elif char == "?":
            letters.append(_ANY)
        elif end > at:
            letters.append(_class(word[at + 1 : end]))
            at = end
        else:
            at += char == "\\" and at + 1 < len(word)
            letters.append((((ord(word[at]), ord(word[at])),), False))
        at += 1
    return tuple(letters)


def _class_end(word: str, at: int) -> int:
    """Place of the bracket that closes the class opened at `at`; `at` where none does."""
    place = at + 1 + word.startswith("!", at + 1)
    place += word.startswith("]", place)
    while place < len(word) and word[place] != "]":
        place += 2 if word[place] == "\\" else 1
    return place if place < len(word) else at


def _class(inside: str) -> Letters:
    is_negated = inside.startswith("!")
    chars: list[tuple[str, bool]] = []
    at = int(is_negated)
    while at < len(inside):
        is_plain = inside[at] == "\\" and at + 1 < len(inside)
        at += is_plain
        chars.append((inside[at], is_plain))
        at += 1
    ranges: list[tuple[int, int]] = []
    place = 0
    while place < len(chars):
        low = ord(chars[place][0])
        if place + 2 < len(chars) and chars[place + 1] == ("-", False):
            ranges.append((low, ord(chars[place + 2][0])))
            place += 3
        else:
            ranges.append((low, low))
            place += 1
    if is_negated:
        return (*ranges, (47, 47), (0, 0)), True
    return tuple(ranges), False


def _spelled(pattern: str) -> Iterator[str]:
    """Every pattern that the braces spell."""
    at = 0
    while at < len(pattern) and pattern[at] != "{":
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            at = _within(pattern, at)
        at += 1
    if at >= len(pattern):
        yield pattern
        return
    choices, end = _choices(pattern, at)
    for choice in choices:
        for rest in _spelled(choice + pattern[end:]):
            yield pattern[:at] + rest


def _within(pattern: str, at: int) -> int:
    """As `_class_end`, where a slash ends the segment."""
    slash = pattern.find("/", at)
    return _class_end(pattern if slash < 0 else pattern[:slash], at)


def _choices(pattern: str, at: int) -> tuple[list[str], int]:
    """What stands between the commas of the brace opened at `at`, and the place behind it."""
    choices, depth, start, place = [], 0, at + 1, at
    while place < len(pattern):
        char = pattern[place]
        if char == "\\":
            place += 1
        elif char == "[":
            place = _within(pattern, place)
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        if (char == "," and depth == 1) or (char == "}" and depth == 0):
            choices.append(pattern[start:place])
            start = place + 1
            if char == "}":
                return choices, start
        place += 1
    return [pattern[at + 1 :]], len(pattern)


def _paths_meet(one: tuple[Segment, ...], other: tuple[Segment, ...]) -> bool:
    pending, seen = [(0, 0, True)], {(0, 0, True)}
    while pending:
        mine, theirs, is_first = pending.pop()
        if mine == len(one) and theirs == len(other):
            return True
        for after in _path_moves(one, other, mine, theirs, is_first=is_first):
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return False


def _path_moves(
    one: tuple[Segment, ...], other: tuple[Segment, ...], mine: int, theirs: int, *, is_first: bool
) -> Iterator[tuple[int, int, bool]]:
    """Where both stand after one more name, or after `**` was left behind."""
    is_mine_free = mine == len(one) or one[mine] is None
    is_theirs_free = theirs == len(other) or other[theirs] is None
    if mine < len(one) and one[mine] is None:
        yield mine + 1, theirs, is_first
    if theirs < len(other) and other[theirs] is None:
        yield mine, theirs + 1, is_first
    first = None if is_mine_free else one[mine]
    second = None if is_theirs_free else other[theirs]
    if segments_meet(first, second, is_first):
        yield mine + (not is_mine_free), theirs + (not is_theirs_free), False


@lru_cache(maxsize=65536)
def segments_meet(one: Segment, other: Segment, is_first: bool) -> bool:
    """Whether some name fits both; None fits any. As the first of a path, some names are hidden."""
    first = (None,) if one is None else one
    second = (None,) if other is None else other
    barred = _UNNAMED | _HIDDEN if is_first else _UNNAMED
    letters = _representatives(first, second, barred)
    start = (0, 0, "")
    pending: list[tuple[int, int, str | None]] = [start]
    seen: set[tuple[int, int, str | None]] = {start}
    while pending:
        mine, theirs, so_far = pending.pop()
        is_named = so_far is None or (so_far != "" and so_far not in barred)
        if mine == len(first) and theirs == len(second) and is_named:
            return True
        for after in _letter_moves(first, second, (mine, theirs, so_far), letters, barred):
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return False


def _letter_moves(
    one: tuple[Letter, ...],
    other: tuple[Letter, ...],
    place: tuple[int, int, str | None],
    letters: list[int],
    barred: frozenset[str],
) -> Iterator[tuple[int, int, str | None]]:
    mine, theirs, so_far = place
    is_mine_star = mine < len(one) and one[mine] is None
    is_theirs_star = theirs < len(other) and other[theirs] is None
    if is_mine_star:
        yield mine + 1, theirs, so_far
    if is_theirs_star:
        yield mine, theirs + 1, so_far
    if mine == len(one) or theirs == len(other):
        return
    for letter in letters:
        if _fits(one[mine], letter) and _fits(other[theirs], letter):
            spelled = None if so_far is None else so_far + chr(letter)
            if spelled is not None and not any(name.startswith(spelled) for name in barred):
                spelled = None
            yield mine + (not is_mine_star), theirs + (not is_theirs_star), spelled


def _fits(letters: Letter, letter: int) -> bool:
    if letters is None:
        return letter != 47
    ranges, is_negated = letters
    return any(low <= letter <= high for low, high in ranges) != is_negated


def _representatives(
    one: tuple[Letter, ...], other: tuple[Letter, ...], barred: frozenset[str]
) -> list[int]:
    """One character of every interval that the classes cut out, and those of barred names; never a slash or NUL."""
    cuts = {ord(char) for name in barred for char in name}
    for letters in (*one, *other):
        if letters is not None:
            for low, high in letters[0]:
                cuts |= {low, high}
    around = {place for cut in cuts for place in (cut - 1, cut, cut + 1)} | {0xE000}
    return sorted(place for place in around if 0 < place <= 0x10FFFF and place != 47)
