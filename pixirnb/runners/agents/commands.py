"""The command that starts a coding agent, ready to be run: placeholders filled in, its program found, its prompt handed over.

How the prompt travels is decided by `spec.agent_commands`. One too long for an argument goes into a file of its own, and the
agent is told to read that.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.flags import extra_arguments, modal_of
from pixirnb.sessions.permissions import Limits
from pixirnb.spec.agent_commands import (
    PLACES,
    PROMPT_FILE,
    complete_command,
    find_misplaced,
    way_of,
)

ARGUMENT_LIMIT: Final = 96 * 1024
"""Bytes of a prompt that may be an argument; Linux takes 128 KiB in one, placeholders around it included."""

_PLACEHOLDER: Final = re.compile(rf"\{{({'|'.join(PLACES)})\}}")


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A command whose program is there."""

    argv: list[str]
    agent: dict[str, Any]
    """The preset it comes from, as plain data: see `runners.agents.presets.Preset`."""
    permission: str = "auto"
    """The permission mode that this work is done in."""
    session_mode: str | None = None
    """The mode of an ACP agent's own that goes with it; None: whatever mode it is in will do."""
    task: Path | None = None
    """The file it is to read on standard input; None where its task comes another way."""

    @property
    def name(self) -> str:
        """What a person calls the agent."""
        return str(self.agent["name"] or Path(self.argv[0]).name)


@contextmanager
def prepare_command(work: dict[str, Any], *, takes_prompt: bool = True) -> Iterator[AgentCommand]:
    """The command of `work`, while its prompt's file is there. `takes_prompt`: it is handed the prompt as it starts.

    Raises Failed: `agent_missing_binary`, `agent_command_incomplete`, `agent_mode_missing`, `prompt_in_shell`.
    """
    agent, session = work["command"], work["session"]
    # As for our own tools: whoever may only read is started as one who only reads, whatever mode is written.
    permission = Limits.of(work).mode
    modal = modal_of(agent, permission)
    template = _template(agent, session, modal if takes_prompt else ())
    is_known, runner = bool(agent["name"]), str(agent["runner"])
    way = way_of(template, runner, is_known=is_known)
    template = complete_command(template, runner, is_known=is_known)
    program = _program(template[0], agent)
    _refuse_disguised(template, runner)
    wanted = _wanted(template)
    if "model" in wanted and not session["model"]:
        raise Failed(
            "agent_command_incomplete",
            "its command has a place for {model}, and the agent names no model.",
        )
    prompt: str = work["prompt"]
    is_long = not _fits(prompt)
    needs_file = way in {"file", "input"} or (
        not wanted.isdisjoint({"prompt_file", PROMPT_FILE}) or ("prompt" in wanted and is_long)
    )
    with ExitStack() as files:
        path = ""
        if needs_file:
            folder = files.enter_context(tempfile.TemporaryDirectory(prefix="pixirnb-"))
            path = str(Path(folder) / "task.md")
            Path(path).write_text(prompt, encoding="utf-8", errors="replace")
        values = {
            "prompt": _as_argument(prompt, path if is_long else ""),
            "prompt_file": path,
            "model": str(session["model"] or ""),
            "role": str(session["role"]),
            "cwd": str(work["cwd"]),
        }
        words = [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in template[1:]]
        at = len(agent["argv"]) - 1
        words[at:at] = extra_arguments(work)
        if path:
            os.environ[PROMPT_FILE] = path  # the agent inherits what is ours
        os.environ["PWD"] = str(work["cwd"])  # some believe it more than where they are
        os.environ.update((agent["mode_env"] or {}).get(permission, {}))
        session_mode = modal[0] if modal and not takes_prompt else None
        task = Path(path) if way == "input" else None
        yield AgentCommand([program, *words], agent, permission, session_mode, task)


def _as_argument(prompt: str, path: str) -> str:
    """What stands for the prompt in an argv; `path` where it lies, if it is too long for one."""
    if path:
        return f"Your task is in the file {path}. Read all of it, then do it."
    # A list of dashes is no option.
    return f"\n{prompt}" if prompt.startswith("-") else prompt


def _wanted(words: Sequence[str]) -> set[str]:
    """What the words of a command take: the places in them, and the variable that names the prompt's file."""
    places = {name for word in words for name in _PLACEHOLDER.findall(word)}
    return places | {PROMPT_FILE} if any(PROMPT_FILE in word for word in words) else places


def _fits(prompt: str) -> bool:
    """Whether a prompt can be an argument at all."""
    try:
        return len(os.fsencode(prompt)) <= ARGUMENT_LIMIT and "\0" not in prompt
    except UnicodeEncodeError:
        return False


def ended_badly(code: int, name: str) -> Failed | None:
    """What a process's end means; None for a clean one. `code` as subprocess gives it: negative for a signal."""
    if code == 0:
        return None
    if code < 0:
        try:
            by = signal.Signals(-code).name
        except ValueError:
            by = f"signal {-code}"
        return Failed("crash", f"the agent {name} was ended by {by}.", {"signal": by})
    return Failed("exit", f"the agent {name} exited with code {code}.", {"exit_code": code})


def _template(agent: dict[str, Any], session: dict[str, Any], modal: tuple[str, ...]) -> list[str]:
    words = list(agent["argv"])
    if session["model"]:
        words += agent["model"]
    words += modal
    words += agent["last"]
    return words


def _refuse_disguised(words: Sequence[str], runner: str) -> None:
    """Raise Failed for a shell by another name: a link that leads to one is judged as the program it leads to."""
    really = [os.path.realpath(found) if (found := shutil.which(word)) else word for word in words]
    for wrong in find_misplaced(really, runner):
        if wrong.code == "prompt_in_shell":
            raise Failed(
                wrong.code, f"in the command of the agent, {wrong.message}. Mend: {wrong.fix}."
            )


_MEND: Final = {
    True: " Mend the path in the agent's `command`, or make the file executable.",
    False: " Install it, mend the agent's `command`, or add its folder to PATH where pixirnb runs.",
}
"""What to do about a program that cannot be found, by whether it is named by a path."""


def _program(word: str, agent: dict[str, Any]) -> str:
    found = shutil.which(word)
    if found is None:
        where = "is not there, or cannot be run" if os.sep in word else "is not on PATH"
        how = f" To install it: {agent['install']}." if agent["install"] else _MEND[os.sep in word]
        raise Failed(
            "agent_missing_binary",
            f"the agent's program {word!r} {where}.{how}",
            {"program": word, "agent": agent["name"] or None},
        )
    return found
