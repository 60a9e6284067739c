"""Completion on a magic's own line: `%%workflow`, `%%step` and `%pixir VERB`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct, field

from pixirnb.notebook.completion.commands import MANY, MagicCommand, verbs
from pixirnb.notebook.completion.context import Candidate, CompletionContext
from pixirnb.notebook.completion.outline import Outline
from pixirnb.notebook.completion.paths import path_candidates
from pixirnb.notebook.completion.yaml_body import NOTHING, Hints
from pixirnb.notebook.kernel.line_args import STATUSES
from pixirnb.operations.prune import ON_REQUEST, PRUNABLE
from pixirnb.spec.policies import CHECK_KINDS

_WORD: Final = re.compile(r"""(?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^\s"'])+""")
_SPECS: Final = (".yaml", ".yml")
_VERDICTS: Final = (
    Candidate("accept", "accept the step; the run continues"),
    Candidate("reject", "the step fails; its dependents are held"),
)
_WAITING: Final = ("needs_orchestrator", "partial", "seam")
_MINE: Final = Candidate("workspace", "your own files")


class MagicLine(Struct):
    """Words of a magic's line before the cursor."""

    verb: str
    """`workflow`, `step`, or the verb of `%pixir`."""
    words: dict[str, str] = field(default_factory=dict)
    """Positional words, by what they are."""
    many: list[str] = field(default_factory=list)
    """Positional words of the last kind, where there may be many."""
    options: dict[str, str] = field(default_factory=dict)
    """Options by name; of one that is repeated the last."""
    turn: str | None = None
    """Kind of the word at the cursor: an option's name, or a positional's."""
    typed: str = ""


def pixir_hints(before: str, world: CompletionContext) -> Hints:
    """Return the candidates at the end of `before`, the text between `%pixir` and the cursor."""
    words, typed = _split(before)
    table = verbs()
    if not words:
        return typed, [Candidate(name, command.about) for name, command in table.items()]
    command = table.get(words[0])
    if command is None:
        return NOTHING
    return _hints(_read(words[0], command, words[1:], typed), command, world, None)


def cell_hints(
    magic: Literal["workflow", "step"],
    before: str,
    command: MagicCommand,
    world: CompletionContext,
    outline: Outline | None,
) -> Hints:
    """Return the candidates at the end of `before`, the text between a cell magic and the cursor; `outline` is of its body."""
    words, typed = _split(before)
    return _hints(_read(magic, command, words, typed), command, world, outline)


def option_of(line: str, name: str) -> str | None:
    """Return the value of an option on a line."""
    match = re.search(rf"(?:^|\s){name}(?:=|\s+)({_WORD.pattern})", line)
    return None if match is None else match[1].strip("\"'")


def _split(before: str) -> tuple[list[str], str]:
    """Return the words before the one at the cursor, and that one."""
    matches = [*_WORD.finditer(before)]
    typed = matches.pop()[0] if matches and matches[-1].end() == len(before) else ""
    return [word[0].strip("\"'") for word in matches], typed


def _read(verb: str, command: MagicCommand, words: Iterable[str], typed: str) -> MagicLine:
    line = MagicLine(verb)
    names = [*command.words]
    waiting: str | None = None
    for word in words:
        name, equals, value = word.partition("=")
        option = command.option(name) if word.startswith("--") else None
        if waiting is not None:
            line.options[waiting], waiting = word, None
        elif option is not None:
            line.options[option.names[0]] = value
            waiting = None if option.is_flag or equals else option.names[0]
        elif not word.startswith("--") and names:
            if names[0] == MANY:
                line.many.append(word)
            else:
                line.words[names.pop(0)] = word
    name, equals, value = typed.partition("=")
    option = command.option(name)
    if waiting is None and equals and option is not None:
        waiting, typed = option.names[0], value
    line.turn = waiting or (names[0] if names and not typed.startswith("-") else None)
    line.typed = typed[1:] if typed[:1] in {'"', "'"} else typed
    return line


def _hints(
    line: MagicLine, command: MagicCommand, world: CompletionContext, outline: Outline | None
) -> Hints:
    if line.turn is not None and line.turn.startswith("--"):
        return _value(line, world, outline)
    options = command.left(line.options)
    if line.turn is None or line.typed.startswith("-"):
        return line.typed, options
    typed, candidates = _value(line, world, outline)
    return typed, candidates + (options if typed == line.typed else [])


def _value(line: MagicLine, world: CompletionContext, outline: Outline | None) -> Hints:
    """Return values of an option, or of a positional word."""
    typed = line.typed
    match line.turn:
        case "--expect":
            return _listed(typed, [Candidate(name, "status") for name in STATUSES])
        case "--status":
            named = (*PRUNABLE, *ON_REQUEST)
            return _listed(typed, [Candidate(name, "status") for name in named])
        case "--input":
            return typed, _inputs(line, world, outline) if "=" not in typed else []
        case "--workflow" | "name" if line.verb in {"workflow", "step", "forget"}:
            return typed, [Candidate(name, "workflow") for name in world.workflow_names()]
        case "--after":
            steps = world.steps_in(line.options.get("--workflow", ""))
            return _listed(typed, steps, but=line.words.get("id"))
        case "id" if line.verb == "step":
            return NOTHING
        case "--use":
            return _listed(typed, world.variables())
        case "--read" | "--write":
            return path_candidates(typed, world)
        case "--verify":
            checks = [Candidate(f"{kind}:", "check") for kind in CHECK_KINDS]
            return typed, checks + [Candidate(f":{f.text}", f.about) for f in world.functions()]
        case "--from" | "--only" | "--until" | "step":
            return typed, _steps_of_run(line, world)
        case "steps":
            steps = [step for step in _steps_of_run(line, world) if step.text not in line.many]
            return typed, steps
        case "--side":
            path, equals, side = typed.rpartition("=")
            return (side if path and equals else typed), [_MINE, *_steps_of_run(line, world)]
        case "--value":
            return typed, [*world.choices_of(line.words.get("run", ""), line.words.get("step", ""))]
        case "--checkpoint" | "checkpoint":
            return typed, [*world.checkpoints_of(line.words.get("run", ""))]
        case "--resume" | "run" | "left" | "right":
            runs = [run for run in world.runs() if run.text != line.words.get("left")]
            return typed, runs
        case "verdict":
            return typed, [*_VERDICTS]
        case "file" | "--spec":
            name, files = path_candidates(typed, world, endings=_SPECS)
            known = world.workflow_names() if name == typed else ()
            return name, [Candidate(each, "workflow of this notebook") for each in known] + files
        case "--workspace" | "--state" | "--to":
            return path_candidates(typed, world, is_folder=line.turn != "--to")
        case _:
            return typed, []


def _listed(typed: str, candidates: Iterable[Candidate], *, but: str | None = None) -> Hints:
    """Return the next of several words with commas between them."""
    *earlier, last = typed.split(",")
    return last, [each for each in candidates if each.text not in earlier and each.text != but]


def _steps_of_run(line: MagicLine, world: CompletionContext) -> list[Candidate]:
    steps = [*world.steps_of(line.words.get("run", ""))]
    if line.verb == "decide":
        steps += world.seams_of(line.words.get("run", ""))
        steps.sort(key=lambda step: not step.about.startswith(_WAITING))
    return steps


def _inputs(line: MagicLine, world: CompletionContext, outline: Outline | None) -> list[Candidate]:
    """Return the inputs of the workflow that is meant, each with its sign of equality."""
    if outline is not None:
        return [Candidate(f"{each.text}=", each.about) for each in outline.names("inputs")]
    sources: Mapping[str, Callable[[str], object]] = {
        "file": world.workflow,
        "run": world.workflow_of,
    }
    for word, lookup in sources.items():
        workflow = lookup(line.words.get(word, ""))
        declared = getattr(workflow, "inputs", {})
        if declared:
            return [
                Candidate(f"{name}=", each.description or each.type)
                for name, each in declared.items()
            ]
    return []
