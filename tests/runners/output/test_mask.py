"""A secret is never shown, however its bytes are cut; an ordinary line is never kept waiting."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.runners.output.mask import Mask, mask_here, secret_values
from pixirnb.runners.output.text_search import pattern_of
from pixirnb.runners.output.unseen import plain

SECRET = "s3cret-s3cret-value"


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("API_KEY", "12345678", True),
        ("github_token", "12345678", True),
        ("DB_PASSWORD_FILE", "/run/secret", True),
        ("MY_SECRET", "1234567", False),
        ("AWS_CREDENTIALS", "12345678", True),
        ("PATH", "/usr/bin:/bin", False),
    ],
)
def test_secrets_are_told_by_their_names_from_eight_characters_on(
    name: str, value: str, is_secret: bool
) -> None:
    assert secret_values({name: value}) == ([value] if is_secret else [])


def test_a_secret_that_comes_into_the_environment_later_is_masked_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mask = mask_here({})
    stream = mask.stream()
    assert stream.feed(b"before ") == b"before "
    assert not mask.refresh()
    monkeypatch.setenv("LATE_API_TOKEN", SECRET)
    assert mask.refresh()
    assert not mask.refresh()
    assert stream.feed(f"with {SECRET}\n".encode()) == b"with ***\n"
    assert mask.text(SECRET) == "***"


def test_an_environment_that_a_program_has_replaced_is_read_as_any_other() -> None:
    before, os.environ = os.environ, {"API_KEY": "replaced-secret"}  # type: ignore[assignment]
    try:
        assert mask_here({}).text("a replaced-secret") == "a ***"
    finally:
        os.environ = before  # noqa: B003


def test_text_is_masked() -> None:
    assert Mask([SECRET]).text(f"a {SECRET} b {SECRET}") == "a *** b ***"
    assert Mask([]).text("as it is") == "as it is"
    assert Mask([""]).text("as it is") == "as it is"


def test_the_longer_of_two_secrets_is_masked_whole() -> None:
    mask = Mask(["abcdefgh", "abcdefghij"])
    assert mask.text("abcdefghij") == "***"
    stream = mask.stream()
    assert stream.feed(b"abcdefgh") + stream.feed(b"ij.") + stream.flush() == b"***."
    stream = mask.stream()
    assert stream.feed(b"abcdefghi") + stream.flush() == b"***i"


@pytest.mark.parametrize(
    ("secrets", "pattern"),
    [
        (["key-one1", "key-two2"], r"key\-(?:one1|two2)"),
        (["abc", "abcd", "abx"], "ab(?:c(?:d)?|x)"),
        (["one", "two", "one"], "one|two"),
    ],
)
def test_what_secrets_begin_with_in_common_is_looked_at_once(
    secrets: list[str], pattern: str
) -> None:
    assert pattern_of(secrets) == pattern


@pytest.mark.parametrize("secret", ["abcdefgh", "abcdefghij", "bcdefghi", "zyxwvuts"])
def test_the_beginning_of_each_of_many_secrets_is_held_back(secret: str) -> None:
    mask = Mask(["abcdefgh", "abcdefghij", "bcdefghi", "zyxwvuts"])
    for cut in range(1, len(secret)):
        stream = mask.stream()
        shown = stream.feed(f"-{secret[:cut]}".encode())
        assert shown in {b"-", b"-***"}
        assert shown + stream.feed(f"{secret[cut:]}-".encode()) + stream.flush() == b"-***-"


def test_a_thousand_secrets_that_begin_one_another_are_masked() -> None:
    mask = Mask("ab" * count for count in range(4, 1_004))
    assert mask.text(f"-{'ab' * 500}-{'ab' * 999}a-{'ab' * 3}-") == "-***-***a-ababab-"


@given(
    st.lists(st.text("ab", min_size=2, max_size=5), min_size=1, max_size=4),
    st.text("abc", max_size=60),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_however_a_stream_is_cut_it_is_masked_as_if_it_came_whole(
    secrets: list[str], text: str, cuts: list[int]
) -> None:
    mask = Mask(secrets)
    stream = mask.stream()
    data = text.encode()
    edges = [0, *sorted(cuts), len(data)]
    shown = b"".join(stream.feed(data[low:high]) for low, high in pairwise(edges))
    assert (shown + stream.flush()).decode() == mask.text(text)


def test_a_title_that_is_cut_behind_its_first_byte_is_a_title() -> None:
    stream = Mask(["bb"]).stream()
    shown = stream.feed(b"\x1b") + stream.feed(b"]0;ab\x07b") + stream.flush()
    assert shown == b"\x1b]0;ab\x07b"


@given(
    st.lists(st.text("ab", min_size=2, max_size=5), min_size=1, max_size=4),
    st.lists(
        st.sampled_from(
            ["a", "b", "c", "\x1b[1m", "\x1b[0;38;5;2m", "\x1b]0;ab\x07", "\x1b(B", "\n"]
        ),
        max_size=40,
    ),
    st.lists(st.integers(0, 120), max_size=8),
)
def test_however_a_painted_stream_is_cut_it_is_masked_as_if_it_came_whole(
    secrets: list[str], pieces: list[str], cuts: list[int]
) -> None:
    mask = Mask(secrets)
    data = "".join(pieces).encode()
    edges = [0, *sorted(cuts), len(data)]
    stream = mask.stream()
    shown = b"".join(stream.feed(data[low:high]) for low, high in pairwise(edges)) + stream.flush()
    seen = plain(shown.decode())
    assert not any(secret in seen for secret in secrets)
    kept = [piece for piece in pieces if piece.startswith("\x1b[")]
    assert re.findall(r"\x1b\[[0-9;]*m", shown.decode()) == kept
    if not any(secret in piece for secret in secrets for piece in pieces):
        assert shown.decode() == mask.text(data.decode())


@pytest.mark.parametrize("escape", ["\x1b[1;31m", "\x1b[m", "\x1b]8;;http://h\x1b\\", "\x1b(B"])
def test_a_secret_with_a_colour_inside_is_a_secret(escape: str) -> None:
    mask = Mask([SECRET])
    for at in range(1, len(SECRET)):
        painted = f"a {SECRET[:at]}{escape}{SECRET[at:]} b"
        assert mask.text(painted) == f"a ***{escape} b"
        stream = mask.stream()
        shown = b"".join(stream.feed(bytes([byte])) for byte in painted.encode())
        assert (shown + stream.flush()).decode() == f"a ***{escape} b"


def test_a_painted_line_passes_at_once_and_a_beginning_waits_for_no_more_than_it_must() -> None:
    stream = Mask([SECRET]).stream()
    assert stream.feed(b"\x1b[1mbold\x1b[0m\n") == b"\x1b[1mbold\x1b[0m\n"
    assert stream.feed(SECRET[:3].encode() + b"\x1b[0") == b""
    assert stream.feed(b"m.\n") == SECRET[:3].encode() + b"\x1b[0m.\n"
    moves = b"\x1b[1A" * 50_000
    assert stream.feed(SECRET[:3].encode() + moves) == SECRET[:3].encode() + moves


def test_only_what_may_become_a_secret_is_held_back() -> None:
    stream = Mask([SECRET]).stream()
    assert stream.feed(b"an ordinary line\n") == b"an ordinary line\n"
    assert stream.feed(b"then s3cret-") == b"then "
    assert stream.feed(b"rest\n") == b"s3cret-rest\n"
    assert stream.feed(b"s3c") == b""
    assert stream.flush() == b"s3c"


def test_bytes_that_are_no_text_pass_untouched() -> None:
    stream = Mask([SECRET]).stream()
    data = bytes(range(256)) + SECRET.encode() + b"\xff"
    assert stream.feed(data) + stream.flush() == bytes(range(256)) + b"***\xff"


JSON: dict[str, Any] = {
    "a number": 12345678,
    "a part of a number": [-1234567890.5, {"deep": 9912345678}],
    "text": 'id 12345678, and "12345678"',
    "another": 1234567,
    "true": True,
}
MASKED: dict[str, Any] = {
    "a number": "***",
    "a part of a number": ["***", {"deep": "***"}],
    "text": 'id ***, and "***"',
    "another": 1234567,
    "true": True,
}


def test_a_number_that_holds_a_secret_is_masked_in_a_value_and_the_json_stays_json() -> None:
    mask = Mask(["12345678"])
    assert mask.value(JSON) == MASKED
    for text in (json.dumps(JSON), json.dumps(JSON, indent=1), json.dumps(JSON["a number"])):
        masked = json.loads(b"".join(mask.json(text.encode())))
        assert masked == mask.value(json.loads(text))


def test_numbers_of_events_are_no_secrets() -> None:
    assert Mask(["12345678"]).data({"bytes": 12345678}) == {"bytes": 12345678}


def test_without_a_number_among_the_secrets_numbers_stay() -> None:
    mask = Mask(["hunter2-hunter2"])
    assert mask.value([12345678, "hunter2-hunter2"]) == [12345678, "***"]
    assert json.loads(b"".join(mask.json(b'[12345678, "hunter2-hunter2"]'))) == [12345678, "***"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"key {SECRET[:-1]}… and on", "key ***… and on"),
        (f"key {SECRET[:4]}…", "key ***…"),
        (f"a…{SECRET[3:]} b", "a…*** b"),
        (
            f"{SECRET[:9]}\n[… 30 bytes left out …]\n{SECRET[11:]}!",
            "***\n[… 30 bytes left out …]\n***!",
        ),
        (f"{SECRET[:3]}… is no half", f"{SECRET[:3]}… is no half"),
        (f"no cut: {SECRET[:-1]}", f"no cut: {SECRET[:-1]}"),
    ],
)
def test_half_a_secret_next_to_a_cut_is_masked(text: str, masked: str) -> None:
    assert Mask([SECRET]).text(text) == masked


def test_each_line_of_a_secret_of_several_is_one() -> None:
    mask = Mask(["-----BEGIN-----\nMIIEabcdefgh\nx\n"])
    assert mask.text("+MIIEabcdefgh\n+x\n") == "+***\n+x\n"
    assert mask.text("k.pem:2: MIIEabcdefgh") == "k.pem:2: ***"


def test_a_secret_in_the_ascii_of_python_is_masked() -> None:
    value = "pässwörd-1"
    assert Mask([value]).text(f"it is {value!a}") == "it is '***'"


@pytest.mark.parametrize(
    "secret", ["it's-secret-99", "a'b\"c-secret", "plain-secret", "ü'-sécret-1"]
)
def test_a_secret_is_masked_in_whatever_python_writes_of_a_text_around_it(secret: str) -> None:
    mask = Mask([secret])
    for around in ("{}", "say {}", 'say "{}"', "say '{}'", "both \" and ' {}"):
        text = around.format(secret)
        in_dumps = (
            repr(text),
            ascii(text),
            repr({"k": [text]}),
            json.dumps(text),
            repr(text.encode()),
        )
        for shown in in_dumps:
            assert mask.text(shown) != shown, shown
            assert "cret" not in mask.text(shown)
