"""YAML 1.2 core, by either parser: what a scalar means, what grows too large, where each key stands."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.spec import limits
from pixirnb.spec.yaml.reader import YamlReading, lines_of, read_yaml
from pixirnb.spec.yaml.scalars import plain_value

PARSERS = pytest.mark.parametrize("in_python", [False, True], ids=["libyaml", "python"])


def value_of(text: str, *, in_python: bool = False) -> object:
    reading = read_yaml(text, in_python=in_python)
    assert reading.mistakes == []
    return reading.value


@PARSERS
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("2026-11-21", "2026-11-21"),
        ("1_000", "1_000"),
        ("0b101", "0b101"),
        ("'3'", "3"),
        ('"true"', "true"),
        ("", None),
        ("~", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("017", 17),
        ("+12", 12),
        ("-3", -3),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-1.", -1.0),
        ("1.2.3", "1.2.3"),
        ("nothing", "nothing"),
        ("-", "-"),
    ],
)
def test_a_plain_scalar_means_what_the_core_schema_says(
    text: str, value: object, in_python: bool
) -> None:
    if text == "-":
        assert plain_value(text) == value
        return
    found = value_of(f"a: {text}\n", in_python=in_python)
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


@PARSERS
def test_blocks_anchors_and_flows_are_read(in_python: bool) -> None:
    text = "a: &x [1, {b: c}]\nd: *x\ne: |\n  two\n  lines\nf: >-\n  one\n  line\n"
    assert value_of(text, in_python=in_python) == {
        "a": [1, {"b": "c"}],
        "d": [1, {"b": "c"}],
        "e": "two\nlines\n",
        "f": "one line",
    }


@PARSERS
def test_every_key_and_item_has_its_line(in_python: bool) -> None:
    text = "# top\na:\n  - b: 1\n    c: [x,\n      y]\n  - d\n"
    lines = read_yaml(text, with_lines=True, in_python=in_python).lines
    assert lines == {
        ("a",): 2,
        ("a", 0): 3,
        ("a", 0, "b"): 3,
        ("a", 0, "c"): 4,
        ("a", 0, "c", 0): 4,
        ("a", 0, "c", 1): 5,
        ("a", 1): 6,
    }


@PARSERS
def test_nesting_has_a_limit(in_python: bool) -> None:
    def codes(depth: int) -> list[str]:
        text = "[" * depth + "]" * depth
        return [each.code for each in read_yaml(text, in_python=in_python).mistakes]

    assert codes(limits.NESTING) == []
    assert codes(limits.NESTING + 1) == ["limit_exceeded"]


def test_a_mountain_of_brackets_is_refused_not_recursed_into() -> None:
    assert read_yaml("[" * 200_000).mistakes[0].code == "limit_exceeded"
    assert read_yaml("- " * 200_000).mistakes[0].code == "limit_exceeded"


@PARSERS
def test_aliases_have_a_limit(in_python: bool) -> None:
    def codes(count: int) -> list[str]:
        text = "a: &a [1, 2, 3, 4]\nb: [" + ", ".join(["*a"] * count) + "]\n"
        return [each.code for each in read_yaml(text, in_python=in_python).mistakes]

    assert codes(limits.ALIAS_NODES // 5) == []
    assert codes(limits.ALIAS_NODES // 5 + 1) == ["limit_exceeded"]


def test_a_billion_laughs_are_refused_at_once() -> None:
    rows = ["a0: &a0 [x, x]"]
    rows += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    reading = read_yaml("\n".join(rows))
    assert [each.code for each in reading.mistakes] == ["limit_exceeded"]
    assert not reading.is_whole


def test_mistakes_of_one_text_are_collected() -> None:
    reading = read_yaml("a: !x 1\na: 2\n3: 4\nb: .nan\n")
    assert [(each.code, each.line) for each in reading.mistakes] == [
        ("yaml_tag", 1),
        ("duplicate_key", 2),
        ("bad_key", 3),
        ("not_json", 4),
    ]
    assert "first used on line 1" in reading.mistakes[1].message


# JSON spells characters beyond 16 bits as two halves, which YAML cannot read.
texts = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_json_is_yaml(value: object) -> None:
    text = json.dumps(value).replace("\x7f", "\\u007f")
    assert value_of(text) == value


def test_half_characters_in_escapes_are_told() -> None:
    reading = read_yaml('a: 1\nb: "\\ud83d\\ude00"\n')
    assert [(each.code, each.line) for each in reading.mistakes] == [("yaml_syntax", 2)]
    assert "character itself" in reading.mistakes[0].fix


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    for in_python in (False, True):
        reading = read_yaml(text, in_python=in_python)
        assert isinstance(reading, YamlReading)
        assert reading.is_whole or reading.mistakes
    assert isinstance(lines_of(text), dict)


def test_both_parsers_are_there_to_be_compared() -> None:
    assert yaml.__with_libyaml__


@pytest.mark.parametrize("piece", ["{a,", "{", "{{", "[{", "{a: {"])
@PARSERS
def test_a_text_is_read_no_further_than_it_may_nest(piece: str, in_python: bool) -> None:
    # A piece on each line: where reading ended says how much of it was read.
    found = read_yaml("a: " + f"{piece}\n" * 3000, in_python=in_python).mistakes[-1]
    assert found.code == "limit_exceeded"
    assert found.line is not None
    assert found.line <= limits.NESTING + 1
