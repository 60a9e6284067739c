"""Globs of read and write sets: the paths a pattern claims, and the exact test whether two patterns claim one path.

A pattern claims every path it matches and all below it. Hence two claims meet unless one of the
segments before the first `**` of either, compared pair by pair, has no name in common: a path can
always be continued downwards until it satisfies both.

Patterns read `src/*.py`, `lib/**`, `repos.cloud:src/{a,b}/[0-9]?`; a backslash escapes. What they name is relative to
the workspace, or to the repository before the colon. Different repositories never overlap here: the planner handles
two names for one folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from pixirnb.ids import is_step_id
from pixirnb.planning.globs.segment import (
    LONGEST_NAME,
    RESERVED,
    Glob,
    Segment,
    is_named,
    meet,
    names_something,
    parse_segment,
)

LONGEST: Final = 4096
"""Maximum number of characters in a pattern."""
MOST_CHOICES: Final = 1000
"""Maximum number of patterns that the `{a,b}` of one pattern expand to."""
DEEPEST: Final = 20
"""Maximum depth of braces within braces."""

REPO: Final = re.compile(r"repos\.([^/:]*):")
"""Prefix of a pattern or path that is relative to a repository."""
_WILD: Final = re.compile(r"[*?\[\\]")
_SPECIAL: Final = re.compile(r"[\\{}\[]")
_MAGIC: Final = re.compile(r"[\\*?\[\]{},]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One parsed glob; equal to another of the same spelling."""

    text: str
    """The pattern as written."""
    repo: str | None
    """Name of the repository; None for the workspace."""
    choices: tuple[tuple[Segment | None, ...], ...] = field(compare=False, repr=False)
    """The segments of each pattern its braces expand to; None is `**`."""
    prefixes: tuple[tuple[Segment, ...], ...] = field(compare=False, repr=False)
    """For each choice, the segments that decide whether it overlaps another: up to `**`, trailing `*` removed."""

    @classmethod
    def parse(cls, text: str, *, longest: int = LONGEST) -> Pattern:
        """Parse a glob. Raises ValueError with a sentence."""
        if "\0" in text:
            raise ValueError("the pattern contains a NUL character")
        if len(text) > longest:
            raise ValueError(
                f"a pattern has {len(text)} characters, more than the limit of {longest}; shorten it"
            )
        repo, glob = _repo(text)
        spelled = spellings(glob) if _SPECIAL.search(glob) else [glob]
        choices = tuple(dict.fromkeys(_segments(choice, text) for choice in spelled))
        prefixes = tuple(dict.fromkeys(map(_prefix, choices)))
        return cls(text, repo, choices, prefixes)

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def is_universal(self) -> bool:
        """Return whether it overlaps every other pattern of its repository: `**/*`, `*`, `**/x`."""
        return () in self.prefixes


def literal(path: str) -> str:
    """Return a glob that names this path and no other."""
    return _MAGIC.sub(r"\\\g<0>", path)


def overlap(one: Pattern, other: Pattern) -> bool:
    """Return whether some path is claimed by both. Exact, and symmetric."""
    return one.repo == other.repo and any(
        prefixes_meet(first, second) for first in one.prefixes for second in other.prefixes
    )


def prefixes_meet(one: tuple[Segment, ...], other: tuple[Segment, ...]) -> bool:
    """Return `overlap` for two of the `prefixes` of patterns of one repository."""
    return all(
        meet(first, second, is_first=depth == 0)
        for depth, (first, second) in enumerate(zip(one, other, strict=False))
    )


def matches(pattern: Pattern, path: str) -> bool:
    """Return whether `pattern` claims `path`, a plain relative path: `src/a.py`, `repos.cloud:src/a.py`.

    False for paths that no set contains: outside the workspace, in `.git` and `.pixirnb`.
    """
    match = REPO.match(path)
    repo, rest = (match[1], path[match.end() :]) if match else (None, path)
    names = [name for name in rest.split("/") if name not in ("", ".")]
    if repo != pattern.repo or rest.startswith("/") or not names or ".." in names:
        return False
    return names[0] not in RESERVED and any(_claims(choice, names) for choice in pattern.choices)


def _claims(choice: tuple[Segment | None, ...], names: list[str]) -> bool:
    """Return whether a choice claims a path.

    Tries all readings of `**` at once: `positions` are the possible next segments.
    """
    positions = _with_skips({0}, choice)
    for name in names:
        if len(choice) in positions:
            return True
        following = set()
        for position in positions:
            segment = choice[position]
            if segment is None:
                following.add(position)
            elif is_named(segment, name):
                following.add(position + 1)
        positions = _with_skips(following, choice)
    return len(choice) in positions


def _with_skips(positions: set[int], choice: tuple[Segment | None, ...]) -> set[int]:
    return positions | {
        position + 1
        for position in positions
        if position < len(choice) and choice[position] is None
    }


def _repo(text: str) -> tuple[str | None, str]:
    match = REPO.match(text)
    if match is None:
        return None, text
    if not is_step_id(match[1]):
        raise ValueError(f"`{text}` names no repository; write `repos.NAME:glob`")
    return match[1], text[match.end() :]


def _segments(glob: str, text: str) -> tuple[Segment | None, ...]:
    if glob.startswith("/"):
        raise ValueError(
            f"`{text}` is absolute; write it relative to the workspace or a repository"
        )
    segments: list[Segment | None] = []
    for word in glob.split("/"):
        if word in ("", "."):
            continue
        if word == "..":
            raise ValueError(
                f"`{text}` leads out of its folder with `..`; name that folder under `repos` and write `repos.NAME:…`"
            )
        if len(word) <= LONGEST_NAME and _WILD.search(word) is None:
            if not segments and word in RESERVED:
                raise ValueError(f"`{text}` reaches into {word}, which no step may claim")
            segments.append(word)
        elif word != "**":
            segment = parse_segment(word)
            if not names_something(segment, is_first=not segments):
                raise ValueError(f"`{text}` matches nothing that may be claimed")
            segments.append(segment)
        elif not segments or segments[-1] is not None:
            segments.append(None)
    if not segments:
        raise ValueError(f"`{text}` is empty; write `**/*` for everything")
    return tuple(segments)


def _prefix(segments: tuple[Segment | None, ...]) -> tuple[Segment, ...]:
    decisive: list[Segment] = []
    for segment in segments:
        if segment is None:
            break
        decisive.append(segment)
    # `a/*` and all below meets the same patterns as `a` and all below.
    while decisive and isinstance(decisive[-1], Glob) and decisive[-1].is_anything:
        decisive.pop()
    return tuple(decisive)


# --- braces ---


def spellings(glob: str) -> list[str]:
    """Return every pattern that the braces of `glob` expand to, in order. Raises ValueError past MOST_CHOICES."""
    spelled, end = _sequence(glob, 0, 0)
    if end < len(glob):
        raise ValueError(f"unmatched `}}` in `{glob}`; write `[}}]` for a literal brace")
    return spelled


def _sequence(glob: str, at: int, depth: int) -> tuple[list[str], int]:
    """Expand from `at` to the end, or to the `,` or `}` that ends a choice inside braces."""
    if depth > DEEPEST:
        raise ValueError(f"braces in `{glob[:40]}…` nest deeper than {DEEPEST}; flatten them")
    spelled = [""]
    while at < len(glob):
        char = glob[at]
        if char == "}" or (char == "," and depth):
            break
        if char == "{":
            choices, at = _choices(glob, at + 1, depth + 1)
            if len(spelled) * len(choices) > MOST_CHOICES:
                raise ValueError(
                    f"`{glob[:40]}` expands to more than {MOST_CHOICES} patterns; use fewer choices"
                )
            spelled = [start + choice for start in spelled for choice in choices]
            continue
        end = _plain_end(glob, at, char)
        spelled = [start + glob[at:end] for start in spelled]
        at = end
    return spelled, at


def _choices(glob: str, at: int, depth: int) -> tuple[list[str], int]:
    choices: list[str] = []
    parts = 0
    while True:
        spelled, at = _sequence(glob, at, depth)
        choices += spelled
        parts += 1
        if len(choices) > MOST_CHOICES:
            raise ValueError(
                f"`{glob[:40]}` expands to more than {MOST_CHOICES} patterns; use fewer choices"
            )
        if at >= len(glob):
            raise ValueError(
                f"unclosed `{{` in `{glob}`; add `}}`, or write `[{{]` for a literal brace"
            )
        at += 1
        if glob[at - 1] == "}":
            break
    if parts == 1:
        raise ValueError(
            f"braces without choices in `{glob}`; write `{{a,b}}`, or `[{{]` for a literal brace"
        )
    return choices, at


def _plain_end(glob: str, at: int, char: str) -> int:
    """Return the position after the character, escape or `[…]` at `at`: braces and commas in those are characters."""
    if char == "\\":
        return min(at + 2, len(glob))
    if char != "[":
        return at + 1
    position = at + 1 + glob.startswith("!", at + 1)
    position += glob.startswith("]", position)
    while position < len(glob) and glob[position] not in "]/":
        position += 2 if glob[position] == "\\" else 1
    return min(position + 1, len(glob)) if glob[position : position + 1] == "]" else at + 1
