"""Folders, our tools and permission modes reach a coding agent in its own way: as the arguments its table names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pixirnb.runners.agents.commands import extra_arguments, tool_server
from pixirnb.runners.agents.presets import resolve
from pixirnb.testing.fakes.agent_stage import coding_agent, fake, staged

ROOTS = {".": "/w", "repos.inside": "/w/inside", "repos.cloud": "/cloud"}


def work(runner: str, name: str, **more: Any) -> dict[str, Any]:
    """As the engine hands it over: an additional folder, and a repository outside the one it works in."""
    given = {"additional_paths": ["/docs"], "roots": ROOTS, "cwd": "/w", "workspace": "/w"}
    session = {"permission_mode": "ask"}
    return {"command": resolve(runner, [name]).document(), "session": session, **given, **more}


@pytest.mark.parametrize(
    ("runner", "name", "flag"),
    [
        ("cli", "claude", "--add-dir"),
        ("pty", "claude", "--add-dir"),
        ("cli", "copilot", "--add-dir"),
        ("cli", "gemini", "--include-directories"),
        ("cli", "qwen", "--include-directories"),
        ("acp", "gemini", "--include-directories"),
    ],
)
def test_folders_beside_its_own_reach_an_agent_as_its_flags(
    runner: str, name: str, flag: str
) -> None:
    assert extra_arguments(work(runner, name)) == [flag, "/docs", flag, "/cloud"]
    assert extra_arguments(work(runner, name, additional_paths=[], roots={})) == []


def test_a_folder_that_may_only_be_read_is_not_named_where_the_flag_lets_it_be_written() -> None:
    assert extra_arguments(work("cli", "codex")) == ["--add-dir", "/cloud"]


def test_the_flags_stand_where_the_program_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "config" / "pixirnb"
    place.mkdir(parents=True)
    keys = "argv = ['echo', 'run']\nmodes = { ask = ['--careful'] }\nfolders = ['--dir={folder}']\nlast = ['{prompt}']"
    (place / "agents.toml").write_text(f"[cli.mine]\n{keys}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place.parent))
    said = coding_agent("cli", ["mine"], tmp_path, prompt="p {folder}")
    said = replace(said, additional_paths=(Path("/docs {prompt}"),))
    _, rehearsal = staged(said, tmp_path)
    assert rehearsal.text() == "run --dir=/docs {prompt} --careful p {folder}\n"


def test_our_tools_reach_an_agent_by_the_arguments_its_table_names() -> None:
    more: dict[str, Any] = {"surface": [{"name": "inspect_run"}], "state": "/s"}
    server = tool_server(work("cli", "claude", **more))
    assert server is not None
    assert server[1:] == ["-m", "pixirnb", "mcp", "--workspace", "/w", "--state", "/s"]
    words = extra_arguments(work("cli", "claude", **more))
    at = words.index("--mcp-config")
    described = json.loads(words[at + 1])
    assert described == {"mcpServers": {"pixirnb": {"command": server[0], "args": server[1:]}}}
    allowed = tool_server(work("cli", "claude", **more, session={"permission_mode": "auto"}))
    assert allowed == [*server, "--permission", "auto"]
    words = extra_arguments(work("cli", "codex", **more))
    assert f"mcp_servers.pixirnb.args={json.dumps(server[1:])}" in words
    assert tool_server(work("cli", "claude", surface=[], state="/s")) is None
    assert tool_server(work("cli", "claude", surface=more["surface"], state=None)) is None


@pytest.mark.parametrize(
    ("keys", "offered"),
    [("", "readTextFile writeTextFile"), ("files = ['write']", "writeTextFile")],
)
def test_an_acp_agent_is_offered_the_file_requests_its_table_names(
    keys: str, offered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "config" / "pixirnb"
    place.mkdir(parents=True)
    argv = json.dumps(fake("acp", "offered"))
    (place / "agents.toml").write_text(f"[acp.mine]\nargv = {argv}\n{keys}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place.parent))
    _, rehearsal = staged(coding_agent("acp", ["mine"], tmp_path), tmp_path)
    assert rehearsal.text() == f"{offered}\n"
