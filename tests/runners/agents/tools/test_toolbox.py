"""The tools of our own agents do what they say, say what they did not do, and never raise for what an agent asks."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.tools.excerpt import OUTPUT_LIMIT, Excerpt, excerpt
from pixirnb.runners.agents.tools.toolbox import Toolbox
from pixirnb.sessions.permissions import TOOLS, digest_of
from pixirnb.testing.fakes.toolboxes import Attendant, toolbox

READ_ONLY_FOLDER = Path("/sys/kernel")
"""A folder that takes no file of anybody, whoever runs the tests."""


def use(box: Toolbox, name: str, **args: Any) -> dict[str, Any]:
    """What came of a call."""
    return box.use(name, args, "c1")


def refused(result: dict[str, Any]) -> str:
    """The code of a refusal that says so in what the agent is shown."""
    assert result["ok"] is False
    kind = str(result["error"]["kind"])
    assert kind in result["output"]
    return kind


# --- what is offered ---


def test_definitions_are_schemas_that_providers_take(tmp_path: Path) -> None:
    definitions = toolbox(tmp_path).definitions()
    assert [told["name"] for told in definitions] == list(TOOLS)
    for told in definitions:
        jsonschema.Draft202012Validator.check_schema(told["parameters"])
        assert told["mutates"] == TOOLS[told["name"]].mutates
    json.dumps(definitions)


def test_a_session_that_only_reads_is_offered_nothing_else_and_denied_it(tmp_path: Path) -> None:
    box = toolbox(tmp_path, permission_mode="read_only")
    assert [told["name"] for told in box.definitions()] == ["read", "list", "search"]
    assert refused(use(box, "shell", command="touch x")) == "read_only"
    assert refused(use(box, "write", path="x", content="")) == "read_only"
    assert list(tmp_path.iterdir()) == []


def test_only_tools_that_were_given_are_offered(tmp_path: Path) -> None:
    box = toolbox(tmp_path, tools=["edit", "read"])
    assert [told["name"] for told in box.definitions()] == ["read", "edit"]
    assert refused(use(box, "list")) == "tool_not_granted"
    assert refused(use(box, "shell", command="touch x")) == "tool_not_granted"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read", {}),
        ("read", {"path": 3}),
        ("read", {"path": "a", "offset": 0}),
        ("read", {"path": "a", "offset": True}),
        ("read", {"path": "a", "colour": "red"}),
        ("read", []),
        ("read", None),
        ("read", "a"),
        ("write", {"path": "a"}),
        ("write", {"path": "a", "content": {"x": 1}}),
        ("write", {"path": "a", "content": "\ud800"}),
        ("shell", {"command": "true", "timeout": 10_000}),
        ("shell", {"command": "true", "timeout": float("nan")}),
        ("edit", {"path": "a", "old": "", "new": "x"}),
        ("edit", {"path": "a", "old": "x", "new": "x"}),
        ("search", {"pattern": 1}),
    ],
    ids=str,
)
def test_arguments_that_are_none_are_said_to_be(name: str, args: Any, tmp_path: Path) -> None:
    assert refused(toolbox(tmp_path).use(name, args, "c1")) == "invalid_args"


@pytest.mark.parametrize("name", ["approve", "", "report", "READ", "__class__"])
def test_there_are_no_other_tools(name: str, tmp_path: Path) -> None:
    assert refused(toolbox(tmp_path).use(name, {}, "c1")) == "tool_unknown"


# --- read ---


def test_a_file_is_read_whole_or_in_parts_that_say_where_to_go_on(tmp_path: Path) -> None:
    lines = [f"line {number} ä" for number in range(1, 5001)]
    (tmp_path / "long.txt").write_text("\n".join(lines) + "\n")
    box, said, offset = toolbox(tmp_path), [], 1
    for _ in range(100):
        output = use(box, "read", path="long.txt", offset=offset)["output"]
        assert len(output.encode()) <= OUTPUT_LIMIT
        *part, last = output.split("\n")
        if not last.startswith("[…"):
            said += [line for line in [*part, last] if line]
            break
        said += part
        offset = int(last.rsplit(" ", 2)[1])
    assert said == lines


def test_a_line_that_is_too_long_is_cut_and_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "wide.txt").write_text("x" * 1_000_000 + "\nnext\n")
    output = use(toolbox(tmp_path), "read", path="wide.txt")["output"]
    assert "rest of this line omitted" in output
    assert output.endswith("next\n")


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "short.txt").write_text("one")
    box = toolbox(tmp_path)
    assert "is empty" in use(box, "read", path="empty.txt")["output"]
    assert "none from line 9 on" in use(box, "read", path="short.txt", offset=9)["output"]
    assert use(box, "read", path="short.txt")["output"] == "one"


def test_a_huge_file_costs_what_is_shown_of_it(tmp_path: Path) -> None:
    with (tmp_path / "huge.txt").open("wb") as file:
        file.write(b"first\n" * 10_000)
        file.truncate(1 << 40)
    output = use(toolbox(tmp_path), "read", path="huge.txt", limit=2)["output"]
    assert output.startswith("first\nfirst\n[… lines 1 to 2")
    assert refused(use(toolbox(tmp_path), "edit", path="huge.txt", old="first", new="x")) == (
        "file_too_large"
    )


def test_what_is_no_text_is_named_and_not_dumped(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\0\0" + bytes(range(256)) * 20)
    result = use(toolbox(tmp_path), "read", path="picture.png")
    assert refused(result) == "not_text"
    assert "5,128 bytes" in result["output"]


@pytest.mark.parametrize("tool", ["read", "write", "edit", "search"])
def test_nothing_waits_for_a_pipe_or_a_device(tool: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    args = {"read": {}, "write": {"content": "x"}, "edit": {"old": "a", "new": "b"}}.get(tool, {})
    args |= {"pattern": "x"} if tool == "search" else {}
    assert refused(toolbox(tmp_path).use(tool, {"path": "pipe", **args}, "c1")) == "not_a_file"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    box = toolbox(tmp_path)
    assert refused(use(box, "read", path="folder")) == "not_a_file"
    assert refused(use(box, "write", path="folder", content="x")) == "not_a_file"
    assert refused(use(box, "list", path="file")) == "not_a_folder"
    assert refused(use(box, "read", path="file/deeper")) in {"not_a_folder", "file_missing"}
    assert refused(use(box, "write", path="file/deeper", content="x")) == "not_a_folder"
    assert refused(use(box, "read", path="absent")) == "file_missing"


# --- list and search ---


def test_a_listing_shows_what_may_be_read_and_counts_the_rest(tmp_path: Path) -> None:
    for name in ("src", "docs", ".git"):
        (tmp_path / name).mkdir()
    for name in ("src/a.py", "docs/b.md", "c.txt", ".env"):
        (tmp_path / name).touch()
    (tmp_path / "src" / "link.py").symlink_to("a.py")
    (tmp_path / "src" / "new\nline.py").touch()
    box = toolbox(tmp_path, read_set=["src/**"], write_set=[])
    assert use(box, "list")["output"] == "src/\n[4 unreadable entries omitted]"
    assert use(box, "list", path="src")["output"] == "a.py\nlink.py@\nnew\\nline.py"
    assert refused(use(box, "list", path="docs")) == "outside_read_set"
    whole = use(toolbox(tmp_path), "list")["output"]
    assert whole == "c.txt\ndocs/\nsrc/\n[2 unreadable entries omitted]"


def test_a_long_listing_is_bounded_and_says_so(tmp_path: Path) -> None:
    for number in range(700):
        (tmp_path / f"{number:04}{'x' * 60}").touch()
    output = use(toolbox(tmp_path), "list")["output"]
    assert len(output.encode()) <= OUTPUT_LIMIT
    assert "more …]" in output


def test_search_finds_text_and_expressions_in_what_may_be_read(tmp_path: Path) -> None:
    for name, text in {
        "src/a.py": "alpha\nbeta (x)\n",
        "src/deep/b.py": "Alpha\n",
        "docs/c.md": "alpha\n",
        ".env": "alpha=1\n",
        ".git/config": "alpha\n",
        "src/d.bin": "alpha\0",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    box = toolbox(tmp_path, read_set=["src/**"], write_set=[])
    said = use(box, "search", pattern="alpha")["output"].splitlines()
    assert said == ["src/a.py:1: alpha", "[1 hit in 2 files; 1 binary or too large files skipped]"]
    said = use(box, "search", pattern="ALPHA", ignore_case=True, glob="*.py")["output"]
    assert said.splitlines()[:2] == ["src/a.py:1: alpha", "src/deep/b.py:1: Alpha"]
    assert "src/a.py:2: beta (x)" in use(box, "search", pattern="(x)")["output"]
    assert "src/a.py:2" in use(box, "search", pattern=r"^be.a", regex=True)["output"]
    assert use(box, "search", pattern="x", path="src/a.py")["output"].startswith("src/a.py:2:")
    assert refused(use(box, "search", pattern="(", regex=True)) == "bad_pattern"
    assert refused(use(box, "search", pattern="alpha", path="docs/c.md")) == "outside_read_set"
    assert refused(use(box, "search", pattern="x", path="src/absent")) == "file_missing"


def test_an_expression_that_never_ends_is_ended(tmp_path: Path) -> None:
    from pixirnb.runners.agents.tools.confinement import Confinement
    from pixirnb.runners.agents.tools.search import search
    from pixirnb.testing.fakes.toolboxes import agent_work

    (tmp_path / "a.txt").write_text("a" * 40 + "!\n")
    args = {"pattern": "(a+)+$", "regex": True}
    said = search(Confinement(agent_work(tmp_path)), args, limit_s=1.0)
    assert said.startswith("[0 hits in 0 files; stopped after 1 s")


def test_hits_are_bounded_and_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n" * 5000)
    output = use(toolbox(tmp_path), "search", pattern="needle")["output"]
    assert output.count("\n") == 200
    assert "more matches exist" in output


# --- write and edit ---


def test_a_file_is_written_whole_with_its_folders_and_keeps_its_mode(tmp_path: Path) -> None:
    box = toolbox(tmp_path)
    assert use(box, "write", path="a/b/c.sh", content="one\n")["ok"]
    (tmp_path / "a/b/c.sh").chmod(0o750)
    assert use(box, "write", path="./a//b/c.sh", content="zwei ä\n") == {
        "ok": True,
        "output": "Wrote 8 bytes to `a/b/c.sh`.",
    }
    written = tmp_path / "a/b/c.sh"
    assert written.read_text() == "zwei ä\n"
    assert stat.S_IMODE(written.stat().st_mode) == 0o750
    assert [path.name for path in written.parent.iterdir()] == ["c.sh"]


def test_what_is_write_protected_stays(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    (tmp_path / "kept.txt").chmod(0o444)
    assert refused(use(toolbox(tmp_path), "write", path="kept.txt", content="x")) == "file_refused"
    assert (tmp_path / "kept.txt").read_text() == "kept"


def test_a_folder_that_takes_no_files_says_so() -> None:
    result = use(toolbox(READ_ONLY_FOLDER), "write", path="new.txt", content="x")
    assert refused(result) == "file_refused"
    assert "Permission denied" in result["output"]


def test_a_hard_link_elsewhere_keeps_what_it_had(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "w", tmp_path / "outside.txt"
    workspace.mkdir()
    outside.write_text("outside")
    (workspace / "inside.txt").hardlink_to(outside)
    assert use(toolbox(workspace), "write", path="inside.txt", content="changed")["ok"]
    assert outside.read_text() == "outside"


def test_an_edit_is_exact_and_unique(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\ny = 1\r\n")
    box = toolbox(tmp_path)
    assert refused(use(box, "edit", path="a.py", old="z = 1", new="")) == "text_not_found"
    result = use(box, "edit", path="a.py", old=" = 1", new=" = 2")
    assert refused(result) == "text_not_unique"
    assert "2 times" in result["output"]
    assert use(box, "edit", path="a.py", old="x = 1", new="x = 3")["ok"]
    assert "2 places" in use(box, "edit", path="a.py", old=" = ", new="=", all=True)["output"]
    assert path.read_bytes() == b"x=3\r\ny=1\r\n"


def test_edits_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    count = 24
    (tmp_path / "a.txt").write_text("".join(f"<{number}>\n" for number in range(count)))
    boxes = [toolbox(tmp_path) for _ in range(4)]
    results: list[dict[str, Any]] = []

    def change(mine: int) -> None:
        results.extend(
            use(boxes[mine], "edit", path="a.txt", old=f"<{number}>", new=f"{number} done")
            for number in range(mine, count, len(boxes))
        )

    threads = [threading.Thread(target=change, args=(mine,)) for mine in range(len(boxes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result["ok"] for result in results)
    assert (tmp_path / "a.txt").read_text() == "".join(f"{n} done\n" for n in range(count))


# --- permission ---


def test_a_person_is_asked_for_what_would_change_something(tmp_path: Path) -> None:
    attendant = Attendant("allow")
    box = toolbox(tmp_path, attendant, permission_mode="ask")
    assert use(box, "list")["ok"]
    assert attendant.requests == []
    assert use(box, "write", path="./a.txt", content="x")["ok"]
    args = {"path": "a.txt", "content": "x"}
    assert attendant.requests == [
        {
            "question": "permit",
            "tool": "write",
            "args": args,
            "digest": digest_of("write", args),
            "call_id": "c1",
            "why": "write `a.txt` (1 bytes)",
        }
    ]


def test_what_a_person_writes_while_being_asked_is_not_written_over(tmp_path: Path) -> None:
    class Writing(Attendant):
        def ask(self, question: str, data: dict[str, Any]) -> dict[str, Any]:
            (tmp_path / "a.txt").write_text("mine\n")
            return super().ask(question, data)

    box = toolbox(tmp_path, Writing("allow"), permission_mode="ask")
    refused = use(box, "write", path="a.txt", content="x")
    assert refused["error"]["kind"] == "file_changed"
    assert (tmp_path / "a.txt").read_text() == "mine\n"


def test_a_no_is_a_result_with_the_persons_words(tmp_path: Path) -> None:
    box = toolbox(tmp_path, Attendant("deny", "not this file"), permission_mode="ask")
    result = use(box, "write", path="a.txt", content="x")
    assert refused(result) == "permission_denied"
    assert "not this file" in result["output"]
    assert list(tmp_path.iterdir()) == []


def test_where_nobody_is_there_the_turn_ends_and_says_how_to_allow_it(tmp_path: Path) -> None:
    box = toolbox(tmp_path, Attendant("unattended"), permission_mode="ask")
    with pytest.raises(Failed) as failed:
        use(box, "shell", command="make install")
    assert failed.value.kind == "permission_required"
    assert "pixirnb approve r-1/step.1.1" in failed.value.message
    assert "make install" in failed.value.message
    assert failed.value.details["tool"] == "shell"


def test_what_was_allowed_before_is_not_asked_again(tmp_path: Path) -> None:
    attendant = Attendant("deny")
    said = {"request_id": "r-1/step.1.1", "by": "ada", "note": "once"}
    granted = {digest_of("shell", {"command": "echo x > a"}): said}
    box = toolbox(tmp_path, attendant, permission_mode="ask", granted=granted)
    assert use(box, "shell", command="echo x > a", timeout=30)["ok"]
    assert refused(use(box, "shell", command="echo y > a")) == "permission_denied"
    assert (tmp_path / "a").read_text() == "x\n"
    requested, decided = attendant.events
    assert (requested["kind"], requested["tool"]) == ("permission_requested", "shell")
    assert requested["request_id"] == "r-1/step.1.1"
    assert decided == {"kind": "permission_decided", "verdict": "allow", **said}


def test_what_the_mode_allows_is_nobodys_word(tmp_path: Path) -> None:
    attendant = Attendant("deny")
    said = {"request_id": "r-1/step.1.1", "by": "ada", "note": ""}
    granted = {digest_of("shell", {"command": "true"}): said}
    assert use(toolbox(tmp_path, attendant, granted=granted), "shell", command="true")["ok"]
    assert (attendant.requests, attendant.events) == ([], [])


def test_nobody_is_asked_for_what_nobody_can_allow(tmp_path: Path) -> None:
    attendant = Attendant("allow")
    box = toolbox(tmp_path, attendant, permission_mode="ask", write_set=["src/**"])
    for path in ("docs/a.md", "../x", ".pixirnb/x", "src/.env"):
        assert refused(use(box, "write", path=path, content="x"))
    assert attendant.requests == []


# --- what is shown ---


@pytest.mark.parametrize("size", [0, 1, OUTPUT_LIMIT - 1, OUTPUT_LIMIT, OUTPUT_LIMIT + 1, 300_000])
@pytest.mark.parametrize("character", ["a", "ä", "🦊"])
def test_long_output_keeps_head_and_tail_and_says_how_much_is_gone(
    size: int, character: str
) -> None:
    text = character * (size // len(character.encode()))
    shown = excerpt(text)
    assert len(shown.encode()) <= OUTPUT_LIMIT
    assert "\ufffd" not in shown
    if shown != text:
        left_out = int(shown.split("[… ")[1].split(" of ")[0].replace(",", ""))
        kept = shown.replace("\n", "").split("[…")
        assert len(kept[0].encode()) + len(kept[1].split("…]")[1].encode()) + left_out == len(
            text.encode()
        )


def test_an_excerpt_does_not_depend_on_how_it_came() -> None:
    data = bytes(range(256)) * 300
    whole, pieces = Excerpt(), Excerpt()
    whole.take(data)
    for start in range(0, len(data), 7):
        pieces.take(data[start : start + 7])
    assert whole.text() == pieces.text()
