"""Front-ends that cannot show the live view get a picture that is redrawn, and one sentence that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook.kernel_cells import Notebook

VIEW = "application/vnd.jupyter.widget-view+json"
STORY = "%%workflow story --wait --as run\nsteps: [{id: make, run: echo made}]"


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("import os; os.environ['COLAB_RELEASE_TAG'] = 'release'", "Colab"),
        ("__vsc_ipynb_file__ = '/somewhere/notebook.ipynb'", "VS Code"),
    ],
)
def test_a_front_end_without_the_live_view_says_so_once_and_a_person_may_choose_either(
    tmp_path: Path, before: str, name: str
) -> None:
    notebook = Notebook(tmp_path, is_attended=True)
    try:
        notebook.run(before)
        first, second, shown = notebook.run(STORY), notebook.run(STORY), notebook.run("run")
        assert first.printed.startswith(name)
        assert second.printed == shown.printed == ""
        for cell in (first, second, shown):
            (bundle,) = cell.saved
            assert VIEW not in bundle
            assert "✓ completed" in bundle["text/plain"]
        notebook.run("import os; os.environ['PIXIRNB_VIEW'] = 'live'")
        assert any(VIEW in bundle for bundle in notebook.run("run").shown)
        assert any(VIEW in bundle for bundle in notebook.run(STORY).shown)
        notebook.run("os.environ['PIXIRNB_VIEW'] = 'picture'")
        assert all(VIEW not in bundle for bundle in notebook.run(STORY).shown)
    finally:
        notebook.close()
