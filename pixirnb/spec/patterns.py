"""Regular expressions as a spec may hold them."""

from __future__ import annotations

import re


def pattern_flaw(text: str) -> tuple[str, str] | None:
    """Why `text` is no regular expression that can be tried, as message and fix; None where it is one."""
    try:
        re.compile(text)
    except re.error as wrong:
        return f"not a regular expression: {wrong}", "escape what is meant literally"
    except OverflowError:
        return "not a regular expression: a repetition beyond all measure", "repeat fewer times"
    except RecursionError:
        return "not a regular expression: it nests too deep", "use fewer groups inside each other"
    return None
