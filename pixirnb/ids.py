"""Identifiers: which strings are valid, and how a run's id is built.

Ids become file names, HTML text and shell environment tags, so valid characters are listed, not escaped.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

STEP_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Name of a step, workflow, agent, phase, repo or input. `@` and `.` are for items and attempts."""

_ITEM_ID: Final = re.compile(STEP_ID.pattern + r"@[0-9]{1,9}")

NAME_RULE: Final = "a-z, A-Z, 0-9, `-` and `_`, at most 64, beginning with a letter or digit"
"""`STEP_ID` in words."""

RUN_ID: Final = re.compile(r"r-[0-9]{8}-[0-9]{6}-[0-9a-z]{6}")
"""Run ids, which sort by time: `r-20261121-220344-7f3akq`."""

LAST: Final = "@last"
"""Name of the newest run."""
STANDARD_INPUT: Final = "/dev/stdin"
"""Name of a workflow that is read from standard input."""

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"


def digest_of(data: bytes) -> str:
    """Return the name of a blob: `b2:` and 64 hex digits."""
    return "b2:" + blake2b(data, digest_size=32).hexdigest()


def is_step_id(text: str) -> bool:
    """Return whether `text` may name a step (or agent, phase, repo, input, workflow)."""
    return STEP_ID.fullmatch(text) is not None


def is_run_id(text: str) -> bool:
    """Return whether `text` has the shape of a run id; the run need not exist."""
    return RUN_ID.fullmatch(text) is not None


def is_attempt_name(text: str) -> bool:
    """Return whether `text` has the shape of an attempt's name, `make.2`; sessions are named so."""
    step, dot, number = text.rpartition(".")
    is_step = is_step_id(step) or _ITEM_ID.fullmatch(step) is not None
    return bool(dot) and is_step and number.isascii() and number.isdigit()


def item_id(step: str, number: int) -> str:
    """Return the id of an item's step: `resize@3`."""
    return f"{step}@{number}"


def run_id(stamp: str, entropy: bytes) -> str:
    """Build a run id from a `YYYYmmddHHMMSS[ffffff]` UTC stamp and at least 3 random bytes.

    Half of its tail is the fraction of the second, so that ids sort by time with a resolution of 1/32,768 s.
    """
    fraction = int(stamp[14:20].ljust(6, "0")) * 32**3 // 1_000_000
    digits = [fraction // 1024, fraction // 32, fraction, *entropy[:3]]
    tail = "".join(_ALPHABET[digit % 32] for digit in digits)
    return f"r-{stamp[:8]}-{stamp[8:14]}-{tail}"


def attempt_name(step: str, attempt: int) -> str:
    """Return the name of one attempt, unique in a run: `make.2`. Output logs and child sessions are named so."""
    return f"{step}.{attempt}"


def attempt_tag(run_id: str, step: str, attempt: int) -> str:
    """Return the tag of every process of an attempt: `r-…/make.2`."""
    return f"{run_id}/{attempt_name(step, attempt)}"
