"""An agent over several repositories: each is known by its name, its sets are held there, and nothing else is reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb.runners.agents.tools.confinement import other_roots
from pixirnb.runners.agents.tools.toolbox import Toolbox
from pixirnb.sessions.permissions import digest_of
from pixirnb.testing.fakes.toolboxes import Attendant, agent_work, toolbox


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A workspace `w` with the repository `libs/cloud` in it, `web` beside it, and `far`, which is nobody's."""
    for path in ("w/src", "w/libs/cloud/src", "w/libs/cloud/.git", "web/src", "far"):
        (tmp_path / path).mkdir(parents=True)
    for path in ("w/src/a.py", "w/libs/cloud/src/a.py", "web/src/a.py", "web/.env", "far/a.py"):
        (tmp_path / path).write_text(f"in {path}\n")
    (tmp_path / "w/libs/cloud/.git/config").write_text("history")
    (tmp_path / "web/src/out").symlink_to(tmp_path / "far")
    (tmp_path / "web/src/cloud").symlink_to(tmp_path / "w/libs/cloud")
    return tmp_path


def over(world: Path, attendant: Attendant | None = None, **fields: Any) -> Toolbox:
    roots = {".": world / "w", "repos.cloud": world / "w/libs/cloud", "repos.web": world / "web"}
    named = {name: str(folder) for name, folder in roots.items()}
    return toolbox(world / "w", attendant, roots=named, **fields)


def said(box: Toolbox, tool: str, **args: Any) -> str:
    """What a tool says; of a refusal its code."""
    result = box.use(tool, args, "c1")
    return str(result["output"]) if result["ok"] else str(result["error"]["kind"])


@pytest.mark.parametrize(
    "name",
    ["repos.web:src/a.py", "../web/src/a.py", "{world}/web/src/a.py", "repos.web:./src/a.py"],
)
def test_a_file_is_read_by_whichever_name_it_is_given(world: Path, name: str) -> None:
    box = over(world, read_set=["repos.web:src/**"], write_set=[])
    assert said(box, "read", path=name.format(world=world)) == "in web/src/a.py\n"


@pytest.mark.parametrize(
    ("write_set", "path", "expected"),
    [
        (["repos.web:src/**"], "repos.web:src/new.py", "repos.web:src/new.py"),
        (["repos.web:src/**"], "repos.web:docs/new.md", "outside_write_set"),
        (["repos.web:src/**"], "src/new.py", "outside_write_set"),
        (["src/**"], "repos.web:src/new.py", "outside_write_set"),
        (["**/*"], "repos.web:src/new.py", "outside_write_set"),
        (["repos.cloud:src/**"], "libs/cloud/src/new.py", "repos.cloud:src/new.py"),
        (["libs/**"], "repos.cloud:src/new.py", "repos.cloud:src/new.py"),
        (["**/*"], "libs/cloud/src/new.py", "repos.cloud:src/new.py"),
        (["repos.cloud:src/**"], "repos.web:src/cloud/src/new.py", "repos.cloud:src/new.py"),
        (["repos.cloud:src/**"], "libs/new.py", "outside_write_set"),
    ],
)
def test_a_set_is_held_in_the_repository_that_it_names(
    world: Path, write_set: list[str], path: str, expected: str
) -> None:
    told = said(over(world, write_set=write_set), "write", path=path, content="new\n")
    assert told == (expected if "outside" in expected else f"Wrote 4 bytes to `{expected}`.")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("repos.nobody:a.py", "unknown_repo"),
        ("repos.web:../far/a.py", "outside_workspace"),
        ("repos.web:src/out/a.py", "outside_workspace"),
        ("repos.web:/etc/passwd", "file_missing"),
        ("repos.web:.env", "kept_secret"),
        ("repos.cloud:.git/config", "reserved_path"),
        ("libs/cloud/.git/config", "reserved_path"),
        ("../far/a.py", "outside_workspace"),
    ],
)
def test_nothing_else_is_reached(world: Path, path: str, code: str) -> None:
    box = over(world, read_set=["**/*", "repos.web:**/*", "repos.cloud:**/*"])
    assert said(box, "read", path=path) == code


def test_a_path_is_relative_to_the_folder_it_works_in(world: Path) -> None:
    box = over(world, cwd=world / "web", write_set=["**/*", "repos.web:**/*"])
    assert said(box, "read", path="src/a.py") == "in web/src/a.py\n"
    assert "repos.web:new.py" in said(box, "write", path="new.py", content="")
    assert said(box, "read", path="repos.cloud:src/a.py") == "in w/libs/cloud/src/a.py\n"


def test_hits_of_a_search_are_shown_by_names_that_can_be_read_again(world: Path) -> None:
    box = over(world, read_set=["repos.web:src/*.py"], write_set=[])
    hits = said(box, "search", path="repos.web:", pattern="in")
    assert hits.startswith("repos.web:src/a.py:1: in web/src/a.py\n")
    assert said(box, "list", path="repos.web:src") == "a.py\n[2 unreadable entries omitted]"
    assert said(box, "list", path="repos.cloud:") == "outside_read_set"


def test_a_person_is_asked_about_a_file_by_its_name(world: Path) -> None:
    attendant = Attendant("deny")
    box = over(world, attendant, permission_mode="ask", write_set=["repos.web:**/*"])
    assert said(box, "write", path="../web/new.py", content="x") == "permission_denied"
    assert attendant.requests[0]["args"]["path"] == "repos.web:new.py"
    assert attendant.requests[0]["why"] == "write `repos.web:new.py` (1 bytes)"


def test_what_was_allowed_in_one_copy_is_allowed_in_another(world: Path) -> None:
    call = {"path": "repos.web:new.py", "content": "x"}
    granted = {digest_of("write", call): {"request_id": "r-1/a.1.1", "by": "ana", "note": ""}}
    box = over(world, Attendant("unattended"), permission_mode="ask",
               write_set=["repos.web:**/*"], granted=granted)  # fmt: skip
    assert "Wrote 1" in said(box, "write", path=str(world / "web/new.py"), content="x")


def test_a_step_without_the_workspace_does_not_reach_it(world: Path) -> None:
    box = toolbox(world / "w", roots={"repos.web": str(world / "web")}, cwd=world / "web")
    assert said(box, "read", path=str(world / "w/src/a.py")) == "outside_workspace"
    assert said(box, "read", path="src/a.py") == "outside_read_set"


def test_a_folder_to_look_at_may_be_a_repository(world: Path) -> None:
    box = over(world, read_set=["src/**"], write_set=[], additional_paths=[str(world / "web")])
    assert said(box, "read", path="repos.web:src/a.py") == "in web/src/a.py\n"
    assert said(box, "write", path="repos.web:src/a.py", content="") == "outside_write_set"


def test_without_repositories_a_file_may_be_called_like_one(world: Path) -> None:
    (world / "w/repos.web:a.py").write_text("odd\n")
    assert said(toolbox(world / "w"), "read", path="repos.web:a.py") == "odd\n"
    assert said(over(world), "read", path="./repos.web:a.py") == "odd\n"


def test_a_coding_agent_is_shown_the_roots_beside_its_folder(world: Path) -> None:
    roots = {".": str(world / "w"), "repos.web": str(world / "web")}
    assert other_roots(agent_work(world / "w", roots=roots)) == [str(world / "web")]
    assert other_roots(agent_work(world / "w", roots={".": str(world / "w")})) == []
    assert other_roots(agent_work(world / "w", roots=roots, cwd=world / "web/src")) == list(
        roots.values()
    )
