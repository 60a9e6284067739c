"""The side of a conflict that counts: which sides a person may name, for all files, for one, or hunk by hunk.

Pure. Source: contract.md §8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pixirnb.errors import InvalidArguments
from pixirnb.history.conflict_hunks import HunkChoice, is_hunk_choice
from pixirnb.history.file_events import MergeConflicted
from pixirnb.history.file_state import paths_of
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.wording import join_names

MINE = "workspace"
"""The side of a conflict that is the user's own files."""

_NAMED: Final = 8
Sides = str | Mapping[str, str | HunkChoice] | None
"""The side that counts for files in conflict: for all of them, or by path, there also by hunk."""


def require_sides(value: Any, state: StepState, run: RunState) -> None:
    """Raise InvalidArguments for a name that is no side of the conflict, or a file that is not in it or that the side did not
    change.

    None: the files as the person has made them.
    """
    clash = state.clash
    names = {MINE} if clash is None else {MINE, *clash["between"], *clash["steps"]}
    if not are_sides(value, names):
        raise no_side(value, names)
    if isinstance(value, Mapping):
        _require_in_conflict(value, clash)
    if clash is None:
        return
    if isinstance(value, Mapping):
        for path, side in value.items():
            if isinstance(side, Mapping):
                if not is_hunk_choice(side, clash["between"]):
                    raise no_side({path: side}, {*clash["between"]})
                _require_same(path, side["of"], clash)
            else:
                _require_changed(side, [path], clash, run)
    elif value:
        named = [file["path"] for file in clash["files"]]
        if len(named) == clash["count"]:
            _require_changed(value, named, clash, run)


def _require_changed(
    side: str, paths: Sequence[str], clash: MergeConflicted, run: RunState
) -> None:
    """Raise InvalidArguments for a step that left all of these files as they were: it has no side to take."""
    known = [*clash["between"], *clash["steps"]]
    possible = [n for n in known if n in clash["between"] or not _left_alone(n, paths, run)]
    if side in {MINE, *possible}:
        return
    shown = ", ".join(f"`{path:.200}`" for path in paths[:_NAMED])
    listed = "".join(f", `{name}`" for name in dict.fromkeys(possible) if name != MINE)
    raise InvalidArguments(
        f"`{side}` did not change {shown}",
        fix=f"use `{MINE}` (your files){listed}",
        code="not_a_side",
    )


def _require_same(path: str, of: str, clash: MergeConflicted) -> None:
    """Raise InvalidArguments if hunks were chosen in another conflict of the file than the present one."""
    marked = next((file.get("marked") for file in clash["files"] if file["path"] == path), None)
    if marked != of:
        raise InvalidArguments(
            f"the conflict in `{path:.200}` changed: its hunks were chosen in another text",
            fix="show the conflict again and choose again, or choose one version for the file",
            code="conflict_changed",
        )


def _left_alone(step: str, paths: Sequence[str], run: RunState) -> bool:
    """Return whether a step is known to have changed none of these files."""
    captured = run.steps[step].captured if step in run.steps else None
    if captured is None or captured["changes"]["more"] is not None:
        return False
    return not paths_of(captured) & set(paths)


def _require_in_conflict(paths: Iterable[str], clash: MergeConflicted | None) -> None:
    """Raise InvalidArguments for files that are not in conflict. Files that were solved before may be named again."""
    named = [] if clash is None else [file["path"] for file in clash["files"]]
    if clash is not None and clash["count"] > len(named):
        return  # the log names the first files of so many: nobody can say which are not among the rest
    solved = () if clash is None else clash.get("solved") or ()
    known = {*named, *(file["path"] for file in solved)}
    strange = next((path for path in paths if path not in known), None)
    if strange is None:
        return
    shown = join_names(named, _NAMED, "`{:.200}`".format, group=",")
    raise InvalidArguments(
        f"`{strange:.200}` has no conflict",
        fix=f"choose versions only for files in conflict: {shown}",
        code="not_in_conflict",
    )


def are_sides(value: Any, names: set[str]) -> bool:
    """Return whether a value is empty, a side, or a choice by path, between sides of these names."""
    if value is None or value in ("", {}):
        return True
    if isinstance(value, Mapping):
        return all(_is_side(side, names) for side in value.values())
    return isinstance(value, str) and value in names


def _is_side(value: Any, names: set[str]) -> bool:
    return value in names if isinstance(value, str) else is_hunk_choice(value, names)


def no_side(value: Any, names: set[str]) -> InvalidArguments:
    """Return the error for a value that is not such a side."""
    wrong: list[tuple[Any, Any]] = [(None, value)]
    if isinstance(value, Mapping):
        wrong = [(path, side) for path, side in value.items() if not _is_side(side, names)]
    path, side = wrong[0]
    of = "" if path is None else f" for `{path}`"
    shown = f" `{side}`" if isinstance(side, str) else ""
    listed = "".join(f", `{name}`" for name in sorted(names - {MINE}))
    return InvalidArguments(
        f"unknown version{shown:.200}{of:.200}",
        fix=f"use `{MINE}` (your files){listed}; "
        'for one file {"PATH": "VERSION"}, or --side PATH=VERSION of merge',
        code="not_a_side",
    )
