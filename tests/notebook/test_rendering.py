"""Everything that a person gets in a cell shows itself there: tables, figures, plans, evidence, histories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.notebook.kernel_cells import Notebook

STEPS = """
def figure():
    from matplotlib.figure import Figure
    drawn = Figure(figsize=(2, 1))
    drawn.add_subplot().plot([1, 2, 1])
    return drawn

def pyplot_figure():
    import matplotlib
    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    drawn, axes = plt.subplots(figsize=(2, 1))
    axes.plot([1, 2])
    return drawn

def frame():
    import pandas as pd
    return pd.DataFrame({"a": [1, 2]})
"""
SHOWN = """%%workflow shown --run --as run
steps:
  - {id: figure, call: ":figure", process: true}
  - {id: pyplot, call: ":pyplot_figure", process: true}
  - {id: frame, call: ":frame"}
  - {id: after, run: "true", posture: read_only, depends_on: [figure]}
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """A kernel in which `run` has completed, and pyplot was never imported."""
    opened = Notebook(tmp_path_factory.mktemp("displays"))
    opened.run(STEPS)
    # Not --wait, which would load the figures to show them small.
    assert opened.run(SHOWN).errors == []
    assert opened.run("_ = await run").errors == []
    yield opened
    opened.close()


def shown(notebook: Notebook, source: str) -> dict[str, Any]:
    """What a cell shows: one thing."""
    cell = notebook.run(source)
    assert cell.errors == []
    (bundle,) = cell.shown
    return bundle


def test_a_figure_is_drawn_once_whether_pyplot_made_it_or_not(notebook: Notebook) -> None:
    assert (
        notebook.run("import sys; print('matplotlib.pyplot' in sys.modules)").printed == "False\n"
    )
    for step in ("figure", "pyplot", "figure"):
        bundle = shown(notebook, f"run.value('{step}')")
        assert bundle["image/png"].startswith("iVBORw0KGgo")
    assert "image/svg+xml" in shown(
        notebook,
        "import matplotlib_inline.backend_inline as inline\n"
        "inline.set_matplotlib_formats('svg')\nrun.value('figure')",
    ), "what the notebook has chosen goes before"


def test_a_frame_is_a_table(notebook: Notebook) -> None:
    assert "<table" in shown(notebook, "run.value('frame')")["text/html"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("run", "✓ completed · shown"),
        ("run.outcome", "✓ completed · shown"),
        ("await run", "✓ completed · shown"),
        ("run.plan", "○ plan · shown"),
        ("run.plan.spec", "○ plan · shown"),
        ("run.outcome.step('after')", "✓ ready · after"),
        ("run.bundle('after')", "✓ ready · after"),
        ("run.explain('after')", "`after` is ready"),
        ("run.history()", "run completed after"),
        ("run.history()[-3:]", "3 events"),
        ("import pixirnb\npixirnb.plan_resume(run.id)", "Dry run: everything is up to date."),
        ("pixirnb.runs()", "✓ completed  r-"),
        ("pixirnb.runs()[:1]", "✓ completed  r-"),
        ("run.diagnose()", "no problems found"),
        ("run.to_dataframe()", "step_id"),
    ],
)
def test_what_a_cell_ends_with_is_shown_as_a_card_beside_its_text(
    notebook: Notebook, source: str, said: str
) -> None:
    bundle = shown(notebook, source)
    assert said in bundle["text/plain"]
    assert bundle["text/html"].lstrip().startswith(("<style>", "<div"))
