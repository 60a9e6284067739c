"""Whatever path an agent gives, nothing outside its sets is changed, shown or waited for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.runners.agents.tools import files
from pixirnb.runners.agents.tools.confinement import Confinement, Refused
from pixirnb.runners.agents.tools.files import read_text, write_text
from pixirnb.testing.fakes.toolboxes import Attendant, agent_work, toolbox
from tests.sweeps import examples

SECRET = "the text that must not be shown"
OUTSIDE = "held by the neighbours"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A workspace `w` beside what an agent must not touch, with links of every kind."""
    return furnished(tmp_path)


def furnished(folder: Path) -> Path:
    """See `world`."""
    workspace = folder / "w"
    for path in ("w/src/deep", "w/docs", "w/.git", "w/.pixirnb/runs", "o/deep", "more/.git"):
        (folder / path).mkdir(parents=True)
    for path in ("w/src/a.py", "w/src/deep/b.py", "w/docs/c.md", "more/d.md"):
        (folder / path).write_text("plain\n")
    for path in ("w/.git/config", "w/.pixirnb/runs/log", "w/src/.env", "more/.git/config"):
        (folder / path).write_text(SECRET)
    for path in ("o/a.py", "o/deep/b.py"):
        (folder / path).write_text(OUTSIDE)
    (workspace / "src/out").symlink_to(folder / "o")
    (workspace / "src/out.py").symlink_to(folder / "o/a.py")
    (workspace / "src/up").symlink_to("../..")
    (workspace / "src/dangling").symlink_to(folder / "o/new.py")
    (workspace / "src/loop").symlink_to("loop")
    (workspace / "src/in").symlink_to("deep")
    (workspace / "src/docs").symlink_to("../docs")
    (workspace / "src/plain.txt").symlink_to(".env")
    (workspace / "src/history").symlink_to("../.git")
    (workspace / "src/id_rsa").symlink_to("a.py")
    return workspace


def tree(folder: Path) -> Iterator[tuple[str, str]]:
    """Every name below a folder with what it holds, links not followed."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield name, f"-> {path.readlink()}"
        elif path.is_file():
            yield name, path.read_text(errors="replace")
        else:
            yield name, "/"


def outside(workspace: Path) -> dict[str, str]:
    """All there is but for what is below `src`."""
    return {
        name: held
        for name, held in tree(workspace.parent)
        if not name.startswith("w/src/") or name.startswith("w/src/.env")
    }


PATHS = [
    ("../o/a.py", "outside_workspace"),
    ("src/out/a.py", "outside_workspace"),
    ("src/out/new/deep.py", "outside_workspace"),
    ("src/out.py", "outside_workspace"),
    ("src/dangling", "outside_workspace"),
    ("src/up/o/a.py", "outside_workspace"),
    ("src/../../o/a.py", "outside_workspace"),
    ("/etc/passwd", "outside_workspace"),
    ("/", "outside_workspace"),
    ("//etc/passwd", "outside_workspace"),
    ("src/in/../../../o/a.py", "outside_workspace"),
    ("docs/c.md", "outside_write_set"),
    ("src/docs/c.md", "outside_write_set"),
    ("src/up/w/docs/c.md", "outside_write_set"),
    ("src", "not_a_file"),
    ("src/", "not_a_file"),
    (".", "outside_write_set"),
    ("~/x", "outside_write_set"),
    ("SRC/a.py", "outside_write_set"),
    (".git/config", "reserved_path"),
    ("src/history/config", "reserved_path"),
    ("src/../.pixirnb/runs/log", "reserved_path"),
    (".pixirnb/inbox/forged.json", "reserved_path"),
    ("src/.env", "kept_secret"),
    ("src/plain.txt", "kept_secret"),
    ("src/id_rsa", "kept_secret"),
    ("src/x\0.py", "path_invalid"),
    ("src/\udcff\ud800", "path_invalid"),
    ("", "path_invalid"),
    ("src/" + "x" * 300, "path_invalid"),
    ("src/" + "x/" * 3000, "path_invalid"),
    ("src/loop", "path_changed"),
    ("src/loop/x", "not_a_folder"),
]


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(("path", "code"), PATHS, ids=lambda value: ascii(value)[:40])
def test_no_way_leads_out_of_the_write_set(path: str, code: str, mode: str, world: Path) -> None:
    before = dict(tree(world.parent))
    box = toolbox(world, Attendant("allow"), permission_mode=mode, write_set=["src/**"])
    result = box.use("write", {"path": path, "content": "changed"}, "c1")
    assert result["error"]["kind"] == code
    assert dict(tree(world.parent)) == before


@pytest.mark.parametrize(
    "path", ["src/in/b.py", "./src//deep/b.py", "src/deep/../deep/b.py", "docs/../src/in/b.py"]
)
def test_a_way_round_that_ends_in_the_write_set_is_one(path: str, world: Path) -> None:
    box = toolbox(world, write_set=["src/deep/**"])
    assert box.use("write", {"path": path, "content": "changed"}, "c1")["ok"]
    assert (world / "src/deep/b.py").read_text() == "changed"
    absolute = str(world / "src/deep/new.py")
    assert box.use("write", {"path": absolute, "content": "changed"}, "c1")["ok"]
    assert (world / "src/deep/new.py").read_text() == "changed"


@pytest.mark.parametrize(
    "name", ["new\nline.py", "tab\t.py", "ünï.py", "-rf", "$(x)", "a b", "\\n"]
)
def test_any_name_that_a_file_can_have_is_one(name: str, world: Path) -> None:
    box = toolbox(world)
    result = box.use("write", {"path": f"src/{name}", "content": "x"}, "c1")
    assert result["ok"], result
    assert (world / "src" / name).read_text() == "x"
    assert "\n" not in result["output"]


def test_reading_keeps_to_the_same_bounds(world: Path) -> None:
    box = toolbox(world, read_set=["src/**"], write_set=[])
    for path, _ in PATHS:
        result = box.use("read", {"path": path}, "c1")
        assert not result["ok"], path
        assert SECRET not in result["output"]
        assert OUTSIDE not in result["output"]
    for pattern in ("text", "held by"):
        found = box.use("search", {"pattern": pattern}, "c1")["output"]
        assert found.startswith("[0 hits")


def test_paths_are_relative_to_the_folder_of_work(world: Path) -> None:
    box = toolbox(world, cwd=world / "src", write_set=["src/**"])
    assert box.use("write", {"path": "new.py", "content": "x"}, "c1")["ok"]
    assert (world / "src/new.py").is_file()
    refused = box.use("write", {"path": "../docs/c.md", "content": "x"}, "c1")
    assert refused["error"]["kind"] == "outside_write_set"


def test_an_additional_folder_may_be_read_and_not_written(world: Path) -> None:
    more = world.parent / "more"
    box = toolbox(world, additional_paths=[str(more)])
    assert box.use("read", {"path": "../more/d.md"}, "c1") == {"ok": True, "output": "plain\n"}
    assert box.use("list", {"path": str(more)}, "c1")["output"].startswith("d.md")
    for path in ("../more/d.md", str(more / "new.md")):
        refused = box.use("write", {"path": path, "content": "x"}, "c1")
        assert refused["error"]["kind"] == "outside_write_set"
    hidden = box.use("read", {"path": "../more/.git/config"}, "c1")
    assert hidden["error"]["kind"] == "reserved_path"


def test_a_link_that_is_put_there_after_the_look_leads_nowhere(world: Path) -> None:
    held = Confinement(agent_work(world, write_set=["src/**"]))
    place, deep = held.writable("src/new.py"), held.writable("src/deep/new.py")
    (world / "src/new.py").symlink_to(world.parent / "o/a.py")
    (world / "src/deep").rename(world / "src/moved")
    (world / "src/deep").symlink_to(world.parent / "o/deep")
    before = outside(world)
    for swapped, code in ((place, "path_changed"), (deep, "not_a_folder")):
        with pytest.raises(Refused) as refused:
            write_text(swapped, "changed")
        assert refused.value.code == code
        with pytest.raises(Refused):
            read_text(swapped)
    assert outside(world) == before


class _Swapping(Attendant):
    """A person who allows it, while the agent puts a link where the file was."""

    def ask(self, question: str, data: dict[str, Any]) -> dict[str, Any]:
        Path(self.note).unlink()
        Path(self.note).symlink_to("../docs/c.md")
        return super().ask(question, data)


def test_what_was_allowed_is_what_is_done(world: Path) -> None:
    attendant = _Swapping(note=str(world / "src/a.py"))
    box = toolbox(world, attendant, permission_mode="ask")
    result = box.use("write", {"path": "src/a.py", "content": "changed"}, "c1")
    assert result["error"]["kind"] == "path_changed"
    assert (world / "docs/c.md").read_text() == "plain\n"


def test_a_file_that_another_program_changed_is_not_written_over(world: Path) -> None:
    held = Confinement(agent_work(world))
    place = held.writable("src/a.py")
    seen = files.version_of(place)
    (world / "src/a.py").write_text("by another")
    with place.opened_parent() as parent, pytest.raises(Refused) as refused:
        files._replace(place, parent, b"ours", expected=seen)
    assert refused.value.code == "file_changed"
    assert (world / "src/a.py").read_text() == "by another"


SEGMENTS = st.sampled_from(
    [
        *("src", "out", "up", "in", "docs", "deep", "w", "o", "history", "..", ".", "", "a.py"),
        *("b.py", "dangling", "loop", "out.py", ".git", ".pixirnb", ".env", "new", "*", "~"),
        *("a\nb", "\\"),
    ]
)
ANY_PATH = st.one_of(
    st.builds(
        lambda start, parts: start + "/".join(parts),
        st.sampled_from(["", "", "/", "./", "../"]),
        st.lists(SEGMENTS, max_size=6),
    ),
    st.text(max_size=8),
)


@settings(max_examples=examples(150))
@given(
    paths=st.lists(ANY_PATH, min_size=1, max_size=6),
    tool=st.sampled_from(["write", "edit", "read", "list"]),
    is_absolute=st.booleans(),
)
def test_whatever_path_an_agent_gives_nothing_outside_the_write_set_changes(
    paths: list[str], tool: str, is_absolute: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = furnished(Path(folder))
        before = outside(world)
        box = toolbox(world, write_set=["src/**"], read_set=["src/**"])
        args: dict[str, Any] = {
            "write": {"content": "changed"},
            "edit": {"old": "plain", "new": "changed"},
        }.get(tool, {})
        for path in paths:
            named = os.path.join(world, path) if is_absolute else path  # noqa: PTH118 - as an agent would
            result = box.use(tool, {"path": named, **args}, "c1")
            assert SECRET not in result["output"]
            assert OUTSIDE not in result["output"]
        assert outside(world) == before
