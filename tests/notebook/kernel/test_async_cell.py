"""Which cells become awaited ones."""

from __future__ import annotations

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from pixirnb.notebook.kernel.async_cell import await_waiting


def plainly(cell: str) -> str:
    """The cell after IPython's own transformations."""
    manager = TransformerManager()  # type: ignore[no-untyped-call]  # IPython types it in parts
    return str(manager.transform_cell(cell))


def seen(cell: str) -> str:
    """The cell as Python sees it, after ours too."""
    return "".join(await_waiting(plainly(cell).splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (
            "%%workflow x --wait\nsteps: []\n",
            "await get_ipython().run_cell_magic('workflow', 'x --wait --awaited', 'steps: []\\n')\n",
        ),
        (
            "%pixir run x --wait\n",
            "await get_ipython().run_line_magic('pixir', 'run x --wait --awaited')\n",
        ),
        (
            "%%step a --workflow x --try\n1\n",
            "await get_ipython().run_cell_magic('step', 'a --workflow x --try --awaited', '1\\n')\n",
        ),
        (
            "é = %pixir run ü --wait\n",
            "é = await get_ipython().run_line_magic('pixir', 'run ü --wait --awaited')\n",
        ),
        (
            "for x in 'ab':\n    %pixir run {x} --wait\n",
            "for x in 'ab':\n    await get_ipython().run_line_magic('pixir', 'run {x} --wait --awaited')\n",
        ),
    ],
)
def test_a_magic_that_waits_is_awaited(cell: str, expected: str) -> None:
    assert seen(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "%%workflow x --run\nsteps: []\n",
        "%%workflow x\n# --wait\nsteps: []\n",
        "%pixir runs\n",
        "%%step a --workflow x\n'--try'\n",
        "%%step a --workflow x --wait\n1\n",
        "def f():\n    %pixir run x --wait\n",
        "print('--wait')\n",
        "this is not Python get_ipython().run_ --wait\n",
    ],
)
def test_every_other_cell_stays_as_it_is(cell: str) -> None:
    assert seen(cell) == plainly(cell)
