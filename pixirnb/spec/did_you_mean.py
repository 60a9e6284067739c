"""Did you mean: the nearest known name to one nobody knows. Called only for errors, so it may take its time."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that `word` most likely stands for, or None. `dependsOn` finds `depends_on`."""
    names = list(known)
    by_shape = {_shape(name): name for name in reversed(names)}
    shape = _shape(word)
    if shape in by_shape:
        return by_shape[shape]
    # Comparing with everything would take minutes in a workflow of 100,000 steps.
    some = list(by_shape)[:20_000]
    close = difflib.get_close_matches(shape, some, n=1, cutoff=0.7)
    # Of a short word two letters that changed places leave too little alike: `sya`.
    close = close or [name for name in some if len(name) > 2 and sorted(name) == sorted(shape)]
    return by_shape[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str) -> str:
    """The fix for an unknown name: the nearest one, else `otherwise`."""
    name = nearest(word, known)
    return f"did you mean `{name}`?" if name is not None else otherwise


def _shape(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
