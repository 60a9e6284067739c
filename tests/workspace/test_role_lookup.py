"""Role files: found beside the workflow, in the workspace and with the user; adopted, pinned, and told of by path and line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pixirnb
from pixirnb.errors import InvalidSpec
from pixirnb.workspace.role_lookup import SIZE_LIMIT, find_roles

SPEC = """\
name: w
agents: {own: {role: Mine.}}
steps:
  - {id: a, task: Look., agent: reviewer}
  - {id: b, task: Mend., agent: own}
"""
ROLE = """\
role: You review.
posture: read_only
script: {a: [[{report: {checkpoint_status: checkpoint_ready, summary: looked}}]]}
"""


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "w.yaml").write_text(SPEC)
    return folder / "w.yaml"


def put(folder: Path, text: str, name: str = "reviewer") -> Path:
    path = folder / "roles" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refused(spec: Path, workspace: Path | None = None) -> list[tuple[str, str, int | None]]:
    with pytest.raises(InvalidSpec) as caught:
        pixirnb.load(spec, workspace=workspace)
    return [(each.code, each.path, each.line) for each in caught.value.problems]


def told(spec: Path) -> str:
    with pytest.raises(InvalidSpec) as caught:
        pixirnb.load(spec)
    return caught.value.problems[0].message


def test_a_role_is_looked_for_beside_the_file_then_in_the_workspace_then_with_the_user(
    spec: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    places = [tmp_path / "config" / "pixirnb", work, spec.parent]
    assert refused(spec, put(work, "", "other").parents[1]) == [
        ("agent_unknown", "steps[0].agent", 4)
    ]
    for number, place in enumerate(places):
        path = put(place, f"role: From {number}.\n")
        loaded = pixirnb.load(spec, workspace=work)
        assert loaded.agents["reviewer"].role == f"From {number}."
        shown = "roles/reviewer.yaml" if place == work else str(path)
        assert loaded.origins == {"reviewer": shown}


def test_what_the_workflow_declares_wins(spec: Path) -> None:
    put(spec.parent, ROLE)
    put(spec.parent, "role: Theirs.\n", "own")
    loaded = pixirnb.load(spec)
    assert loaded.agents["own"].role == "Mine."
    assert loaded.origins.keys() == {"reviewer"}


def test_a_run_pins_the_role_so_that_its_resume_needs_no_file(spec: Path) -> None:
    path = put(spec.parent, ROLE)
    run = pixirnb.start(spec)
    assert run.wait().step("a").checkpoint_status == "checkpoint_ready"
    path.unlink()
    again = pixirnb.resume(run.id, from_step="a", workspace=spec.parent)
    assert again.wait().step("a").summary == "looked"
    assert again.state.spec["agents"]["reviewer"]["role"] == "You review."


def test_mistakes_of_a_role_stand_where_it_is_named_and_say_file_and_line(spec: Path) -> None:
    put(spec.parent, "role: x\nmodle: y\ntools: [read]\nposture: both\n")
    assert refused(spec) == [
        ("unknown_key", "steps[0].agent", 4),
        ("not_a_choice", "steps[0].agent", 4),
    ]
    assert told(spec).startswith("in roles/reviewer.yaml, line 2, `modle`: ")


def test_mistakes_of_role_and_workflow_are_told_together(spec: Path) -> None:
    put(spec.parent, "role: 3\n")
    spec.write_text(SPEC + "  - {id: c, runn: x}\n")
    codes = [code for code, _, _ in refused(spec)]
    assert codes == ["wrong_type", "unknown_key"]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("role: x\nrunner: llm\n", "agent_model_missing", "line 2, `runner`"),
        ("runner: llm\nmodel: big\n", "model_unreadable", "line 2, `model`"),
        ("tools:\n  - read\n  - rm\n", "tool_unknown", "line 3, `tools[1]`"),
    ],
)
def test_what_a_role_means_wrongly_is_told_with_its_file_and_line(
    text: str, code: str, place: str, spec: Path
) -> None:
    put(spec.parent, text)
    assert refused(spec) == [(code, "steps[0].agent", 4)]
    assert told(spec).startswith(f"in roles/reviewer.yaml, {place}: ")
    spec.write_text(SPEC + "  - {id: c, runn: x}\n")
    assert (code, "steps[0].agent", 4) in refused(spec)


def test_a_warning_of_a_role_is_told_with_its_file_and_line(spec: Path) -> None:
    put(spec.parent, "role: x\nmodel: openai:m\n")
    found = {each.code: each for each in pixirnb.plan(spec).warnings}
    inert = found["agent_key_inert"]
    assert (inert.path, inert.line) == ("steps[0].agent", 4)
    assert inert.message.startswith("in roles/reviewer.yaml, line 2, `model`: ")


def test_what_defaults_name_is_told_where_they_do(tmp_path: Path) -> None:
    put(tmp_path, "runner: llm\n")
    text = "name: w\ndefaults: {agent: reviewer}\nsteps:\n  - {id: a, task: Look.}\n"
    with pytest.raises(InvalidSpec) as caught:
        pixirnb.load(text, workspace=tmp_path)
    assert [each.path for each in caught.value.problems] == ["defaults.agent"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"- a\n- b\n", "not_a_mapping"),
        (b"", "not_a_mapping"),
        (b"role: [\n", "yaml"),
        (b"role: a\nrole: b\n", "duplicate_key"),
        (b"role: \xff\n", "not_utf8"),
        (b"role: " + b"x" * SIZE_LIMIT, "limit_exceeded"),
    ],
)
def test_a_file_that_is_no_role_is_refused(spec: Path, text: bytes, code: str) -> None:
    path = put(spec.parent, "")
    path.write_bytes(text)
    found = refused(spec)
    assert len(found) == 1
    assert code in found[0][0]
    assert told(spec).startswith("in roles/reviewer.yaml")


def test_a_link_that_leads_out_of_the_folder_is_not_followed(spec: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("role: do not read me\n")
    path = put(spec.parent, "")
    path.unlink()
    path.symlink_to(secret)
    assert refused(spec) == [("role_unreadable", "steps[0].agent", 4)]
    path.unlink()
    path.symlink_to("nowhere.yaml")
    assert refused(spec) == [("role_unreadable", "steps[0].agent", 4)]
    path.unlink()
    put(spec.parent, ROLE, "kept")
    path.symlink_to("kept.yaml")
    assert pixirnb.load(spec).agents["reviewer"].role == "You review."


def test_a_pipe_or_a_folder_of_that_name_holds_nobody_up(spec: Path) -> None:
    path = put(spec.parent, "")
    path.unlink()
    os.mkfifo(path)
    assert refused(spec) == [("role_unreadable", "steps[0].agent", 4)]
    path.unlink()
    path.mkdir()
    assert refused(spec) == [("role_unreadable", "steps[0].agent", 4)]


def test_names_that_could_lead_elsewhere_are_looked_for_nowhere(tmp_path: Path) -> None:
    put(tmp_path, ROLE, "reviewer")
    text = SPEC.replace("agent: reviewer", "agent: ../roles/reviewer")
    with pytest.raises(InvalidSpec) as caught:
        pixirnb.load(text, workspace=tmp_path)
    assert [each.code for each in caught.value.problems] == ["agent_unknown"]
    assert "roles/" not in caught.value.problems[0].fix
    assert find_roles([], [tmp_path]) == {}


def test_a_mapping_and_defaults_adopt_roles_too(tmp_path: Path) -> None:
    put(tmp_path, ROLE)
    steps = [{"id": "a", "task": "Look."}]
    written = {"name": "w", "defaults": {"agent": "reviewer"}, "steps": steps}
    found = pixirnb.plan(written, workspace=tmp_path)
    assert found.ok
    assert found.agents == {"reviewer": ("a",)}
