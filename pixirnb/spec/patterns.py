"""Regular expressions in a spec."""

from __future__ import annotations

import re


def pattern_flaw(text: str) -> tuple[str, str] | None:
    """Return why `text` is not a usable regular expression, as message and fix; None if it is."""
    try:
        re.compile(text)
    except re.error as wrong:
        return f"not a regular expression: {wrong}", "escape what is meant literally"
    except OverflowError:
        return "not a regular expression: a repetition beyond all measure", "repeat fewer times"
    except RecursionError:
        return "not a regular expression: it nests too deep", "use fewer groups inside each other"
    return None
