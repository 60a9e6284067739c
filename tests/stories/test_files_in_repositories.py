"""Checks and artifacts in a repository: spelt `repos.NAME:glob`, or relative to a folder to work in there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pixirnb
from pixirnb.errors import InvalidSpec
from pixirnb.protocols.trees import FILE
from pixirnb.testing.repositories import make_repository


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("here", "cloud"):
        make_repository(tmp_path / name, {"kept.txt": (FILE, b"x")})
    (tmp_path / "cloud" / "sub").mkdir()
    return tmp_path


def ran(folders: Path, **step: Any) -> Any:
    spec = {
        "name": "w",
        "repos": {"cloud": "../cloud"},
        "steps": [{"id": "a", "write_set": ["repos.cloud:**"], **step}],
    }
    outcome = pixirnb.run(spec, workspace=folders / "here", state=folders / "state")
    found: Any = outcome.document()["steps"][0]
    return found


MAKES = "mkdir -p out && echo hi > out/made.txt"


@pytest.mark.parametrize("workspace", ["shared", "isolated"])
@pytest.mark.parametrize(
    ("cwd", "check", "artifact", "kept"),
    [
        ("repos.cloud", "out/*.txt", "out", "repos.cloud:out/made.txt"),
        ("repos.cloud/sub", "out/*.txt", "out/*.txt", "repos.cloud:sub/out/made.txt"),
        ("repos.cloud", "repos.cloud:out/made.txt", "repos.cloud:out/**", "repos.cloud:out/made.txt"),
    ],
)  # fmt: skip
def test_files_made_in_a_repository_are_found_and_kept(
    folders: Path, workspace: str, cwd: str, check: str, artifact: str, kept: str
) -> None:
    if workspace == "isolated":
        (folders / "cloud" / "sub" / "there").write_text("x", encoding="utf-8")
    found = ran(
        folders,
        run=MAKES,
        cwd=cwd,
        workspace=workspace,
        verify=[{"file_exists": check}],
        artifacts=[artifact],
    )
    assert found["checkpoint_status"] == "checkpoint_ready", found["error"]
    assert [each["path"] for each in found["checkpoint"]["artifacts"]] == [kept]
    assert found["checkpoint"]["known_limitations"] == []


def test_a_file_that_is_not_there_is_not_found_in_another_repository(folders: Path) -> None:
    found = ran(folders, run="true", cwd="repos.cloud", verify=[{"file_exists": "out/*"}])
    assert found["checkpoint_status"] == "failed"


def test_an_artifact_that_matches_nothing_is_a_limitation(folders: Path) -> None:
    found = ran(folders, run="true", artifacts=["dist/*", "kept.txt", "repos.cloud:no"])
    assert found["checkpoint_status"] == "checkpoint_ready"
    limits = found["checkpoint"]["known_limitations"]
    assert limits == ["artifact_missing: `dist/*`, `repos.cloud:no` matched no file"]
    assert [each["path"] for each in found["checkpoint"]["artifacts"]] == ["kept.txt"]


@pytest.mark.parametrize("workspace", ["shared", "isolated"])
@pytest.mark.parametrize(
    ("repo", "glob", "status"),
    [
        ("../cloud", "repos.cloud:out/*.txt", "checkpoint_ready"),
        ("../cloud", "repos.cloud:other/*", "failed"),
        # Git names what changed from the top of what it keeps.
        ("../cloud/sub", "repos.cloud:out/*.txt", "checkpoint_ready"),
        ("../cloud/sub", "repos.cloud:{out", "failed"),
    ],
)
def test_changes_in_a_repository_are_found_from_elsewhere(
    folders: Path, workspace: str, repo: str, glob: str, status: str
) -> None:
    (folders / "cloud" / "sub" / "there").write_text("x", encoding="utf-8")
    spec = {
        "name": "w",
        "repos": {"cloud": repo},
        "steps": [
            {
                "id": "a",
                "run": f"cd $PIXIRNB_REPO_CLOUD && {MAKES}",
                "workspace": workspace,
                "write_set": ["repos.cloud:**"],
                "verify": [{"git_changes": glob}],
            }
        ],
    }
    outcome = pixirnb.run(spec, workspace=folders / "here", state=folders / "state")
    found = outcome.document()["steps"][0]
    assert found["checkpoint_status"] == status, found["error"]


@pytest.mark.parametrize("kind", ["file_exists", "git_changes"])
@pytest.mark.parametrize("place", ["steps[0]", "defaults"])
def test_a_check_of_a_repository_that_nobody_declared_is_a_mistake(kind: str, place: str) -> None:
    verify = {"verify": [{kind: "repos.clod:out/*"}]}
    step = {"id": "a", "run": "true"} | (verify if place != "defaults" else {})
    defaults = verify if place == "defaults" else {}
    spec = {"name": "w", "repos": {"cloud": ".."}, "defaults": defaults, "steps": [step]}
    with pytest.raises(InvalidSpec) as refused:
        pixirnb.plan(spec)
    found = [(each.code, each.path) for each in refused.value.problems]
    assert found == [("unknown_repo", f"{place}.verify[0].{kind}")]
