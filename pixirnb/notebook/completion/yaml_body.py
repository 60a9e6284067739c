"""Completion inside a `%%workflow` body: keys where a key is typed, values where a value is,
`{{ steps.make.output }}` and its kin between braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from pixirnb.notebook.completion.context import Candidate, CompletionContext
from pixirnb.notebook.completion.flow_style import MARK, NodePath
from pixirnb.notebook.completion.outline import Outline
from pixirnb.notebook.completion.partial_yaml import Sketch, Spot, sketch
from pixirnb.notebook.completion.paths import glob_candidates
from pixirnb.notebook.completion.schema_keys import Shape, shape_at
from pixirnb.spec import limits

_OPEN: Final = re.compile(r"\{\{[ \t]*([A-Za-z0-9_.-]*)$")
_PARTS: Final = (
    Candidate("output", "its value"),
    Candidate("output_path", "a file with its printed text"),
    Candidate("summary", "its last printed line, or the agent's summary"),
)
_STARTS: Final = (
    Candidate("steps.", "results of a step"),
    Candidate("inputs.", "inputs of the run"),
    Candidate("run.id", "the id of this run"),
)


def reference_at(line: str) -> str | None:
    """Return the reference that is open at the end of a line's text; None outside of braces."""
    match = _OPEN.search(line)
    return None if match is None else match[1]


def candidates(
    typed: str, following: str, outline: Outline, step: str | None
) -> tuple[str, list[Candidate]]:
    """Return the last part of a reference, and the candidates for it.

    `following` is the rest of the line; where it does not close the braces, what ends a reference closes them.
    """
    *before, last = typed.split(".")
    is_closed = re.match(r"[\w.-]*[ \t]*\}\}", following) is not None
    end = "" if is_closed else " }" if following.startswith("}") else " }}"
    match before:
        case []:
            return last, [
                Candidate(c.text if c.text.endswith(".") else c.text + end, c.about)
                for c in _STARTS
            ]
        case ["steps"]:
            return last, _referable_steps(outline, step)
        case ["steps", _]:
            return last, [Candidate(part.text + end, part.about) for part in _PARTS]
        case ["steps", name, "output", *fields]:
            candidates_here = _fields(outline.steps.get(name, {}).get("output"), fields)
            return last, [Candidate(each.text + end, each.about) for each in candidates_here]
        case ["inputs"]:
            return last, [Candidate(c.text + end, c.about) for c in outline.names("inputs")]
        case ["run"]:
            return last, [Candidate("id" + end, "the id of this run")]
        case _:
            return last, []


def _referable_steps(outline: Outline, step: str | None) -> list[Candidate]:
    """Return steps to refer to: those this one waits on first, none that wait on it."""
    if step is None:
        return [Candidate(name, outline.kind(name)) for name in outline.steps]
    before, after = outline.ancestors(step), outline.descendants(step)
    names = [name for name in outline.steps if name != step and name not in after]
    return [Candidate(name, outline.kind(name)) for name in names if name in before] + [
        Candidate(name, "not in depends_on yet") for name in names if name not in before
    ]


def _fields(schema: Any, path: list[str]) -> list[Candidate]:
    """Return the properties that a step's declared output has at a path."""
    for name in ["", *path]:
        if name and isinstance(schema, dict):
            schema = schema.get(name)
        schema = schema.get("properties") if isinstance(schema, dict) else None
    properties = schema if isinstance(schema, dict) else {}
    return [Candidate(name, "field of the declared output") for name in properties]


Hints = tuple[str, list[Candidate]]
"""Typed part of a word, and its candidates."""
NOTHING: Final[Hints] = ("", [])
LONGEST: Final = 1024 * 1024
"""Characters of a body that is read while somebody types."""

_GLOBS: Final = frozenset(
    {"write_set", "read_set", "artifacts", "file_exists", "git_changes", "carry", "never_copy"}
)
_FOLDERS: Final = frozenset({"cwd", "additional_paths", "repos"})


def hints(body: str, offset: int, world: CompletionContext) -> Hints:
    """Return the candidates at `offset` of a body. Never raises because of the body."""
    if len(body) > LONGEST:
        return NOTHING
    line = body[:offset].rpartition("\n")[2]
    following = body[offset:].partition("\n")[0]
    drawn = sketch(body, offset)
    outline = Outline.of(drawn.value)
    reference = reference_at(line)
    if reference is not None:
        return candidates(reference, following, outline, _step_on(body, offset, drawn))
    spot = drawn.spot
    if spot is None or len(spot.path) > limits.NESTING:
        return NOTHING
    if spot.role == "key":
        return _keys(drawn, spot)
    return _node(drawn, spot, outline, world)


def _keys(drawn: Sketch, spot: Spot) -> Hints:
    if shape_at(spot.path).nature == "map":
        return spot.typed, _map_keys(drawn, spot)
    ending = "" if spot.is_keyed else ": "
    return spot.typed, _written(drawn, spot.path, lambda key: key + ending)


def _map_keys(drawn: Sketch, spot: Spot) -> list[Candidate]:
    """Free keys are the author's to name, but for those of a script, which are steps."""
    ending = "" if spot.is_keyed else ": "
    match spot.path:
        case ("agents", str(agent), "script"):
            written = _written_keys(drawn, spot.path)
            outline = Outline.of(drawn.value)
            mine = [
                name
                for name, step in outline.steps.items()
                if name not in written and "task" in step and step.get("agent") in {agent, None}
            ]
            return [Candidate(name + ending, outline.kind(name)) for name in mine] + (
                [] if "*" in written else [Candidate(f'"*"{ending}', "every other step")]
            )
        case _:
            return []


def _written(drawn: Sketch, path: NodePath, spelled: Callable[[str], str]) -> list[Candidate]:
    keys = shape_at(path).keys(_written_keys(drawn, path))
    return [Candidate(spelled(key.name), key.about) for key in keys.values()]


def _written_keys(drawn: Sketch, path: NodePath) -> set[str]:
    """Return the keys of the mapping at `path`, but for the one that is being typed."""
    mapping = drawn.at(path)
    return {key for key in mapping if MARK not in key} if isinstance(mapping, dict) else set()


def _node(drawn: Sketch, spot: Spot, outline: Outline, world: CompletionContext) -> Hints:
    shape = shape_at(spot.path)
    if shape.nature == "keys":
        # A mapping begins here: on a line of its own by its first key, elsewhere by a brace.
        brace = "" if spot.layout == "block" else "{"
        return spot.typed, _written(drawn, spot.path, lambda key: f"{brace}{key}: ")
    if shape.nature == "map" and spot.layout == "block":
        return spot.typed, _map_keys(drawn, spot)
    if shape.inner is not None and shape.inner.nature == "keys" and shape.nature == "list":
        opening = "- " if spot.layout == "block" else "[{"
        return spot.typed, _written(drawn, (*spot.path, 0), lambda key: f"{opening}{key}: ")
    if shape.nature == "list":
        item = (*spot.path, 0)
        typed, hints = _plain(spot, _values(item, spot.typed, drawn, outline, world))
        if len(typed) != len(spot.typed):
            return NOTHING  # a path goes on word by word, which a bracket cannot enclose yet
        opening, closing = ("- ", "") if spot.layout == "block" else ("[", "]")
        whole = [c for c in hints if not c.text.endswith(("/", ":"))]
        return typed, [Candidate(f"{opening}{c.text}{closing}", c.about) for c in whole]
    return _plain(spot, _values(spot.path, spot.typed, drawn, outline, world))


def _plain(spot: Spot, hints: Hints) -> Hints:
    """Return candidates, in quotes if YAML would take their first character for a sign of its own."""
    typed, candidates = hints
    if spot.typed or spot.is_quoted:
        return hints
    return typed, [
        Candidate(f'"{c.text}"', c.about) if c.text[:1] in {"*", ":"} else c for c in candidates
    ]


def _values(
    path: NodePath, typed: str, drawn: Sketch, outline: Outline, world: CompletionContext
) -> Hints:
    """Return values for a place that holds a scalar."""
    shape = shape_at(path)
    owner, key = _owner(path)
    siblings = _siblings(drawn, path)
    step = outline.step_at(path[1]) if path[:1] == ("steps",) and len(path) > 1 else None
    if shape.nature in {"words", "flag"}:
        words = [word for word in shape.words if word not in siblings]
        return typed, [Candidate(word, _about_word(path, shape, word)) for word in words]
    if shape_at(owner).nature != "keys":
        if owner == ("repos",):
            return glob_candidates(typed, outline, world, is_folder=True)
        return typed, []
    if (key in {"depends_on", "merge"} and owner[:1] == ("steps",)) or owner[:1] == ("phases",):
        if key not in {"depends_on", "merge", "steps"}:
            return typed, []
        return typed, _steps(outline, step, siblings)
    if key == "phase":
        return typed, outline.phases()
    if key == "agent":
        return typed, outline.names("agents")
    if key in {"call", "python"}:
        return typed, [Candidate(f":{f.text}", f.about) for f in world.functions()]
    if key in _GLOBS or key in _FOLDERS:
        return glob_candidates(typed, outline, world, is_folder=key in _FOLDERS)
    return typed, []


def _owner(path: NodePath) -> tuple[NodePath, str]:
    """Return the mapping a value belongs to and its key there; an item belongs to its list's."""
    owner, key = path[:-1], path[-1] if path else ""
    while isinstance(key, int) and owner:
        owner, key = owner[:-1], owner[-1]
    return owner, str(key)


def _siblings(drawn: Sketch, path: NodePath) -> set[str]:
    """Return the other items of the list."""
    items = drawn.at(path[:-1]) if path and isinstance(path[-1], int) else None
    return {i for i in items if isinstance(i, str)} if isinstance(items, list) else set()


def _steps(outline: Outline, step: str | None, others: Iterable[str]) -> list[Candidate]:
    """Return steps that may be listed: not itself, none listed already, none that waits on it."""
    out = {*others, *(() if step is None else {step, *outline.descendants(step)})}
    return [Candidate(name, outline.kind(name)) for name in outline.steps if name not in out]


def _about_word(path: NodePath, shape: Shape, word: str) -> str:
    """Return the key that a word answers: a word among few needs no more."""
    _, key = _owner(path)
    first = " (default)" if shape.nature == "words" and _is_default(path, word) else ""
    return f"{key}{first}"


def _is_default(path: NodePath, word: str) -> bool:
    owner, key = _owner(path)
    for model in shape_at(owner).models:
        field = model.model_fields.get(key)
        if field is not None and field.default == word:
            return True
    return False


def _step_on(body: str, offset: int, drawn: Sketch) -> str | None:
    """Return the step whose text the cursor is in, wherever in it that is."""
    spot = drawn.spot
    outline = Outline.of(drawn.value)
    if spot is not None and spot.path[:1] == ("steps",) and len(spot.path) > 1:
        return outline.step_at(spot.path[1])
    # In a text of several lines no token bears the mark: the step is the last that began above.
    above = sketch(body[:offset], None).value
    steps = above.get("steps") if isinstance(above, dict) else None
    return outline.step_at(len(steps) - 1) if isinstance(steps, list) and steps else None
