"""The language of `when`: what holds, what is refused, and that nothing makes it raise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.spec.expressions.conditions import DEEPEST, BadCondition, parse_condition
from pixirnb.spec.expressions.references import Reference, pick

VALUES: dict[str, Any] = {
    "n": 3,
    "x": 2.5,
    "name": "ada",
    "yes": True,
    "none": None,
    "names": ["a", "b", 1],
    "box": {"k": {"deep": 7}},
    "empty": "",
    "digits": "3",
}


def lookup(reference: Reference) -> Any:
    return pick(VALUES[reference.name], reference)


HOLDS = [
    ("{{ inputs.n }} > 2 and {{ inputs.name }} != ''", True),
    ("{{ inputs.n }} == 3.0", True),
    ("{{inputs.n}}==3", True),
    ("{{ inputs.n }} == '3'", False),
    ("{{ inputs.digits }} > 2", False),
    ("{{ inputs.digits }} <= 2", False),
    ("{{ inputs.yes }} == 1", False),
    ("{{ inputs.yes }} == true", True),
    ("{{ inputs.yes }} < 2", False),
    ("{{ inputs.none }} == null", True),
    ("{{ inputs.none }} < 1", False),
    ("{{ inputs.none }} >= 1", False),
    ("{{ inputs.missing }} == null", True),
    ("{{ inputs.box.k.deep }} == 7", True),
    ("{{ inputs.box.k.gone }}", False),
    ("{{ inputs.names.1 }} == 'b'", True),
    ("{{ inputs.box }} == {{ inputs.box }}", True),
    ("'b' in {{ inputs.names }}", True),
    ("true in {{ inputs.names }}", False),
    ("'c' not in {{ inputs.names }}", True),
    ("'da' in {{ inputs.name }}", True),
    ("'k' in {{ inputs.box }}", True),
    ("1 in {{ inputs.n }}", False),
    ("{{ inputs.name }} < 'b'", True),
    ("{{ inputs.empty }}", False),
    ("not {{ inputs.empty }}", True),
    ("not not {{ inputs.n }}", True),
    ("not 1 == 2", True),
    ("true or false and false", True),
    ("(true or false) and false", False),
    ("not (true and false) or false", True),
    ("-1.5e2 == -150", True),
    (r"'it\'s' == " + '"it\'s"', True),
    (r"'\n' == '\\n'", False),
    ("' and ' == ' and '", True),
    ("1\n<\t2", True),
]


@pytest.mark.parametrize(("text", "holds"), HOLDS)
def test_a_condition_holds_as_documented(text: str, holds: bool) -> None:
    assert parse_condition(text).evaluate(lookup) is holds


REFUSED = [
    "", "   ", "1 <", "< 1", "1 2", "1 == 1 == 1", "(1", "1)", "()", "not", "and 1", "1 and", "a",
    "len(1)", "inputs.n > 1", "{{ inputs.n }} = 2", "1 && 2", "1 || 2", "!true", "True", "'open",
    "'{{ inputs.n }}' == 1", "{{ inputs.n", "{{ nobody.n }}", r"'\x41'", "1 + 1 == 2", "1..2", "1a",
    "[1]", "__import__('os')", "{{ inputs.n }}.real", "1 is 1", "(1) == 1", "1 not 2", "9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_condition_is_refused_with_a_fix(text: str) -> None:
    with pytest.raises(BadCondition) as caught:
        parse_condition(text)
    assert caught.value.code == "bad_condition"
    assert caught.value.message
    assert caught.value.fix


def test_nesting_is_bounded() -> None:
    for opening, closing in (("(", ")"), ("not ", "")):
        deepest = DEEPEST - 1
        parse_condition(opening * deepest + "true" + closing * deepest)
        with pytest.raises(BadCondition):
            parse_condition(opening * (deepest + 1) + "true" + closing * (deepest + 1))
        with pytest.raises(BadCondition):
            parse_condition(opening * 100_000)


def test_long_chains_are_not_nesting() -> None:
    assert parse_condition(" and ".join(["1 == 1"] * 5000)).evaluate(lookup)


def test_references_are_told_in_order() -> None:
    condition = parse_condition("{{ inputs.b }} == 1 or {{ steps.a.output }} == {{ inputs.b }}")
    assert [reference.name for reference in condition.references] == ["b", "a", "b"]


class Stubborn:
    """A value that refuses to be compared or to be a truth value, as arrays do."""

    __hash__ = None  # type: ignore[assignment]  # so do they

    def __eq__(self, other: object) -> bool:
        raise TypeError

    def __bool__(self) -> bool:
        raise TypeError


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.builds(Stubborn),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "in", "not in"]


@given(json_values, json_values, st.sampled_from(OPERATORS))
def test_evaluation_is_total_and_never_both_less_and_not_less(
    a: Any, b: Any, operator: str
) -> None:
    def value(reference: Reference) -> Any:
        return a if reference.name == "a" else b

    def holds(text: str) -> bool:
        return parse_condition(text).evaluate(value)

    assert holds(f"{{{{ inputs.a }}}} {operator} {{{{ inputs.b }}}}") in (True, False)
    assert not (
        holds("{{ inputs.a }} < {{ inputs.b }}") and holds("{{ inputs.a }} >= {{ inputs.b }}")
    )
    assert holds("{{ inputs.a }}") is not holds("not {{ inputs.a }}")


def test_values_nested_without_end_compare() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert parse_condition("{{ inputs.a }} == {{ inputs.b }}").evaluate(lambda _: deep)
    while deep:
        deep = deep.pop()


@given(st.text(alphabet="(){}'\"\\ <=>!ainotrdl1.e-_"))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    try:
        message = str(parse_condition(text).evaluate(lambda _: None))
    except BadCondition as refusal:
        message = refusal.message
    assert message
