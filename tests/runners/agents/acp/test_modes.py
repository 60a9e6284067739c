"""An ACP agent is put into the mode its permission asks for, in either spelling, or is not given its task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb.protocols.work import Ended
from pixirnb.testing.contracts.runner import Rehearsal
from pixirnb.testing.fakes.agent_stage import Answers, coding_agent, fake, session_events, staged
from tests.sweeps import first_of, first_rows

HAND: tuple[str, ...] = ("hand:kept.txt:overwritten", "say:Done.")


def perform(
    folder: Path, *acts: str, command: list[str] | None = None, **limits: Any
) -> tuple[Ended, Rehearsal]:
    """What came of an agent that would write by its own hand in the mode it is in by itself."""
    work = coding_agent("acp", command or fake("acp", *acts, *HAND), folder, **limits)
    return staged(work, folder, answers=Answers(["deny"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    (place / "kept.txt").write_text("the user's own\n")
    return place


def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str, *acts: str) -> list[str]:
    """The command of an agent with a table in the user's file."""
    place = tmp_path / "config" / "pixirnb"
    place.mkdir(parents=True)
    argv = json.dumps(fake("acp", *acts, *HAND))
    (place / "agents.toml").write_text(f"[acp.mine]\nargv = {argv}\n{keys}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place.parent))
    return ["mine"]


@pytest.mark.parametrize("mode", first_of(["read_only", "ask"]))
@pytest.mark.parametrize(
    ("acts", "kind"),
    first_rows(
        [
            ((), None),
            (("spelling:options",), None),
            (("modes:",), "agent_mode_missing"),
            (("rigid",), "agent_mode_missing"),
            (("stuck", "spelling:options"), "agent_mode_missing"),
            (("leave:act",), "agent_mode_left"),
            (("spelling:both",), None),
            (("modes:act,plan",), "agent_mode_missing"),
            (("modes:act,plan", "spelling:options"), "agent_mode_missing"),
            (("rigid", "spelling:options"), "agent_mode_missing"),
            (("stuck",), "agent_mode_missing"),
            (("stuck", "spelling:both"), "agent_mode_missing"),
            (("leave:act", "spelling:options"), "agent_mode_left"),
        ],
        6,
    ),
    ids=str,
)
def test_it_works_in_the_mode_its_permission_asks_for_or_not_at_all(
    mode: str, acts: tuple[str, ...], kind: str | None, folder: Path
) -> None:
    # Whoever leaves its mode may act before it can be ended: it waits here, as one that asks the model again does.
    acts = (*acts, "pause:20") if kind == "agent_mode_left" else acts
    ended, rehearsal = perform(folder, *acts, mode=mode)
    assert (ended.status, ended.error_kind) == ("failed" if kind else "completed", kind)
    assert (folder / "kept.txt").read_text() == "the user's own\n"
    said = [data["text"] for _, data in session_events(rehearsal, "assistant_message")]
    if kind is None:
        assert said[-1].startswith(f"[mode {mode}]")
    else:
        assert said == []
        assert ended.details["needed"] == mode
        assert f"`{mode}`" in ended.message


def test_a_refusal_says_what_was_needed_and_what_was_offered(folder: Path) -> None:
    ended, _ = perform(folder, "modes:act,plan", "spelling:both", mode="read_only")
    assert ended.details == {
        "permission_mode": "read_only",
        "needed": "read_only",
        "offered": ["act", "plan"],
    }
    assert "(offered: `act`, `plan`)" in ended.message
    assert "agents.toml" in ended.message


def test_a_table_names_the_mode_that_does_what_the_permission_says(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = 'modes = { read_only = "plan", ask = "careful", auto = "no-such-mode" }'
    command = table(tmp_path, monkeypatch, modes, "modes:act,plan", "spelling:options")
    ended, rehearsal = perform(folder, command=command, mode="read_only")
    assert ended.status == "completed"
    assert "[mode plan]" in rehearsal.text()
    for mode, needed in (("ask", "careful"), ("auto", "no-such-mode")):
        ended, _ = perform(folder, command=command, mode=mode)
        assert (ended.error_kind, ended.details["needed"]) == ("agent_mode_missing", needed)
    assert (folder / "kept.txt").read_text() == "the user's own\n"


def test_a_table_may_say_that_it_keeps_to_a_permission_by_itself(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = "modes = { ask = [] }\nmode_env = { ask = { MINE_ASKS = 'always' } }"
    command = table(tmp_path, monkeypatch, ask, "modes:careful", "env:MINE_ASKS")
    ended, rehearsal = perform(folder, command=command, mode="ask")
    assert ended.status == "completed"
    assert "[mode careful]" in rehearsal.text()
    assert "MINE_ASKS=always" in rehearsal.text()
    ended, _ = perform(folder, command=command, mode="read_only")
    assert ended.error_kind == "agent_mode_missing"


def test_one_that_may_do_all_needs_no_mode(folder: Path) -> None:
    ended, _ = perform(folder, "modes:", mode="auto")
    assert ended.status == "completed"
    assert (folder / "kept.txt").read_text() == "overwritten"


def test_whoever_only_reads_needs_the_mode_for_it_whatever_is_written(folder: Path) -> None:
    ended, _ = perform(folder, "modes:act,ask", mode="auto", posture="read_only")
    assert (ended.error_kind, ended.details["needed"]) == ("agent_mode_missing", "read_only")


@pytest.mark.parametrize("runner", ["cli", "pty"])
def test_a_known_agent_of_the_command_line_without_arguments_for_a_permission_is_not_started(
    runner: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "config" / "pixirnb"
    place.mkdir(parents=True)
    argv = json.dumps([*fake(runner, "say:Done."), "{prompt}"])
    keys = f"argv = {argv}\nmodes = {{ read_only = [] }}"
    (place / "agents.toml").write_text(f"[{runner}.mine]\n{keys}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place.parent))
    for mode, kind in (("ask", "agent_mode_missing"), ("read_only", None), ("auto", None)):
        ended, _ = staged(coding_agent(runner, ["mine"], folder, mode=mode), folder)
        assert ended.error_kind == kind
