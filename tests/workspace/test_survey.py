"""The survey of real folders: what is there, what may be written, what leads out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.operations.workflow_source import require_valid
from pixirnb.planning.report import report
from pixirnb.spec.loader import load_mapping, load_text
from pixirnb.spec.workflow import Workflow
from pixirnb.workspace.survey import origin_of, survey


def workflow(**step: Any) -> Workflow:
    spec = {"name": "w", "steps": [{"id": "a", "run": "x", **step}]}
    return load_mapping(spec).require()


def codes(spec: Workflow, folder: Path) -> list[str]:
    return [each.code for each in report(spec, survey(spec, folder, {})).errors]


@pytest.mark.parametrize(
    ("cwd", "told"),
    [
        (".", []),
        ("sub", []),
        ("sub/../sub", []),
        ("file", ["path_not_directory"]),
        ("nowhere", ["path_missing"]),
        ("..", ["path_escapes"]),
        ("../nowhere", ["path_escapes"]),
        ("link-in", []),
        ("link-out", ["path_escapes"]),
        ("link-out/nowhere", ["path_escapes"]),
        ("loop", ["path_missing"]),
        ("/", ["path_escapes"]),
        ("a\x00b", ["path_missing"]),
        ("x" * 5000, ["path_missing"]),
        ("{{ inputs.n }}", ["reference_unknown_input"]),
    ],
)
def test_a_step_stays_in_the_workspace(tmp_path: Path, cwd: str, told: list[str]) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "file").write_text("")
    (root / "link-in").symlink_to("sub")
    (root / "link-out").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    assert codes(workflow(cwd=cwd), root) == told


def test_a_workspace_behind_a_link_is_no_escape(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert codes(workflow(cwd="sub"), tmp_path / "link") == []


def test_repositories_are_described(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "cloud" / ".git").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    spec = load_mapping(
        {
            "name": "w",
            "repos": {"cloud": "../cloud", "plain": "../plain", "none": "../none"},
            "steps": [{"id": "a", "run": "x"}],
        }
    ).require()
    found = report(spec, survey(spec, tmp_path / "work", {}))
    assert found.repos == {
        "cloud": {"path": "../cloud", "exists": True, "git": True, "writable": True},
        "plain": {"path": "../plain", "exists": True, "git": False, "writable": True},
        "none": {"path": "../none", "exists": False, "git": False, "writable": False},
    }
    assert ("repo_not_git", "repos.plain") in [(each.code, each.path) for each in found.warnings]
    assert ("path_missing", "repos.none") in [(each.code, each.path) for each in found.errors]


def test_known_functions_come_from_their_sources(tmp_path: Path) -> None:
    spec = load_mapping({"name": "w", "steps": [{"id": "a", "call": ":f"}]}).require()
    assert report(spec, survey(spec, tmp_path, {":f": "def f(): ..."})).ok
    assert not report(spec, survey(spec, tmp_path, {})).ok


def test_looking_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    before = tmp_path.stat().st_mtime_ns, sorted(tmp_path.rglob("*"))
    survey(workflow(cwd="sub/new"), tmp_path, {})
    assert (tmp_path.stat().st_mtime_ns, sorted(tmp_path.rglob("*"))) == before


def test_a_variable_an_agent_is_passed_and_that_is_not_set_is_told_by_name(tmp_path: Path) -> None:
    agent = {"pass_env": ["PATH", "PIXIRNB_NO_SUCH_NAME"]}
    task = {"id": "a", "task": "x", "agent": "b", "output": {}, "posture": "read_only"}
    spec = load_mapping({"name": "w", "agents": {"b": agent}, "steps": [task]}).require()
    facts = survey(spec, tmp_path, {})
    assert facts.environment == frozenset({"PATH"})
    told = [(each.code, each.path) for each in report(spec, facts).warnings]
    assert told == [("env_not_set", "agents.b.pass_env[1]")]


def test_repositories_and_agents_are_looked_up_from_the_file_and_steps_from_the_workspace(
    tmp_path: Path,
) -> None:
    for folder in ("flows/near", "cloud/src", "work/sub"):
        (tmp_path / folder).mkdir(parents=True)
    file = tmp_path / "flows" / "w.yaml"
    file.write_text(
        "name: w\nrepos: {cloud: ../cloud}\n"
        "agents: {b: {cwd: near, additional_paths: [../work, repos.cloud/src]}}\n"
        "steps:\n- {id: a, run: x, cwd: sub, additional_paths: [near]}\n"
        "- {id: c, run: x, cwd: repos.cloud/src, posture: read_only}\n"
        "- {id: t, task: x, agent: b, posture: read_only}\n"
    )
    spec = load_text(file.read_text(), str(file)).require()
    facts = survey(spec, tmp_path / "work", {})
    assert facts.origin == str(tmp_path / "flows")
    assert facts.repos["cloud"].resolved == str(tmp_path / "cloud")
    assert report(spec, facts).errors == ()
    elsewhere = survey(spec, tmp_path / "work", {}, tmp_path / "work")
    told = {each.path for each in report(spec, elsewhere).errors}
    assert told == {"agents.b.cwd", "steps[0].additional_paths[0]"}


@pytest.mark.parametrize("source", ["cell 3", "x" * 5000, "a\0b"])
def test_a_workflow_of_no_file_has_no_folder(source: str) -> None:
    assert origin_of(load_text("name: w\nsteps: [{id: a, run: x}]\n", source).require()) is None


@pytest.mark.parametrize(
    ("cwd", "told"),
    [
        ("repos.cloud", []),
        ("repos.cloud/src", []),
        ("repos.cloud/src/../src", []),
        ("repos.cloud/none", ["path_missing"]),
        ("repos.cloud/file", ["path_not_directory"]),
        ("repos.cloud/..", ["path_escapes"]),
        ("repos.cloud//etc", ["path_missing"]),
        ("repos.cloud/out", ["path_escapes"]),
        ("repos.cluod", ["unknown_repo"]),
    ],
)
def test_who_works_in_a_repository_stays_in_it(tmp_path: Path, cwd: str, told: list[str]) -> None:
    (tmp_path / "cloud" / "src").mkdir(parents=True)
    (tmp_path / "cloud" / "file").write_text("")
    (tmp_path / "cloud" / "out").symlink_to(tmp_path)
    (tmp_path / "work").mkdir()
    named: dict[str, Any] = {"name": "w", "repos": {"cloud": "../cloud"}}
    step = {**named, "steps": [{"id": "a", "run": "x", "cwd": cwd}]}
    assert codes(load_mapping(step).require(), tmp_path / "work") == told
    agent = {**named, "agents": {"b": {"cwd": cwd}}, "steps": [{"id": "a", "run": "x"}]}
    assert codes(load_mapping(agent).require(), tmp_path / "work") == told


def test_a_repository_behind_a_link_is_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "cloud").symlink_to("real")
    spec = {"name": "w", "repos": {"cloud": "../cloud"}, "steps": [{"id": "a", "run": "x"}]}
    facts = survey(load_mapping(spec).require(), tmp_path / "work", {})
    assert facts.roots.named("repos.cloud").folder == str(tmp_path / "real")


def test_a_file_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").write_text("")
    step = {"id": "a", "run": "x", "cwd": "repos.file/sub"}
    spec = {"name": "w", "repos": {"file": "file"}, "steps": [step]}
    assert codes(load_mapping(spec).require(), tmp_path / "work") == ["path_not_directory"]


def warned(spec: Workflow, folder: Path) -> list[tuple[str, str]]:
    found = report(spec, survey(spec, folder, {}))
    assert found.ok
    return [(each.code, each.path) for each in found.warnings if each.code.startswith("carry")]


def test_what_is_to_be_carried_and_is_not_there_is_a_warning(tmp_path: Path) -> None:
    for folder in ("w/node_modules", "cloud/deps"):
        (tmp_path / folder).mkdir(parents=True)
    step = {
        "id": "a",
        "run": "x",
        "write_set": ["x"],
        "workspace": "isolated",
        "carry": ["node_modules", "./node_module", "repos.cloud:deps", "repos.cloud:dep"],
    }
    told = {"name": "w", "repos": {"cloud": "../cloud"}, "steps": [step]}
    assert warned(load_mapping(told).require(), tmp_path / "w") == [
        ("carry_missing", "steps[0].carry[1]"),
        ("carry_missing", "steps[0].carry[3]"),
    ]
    one = {"name": "w", "defaults": {"carry": ["bild"]}, "steps": [{**step, "carry": []}]}
    assert warned(load_mapping(one).require(), tmp_path / "w") == [
        ("carry_missing", "defaults.carry[0]")
    ]


def test_a_repository_that_is_missing_is_told_beside_steps_that_are_all_broken(
    tmp_path: Path,
) -> None:
    steps = [{"id": "a", "runn": "x", "cwd": "repos.cloud"}, {"id": "b", "depends_onn": ["a"]}]
    loaded = load_mapping({"name": "w", "repos": {"cloud": "../nowhere"}, "steps": steps})
    with pytest.raises(InvalidSpec) as told:
        require_valid(loaded, tmp_path)
    assert ("path_missing", "repos.cloud") in {(e.code, e.path) for e in told.value.problems}
