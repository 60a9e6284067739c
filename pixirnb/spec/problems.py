"""Mistakes of a workflow in the author's terms: code, path, sentence, fix and line, and the error that carries them all."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from pixirnb.errors import InvalidSpec, Problem
from pixirnb.spec.fields import sayable
from pixirnb.spec.source_map import PathParts, SourceMap, path_text


class SpecProblem(Struct, frozen=True):
    """A Problem whose position is still a path in parts."""

    code: str
    parts: PathParts
    message: str
    fix: str
    line: int | None = None

    def problem(self, source_map: SourceMap) -> Problem:
        """Return the Problem with its line, if there is a text."""
        line = self.line if self.line is not None else source_map.line(self.parts)
        path = sayable(path_text(source_map.written(self.parts)))
        return Problem(self.code, path, sayable(self.message), sayable(self.fix), line)


def problems(mistakes: Iterable[SpecProblem], source_map: SourceMap) -> tuple[Problem, ...]:
    """Return each mistake once, in the order of the text, or of the steps if there is no text."""
    mistakes = _of_another_file(list(mistakes))
    once = {(mistake.code, mistake.parts, mistake.message): mistake for mistake in mistakes}
    ordered = [(mistake.problem(source_map), mistake.parts) for mistake in once.values()]
    ordered.sort(key=lambda pair: (pair[0].line or 0, _step(pair[1])))
    return tuple(problem for problem, _ in ordered)


def _of_another_file(mistakes: list[SpecProblem]) -> list[SpecProblem]:
    """Return one mistake for a mapping that has no key of a workflow, nor one that is like it; else the mistakes."""
    missing = {each.parts for each in mistakes if each.code == "missing_key"}
    strange = [each for each in mistakes if each.code == "unknown_key" and len(each.parts) == 1]
    if (
        missing != {("name",), ("steps",)}
        or not strange
        or len(strange) + 2 != len(mistakes)
        or any("did you mean" in each.fix for each in strange)
    ):
        return mistakes
    message = "this does not look like a workflow: it has neither `name` nor `steps`"
    return [SpecProblem("missing_key", (), message, "pass the path of a workflow")]


def refusal(
    errors: tuple[Problem, ...], source: str | None = None, notes: tuple[Problem, ...] = ()
) -> InvalidSpec:
    """Return one error that carries every problem, and the notes of the reader of another format."""
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    return InvalidSpec(
        f"{source or 'workflow'}: {count}",
        path=errors[0].path if errors else None,
        line=errors[0].line if errors else None,
        problems=errors,
        warnings=notes,
    )


def _step(parts: PathParts) -> int:
    return parts[1] if len(parts) > 1 and parts[0] == "steps" and isinstance(parts[1], int) else -1
