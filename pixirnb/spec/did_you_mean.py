"""Suggestions: the known name nearest to an unknown one. Only called for errors, so it may be slow."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that `word` most likely means, or None: for `dependsOn` it is `depends_on`."""
    names = list(known)
    by_shape = {shape(name): name for name in reversed(names)}
    form = shape(word)
    if form in by_shape:
        return by_shape[form]
    # Comparing with everything would take minutes in a workflow of 100,000 steps.
    some = list(by_shape)[:20_000]
    close = difflib.get_close_matches(form, some, n=1, cutoff=0.72)
    close = close or [name for name in some if len(name) > 2 and _is_one_slip(form, name)]
    return by_shape[close[0]] if close else None


def _is_one_slip(form: str, name: str) -> bool:
    """Return whether letters are swapped or one is wrong: in a short word that leaves too little similarity."""
    if len(form) != len(name):
        return False
    return sorted(form) == sorted(name) or sum(map(str.__ne__, form, name)) == 1


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str) -> str:
    """Return the fix for an unknown name: the nearest known name, else `otherwise`."""
    name = nearest(word, known)
    return f"did you mean `{name}`?" if name is not None else otherwise


def shape(name: str) -> str:
    """Return a name without case, `_` and `-`: names of one shape are taken for each other."""
    return name.replace("_", "").replace("-", "").lower()
