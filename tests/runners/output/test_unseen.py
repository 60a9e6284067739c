"""What no view shows hides no secret from the mask: whatever stands inside, the views never put the secret together."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.runners.output import unseen
from pixirnb.runners.output.mask import Mask
from pixirnb.views.basics import sanitize

SECRET = "hunter2-abcdef-99"
SEQUENCES = [
    "\x1b[1;31m",
    "\x9b0m",
    "\x1b]0;a title\x07",
    "\x1b]8;;http://h\x1b\\",
    "\x1bP1q\x1b\\",
    "\x1b_note\x1b\\",
    "\x90q\x9c",
    "\x1b(B",
    "\x1b]",
    "\x1b[",
    "\x1b",
]


def shown(text: str) -> list[str]:
    """A text as each of the views' two ways of cleaning shows it."""
    return [unseen.plain(text), sanitize.plain(text), sanitize.plain(unseen.plain(text))]


def streamed(mask: Mask, data: bytes, cuts: list[int]) -> bytes:
    stream = mask.stream()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return b"".join(stream.feed(data[low:high]) for low, high in pairwise(edges)) + stream.flush()


def unseen_characters() -> Iterator[str]:
    """Each character that a way of cleaning leaves out."""
    for code in [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]:
        letter = chr(code)
        if not letter.isprintable() and "ab" in shown(f"a{letter}b"):
            yield letter


def test_no_character_that_a_view_leaves_out_hides_a_secret() -> None:
    mask, letters = Mask([SECRET]), list(unseen_characters())
    assert len(letters) > 200
    for letter in letters:
        text = f"a {SECRET[:6]}{letter}{SECRET[6:]} b"
        bytewise = streamed(mask, text.encode(), list(range(len(text.encode()))))
        for masked in (mask.text(text), bytewise.decode()):
            assert not any(SECRET[6:] in each for each in shown(masked)), hex(ord(letter))
            assert masked.startswith("a ***")
            assert masked.endswith(" b")


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_no_sequence_hides_a_secret(sequence: str) -> None:
    mask = Mask([SECRET])
    for at in range(1, len(SECRET)):
        text = f"{SECRET[:at]}{sequence}{SECRET[at:]} b"
        if not any(SECRET in each for each in shown(text)):
            continue  # the sequence took a letter of it
        for masked in (mask.text(text), streamed(mask, text.encode(), [*range(99)]).decode()):
            assert not any(SECRET in each for each in shown(masked))
            assert masked.endswith(" b")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("".join(f"{letter}\b{letter}" for letter in SECRET), id="bold"),
        pytest.param("".join(f"_\b{letter}" for letter in SECRET), id="underlined"),
        pytest.param("".join(f"{letter}\0" for letter in SECRET), id="UTF-16"),
        pytest.param(f"{SECRET[:3]}x\b{SECRET[3:]}", id="typed wrong"),
        pytest.param(f"{SECRET[:3]}é\b\x1b[1m{SECRET[3:]}", id="and painted"),
    ],
)
def test_a_secret_that_is_struck_over_is_a_secret(written: str) -> None:
    mask, data = Mask([SECRET]), f"so: {written}, end".encode()
    for cuts in ([], [*range(len(data))], [*range(0, len(data), 2)], [*range(1, len(data), 2)]):
        masked = streamed(mask, data, cuts).decode()
        assert "***" in masked
        assert masked.startswith("so: ")
        assert masked.endswith(", end")
        assert not any(SECRET[1:] in each for each in shown(masked))
    assert "***" in mask.text(data.decode())


@pytest.mark.parametrize(
    "inside", ["\x1b[1m", "\x1b]0;t\x07", "\0", "\b", "\u200b", "\x9b0m", "x\b"]
)
@pytest.mark.parametrize("is_ascii", [False, True])
def test_a_secret_in_a_json_text_is_a_secret(inside: str, *, is_ascii: bool) -> None:
    value = {"a": [f'"{SECRET[:5]}{inside}{SECRET[5:]}\\', 1]}
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    masked = json.loads(b"".join(Mask([SECRET]).json(text)))
    assert masked["a"][0].startswith('"***')
    assert masked["a"][0].endswith("\\")
    assert not any(SECRET in each for each in shown(masked["a"][0]))


@given(
    st.lists(st.text("ab", min_size=2, max_size=5), min_size=1, max_size=4),
    st.lists(st.sampled_from(["a", "b", "c", "\n", "\0", "\u200b", "é", "世", *SEQUENCES])),
    st.lists(st.integers(0, 120), max_size=8),
)
def test_however_it_is_cut_no_view_puts_a_secret_together(
    secrets: list[str], pieces: list[str], cuts: list[int]
) -> None:
    mask, text = Mask(secrets), "".join(pieces)
    for masked in (mask.text(text), streamed(mask, text.encode(), cuts).decode()):
        assert not any(secret in each for each in shown(masked) for secret in secrets)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_bytes_without_a_secret_pass_as_they_are(data: bytes, cuts: list[int]) -> None:
    assert streamed(Mask([SECRET]), data, cuts) == data
