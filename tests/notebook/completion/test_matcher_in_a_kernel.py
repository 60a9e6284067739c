"""Completion as a front-end asks for it: a real kernel, its complete and inspect requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.notebook.kernel_cells import PATIENCE_S, Notebook

CURSOR = "⌖"
WORKFLOW = """%%workflow demo --run --wait --expect needs_orchestrator
steps:
  - {id: make, run: echo made, posture: read_only}
  - {id: gate, ask: {question: Ship it?}, depends_on: [make]}
"""


@dataclass(frozen=True)
class Reply:
    """What the kernel answers."""

    matches: list[str]
    replaced: str
    abouts: dict[str, str]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "src").mkdir()
    opened = Notebook(folder)
    opened.run(WORKFLOW)
    opened.run("def score(frame):\n    '''Scores a frame.'''\n\nframe = [1]")
    yield opened
    opened.close()


def asked(notebook: Notebook, cell: str) -> Reply:
    offset, code = cell.index(CURSOR), cell.replace(CURSOR, "", 1)
    reply: dict[str, Any] = notebook.client.complete(code, offset, reply=True, timeout=PATIENCE_S)[
        "content"
    ]
    assert reply["status"] == "ok"
    assert reply["cursor_end"] == offset or not reply["matches"]
    typed = reply["metadata"]["_jupyter_types_experimental"]
    return Reply(
        reply["matches"],
        code[reply["cursor_start"] : reply["cursor_end"]],
        {
            each["text"]: each["type"]
            .replace("\N{NO-BREAK SPACE}", " ")
            .replace("\N{NON-BREAKING HYPHEN}", "-")
            for each in typed
        },
    )


def test_a_body_is_completed_with_the_keys_and_names_of_its_workflow(notebook: Notebook) -> None:
    reply = asked(notebook, "%%workflow x\nsteps:\n  - id: a\n    dep⌖")
    assert (reply.matches, reply.replaced) == (["depends_on: "], "dep")
    assert "before it starts" in reply.abouts["depends_on: "]
    reply = asked(notebook, "%%workflow x\nsteps:\n  - {id: a, write_set: [s⌖]}\n")
    assert (reply.matches, reply.replaced) == (["src/"], "s")
    reply = asked(notebook, "%%workflow x\nsteps:\n  - {id: a, call: :⌖}\n")
    assert reply.abouts == {":score": "Scores a frame."}


def test_no_name_of_python_appears_in_a_body(notebook: Notebook) -> None:
    assert asked(notebook, "%%workflow x\ndescription: fra⌖").matches == []
    assert asked(notebook, "%%workflow x\nsteps:\n  - {id: a, timeout: ⌖}").matches == []


def test_a_character_beyond_the_first_plane_does_not_move_the_cursor(notebook: Notebook) -> None:
    reply = asked(notebook, "%%workflow x\ndescription: 🚀 é\non_⌖")
    assert (reply.matches, reply.replaced) == (["on_failure: "], "on_")


def test_options_steps_and_names_are_offered_on_the_lines_of_our_magics(notebook: Notebook) -> None:
    assert asked(notebook, "%%workflow demo --w⌖").matches == ["--wait", "--workspace"]
    assert asked(notebook, "%%step new --workflow demo --after ⌖").matches == ["make", "gate"]
    assert "frame" in asked(notebook, "%%step new --workflow demo --use ⌖").matches
    assert "resume" in asked(notebook, "%pixir ⌖").matches


def test_runs_are_offered_with_workflow_and_status_and_their_steps_after_them(
    notebook: Notebook,
) -> None:
    reply = asked(notebook, "%pixir decide r⌖")
    (run,) = reply.matches
    assert reply.abouts[run] == "demo · needs_orchestrator"
    steps = asked(notebook, f"%pixir decide {run} ⌖")
    assert steps.matches[:2] == ["gate", "make"]
    assert asked(notebook, f"%pixir decide {run} gate ⌖").matches[:2] == ["accept", "reject"]


def test_python_is_completed_as_ever(notebook: Notebook) -> None:
    assert "frame" in asked(notebook, "fra⌖").matches
    assert "frame" in asked(notebook, "%%step new --workflow demo\nfra⌖").matches


def test_unloading_the_extension_ends_it_and_loading_it_again_brings_it_back(
    notebook: Notebook,
) -> None:
    notebook.run("%unload_ext pixirnb")
    assert "depends_on: " not in asked(notebook, "%%workflow x\nsteps:\n  - {dep⌖").matches
    notebook.run("%load_ext pixirnb\n%reload_ext pixirnb")
    assert asked(notebook, "%%workflow x\nsteps:\n  - {dep⌖").matches == ["depends_on: "]
    count = "len([m for m in get_ipython().Completer.custom_matchers])"
    assert notebook.run(f"print({count})").printed == "1\n"


@pytest.mark.parametrize(
    ("magic", "said"),
    [
        ("%%workflow", ["%%workflow [--run]", "--expect STATUS[,…]", "options:"]),
        ("%pixir", ["%pixir VERB", "resume", "--wait"]),
        ("%%step", ["%%step", "--after a,b", "--try"]),
    ],
)
def test_a_question_mark_shows_how_a_magic_is_used(
    notebook: Notebook, magic: str, said: list[str]
) -> None:
    reply = notebook.client.inspect(magic, len(magic), reply=True, timeout=PATIENCE_S)["content"]
    shown = " ".join(reply["data"]["text/plain"].split())
    assert [each for each in said if each not in shown] == []
