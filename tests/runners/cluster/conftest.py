"""Workers of a file of tests end with it: the tests of others need the processors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pixirnb.runners.cluster.connection import close_local


@pytest.fixture(scope="module", autouse=True)
def _no_workers_stay() -> Iterator[None]:
    yield
    close_local()
