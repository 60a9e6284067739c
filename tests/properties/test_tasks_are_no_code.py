"""Whatever command an author writes for an agent, it is refused, or no task makes it do a thing: a canary file says so."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.commands import AgentCommand, prepare_command
from pixirnb.spec.agent_commands import PROMPT_FILE, find_misplaced
from pixirnb.testing.fakes.agent_stage import coding_agent
from tests.sweeps import examples

CANARY: Final = "canary"
BARE: Final = (
    f"touch {CANARY}",
    f"open('{CANARY}', 'w')",
    f'open(my $f, ">", "{CANARY}")',
    f'BEGIN {{ system("touch {CANARY}") }}',
    f"-e\ntouch {CANARY}",
)
"""A task that is a program, in one language each."""
MARKS: Final = ("", "'", '"', "`", "$(", ")", ";", "\n", "|", "&", "#", "\\", "${", "}", "--", "\t")
AGENT: Final = '#!/bin/sh\n{ printf "%s\\n" "$@"; cat; } > "$RECORD"\n'
"""An agent that notes what it was handed."""

PROGRAMS: Final = (
    *("sh", "bash", "dash", "python3", "perl", "awk", "sed", "env", "nice", "timeout", "nohup"),
    *("setsid", "xargs", "find", "flock", "claude", "codex", "my-agent", "disguised", "/bin/sh"),
)
WORDS: Final = (
    *("-c", "-lc", "-s", "-i", "-e", "-ne", "--", "-", "-x", "-o", "pipefail", "--norc", "-m", "9"),
    *("-S", "-p", "exec", "run", "A=1", "true", ":", "cat", "BEGIN {}", ".", "--rcfile", "-exec"),
    *("{prompt}", "{prompt_file}", "--prompt={prompt}", "BASH_ENV={prompt_file}", "/dev/stdin"),
    *(
        'exec my-agent "$@"',
        f'my-agent < "${PROMPT_FILE}"',
        "agent.sh",
        "-n",
        "-u",
        "-f",
        ";",
        "{}",
    ),
)

tasks = st.one_of(
    st.sampled_from(BARE),
    st.lists(st.sampled_from((*MARKS, *BARE, "echo ", "x")), min_size=1, max_size=8).map("".join),
)
commands = st.tuples(
    st.lists(st.sampled_from(PROGRAMS), min_size=1, max_size=2),
    st.lists(st.sampled_from((*WORDS, *PROGRAMS)), max_size=5),
).map(lambda parts: [*parts[0], *parts[1]])


@dataclass(frozen=True)
class Stage:
    """A folder with programs in it, and what they noted."""

    folder: Path
    record: Path

    def work(self, words: list[str], task: str) -> dict[str, Any]:
        """The work of a `cli` agent, as its process is told it."""
        session = coding_agent("cli", words, self.folder, prompt=task, model="m").session
        agent = {"name": "", "runner": "cli", "argv": words, "model": [], "modes": None, "last": []}
        return {
            "command": {
                **agent,
                "install": "",
                "mode_env": None,
                "folders": [],
                "roots": [],
                "tools": [],
            },
            "session": session,
            "prompt": task,
            "cwd": str(self.folder),
        }

    def perform(self, command: AgentCommand) -> None:
        """Start it as `runners.agents.cli` does, and let it work for a moment."""
        with (command.task or Path(os.devnull)).open("rb") as task:
            process = subprocess.Popen(
                command.argv,
                stdin=task,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.folder,
                start_new_session=True,
            )
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with_its_group(process)


def with_its_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@contextmanager
def stage() -> Iterator[Stage]:
    """Programs on a PATH of their own, among them two agents and a shell by another name."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        folder, programs = Path(name, "work"), Path(name, "bin")
        folder.mkdir()
        programs.mkdir()
        for program in ("claude", "codex", "my-agent"):
            (programs / program).write_text(AGENT)
            (programs / program).chmod(0o755)
        (folder / "agent.sh").write_text(AGENT)
        (programs / "disguised").symlink_to(shutil.which("sh") or "/bin/sh")
        os.environ["PATH"] = f"{programs}{os.pathsep}{before['PATH']}"
        os.environ["RECORD"] = str(Path(name, "record"))
        try:
            yield Stage(folder, Path(name, "record"))
        finally:
            os.environ.clear()
            os.environ.update(before)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(commands, tasks)
@example(["disguised", "-s"], BARE[0])
@example(["nice", "disguised"], BARE[0])
@example(["env", "-S", "bash -s"], BARE[0])
@example(["sh", "-c", "python3", "-c", "-c"], BARE[1])
def test_a_command_is_refused_or_its_task_does_nothing(words: list[str], task: str) -> None:
    if any(find_misplaced(words, "cli")):
        return
    with stage() as place:
        try:
            with prepare_command(place.work(words, task)) as command:
                place.perform(command)
        except (Failed, PermissionError, ValueError):
            pass
        assert not (place.folder / CANARY).exists()


ACCEPTED = [
    ["my-agent"],
    ["timeout", "9", "my-agent"],
    ["env", "A=1", "my-agent", "-p"],
    ["sh", "-c", "exec my-agent"],
    ["sh", "agent.sh"],
    ["sh", "-c", f'exec my-agent < "${PROMPT_FILE}"'],
    ["sh", "-c", "exec my-agent < {prompt_file}"],
    ["claude", "-p"],
    ["claude", "-p", "{prompt}", "--verbose"],
    ["claude", "--prompt={prompt}"],
    ["codex", "exec", "--", "{prompt}"],
]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(task=tasks)
@pytest.mark.parametrize("words", ACCEPTED, ids=" ".join)
def test_an_agent_is_handed_its_task_to_the_letter(words: list[str], task: str) -> None:
    assert list(find_misplaced(words, "cli")) == []
    with stage() as place:
        with prepare_command(place.work(words, task)) as command:
            place.perform(command)
        assert task in place.record.read_text(encoding="utf-8")
        assert not (place.folder / CANARY).exists()
