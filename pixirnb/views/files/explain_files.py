"""Sentences of `explain` about a step's files: its copy, its changes there, their merges, and its seams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pixirnb.history.file_state import undone_merge
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.planning.plan import PlannedStep
from pixirnb.views.basics.sanitize import line, quote_names, spell_out
from pixirnb.views.files.changes import changes_phrase
from pixirnb.views.files.conflicts import clash_sentence, is_clashing
from pixirnb.views.files.seams import open_first, seam_phrase
from pixirnb.wording import join_names

_LISTED: Final = 6
_PATH: Final = 120


def waits_for_files(step: PlannedStep, run: RunState, state: StepState) -> str:
    """Return why a step that waits for a person does, where that is about files; else empty."""
    if state.clash is not None and is_clashing(state):
        clash, name = state.clash, line(step.id, 64)
        sentence = clash_sentence(clash["between"], clash["files"], clash["count"])
        if clash["count"] != 1:
            files = _paths([file["path"] for file in clash["files"]], clash["count"])
            sentence = f"{sentence.removesuffix('.')}: {files}."
        return (
            f"a merge conflict to be resolved. {sentence} Resolve it in your files and run"
            f" `decide {run.run_id} {name} accept`, or choose a version with `--value <VERSION>`."
            f" `merge {run.run_id} --preview` shows the conflict"
        )
    return ""


def file_sentences(step: PlannedStep, run: RunState, state: StepState) -> list[str]:
    """Return sentences about files; none of a step that has to do with no copies, merges or seams."""
    sentences = [
        _left(state),
        _given(state),
        _outside(state),
        _brought(state),
        _undone(step, run, state),
    ]
    return [sentence for sentence in sentences if sentence] + _seams(step, run)


def _left(state: StepState) -> str:
    captured = state.captured
    if captured is None:
        return ""
    changes = captured["changes"]
    if not changes["count"]:
        return "It ran in an isolated workspace and changed nothing."
    files = _paths([file["path"] for file in changes["files"]], changes["count"])
    sentence = f"It ran in an isolated workspace and changed {changes_phrase(changes)}: {files}"
    if state.merged_by is not None:
        return f"{sentence}; merge {line(state.merged_by, 20)} merged them into your files."
    is_ready = state.checkpoint_status == "checkpoint_ready"
    return (
        f"{sentence}; they are not merged{'' if is_ready else '; only ready steps can be merged'}."
    )


def _given(state: StepState) -> str:
    built_on = state.built_on
    return f"Its workspace started with the changes of {quote_names(built_on)}." if built_on else ""


def _outside(state: StepState) -> str:
    outside = None if state.captured is None else state.captured.get("outside")
    if not outside:
        return ""
    return f"Outside its `write_set` it changed {_paths(outside['paths'], outside['count'])}."


def _brought(state: StepState) -> str:
    brought = state.brought
    if brought is None:
        return ""
    solved = brought.get("solved") or []
    resolved = f"; conflicts were resolved in {_paths(solved, len(solved))}" if solved else ""
    steps = quote_names(brought["steps"]) if brought["steps"] else "nobody"
    sentence = f"Merge {line(brought['merge'], 20)} merged the changes of {steps} into your files"
    return f"{sentence}: {changes_phrase(brought['changes'])}{resolved}."


def to_do_again(step: PlannedStep, run: RunState, state: StepState) -> str | None:
    """Return the merge that a step has to do again, because a person took it back; None for any other step."""
    if state.stage != "idle" or state.checkpoint_status is not None:
        return None
    return undone_merge(run.merges, step.id, state.attempt)


def _undone(step: PlannedStep, run: RunState, state: StepState) -> str:
    undone = [m["merge"] for m in run.merges if m["step"] == step.id and m["undone"]]
    if not undone or to_do_again(step, run, state) is not None:
        return ""  # there it is the first thing that is said
    return f"Merge {line(undone[-1], 20)} of this step was undone."


def _seams(step: PlannedStep, run: RunState) -> list[str]:
    mine = [seam for seam in run.seams.values() if step.id in seam["between"]]
    sentences: list[str] = []
    for seam in open_first(mine)[:_LISTED]:
        name, what = line(seam["id"], 20), line(seam_phrase(seam), 300)
        if seam["state"] == "open":
            sentences.append(f"Seam `{name}` is open: {what}.")
        else:
            sentences.append(f"Seam `{name}` is resolved: {line(seam['resolution'], 300)}.")
    return sentences


def _paths(paths: Sequence[Any], count: int) -> str:
    return join_names(
        paths, _LISTED, lambda path: f"`{spell_out(str(path), _PATH)}`", count=count, group=","
    )
