"""The survey of real folders: what is there, what may be written, what leads out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb.planning.report import report
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.workflow import Workflow
from pixirnb.workspace.survey import survey


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
