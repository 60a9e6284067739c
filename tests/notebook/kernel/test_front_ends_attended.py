"""Whether a cell came from somebody who could be asked, in a real kernel and in shells of another make."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pixirnb.notebook.kernel.front_ends import is_attended
from tests.notebook.kernel_cells import Notebook

ASK = "print(is_attended(get_ipython()))"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    opened = Notebook(tmp_path_factory.mktemp("attended"))
    opened.run("from pixirnb.notebook.kernel.front_ends import is_attended")
    yield opened
    opened.close()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_kernel_knows_of_each_cell_whether_its_sender_could_ask_a_person(
    notebook: Notebook, allowed: bool
) -> None:
    cell = notebook.collect(notebook.client.execute(ASK, allow_stdin=allowed))
    assert cell.printed == f"{allowed}\n"


@pytest.mark.parametrize("allowed", [True, False])
def test_a_cell_that_awaits_knows_it_too(notebook: Notebook, allowed: bool) -> None:
    source = f"import asyncio\nawait asyncio.sleep(0.05)\n{ASK}"
    cell = notebook.collect(notebook.client.execute(source, allow_stdin=allowed))
    assert cell.printed == f"{allowed}\n"


def shell(parent: Any) -> Any:
    """A shell of another make, whose kernel keeps `parent` as the request."""
    return SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda: parent))


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {},
        [],
        "execute_request",
        {"content": None},
        {"content": []},
        {"content": {}},
        {"content": {"allow_stdin": None}},
        {"content": {"allow_stdin": "no"}},
        {"header": {"allow_stdin": True}},
    ],
)
def test_a_request_that_does_not_say_so_is_a_program_s(odd: Any) -> None:
    assert is_attended(shell(odd)) is False
    assert is_attended(SimpleNamespace(kernel=SimpleNamespace())) is False


def test_a_request_that_only_the_kernel_keeps_is_found() -> None:
    assert is_attended(shell({"content": {"allow_stdin": True}})) is True


def test_without_a_kernel_nobody_attends() -> None:
    assert is_attended(None) is False
    assert is_attended(SimpleNamespace()) is False
    assert is_attended(SimpleNamespace(kernel=None)) is False
