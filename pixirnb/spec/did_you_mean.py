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
    close = difflib.get_close_matches(form, some, n=1, cutoff=0.7)
    # In a short word two swapped letters leave too little similarity: `sya`.
    close = close or [name for name in some if len(name) > 2 and sorted(name) == sorted(form)]
    return by_shape[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str) -> str:
    """Return the fix for an unknown name: the nearest known name, else `otherwise`."""
    name = nearest(word, known)
    return f"did you mean `{name}`?" if name is not None else otherwise


def shape(name: str) -> str:
    """Return a name without case, `_` and `-`: names of one shape are taken for each other."""
    return name.replace("_", "").replace("-", "").lower()
