"""Options of a new run in addition to its workflow and inputs: its name, its tags, and the steps to run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from pixirnb.errors import InvalidArguments
from pixirnb.history.events import RunStarted
from pixirnb.ids import is_run_id
from pixirnb.runners.output.mask import mask_here
from pixirnb.spec.steps import Step
from pixirnb.spec.workflow import Workflow

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=/-]{0,63}")
_TAGS: Final = 32
"""Maximum number of tags of a run."""


class StartOptions(Struct, frozen=True):
    """The name and tags of a new run, and the steps that it is to run."""

    name: str | None = None
    tags: Sequence[str] = ()
    targets: Sequence[str] = ()
    """Run only these steps and those that they need; empty: all."""

    def record(self, begun: RunStarted, workflow: Workflow) -> None:
        """Add the optional keys of `run_started`. Raises InvalidArguments."""
        if self.name is not None:
            begun["name"] = checked_name(self.name)
        if self.tags:
            begun["tags"] = checked_tags(self.tags)
        if left_out := not_selected(workflow.steps, self.targets):
            begun["not_selected"] = left_out


def not_selected(steps: Sequence[Step], targets: Sequence[str]) -> list[str]:
    """Return the steps that neither are targets nor are needed by one; none without targets.

    Raises InvalidArguments (`unknown_step`).
    """
    if isinstance(targets, str):
        raise InvalidArguments(
            f"targets must be a list, got {targets!r:.80}", fix=f"write targets=[{targets!r:.80}]"
        )
    known = {step.id: step for step in steps}
    for target in targets:
        if target not in known:
            raise InvalidArguments(
                f"unknown step `{target}`",
                fix=f"use one of: {', '.join(list(known)[:6])}",
                code="unknown_step",
            )
    needed: set[str] = set()
    pending = list(targets)
    while pending:
        name = pending.pop()
        if name in known and name not in needed:
            needed.add(name)
            pending.extend(known[name].depends_on)
    return [name for name in known if name not in needed] if targets else []


def checked_name(name: object) -> str:
    """Return the name of a run. Raises InvalidArguments (`bad_name`)."""
    _require_public("name", name)
    if not isinstance(name, str) or _NAME.fullmatch(name) is None or is_run_id(name):
        raise InvalidArguments(
            f"invalid run name {name!r:.80}",
            fix="use 1 to 64 letters, digits, `.`, `_` and `-`, and begin with a letter or digit",
            code="bad_name",
        )
    return name


def checked_tags(tags: Sequence[object]) -> list[str]:
    """Return the tags of a run without repetitions. Raises InvalidArguments (`bad_name`)."""
    if isinstance(tags, str):
        raise InvalidArguments(
            f"tags must be a list, got {tags!r:.80}",
            fix=f"write tags=[{tags!r:.80}]",
            code="bad_name",
        )
    unique: dict[str, None] = {}
    for tag in tags:
        _require_public("tag", tag)
        if not isinstance(tag, str) or _TAG.fullmatch(tag) is None:
            raise InvalidArguments(
                f"invalid tag {tag!r:.80}",
                fix="use 1 to 64 letters, digits and `. _ : = / -`, and begin with a letter or digit",
                code="bad_name",
            )
        unique[tag] = None
    if len(unique) > _TAGS:
        raise InvalidArguments(
            f"{len(unique)} tags exceed the limit of {_TAGS}",
            fix="remove some",
            code="limit_exceeded",
        )
    return list(unique)


def _require_public(what: str, text: object) -> None:
    """Raise InvalidArguments, without the text, where it holds a secret of this process: names stand in logs and lists."""
    if isinstance(text, str) and mask_here({}).text(text) != text:
        raise InvalidArguments(
            f"the {what} of a run contains the value of a secret environment variable",
            fix=f"use another {what}",
            code="bad_name",
        )
