"""The kernel of a file of notebook tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebook.kernel_cells import Notebook


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """One kernel for this file; each test names its workflows differently."""
    opened = Notebook(tmp_path_factory.mktemp("notebook"))
    yield opened
    opened.close()
