"""A workflow as YAML that a person keeps: `write(workflow)` loads back to an equal one. Pure.

Keys stand in the order in which one reads a step, texts of several lines as blocks, short lists and mappings on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pixirnb.errors import Problem
from pixirnb.spec.fields import SpecModel, keys_of
from pixirnb.spec.policies import Agent, Check, Input, Phase, Question, Retry
from pixirnb.spec.steps import AgentStep, DecisionStep, Defaults, MergeStep, PythonStep, ShellStep
from pixirnb.spec.workflow import Workflow

_TOP: Final = (
    "name",
    "title",
    "description",
    "max_concurrency",
    "timeout",
    "on_failure",
    "readiness",
    "undeclared_writers",
    "never_copy",
    "inputs",
    "repos",
    "phases",
    "defaults",
    "agents",
    "steps",
)
_STEP: Final = (
    *("id", "title", "run", "call", "with", "task", "agent", "ask", "merge"),
    *("depends_on", "when", "phase", "description", "cwd", "env"),
)
"""First keys of a step; the others follow in the order of the reference."""
_MODELS: Final[tuple[type[SpecModel], ...]] = (
    *(Agent, Input, Phase, Check, Retry, Question, Defaults),
    *(ShellStep, PythonStep, AgentStep, DecisionStep, MergeStep),
)
_REFERENCE: Final = tuple(dict.fromkeys(key for model in _MODELS for key in keys_of(model)))
_WIDE: Final = 88
"""Maximum width in characters of a list or mapping on one line."""
_BLANK_BEFORE: Final = re.compile(
    r"^(?=(?:agents|steps|inputs|repos|defaults|phases):)", re.MULTILINE
)
_NUMBERS: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+"
)


def write(workflow: Workflow, notes: Iterable[Problem] = ()) -> str:
    """Write the workflow in our own YAML; `notes` become comments at the top."""
    comments = "".join(f"# {_comment(note)}\n" for note in notes)
    canonical = workflow.canonical()
    value = _ordered(canonical, _TOP)
    text = yaml.dump(
        value,
        Dumper=_Writer,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=2**31,
    )
    # Only quoted texts hold such a character: there it is an escape, which a terminal shows and does not obey.
    text = "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)
    return (comments + "\n" if comments else "") + _spaced(text)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _comment(note: Problem) -> str:
    """Return a note as a single comment line."""
    where = f"{note.path}: " if note.path else ""
    text = f"{where}{note.message} ({note.code})"
    return "".join(char if char.isprintable() else " " for char in text)


def _ordered(written: Mapping[str, Any], first: Iterable[str]) -> dict[str, Any]:
    """Return keys in reading order in all models; the author's own mappings keep their order."""
    known = [key for key in first if key in written]
    rest = [key for key in _REFERENCE if key in written and key not in known]
    ordered: dict[str, Any] = {}
    for key in (*known, *rest):
        value = written[key]
        match key:
            case "steps" if first is _TOP:
                value = [_ordered(step, _STEP) for step in value]
            case "agents" | "inputs":
                value = {name: _ordered(item, ()) for name, item in value.items()}
            case "verify" | "phases":
                value = [_ordered(item, ()) for item in value]
            case "retry" | "defaults" | "ask":
                value = _ordered(value, _STEP)
            case _:
                pass
        ordered[key] = value
    assert len(ordered) == len(written)
    return ordered


def _spaced(text: str) -> str:
    """Insert a blank line before each part of the document; none inside texts, which are indented."""
    return _BLANK_BEFORE.sub("\n", text)


class _Writer(yaml.SafeDumper):
    """A dumper whose output the core schema of YAML 1.2 reads back."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the items of a list further than its key."""
        del indentless
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        """Write values out: an alias is hard to edit."""
        del data
        return True


def _text(writer: yaml.SafeDumper, value: str) -> Node:
    if "\n" in value.rstrip("\n") and _is_block(value):
        return writer.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    # YAML 1.1, which the emitter quotes for, does not know these numbers of 1.2.
    is_quoted = _NUMBERS.fullmatch(value) or not value.isprintable()
    style = '"' if is_quoted else None
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _is_block(value: str) -> bool:
    """Return whether a text can be a block, and be read back unchanged."""
    lines = value.split("\n")
    return (
        not lines[0].startswith((" ", "\t"))
        and all(line == line.rstrip() for line in lines)
        and all(char.isprintable() or char in "\n\t" for char in value)
        and bool(lines[0])
    )


def _sequence(writer: yaml.SafeDumper, value: Iterable[Any]) -> Node:
    node = writer.represent_sequence("tag:yaml.org,2002:seq", value)
    assert isinstance(node, SequenceNode)
    node.flow_style = _is_short(node)
    return node


def _mapping(writer: yaml.SafeDumper, value: Mapping[str, Any]) -> Node:
    node = writer.represent_mapping("tag:yaml.org,2002:map", value)
    assert isinstance(node, MappingNode)
    # Steps, and nodes with further mappings, have a line a key, however short they are.
    is_open = "id" in value or any(isinstance(item, dict) and item for item in value.values())
    node.flow_style = not is_open and _is_short(node)
    return node


def _is_short(node: SequenceNode | MappingNode) -> bool:
    """Return whether a node fits on one line."""
    room = _WIDE
    for item in node.value:
        for part in item if isinstance(item, tuple) else (item,):
            room -= _width(part) + 2
            if room < 0:
                return False
    return True


def _width(node: Node) -> int:
    """Return about how wide a node is on one line; wider than any line if it cannot be on one."""
    if isinstance(node, ScalarNode):
        return _WIDE + 1 if node.style == "|" else len(node.value) + 2
    assert isinstance(node, SequenceNode | MappingNode)
    if not node.flow_style:
        return _WIDE + 1
    parts = (part for item in node.value for part in (item if isinstance(item, tuple) else (item,)))
    return 2 + sum(_width(part) + 2 for part in parts)


_Writer.add_representer(str, _text)
_Writer.add_representer(list, _sequence)
_Writer.add_representer(tuple, _sequence)
_Writer.add_representer(dict, _mapping)
