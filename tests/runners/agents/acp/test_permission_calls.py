"""What of an ACP agent's wish a person is shown, and what tells it from any other."""

from __future__ import annotations

from typing import Any

import pytest
from acp import schema

from pixirnb.runners.agents.acp.permission_calls import WriteGrants, permission_request
from pixirnb.runners.agents.acp.updates import AgentToolCall, ProposedEdit, diff_of

BASE: dict[str, Any] = {"title": "Run", "kind": "execute", "input": {"command": "rm -rf /w/x"}}


def call(**said: Any) -> AgentToolCall:
    changes = said.pop("changes", [])
    made = AgentToolCall("c1", **{**BASE, **said})
    made.content = [
        schema.FileEditToolCallContent(
            type="diff", path=change.path, old_text=change.before, new_text=change.after
        )
        for change in changes
    ]
    return made


def digest(folder: str = "/w", **said: Any) -> str:
    made = call(**said)
    return permission_request(made, made.paths, [folder])[1]


@pytest.mark.parametrize(
    "other",
    [
        {"title": "Run it"},
        {"kind": "other"},
        {"input": {"command": "rm -rf /tmp/w/x"}},
        {"input": {"command": "rm -rf x"}},
        {"input": {"command": "rm -rf /tmpx"}},
        {"input": {"command": "rm -rf \0/x"}},
        {"locations": ["/w/a"]},
        {"changes": [ProposedEdit("/w/a", None, "one")]},
        {"changes": [ProposedEdit("/w/a", None, "two")]},
        {"changes": [ProposedEdit("/w/a", "old", "two")]},
        {"changes": [ProposedEdit("/w/b", "old", "two")]},
    ],
)
def test_calls_that_differ_in_anything_are_two(other: dict[str, Any]) -> None:
    assert digest() != digest(**other)


def test_each_change_is_a_call_of_its_own() -> None:
    befores = [None, "", "one", "two"]
    digests = {
        digest(changes=[ProposedEdit("/w/a", before, after)])
        for before in befores
        for after in ("x", "y", "x\n")
    }
    assert len(digests) == len(befores) * 3


def test_a_call_without_input_is_told_by_its_content() -> None:

    def said(text: str) -> AgentToolCall:
        block = schema.TextContentBlock(type="text", text=text)
        made = call(input=None)
        made.content = [schema.ContentToolCallContent(type="content", content=block)]
        return made

    (first, one), (_, two) = (
        permission_request(said("make"), [], ["/w"]),
        permission_request(said("make clean"), [], ["/w"]),
    )
    assert first["content"] == "make"
    assert one != two


def test_the_same_call_in_another_copy_is_the_same() -> None:
    def inside(folder: str) -> str:
        return digest(
            folder,
            title=f"Change {folder}/a in {folder}",
            input={"path": f"{folder}/a", "all": [f"{folder}/b", "c"]},
            locations=[f"{folder}/a"],
            changes=[ProposedEdit(f"{folder}/a", None, f"see {folder}/b")],
        )

    assert inside("/w") == inside("/srv/copies/7") == inside("/w.d/x-y")


@pytest.mark.parametrize(
    ("one", "two"),
    [("/tmp/w/x", "/tmpx"), ("/workshop", "shop"), ("/work-2/x", "-2/x"), ("./w/x", ".x")],
)
def test_a_folder_is_told_by_its_whole_name(one: str, two: str) -> None:
    folder = "/work" if one.startswith("/work") else "/w"
    assert digest(folder, input={"path": one}) != digest(folder, input={"path": two})


def test_what_is_shown_is_what_was_said() -> None:
    made = call(
        locations=["/w/src/a.py"],
        changes=[ProposedEdit("/w/src/a.py", "see /w/b\n", "see /tmp/w/b\n")],
    )
    shown, _ = permission_request(made, ["src/a.py"], ["/w"])
    assert shown["input"] == {"command": "rm -rf /w/x"}
    assert shown["paths"] == ["src/a.py"]
    assert "-see /w/b\n+see /tmp/w/b" in shown["diff"]


def test_a_long_diff_is_cut_and_tells_its_size() -> None:
    after = "line\n" * 5_000
    shown, _ = permission_request(call(changes=[ProposedEdit("/w/a", "", after)]), ["a"], ["/w"])
    assert "this is the text after" in shown["diff"]
    assert len(shown["diff"]) < 17_000
    assert "/dev/null" in diff_of("a", None, "x")
    assert "-x\r\n+x" in diff_of("a", "x\r\n", "x\n")


def test_a_diff_has_the_lines_of_the_file_and_shows_a_last_line_break_that_changes() -> None:
    assert diff_of("a", "x\n", "y\n").splitlines()[2:] == ["@@ -1 +1 @@", "-x", "+y"]
    assert diff_of("a", None, "y\n").splitlines()[2:] == ["@@ -0,0 +1 @@", "+y"]
    assert diff_of("a", "x", "x\n").splitlines()[2:] == ["@@ -1 +1,2 @@", " x", "+"]


def test_changes_of_one_file_are_followed_one_after_another() -> None:
    leaves = WriteGrants()
    changes = [
        ProposedEdit("/w/a", "one", "1"),
        ProposedEdit("/w/a", "two", "2"),
        ProposedEdit("/w/b", None, "b"),
    ]
    leaves.give(call(kind="edit", changes=changes), "b2:x", {"/w/a": "a", "/w/b": "b"})
    assert not leaves.use("a", "one two", "1 two")
    assert not leaves.use("b", "", "1 2")
    assert leaves.use("a", "one two", "1 2")
    assert not leaves.use("a", "one two", "1 2")
    assert leaves.use("b", "", "b")


def test_leave_for_a_passage_is_none_to_put_it_in_the_place_of_the_file() -> None:
    leaves = WriteGrants()
    made = call(kind="edit", changes=[ProposedEdit("/w/a", "line 7\n", "line seven\n")])
    leaves.give(made, "b2:x", {"/w/a": "a"})
    text = "".join(f"line {n}\n" for n in range(50))
    assert not leaves.use("a", text, "line seven\n")
    assert leaves.use("a", text, text.replace("line 7\n", "line seven\n"))


def test_what_is_allowed_in_one_copy_of_a_repository_is_the_same_in_another() -> None:
    def digest(copy: str, path: str = "a") -> str:
        made = call(changes=[ProposedEdit(f"{copy}/cloud/{path}", "", "x")])
        return permission_request(
            made, [], [f"{copy}/w"], {".": f"{copy}/w", "repos.cloud": f"{copy}/cloud"}
        )[1]

    assert digest("/one") == digest("/two")
    assert digest("/one") != digest("/one", "b")
    assert (
        digest("/one")
        != permission_request(call(changes=[ProposedEdit("/one/w/a", "", "x")]), [], ["/one/w"])[1]
    )
