"""The source pinned of a `%%step` cell: what becomes of a body, and on which line Python finds its mistakes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.notebook.cells.draft import function_notes
from pixirnb.notebook.cells.step_source import parameter, step_source, unseen_names
from pixirnb.runners.python import functions
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.problem_list import error_blocks


def returned(body: str, **given: Any) -> Any:
    """What the step of a body returns, called as a runner calls it."""
    source = step_source("tried-out", body, offered=tuple(given))
    arguments = {name: value for name, value in given.items() if name in source.takes}
    return functions.call(":step_tried_out", arguments, source.text)


def refused(body: str) -> tuple[str, int | None]:
    with pytest.raises(InvalidSpec) as caught:
        step_source("wrong", body)
    lines = draw_text(error_blocks(caught.value.document())).split("\n")
    assert len(lines) == 2, "what happened, and what to do"
    assert "`wrong`" in lines[0]
    return caught.value.code, caught.value.line


def test_a_body_becomes_a_function_line_for_line_with_its_comments() -> None:
    body = "# why\nkept = [row for row in raw\n        if row]  # all but nothing\n\nif kept:\n\tprint(kept)\nkept"
    source = step_source("clean", body, offered=["inputs", "raw"])
    assert source.text == (
        "def step_clean(raw):  # %%step clean\n"
        "    # why\n"
        "    kept = [row for row in raw\n"
        "            if row]  # all but nothing\n"
        "\n"
        "    if kept:\n"
        "    \tprint(kept)\n"
        "    return kept\n"
    )
    assert source.takes == {"raw"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("1 + 1", 2),
        ("x = 3; x", 3),
        ("x = 3; x;", None),
        ("x = 3\nx ;  # said to nobody", None),
        ("x = 3", None),
        ("return 5\n6", 5),
        ("if True:\n    return 'early'\n'late'", "early"),
        ("(\n  1,\n  2,\n)", (1, 2)),
        ("1, 2", (1, 2)),
        ("(1); (2)", 2),
        ("'é'; 'ü' + 'ö'", "üö"),
        ("x = 1 + \\\n  2\nx", 3),
        ("def f(n):\n    return n and n + f(n - 1)\nf(3)", 6),
        ("import math\nmath.floor(2.5)", 2),
        ("class A:\n    size = 3\nA.size", 3),
        ("'''\n   \n\tkept\n'''", "\n   \n\tkept\n"),
        ('f"""\n  {1 +\n1}\n   \n"""', "\n  2\n   \n"),
        ("x = 'a\\\n  b'\nx", "a  b"),
        ("'# no comment'  # a comment", "# no comment"),
        ("1\r\n+2\r\n", 2),
        ("async def main():\n    return 4\nimport asyncio\nasyncio.run(main())", 4),
    ],
)
def test_a_step_returns_what_it_returns_or_its_last_expression(body: str, expected: Any) -> None:
    assert returned(body) == expected


def test_texts_of_several_lines_keep_every_character() -> None:
    random.seed(7)
    for _ in range(200):
        inside = "".join(random.choices(" \t\n#ab;{}'", k=30)).replace("'''", "")
        body = f"x = 1\nkept = r'''{inside} '''\nif x:\n    kept += ''\nkept"
        assert returned(body) == f"{inside} "


def test_a_body_takes_only_what_it_names_unless_it_may_look_at_any_name() -> None:
    offered = ["inputs", "raw"]
    assert step_source("a", "1", offered=offered).takes == set()
    assert step_source("a", "inputs['n']", offered=offered).takes == {"inputs"}
    assert step_source("a", "sorted(locals())", offered=offered).takes == {"inputs", "raw"}
    assert step_source("a", "1", offered=offered, recorded=["limit"]).takes == {"limit"}
    assert returned("sorted(locals())", inputs={}, raw=1) == ["inputs", "raw"]


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("x = 1\nx = = 2", "step_syntax", 3),
        ("x = 1\n\nx = (", "step_syntax", 4),
        ("  x = 1", "step_syntax", 2),
        ("x = 1\n'''\nopen", "step_syntax", 3),
        ("x = 1\nbreak", "step_syntax", 3),
        ("x = 1\nfrom math import *", "step_syntax", 3),
        ("x = 1\n%matplotlib inline", "step_syntax", 3),
        ("!ls", "step_syntax", 2),
        ("files = !ls", "step_syntax", 2),
        ("x = 1\nx?", "step_syntax", 3),
        ("x = '\0'", "step_syntax", None),
        ("x = '\ud800'", "step_syntax", None),
        ("x = 1\nawait x", "step_await", 3),
        ("x = [y async for y in z]", "step_await", 2),
        ("async with x:\n    pass", "step_await", 2),
        ("x = 1\nfor y in 'ab':\n    yield y", "step_await", 4),
        ("# nothing", "empty", None),
        ("\n\n", "empty", None),
    ],
)
def test_a_mistake_is_told_in_two_lines_with_the_line_of_the_cell(
    body: str, code: str, line: int | None
) -> None:
    assert refused(body) == (code, line)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("from math import *", "import names one by one"),
        ("from __future__ import annotations", "remove the line"),
    ],
)
def test_what_only_a_whole_file_may_say_is_told_what_a_step_does_instead(
    line: str, fix: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        step_source("a", f"x = 1\n{line}\nx")
    assert (caught.value.code, caught.value.line) == ("step_syntax", 3)
    assert fix in caught.value.fix


def test_the_kernels_own_syntax_is_called_by_its_name() -> None:
    for body in ("%time 1", "!ls", "x = %pwd", "x??"):
        with pytest.raises(InvalidSpec, match="is IPython syntax"):
            step_source("wrong", body)
    with pytest.raises(InvalidSpec, match="syntax error in step"):
        step_source("wrong", "x = 5 %% 2")


def test_a_failure_names_the_line_of_the_cell() -> None:
    failure = returned("def inner():\n    return {}['gone']\n# a comment\ninner()")
    assert isinstance(failure, functions.Failure)
    assert failure.message == "line 3 of the cell: KeyError: 'gone'"
    assert 'File "<%%step tried-out>", line 5, in step_tried_out' in failure.details["traceback"]
    assert "return inner()" in failure.details["traceback"]
    elsewhere = returned("import json\njson.loads('{')")
    assert elsewhere.message.startswith("line 3 of the cell: json.decoder.JSONDecodeError")


def test_names_that_nobody_gives_are_told_with_their_line() -> None:
    body = "import math\nmath.pi + frame\n[x for x in range(3)]\nframe\ndisplay(f(print))"
    assert step_source("a", body).unseen == (("frame", 3), ("display", 6), ("f", 6))
    assert step_source("a", "global kept\nkept = 1\nkept").unseen == ()


@pytest.mark.parametrize(
    ("step", "name"),
    [("raw", "raw"), ("raw-data", "raw_data"), ("3d", "_3d"), ("class", "class_"), ("A_b", "A_b")],
)
def test_an_output_is_seen_under_a_name(step: str, name: str) -> None:
    assert parameter(step) == name


@pytest.mark.parametrize(
    ("source", "unseen"),
    [
        ("def f():\n    return pd.DataFrame()\n", [("pd", 2)]),
        ("def f():\n    import pandas as pd\n    return pd.DataFrame()\n", []),
        ("def f(n):\n    return f(n - 1) if n else len([x for x in range(n)])\n", []),
        ("def f(x: Model = LIMIT) -> Model:\n    return x\n", [("Model", 1), ("LIMIT", 1)]),
        ("@cache\ndef f():\n    return 1\n", [("cache", 1)]),
        (
            "def f():\n    def g():\n        return a + b\n    b = 1\n    return g() + a\n",
            [("a", 3)],
        ),
        ("def f():\n    global total\n    total = 1\n    return total\n", []),
        ("def f():\n    class A(Base):\n        x = y\n    return A\n", [("Base", 2), ("y", 3)]),
        (
            "def f():\n    display(1)\n    return get_ipython()\n",
            [("display", 2), ("get_ipython", 3)],
        ),
    ],
)
def test_a_name_is_unseen_unless_the_source_makes_or_imports_it(
    source: str, unseen: list[tuple[str, int]]
) -> None:
    assert [*unseen_names(source)] == unseen


def test_each_unseen_name_of_a_function_comes_with_its_fix() -> None:
    import math

    source = "def load(n):\n    return math.pi * LIMIT * gone * thing\n"
    assert function_notes({":load": source}, {"math": math, "LIMIT": 3, "thing": object()}) == [
        "line 2 of `load`: `math` is not available when it runs as a step; "
        "import or define it inside `load`, or use %%step",
        "line 2 of `load`: `LIMIT` is not available when it runs as a step; "
        "pass it with `with:`, or use %%step",
        "line 2 of `load`: `gone` is not available when it runs as a step; "
        "import or define it inside `load`, or use %%step",
        "line 2 of `load`: `thing` is not available when it runs as a step; "
        "import or define it inside `load`, or use %%step",
    ]
