"""Labels of boxes: how wide words are, and names cut so that they still tell steps apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

BOLD: Final = 13.7
"""Size at which the width of a bold 12 px name is reckoned, in the widest usual font (DejaVu Sans)."""
_NARROW_LETTERS: Final = frozenset("iljtfr.,:;|!'-()[] I")
_WIDE_LETTERS: Final = frozenset("mwMW@%<>=+~жмфшщыюЖМФШЩЫЮ")


def length(words: str, size: float) -> float:
    """Return about how wide `words` is in a proportional font of `size` pixels."""
    total = 0.0
    for letter in words:
        if letter in _NARROW_LETTERS:
            total += 0.37
        elif letter in _WIDE_LETTERS:
            total += 0.95
        elif ord(letter) > 0x10FF:
            total += 1.05 if ord(letter) < 0x1F000 else 1.4
        else:
            total += 0.68 if letter.isupper() else 0.61
    return total * size


def fit(words: str, room: float, size: float) -> str:
    """Return `words`, cut at the end where they are wider than `room`."""
    if length(words, size) <= room:
        return words
    return _head(words, room - length("…", size), size) + "…"


def tell_apart(names: Sequence[str], rooms: Sequence[float]) -> list[str]:
    """Return names cut to the room each has: at the end, or in the middle or at both ends where labels would be equal."""
    shared = _shared(names)
    labels = [fit(name, room, BOLD) for name, room in zip(names, rooms, strict=True)]
    for cut in (fit_middle, _fit_difference):
        seen = Counter(labels)
        labels = [
            cut(name, shared[name], room) if seen[label] > 1 else label
            for name, room, label in zip(names, rooms, labels, strict=True)
        ]
    return labels


def shared_letters(a: str, b: str) -> int:
    """Return how many first letters two names have in common."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (x, y) in pairs if x != y), min(len(a), len(b)))


def _shared(names: Sequence[str]) -> dict[str, int]:
    """Return how many first letters each name has in common with the one most like it."""
    ordered = sorted(set(names))
    shared = dict.fromkeys(ordered, 0)
    for a, b in pairwise(ordered):
        same = shared_letters(a, b)
        shared[a], shared[b] = max(shared[a], same), same
    return shared


def fit_middle(name: str, shared: int, room: float) -> str:
    """Cut in the middle. The end begins with a word and has what is different; without room for both it has half of it."""
    if length(name, BOLD) <= room:
        return name
    room -= length("…", BOLD)
    half = len(name) - len(_head(name[::-1], room / 2, BOLD))
    words = [at for at, letter in enumerate(name) if letter in "-_."]
    begins = [at for at in words if at <= shared and length(name[at:], BOLD) <= room * 0.7]
    end = min((at for at in begins if at >= half), default=max(begins, default=half))
    return f"{_head(name, room - length(name[end:], BOLD), BOLD)}…{name[end:]}"


def _fit_difference(name: str, shared: int, room: float) -> str:
    """Cut at both ends: what is shown begins with what is different."""
    if shared < 2 or length(name, BOLD) <= room:
        return fit(name, room, BOLD)
    return "…" + fit(name[shared - 1 :], room - length("…", BOLD), BOLD)


def _head(words: str, room: float, size: float) -> str:
    while words and length(words, size) > room:
        words = words[:-1]
    return words
