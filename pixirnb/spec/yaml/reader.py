"""YAML 1.2 core, read into plain JSON values by our own constructor over the parser's events.

A spec needs what common loaders do not give: `no` and `1:30` stay text, duplicate keys are found, a few lines cannot
grow into gigabytes, nesting cannot overflow a stack, and every key and item has a line. Building from events, without
the node tree in between, is also the fastest way to read large workflows in Python.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import yaml
from msgspec import Struct, field
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from pixirnb.spec import limits
from pixirnb.spec.problems import SpecProblem
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.yaml.errors import UNQUOTED, explain
from pixirnb.spec.yaml.scalars import plain_value

try:
    from yaml.cyaml import CParser as _CParser  # type: ignore[attr-defined]  # the stub hides it
except ImportError:
    # Where libyaml is missing the same events come from Python, slower.
    _FAST_PARSER: Any = None
else:
    _FAST_PARSER = _CParser


class EventSource(Protocol):
    """The part of a YAML parser that this reader uses."""

    def get_event(self) -> Any:
        """Return the next event; a StreamEndEvent is the last."""
        ...


class PythonParser(Reader, Scanner, Parser):
    """The parser written in Python, for where libyaml is missing."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


class YamlReading(Struct):
    """The value of a text, and its mistakes as YAML."""

    value: Any = None
    mistakes: list[SpecProblem] = field(default_factory=list)
    lines: dict[PathParts, int] = field(default_factory=dict)
    """Path to 1-based line, if requested."""
    is_whole: bool = False
    """True if reading reached the end, so that mistakes of the spec are worth reporting."""


def read_yaml(text: str, *, with_lines: bool = False, in_python: bool = False) -> YamlReading:
    """Read one document. Never raises for the text: mistakes are in the result."""
    reading = YamlReading()
    try:
        parser: EventSource = (
            PythonParser(text) if in_python or _FAST_PARSER is None else _FAST_PARSER(text)
        )
        _Builder(parser, reading, with_lines).build()
        reading.is_whole = True
    except yaml.YAMLError as error:
        last = explain(error, text)
        if not any((last.code, last.line) == (seen.code, seen.line) for seen in reading.mistakes):
            reading.mistakes.append(last)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        reading.mistakes.append(
            SpecProblem(
                "not_utf8",
                (),
                "the text contains an invalid Unicode character",
                "save it as UTF-8",
                line,
            )
        )
    except _Fatal:
        pass  # the mistake that ended the reading is in the list
    if reading.mistakes and not with_lines:
        # Only a text with mistakes is read again, this time knowing every line.
        return read_yaml(text, with_lines=True, in_python=in_python)
    return reading


def lines_of(text: str) -> dict[PathParts, int]:
    """Return the 1-based line of every key and item of a text, as far as it can be read."""
    return read_yaml(text, with_lines=True).lines


class _Fatal(Exception):
    """Raised when reading cannot go on."""


class _NoKey:
    """Marker for a mapping that waits for its next key."""


_NO_KEY: Final = _NoKey()


class _Builder:
    """Builder of values from events, with an explicit stack, without recursion."""

    def __init__(self, parser: EventSource, reading: YamlReading, with_lines: bool) -> None:
        self.next = parser.get_event
        self.reading = reading
        self.lines = reading.lines if with_lines else None
        self.container: Any = None
        self.key: Any = _NO_KEY
        """Key of an open mapping whose value comes next, or `_NO_KEY`."""
        self.stack: list[tuple[Any, Any, str | None, int, bool]] = []
        """Open containers: container, key, anchor, node count, whether it is flow."""
        self.anchors: dict[str, tuple[Any, int] | None] = {}
        """Anchored values; None while a container is open."""
        self.nodes = 0
        self.aliased = 0
        self.merging: set[int] = set()
        """Depths of the open mappings that hold a merge key."""

    def build(self) -> None:
        documents = 0
        reading, take, plain = self.reading, self.next, plain_value
        while True:
            event = take()
            kind = type(event)
            if kind is ScalarEvent:
                self.nodes += 1
                value = event.value
                if event.tag is not None or event.anchor is not None:
                    self.refuse_tag(event)
                if event.implicit[0]:
                    try:
                        value = plain(value)
                    except ValueError:
                        self.not_json(event)
                if event.anchor is not None:
                    self.anchors[event.anchor] = (value, 1)
                self.put(value, event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self.open(event, {} if kind is MappingStartEvent else [])
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                self.close()
            elif kind is AliasEvent:
                self.alias(event)
            elif kind is DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self.add(
                        "yaml_documents",
                        "more than one document",
                        "keep one and remove `---`",
                        event,
                    )
                    raise _Fatal
            elif kind is StreamEndEvent:
                return
            if not self.stack and self.container is not None:
                reading.value = self.container

    def put(self, value: Any, event: Any) -> None:
        """Store a finished scalar or alias: as an item, as a key, or as the value of the waiting key."""
        container = self.container
        if type(container) is dict:
            key = self.key
            if key is _NO_KEY:
                self.take_key(value, event)
                return
            container[key] = value
            self.key = _NO_KEY
        elif container is None:
            self.reading.value = value
        else:
            if self.lines is not None:
                self.lines[(*self.path(), len(container))] = event.start_mark.line + 1
            container.append(value)

    def take_key(self, key: Any, event: Any) -> None:
        """Remember a key, or report why it is invalid."""
        container = self.container
        if type(key) is not str:
            key = str(getattr(event, "value", key))
            self.add(
                "bad_key",
                f"expected a string as key, got `{key}`",
                f'quote it: `"{key}"`',
                event,
                key,
            )
        elif key == "<<" and type(event) is ScalarEvent and event.implicit[0]:
            self.merging.add(len(self.stack))
        line = event.start_mark.line + 1
        if key in container:
            first = self.lines.get((*self.path(), key)) if self.lines is not None else None
            self.add(
                "duplicate_key",
                f"duplicate key `{key}`, first used on line {first}",
                "remove one of them",
                event,
                key,
            )
        elif self.lines is not None:
            self.lines[(*self.path(), key)] = line
        self.key = key

    def open(self, event: Any, container: Any) -> None:
        self.nodes += 1
        if event.tag is not None:
            self.refuse_tag(event)
        self.refuse_depth(len(self.stack), event)
        is_key = type(self.container) is dict and self.key is _NO_KEY
        if is_key:
            self.odd_key(event)
            return
        if self.lines is not None and type(self.container) is list:
            self.lines[(*self.path(), len(self.container))] = event.start_mark.line + 1
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(
            (self.container, self.key, event.anchor, self.nodes, bool(event.flow_style))
        )
        self.container, self.key = container, _NO_KEY

    def close(self) -> None:
        done = self.container
        if self.merging and len(self.stack) in self.merging:
            self.merging.discard(len(self.stack))
            done = self.merged(done)
        outer, key, anchor, nodes, _ = self.stack.pop()
        if anchor is not None:
            self.anchors[anchor] = (done, self.nodes - nodes + 1)
        if outer is None:
            self.reading.value = done
        elif type(outer) is dict:
            outer[key] = done
            key = _NO_KEY
        else:
            outer.append(done)
        self.container, self.key = outer, key

    def merged(self, mapping: dict[str, Any]) -> dict[str, Any]:
        """Return a mapping with the keys that its `<<` brings; its own keys win, then those of the first mapping."""
        named = mapping.pop("<<", None)
        brought: dict[str, Any] = {}
        for each in named if isinstance(named, list) else [named]:
            if isinstance(each, dict):
                brought = {**each, **brought}
            else:
                self.reading.mistakes.append(self.not_merged((*self.path(), "<<")))
        return {**brought, **mapping}

    def not_merged(self, where: PathParts) -> SpecProblem:
        """Return the mistake of a merge key whose value is not a mapping."""
        line = None if self.lines is None else self.lines.get(where)
        fix = "write `<<: *NAME`, with the anchor `&NAME` on a mapping above"
        return SpecProblem("merge_key", where, "`<<` merges mappings only", fix, line)

    def alias(self, event: Any) -> None:
        known = self.anchors.get(event.anchor, _NO_KEY)
        if known is None:
            self.add(
                "yaml_alias",
                f"alias `*{event.anchor}` contains itself",
                "write the value out",
                event,
            )
            self.put(None, event)
            return
        if known is _NO_KEY:
            self.add(
                "yaml_alias",
                f"unknown anchor `{event.anchor}`",
                f"add `&{event.anchor}` to a value above, or quote the text",
                event,
            )
            self.put({} if "<<" in self.path() else None, event)  # one mistake is enough
            return
        assert isinstance(known, tuple)
        value, size = known
        self.nodes += size
        self.aliased += size
        if self.aliased > limits.ALIAS_NODES:
            self.add(
                "limit_exceeded",
                f"aliases expand to more than {limits.ALIAS_NODES} nodes",
                "write the values out, or use `defaults` (limit: aliases)",
                event,
            )
            raise _Fatal
        self.put(value, event)

    def odd_key(self, event: Any) -> None:
        """Report a mapping or list in place of a key: nearly always an unquoted `{{ reference }}`."""
        if self.stack[-1][4] and type(event) is MappingStartEvent:
            self.add(
                "unquoted_reference",
                UNQUOTED,
                'quote it: `"{{ … }}"`',
                event,
            )
        else:
            self.add("bad_key", "a list or mapping cannot be a key", "use a string as key", event)
        depth = 1
        while depth:
            inner = self.next()
            kind = type(inner)
            if kind in {MappingStartEvent, SequenceStartEvent}:
                # What is passed over is parsed all the same, at a cost that grows with the square of its depth.
                self.refuse_depth(len(self.stack) + depth, inner)
                depth += 1
            depth -= kind in (MappingEndEvent, SequenceEndEvent)
        self.key = ""

    def refuse_depth(self, depth: int, event: Any) -> None:
        if depth >= limits.NESTING:
            self.add(
                "limit_exceeded",
                f"the text is nested deeper than {limits.NESTING} levels",
                "flatten it (limit: nesting)",
                event,
            )
            raise _Fatal

    def refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.add(
                "yaml_tag", f"YAML tags are not supported, got `{tag}`", "remove the tag", event
            )

    def not_json(self, event: Any) -> None:
        self.add(
            "not_json",
            f"`{event.value[:40]}` is not a finite number",
            "use a finite number, or quote it",
            event,
        )

    def add(self, code: str, message: str, fix: str, event: Any, key: str | None = None) -> None:
        parts = self.path() if key is None else (*self.path(), key)
        self.reading.mistakes.append(
            SpecProblem(code, parts, message, fix, event.start_mark.line + 1)
        )

    def path(self) -> PathParts:
        """Return the path of the open container and its waiting key."""
        parts: list[str | int] = []
        parents = [(container, key) for container, key, *_ in self.stack[1:]]
        for container, key in [*parents, (self.container, self.key)]:
            if type(container) is dict and key is not _NO_KEY:
                parts.append(key)
            elif type(container) is list and container is not self.container:
                parts.append(len(container))
        return tuple(parts)
