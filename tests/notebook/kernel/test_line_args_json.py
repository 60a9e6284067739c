"""A value of the notebook that is a whole value on a line arrives as what it is."""

from __future__ import annotations

import pytest

from pixirnb.notebook.kernel.line_args import words

HERE = {"flag": True, "none": None, "rows": [1, "a b"], "table": {"k": [None]}, "s": "x y", "n": 3}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("flag=$flag", "flag=true"),
        ("flag={flag}", "flag=true"),
        ("$none", "null"),
        ("--input=rows=$rows", '--input=rows=[1, "a b"]'),
        ("--value={table}", '--value={"k": [null]}'),
        ("s=$s", "s=x y"),
        ("n={n}", "n=3"),
        ("'the flag is {flag}'", "the flag is True"),
    ],
)
def test_plain_data_becomes_json_and_text_stays_text(line: str, word: str) -> None:
    assert words(line, HERE) == [word]
