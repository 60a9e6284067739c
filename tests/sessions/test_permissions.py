"""What an agent may do is a table: mode by tool, sets by path. Nothing a person allowed reaches beyond the sets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.planning.environment import is_secret
from pixirnb.planning.globs.pattern import Pattern, matches
from pixirnb.sessions.permissions import TOOLS, Limits, decide, digest_of
from pixirnb.spec.agent_commands import PermissionMode

WRITE = {"path": "src/a.py", "content": "x"}
EDIT = {"path": "src/a.py", "old": "x", "new": "y"}
CALLS: dict[str, dict[str, Any]] = {
    "read": {"path": "src/a.py"},
    "list": {"path": "src"},
    "search": {"path": "src", "pattern": "x"},
    "write": WRITE,
    "edit": EDIT,
    "shell": {"command": "make"},
}
READING = ("read", "list", "search")
CHANGING = ("write", "edit", "shell")


def limits(mode: PermissionMode = "auto", **fields: Any) -> Limits:
    """Limits of a step that writes in `src`."""
    return Limits(**{"mode": mode, "write_set": ("src/**",), **fields})


def work(**session: Any) -> dict[str, Any]:
    """What `Limits.of` looks at."""
    said = {"posture": "writer", "permission_mode": "auto", "write_set": ["src/**"], **session}
    return {"session": said, "workspace": "/w", "cwd": "/w"}


def code(answer: Any) -> tuple[str, str]:
    """Verdict and code."""
    return answer.verdict, answer.code


def test_every_tool_has_a_call_in_the_table() -> None:
    assert set(CALLS) == set(TOOLS) == {*READING, *CHANGING}


@pytest.mark.parametrize("mode", ["read_only", "ask", "auto"])
@pytest.mark.parametrize("tool", READING)
def test_reading_is_allowed_in_every_mode(tool: str, mode: PermissionMode) -> None:
    assert code(decide(limits(mode), tool, CALLS[tool])) == ("allow", "")


@pytest.mark.parametrize("tool", CHANGING)
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("read_only", ("deny", "read_only")),
        ("ask", ("ask", "permission_required")),
        ("auto", ("allow", "")),
    ],
)
def test_what_changes_something_is_for_the_mode(
    tool: str, mode: PermissionMode, expected: tuple[str, str]
) -> None:
    assert code(decide(limits(mode), tool, CALLS[tool])) == expected


def test_what_a_person_allowed_is_that_call_and_nothing_like_it() -> None:
    allowed = limits("ask", granted=frozenset({digest_of("write", WRITE)}))
    assert decide(allowed, "write", WRITE).verdict == "allow"
    assert decide(allowed, "write", {**WRITE, "content": "y"}).verdict == "ask"
    assert decide(allowed, "write", {**WRITE, "path": "src/b.py"}).verdict == "ask"
    assert decide(allowed, "shell", {"command": "x"}).verdict == "ask"


def test_a_permission_is_worth_nothing_to_a_session_that_only_reads() -> None:
    granted = frozenset({digest_of("write", WRITE)})
    assert code(decide(limits("read_only", granted=granted), "write", WRITE)) == (
        "deny",
        "read_only",
    )


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/a.md", "outside_write_set"),
        ("srcs/a.py", "outside_write_set"),
        ("", "outside_write_set"),
        ("/elsewhere/a.py", "outside_write_set"),
        ("../src/a.py", "outside_write_set"),
        ("src/../docs/a.md", "outside_write_set"),
        ("src/.git/hooks/pre-commit", "reserved_path"),
        (".pixirnb/runs/r/inbox/x", "reserved_path"),
        ("src/.GIT/config", "reserved_path"),
        ("src/.env", "kept_secret"),
        ("src/tls/server.key", "kept_secret"),
    ],
)
def test_no_mode_and_no_permission_opens_what_is_in_no_set(
    path: str, expected: str, mode: PermissionMode
) -> None:
    args = {**WRITE, "path": path}
    asked_before = limits(mode, granted=frozenset({digest_of("write", args)}))
    assert code(decide(asked_before, "write", args)) == ("deny", expected)


def test_a_file_that_may_be_written_may_be_read() -> None:
    narrow = limits(read_set=("docs/**",))
    assert decide(narrow, "read", {"path": "src/a.py"}).verdict == "allow"
    assert decide(narrow, "read", {"path": "docs/a.md"}).verdict == "allow"
    assert code(decide(narrow, "read", {"path": "lib/a.py"})) == ("deny", "outside_read_set")


@pytest.mark.parametrize(
    ("path", "is_open"),
    [("", True), ("a", True), ("a/b", True), ("a/b/c.txt", True), ("b", False), ("a/c", False)],
)
def test_a_folder_may_be_looked_through_where_something_in_it_may_be_read(
    path: str, is_open: bool
) -> None:
    narrow = Limits(read_set=("a/b/*.txt",))
    assert (decide(narrow, "list", {"path": path}).verdict == "allow") is is_open


def test_a_name_that_looks_like_a_glob_is_the_name() -> None:
    narrow = Limits(read_set=("[[]a]/x",))
    assert narrow.look_refusal("[a]") is None
    assert narrow.look_refusal("a") is not None


def test_a_file_called_like_a_repository_is_none_of_it() -> None:
    held = limits(write_set=("repos.cloud:src/**",))
    assert held.write_refusal("repos.cloud:src/a.py") is not None


def test_a_tool_that_was_not_given_is_denied_and_says_which_were() -> None:
    given = limits(tools=frozenset({"read", "list"}))
    ruling = decide(given, "write", WRITE)
    assert code(ruling) == ("deny", "tool_not_granted")
    assert "`read`, `list`" in ruling.message


def test_a_tool_that_is_none_is_denied() -> None:
    assert code(decide(limits(), "approve", {})) == ("deny", "tool_unknown")


def test_a_call_without_its_path_is_denied() -> None:
    assert code(decide(limits(), "write", {"content": "x"})) == ("deny", "path_invalid")


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.local", ".envrc", "a.pem", "A.PEM", "x.key", "id_rsa", "id_ed25519.pub"),
        *(".netrc", "credentials", "credentials.json", "Credentials.csv", ".ssh/config"),
        *("deep/down/.aws/config", ".env.d/x", "secrets.yaml"),
    ],
)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)
    assert code(decide(limits(), "read", {"path": f"src/{name}"})) == ("deny", "kept_secret")


@pytest.mark.parametrize(
    "name",
    ["credentials.py", "keys.py", "environment.md", "src/key", "a.env", ".venv/certifi/cacert.pem"],
)
def test_code_about_secrets_is_none(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("session", "mode"),
    [
        ({}, "auto"),
        ({"posture": "read_only"}, "read_only"),
        ({"permission_mode": "ask"}, "ask"),
        ({"permission_mode": "whatever"}, "read_only"),
        ({"permission_mode": None}, "read_only"),
        ({"posture": None}, "read_only"),
    ],
)
def test_what_is_not_understood_bounds_more(session: dict[str, Any], mode: str) -> None:
    assert Limits.of(work(**session)).mode == mode


def test_a_reader_without_a_read_set_reads_the_workspace() -> None:
    assert Limits.of(work(read_set=[])).read_refusal("any/where.txt") is None


def test_additional_paths_may_be_read_and_never_written() -> None:
    held = Limits.of(
        {**work(write_set=["**/*"], read_set=["src/**"]), "additional_paths": ["/more", "/w/docs"]}
    )
    assert held.read_refusal("/more/a.txt") is None
    assert held.look_refusal("/more") is None
    assert held.write_refusal("/more/a.txt") is not None
    assert held.read_refusal("/moreover/a.txt") is not None
    assert held.read_refusal("/more/../etc/passwd") is not None
    assert held.read_refusal("/more/.git/config") is not None
    narrow = Limits.of({**work(read_set=["src/**"]), "additional_paths": ["/w/docs"]})
    assert narrow.read_refusal("docs/a.md") is None
    assert narrow.read_refusal("lib/a.md") is not None


def test_a_folder_of_work_outside_the_workspace_may_be_read() -> None:
    held = Limits.of({**work(), "cwd": "/other"})
    assert held.read_refusal("/other/a.txt") is None
    assert held.write_refusal("/other/a.txt") is not None


def test_the_order_of_arguments_and_what_was_left_out_are_nothing_to_a_digest() -> None:
    one = digest_of("read", {"path": "a", "limit": None})
    assert one == digest_of("read", {"path": "a"})
    assert digest_of("edit", {"a": 1, "b": 2}) == digest_of("edit", {"b": 2, "a": 1})
    assert one != digest_of("list", {"path": "a"})
    assert one.startswith("b2:")


@given(path=st.text(alphabet="abs./r\\*c:~ \n", max_size=12), mode=st.sampled_from(["ask", "auto"]))
def test_nothing_is_written_that_the_write_set_does_not_claim(
    path: str, mode: PermissionMode
) -> None:
    verdict = decide(limits(mode), "write", {"path": path, "content": ""}).verdict
    claimed = matches(Pattern.parse("src/**"), path)
    assert verdict == "deny" or claimed


REPOS = {".": "/w", "repos.cloud": "/w/libs/cloud", "repos.web": "/web"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("repos.web:src/a.py", ""),
        ("libs/cloud/a.py", ""),
        ("repos.cloud:a.py", ""),
        ("src/a.py", "outside_write_set"),
        ("repos.web:a.py", "outside_write_set"),
        ("repos.web:src/../a.py", "outside_write_set"),
        ("repos.nobody:src/a.py", "outside_write_set"),
        ("/web/src/a.py", "outside_write_set"),
        ("repos.web:.env", "kept_secret"),
        ("repos.web:.git/config", "reserved_path"),
        ("repos.cloud:.pixirnb/x", "reserved_path"),
    ],
)
def test_a_set_names_a_repository_and_is_held_in_it(path: str, expected: str) -> None:
    sets = ["repos.web:src/**", "libs/**"]
    held = Limits.of({**work(permission_mode="auto", write_set=sets), "roots": REPOS})
    assert decide(held, "write", {"path": path, "content": ""}).code == expected


def test_a_folder_of_a_repository_may_be_looked_through_where_something_in_it_may_be_read() -> None:
    held = Limits.of({**work(read_set=["repos.cloud:src/*.py"]), "roots": REPOS})
    for path in ("repos.cloud:", "repos.cloud:src", "libs", "libs/cloud", "libs/cloud/src"):
        assert held.look_refusal(path) is None
    for path in ("repos.web:", "repos.cloud:docs", "libs/other"):
        assert held.look_refusal(path) is not None
