"""What pinned source will not see when it runs as a step."""

from __future__ import annotations

import pytest

from pixirnb.notebook.cells.draft_cards import function_notes
from pixirnb.notebook.cells.unseen_names import unseen_names


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
