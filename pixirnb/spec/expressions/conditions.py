"""Conditions: the small language of `when`, comparisons joined by `and`, `or` and `not`.

    either    := both ("or" both)*
    both      := negation ("and" negation)*
    negation  := "not" negation | "(" either ")" | operand [operator operand]
    operand   := {{ reference }} | number | "text" | 'text' | true | false | null
    operator  := == != < <= > >= in, not in

There are no calls, and Python's `eval` is not involved. Evaluation is total and converts nothing:

* `==` holds within one type: 1 equals 1.0, but neither true nor "1"; `!=` is its opposite.
* `<` and its kin compare two numbers or two texts; for any other pair all four are false.
* `in` holds for an item of a list, a key of a mapping and a piece of a text; else it is false.
* Alone, `null`, `false`, `0`, `""`, `[]` and `{}` count as false and every other value as true.
* A reference whose value or field is not there counts as `null`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import islice
from numbers import Real
from typing import Any, Final, Literal, assert_never

from msgspec import Struct

from pixirnb.spec.expressions.references import BadReference, Reference, parse_references
from pixirnb.wording import cut

DEEPEST: Final = 50
"""Maximum nesting of parentheses and `not`."""
_SHOWN: Final = 80
"""Characters of a value that `seen` shows."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, default=str)

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Lookup = Callable[[Reference], Any]


class BadCondition(ValueError):
    """Raised when a `when` cannot be read; `fix` says what to write instead."""

    code: Final = "bad_condition"

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class Literal_(Struct, frozen=True):  # noqa: N801 - typing took the name
    """A literal value in the condition."""

    value: str | float | bool | None


class Comparison(Struct, frozen=True):
    """Two operands and the operator between them."""

    left: Reference | Literal_
    operator: Operator
    right: Reference | Literal_


class Negation(Struct, frozen=True):
    """The negation of its part."""

    part: Node


class Junction(Struct, frozen=True):
    """A conjunction or disjunction of its parts."""

    kind: Literal["and", "or"]
    parts: tuple[Node, ...]


Node = Reference | Literal_ | Comparison | Negation | Junction


class Condition(Struct, frozen=True):
    """A `when`, parsed."""

    text: str
    references: tuple[Reference, ...]
    root: Node

    def evaluate(self, lookup: Lookup) -> bool:
        """Return whether the condition holds. Never raises for any value; a LookupError of `lookup` means `null`."""
        return _holds(self.root, lookup)

    def holds(self, lookup: Lookup) -> bool | None:
        """Return whether the condition holds, and None where one of its values is not known."""
        try:
            known = {reference: lookup(reference) for reference in self.references}
        except LookupError:
            return None
        return self.evaluate(known.__getitem__)

    def seen(self, lookup: Lookup) -> str:
        """Return the condition with the values in place of its references: `"5" (text) > 3`."""
        parts, end = [], 0
        for reference in self.references:
            parts += [self.text[end : reference.start], _shown(_value(reference, lookup))]
            end = reference.end
        return "".join([*parts, self.text[end:]])


def parse_condition(text: str) -> Condition:
    """Read a `when`. Raises BadCondition."""
    try:
        references = parse_references(text)
    except BadReference as mistake:
        raise BadCondition(mistake.message, mistake.fix) from mistake
    parser = _Parser(text, list(_tokens(text, references)))
    root = parser.either(1)
    if parser.kind != "end":
        raise parser.mistake()
    return Condition(text, references, root)


# --- reading ---

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<number>-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
      | (?P<operator>==|!=|<=|>=|<|>)
      | (?P<bracket>[()])
      | (?P<name>[A-Za-z_][\w.-]*)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_KEYWORDS: Final = frozenset(["and", "or", "not", "in"])
_SHAPE: Final = "write comparisons such as `{{ inputs.n }} > 2`, joined by `and`, `or`, `not`"
_SPELLED: Final = {
    "=": "use `==` to compare",
    "&": "use `and`",
    "|": "use `or`",
    "!": "use `not`",
    "True": "use `true`",
    "False": "use `false`",
    "None": "use `null`",
    "AND": "use `and`",
    "OR": "use `or`",
    "NOT": "use `not`",
}

Token = tuple[str, str, Reference | Literal_ | None, int]
"""Kind (`operand operator bracket keyword end`), spelling, the operand, position in the text."""


def _tokens(text: str, references: tuple[Reference, ...]) -> list[Token]:
    at_start = {reference.start: reference for reference in references}
    tokens: list[Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        while text[position].isspace():
            position += 1
        if reference := at_start.get(position):
            tokens.append(("operand", reference.text, reference, position))
            position = reference.end
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            spelling = text[position]
            fix = _SPELLED.get(spelling, _SHAPE)
            if spelling in "'\"":
                fix = "close the quotes"
            raise BadCondition(f"invalid condition at `{text[position : position + 20]}`", fix)
        tokens.append(_token(match, position))
        if any(position < start < match.end() for start in at_start):
            raise BadCondition(
                f"a reference cannot be inside quotes: {match.group().strip()}",
                "remove the quotes: the reference keeps the type of its value",
            )
        position = match.end()
    tokens.append(("end", "the end", None, end))
    return tokens


def _token(match: re.Match[str], position: int) -> Token:
    spelling = match.group().strip()
    match match.lastgroup:
        case "number":
            try:
                number = int(spelling) if re.fullmatch(r"-?\d+", spelling) else float(spelling)
            except ValueError:
                raise BadCondition(
                    "a number has too many digits", "compare smaller numbers"
                ) from None
            return ("operand", spelling, Literal_(number), position)
        case "text":
            return ("operand", spelling, Literal_(_unescaped(spelling[1:-1])), position)
        case "name" if spelling in _CONSTANTS:
            return ("operand", spelling, Literal_(_CONSTANTS[spelling]), position)
        case "name" if spelling not in _KEYWORDS:
            fix = _SPELLED.get(spelling, f"quote it: `'{spelling}'`")
            if spelling.startswith(("steps.", "inputs.", "run.")):
                fix = f"write `{{{{ {spelling} }}}}`"
            elif match.string[match.end() :].lstrip().startswith("("):
                raise BadCondition(
                    f"functions are not allowed in `when`, found `{spelling}`",
                    "compute the value in a step and compare its output",
                )
            raise BadCondition(f"unknown name `{spelling}` in a condition", fix)
        case "name":
            return ("keyword", spelling, None, position)
        case kind:
            return (str(kind), spelling, None, position)


def _unescaped(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match.group(1) not in _ESCAPES:
            raise BadCondition(
                f"unknown escape `{match.group()}`",
                r"write `\\` for a backslash, or use `\n`, `\t`, `\'`, `\"`",
            )
        return _ESCAPES[match.group(1)]

    return re.sub(r"\\(.)", replace, text, flags=re.DOTALL)


class _Parser(Struct):
    """Recursive descent over the tokens; `depth` counts parentheses and `not`."""

    text: str
    tokens: list[Token]
    at: int = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def spelling(self) -> str:
        return self.tokens[self.at][1]

    def either(self, depth: int) -> Node:
        return self.junction("or", self.both, depth)

    def both(self, depth: int) -> Node:
        return self.junction("and", self.negation, depth)

    def junction(self, kind: Literal["and", "or"], part: Callable[[int], Node], depth: int) -> Node:
        parts = [part(depth)]
        while self.spelling == kind:
            self.at += 1
            parts.append(part(depth))
        return parts[0] if len(parts) == 1 else Junction(kind, tuple(parts))

    def negation(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise BadCondition(
                f"the condition is nested deeper than {DEEPEST} levels",
                "compute the value in a step and compare its output",
            )
        if self.spelling == "not":
            self.at += 1
            return Negation(self.negation(depth + 1))
        if self.spelling == "(":
            self.at += 1
            inner = self.either(depth + 1)
            if self.spelling != ")":
                raise self.mistake()
            self.at += 1
            return inner
        left = self.operand()
        operator = self.operator()
        return left if operator is None else Comparison(left, operator, self.operand())

    def operator(self) -> Operator | None:
        following = self.tokens[self.at + 1][1] if self.kind != "end" else ""
        if self.spelling == "not" and following == "in":
            self.at += 2
            return "not in"
        match self.spelling:
            case "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" as operator if self.kind != "operand":
                self.at += 1
                return operator
            case _:
                return None

    def operand(self) -> Reference | Literal_:
        value = self.tokens[self.at][2]
        if value is None:
            raise self.mistake()
        self.at += 1
        return value

    def mistake(self) -> BadCondition:
        _, spelling, _, position = self.tokens[self.at]
        return BadCondition(f"unexpected `{spelling}` at character {position + 1}", _SHAPE)


# --- evaluating ---


def _holds(node: Node, lookup: Lookup) -> bool:
    match node:
        case Reference() | Literal_():
            return _is_something(_value(node, lookup))
        case Negation(part):
            return not _holds(part, lookup)
        case Junction("and", parts):
            return all(_holds(part, lookup) for part in parts)
        case Junction(_, parts):
            return any(_holds(part, lookup) for part in parts)
        case Comparison(left, operator, right):
            return _compares(_value(left, lookup), operator, _value(right, lookup))
        case _:
            assert_never(node)


def _value(operand: Reference | Literal_, lookup: Lookup) -> Any:
    if isinstance(operand, Literal_):
        return operand.value
    try:
        return lookup(operand)
    except LookupError:
        return None


def _shown(value: Any) -> str:
    # The quotes of a text are easily overlooked, and they are what makes a comparison with a number false.
    is_text = isinstance(value, str)
    pieces = _ENCODER.iterencode(value[:_SHOWN] if is_text else value)  # a value may be of any size
    text = cut("".join(islice(pieces, _SHOWN)), _SHOWN)
    return f"{text} (text)" if is_text else text


def _is_something(value: Any) -> bool:
    # Objects of other types may refuse to be a truth value (arrays do): being there is enough.
    known = isinstance(value, bool | int | float | str | list | tuple | Mapping)
    return value is not None and (not known or bool(value))


def _compares(left: Any, operator: Operator, right: Any) -> bool:
    match operator:
        case "==":
            return is_same(left, right)
        case "!=":
            return not is_same(left, right)
        case "in":
            return _is_in(left, right)
        case "not in":
            return not _is_in(left, right)
        case "<":
            return _is_ordered(left, right) and bool(left < right)
        case "<=":
            return _is_ordered(left, right) and bool(left <= right)
        case ">":
            return _is_ordered(left, right) and bool(left > right)
        case ">=":
            return _is_ordered(left, right) and bool(left >= right)
        case _:
            assert_never(operator)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_ordered(left: Any, right: Any) -> bool:
    return (_is_number(left) and _is_number(right)) or (
        isinstance(left, str) and isinstance(right, str)
    )


def is_same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are deeply equal, without recursion; other objects equal nothing."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            if len(one) != len(other):
                return False
            waiting.extend(zip(one, other, strict=True))
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            waiting.extend((item, other[key]) for key, item in one.items())
        elif _is_ordered(one, other):
            if one != other:
                return False
        elif not (one is other and (one is None or isinstance(one, bool))):
            return False
    return True


def _is_in(item: Any, container: Any) -> bool:
    if isinstance(container, str):
        return isinstance(item, str) and item in container
    if isinstance(container, Mapping):
        return isinstance(item, str) and item in container
    return isinstance(container, list | tuple) and any(is_same(item, other) for other in container)
