"""What the text of a cell means, and where its mistakes stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixirnb.errors import Cannot, InvalidSpec
from pixirnb.notebook.cells.workflow_cell import define
from pixirnb.notebook.rendering import error_lines

STEPS = 'steps:\n  - {id: a, run: "echo hi", posture: read_only}\n'


def refused(body: str, name: str | None = None) -> list[tuple[str, int | None]]:
    with pytest.raises(InvalidSpec) as caught:
        define(body, name=name)
    return [(problem.code, problem.line) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "body",
    [
        STEPS,
        "# a comment\n\n" + STEPS,
        "---\n" + STEPS,
        '{steps: [{id: a, run: "echo hi", posture: read_only}]}',
        '{"steps": [{"id": "a", "run": "echo hi", "posture": "read_only"}]}',
        "name: ours\n" + STEPS,
    ],
)
def test_the_magic_may_name_the_workflow(body: str) -> None:
    draft = define(body, name="ours")
    assert (draft.name, draft.ids) == ("ours", ("a",))


@pytest.mark.parametrize(
    "body", [STEPS, "# why\n" + STEPS, "---\n" + STEPS, "name: ours\n" + STEPS]
)
def test_a_mistake_stands_on_its_line_of_the_cell(body: str) -> None:
    wrong = body + "  - {id: b, run: 'echo', depends_on: [gone]}\n"
    line_of_the_cell = wrong.count("\n") + 1
    assert refused(wrong, "ours") == [("unknown_dependency", line_of_the_cell)]


def test_two_names_are_a_mistake_told_with_all_others() -> None:
    body = "name: theirs\n" + STEPS + "stps: 1\n"
    assert refused(body, "ours") == [("name_differs", 2), ("unknown_key", 5)]


def test_a_name_that_is_none_is_refused_on_the_line_of_the_magic() -> None:
    assert refused(STEPS, 'no "name"') == [("bad_name", 1)]


def test_a_cell_without_any_name_is_refused() -> None:
    assert refused(STEPS) == [("missing_key", 2)]


def test_broken_yaml_is_refused_on_its_line() -> None:
    assert refused("steps:\n  - {id: a, run: 'x'\n", "ours") == [("yaml_syntax", 3)]


@pytest.mark.parametrize("body", ["inputs: {}\n", "description: |\n  two\n  lines", "name: ours"])
def test_a_cell_may_leave_its_steps_to_other_cells(body: str) -> None:
    draft = define(body, name="ours")
    assert (draft.name, draft.ids, draft.has_own_steps) == ("ours", (), False)


def test_a_cell_that_leaves_its_steps_to_others_is_checked_in_all_it_says() -> None:
    assert refused("stps: 1\n", "ours") == [("unknown_key", 2)]
    assert refused("inputs: {n: {type: x}}\nphases: 3\n", "ours") == [
        ("not_a_choice", 2),
        ("wrong_type", 3),
    ]
    assert refused("{inputs: {}}", "ours") == [("missing_key", 2)]


TASK = "steps:\n  - {id: a, task: Look., agent: reviewer, output: {}}\n"


def test_a_cell_adopts_the_roles_its_steps_name(tmp_path: Path) -> None:
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles" / "reviewer.yaml").write_text("role: You review.\n")
    workflow = define(TASK, name="ours", workspace=tmp_path).workflow()
    assert workflow.agents["reviewer"].role == "You review."
    assert workflow.canonical()["agents"] == {"reviewer": {"role": "You review."}}


def test_a_mistake_of_a_role_stands_on_the_line_of_the_cell_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles" / "reviewer.yaml").write_text("\n\nrunnner: llm\n")
    with pytest.raises(InvalidSpec) as caught:
        define(TASK, name="ours", workspace=tmp_path)
    [problem] = caught.value.problems
    assert (problem.code, problem.line) == ("unknown_key", 3)
    assert "roles/reviewer.yaml, line 3" in problem.message


def test_what_an_error_advises_is_said_for_a_cell_but_for_what_no_cell_can_do() -> None:
    wrong = Cannot("no.", "`pixirnb runs` lists them; `pixirnb mcp` is started by the agent.")
    told = " ".join(error_lines(wrong))
    assert "`%pixir runs`" in told
    assert "`pixirnb mcp`" in told
