"""The command that starts a coding agent: placeholders filled in, its program located, its prompt passed.

`spec.agent_commands` decides how the prompt is passed. A prompt too long for an argument goes into a file, and the
agent is asked to read it.

modal_of           arguments of a permission mode; for an ACP agent its session mode
extra_arguments    arguments with its additional folders, and with our tools
tool_server        the command of `pixirnb mcp` for an agent in a step: it knows its agent and the agent's permissions
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.tools.confinement import other_roots
from pixirnb.sessions.permissions import Limits
from pixirnb.spec.agent_commands import (
    PLACEHOLDERS,
    PROMPT_FILE,
    complete_command,
    find_misplaced,
    way_of,
)

TOOLS_NAME: Final = "pixirnb"
"""Name of our tools in an agent's list of servers."""
_ARGUMENT: Final = re.compile(r"\{(folder|server|program|args)\}")


def modal_of(agent: JsonMapping, permission: str) -> tuple[str, ...]:
    """Return the arguments of an agent's table for a permission mode.

    An ACP agent without modes in its table is expected to offer a mode named like the permission; an argv without a
    table is left to its author. Raises Failed (`agent_mode_missing`) for any other agent without a mode for the
    restriction.
    """
    arguments = (agent["modes"] or {}).get(permission)
    if arguments is not None or permission == "auto":
        return tuple(arguments or ())
    if agent["runner"] == "acp":
        return (permission,)
    if not agent["name"]:
        return ()
    raise Failed(
        "agent_mode_missing",
        f"agent {agent['name']} (runner {agent['runner']}) was not started: it has no mode for `permission_mode: "
        f"{permission}`; use another runner or agent, or list the arguments of that mode under `modes.{permission}` of its "
        "table in agents.toml (`[]` if it needs none)",
        {
            "permission_mode": permission,
            "needed": permission,
            "offered": sorted(agent["modes"] or ()),
        },
    )


def extra_arguments(work: JsonMapping) -> list[str]:
    """Return arguments to add after its argv; empty if its table has none."""
    agent = work["command"]
    words: list[str] = []
    for key, folders in (
        ("folders", [*work.get("additional_paths", ()), *other_roots(work)]),
        ("roots", other_roots(work)),
    ):
        for folder in dict.fromkeys(map(str, folders)):
            words += _filled(agent[key], {"folder": folder})
    server = tool_server(work) if agent["tools"] else None
    if server is not None:
        program, *args = server
        described = {"mcpServers": {TOOLS_NAME: {"command": program, "args": args}}}
        values = {"server": described, "program": program, "args": args}
        words += _filled(
            agent["tools"], {name: json.dumps(value) for name, value in values.items()}
        )
    return words


def tool_server(work: JsonMapping) -> list[str] | None:
    """Return None if the run offers no tools, has no store, or the extra `mcp` is not installed."""
    if not work.get("surface") or not work.get("state") or find_spec("mcp") is None:
        return None
    folders = ["--workspace", str(work["workspace"]), "--state", str(work["state"])]
    is_auto = work["session"]["permission_mode"] == "auto"
    permission = ["--permission", "auto"] if is_auto else []
    return [sys.executable, "-m", "pixirnb", "mcp", *folders, *permission]


def _filled(words: list[str], values: Mapping[str, str]) -> list[str]:
    return [_ARGUMENT.sub(lambda match: values.get(match[1], match[0]), word) for word in words]


ARGUMENT_LIMIT: Final = 96 * 1024
"""Maximum number of bytes of a prompt as an argument; Linux takes 128 KiB in one, with the text around it."""

_PLACEHOLDER: Final = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")


class AgentCommand(Struct, frozen=True):
    """A command whose program exists."""

    argv: list[str]
    agent: JsonObject
    """Its preset, as plain data: see `runners.agents.presets.Preset`."""
    permission: str = "auto"
    """The permission mode of this work."""
    session_mode: str | None = None
    """The session mode of an ACP agent for it; None: any mode."""
    task: Path | None = None
    """The file for its standard input; None if its task is passed another way."""

    @property
    def name(self) -> str:
        """Return the agent's name for people."""
        return str(self.agent["name"] or Path(self.argv[0]).name)


@contextmanager
def prepare_command(work: JsonObject, *, takes_prompt: bool = True) -> Iterator[AgentCommand]:
    """Prepare the command of `work`; the prompt's file exists until the block ends.

    `takes_prompt`: the prompt is passed at the start.

    Raises Failed: `agent_missing_binary`, `agent_command_incomplete`, `agent_mode_missing`, `prompt_in_shell`.
    """
    agent, session = work["command"], work["session"]
    # As for our own tools: a read-only step starts its agent read-only, whatever mode is written.
    permission = Limits.of(work).mode
    modal = modal_of(agent, permission)
    template = _template(agent, session, modal if takes_prompt else ())
    is_known, runner = bool(agent["name"]), str(agent["runner"])
    way = way_of(template, runner, is_known=is_known)
    template = complete_command(template, runner, is_known=is_known)
    program = _program(template[0], agent)
    _refuse_disguised(template, runner)
    required = _required(template)
    if "model" in required and not session["model"]:
        raise Failed(
            "agent_command_incomplete",
            "the command contains {model}, but the agent has no `model`",
        )
    prompt: str = work["prompt"]
    is_long = not _fits(prompt)
    needs_file = way in {"file", "input"} or (
        not required.isdisjoint({"prompt_file", PROMPT_FILE}) or ("prompt" in required and is_long)
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
        words = [_PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in template[1:]]
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
    """Return the prompt as an argument; if it is too long, a reference to its file `path`."""
    if path:
        return f"Your task is in the file {path}. Read all of it, then do it."
    # A list of dashes is no option.
    return f"\n{prompt}" if prompt.startswith("-") else prompt


def _required(words: Sequence[str]) -> set[str]:
    """Return the placeholders in a command, and the variable with the prompt's file."""
    names = {name for word in words for name in _PLACEHOLDER.findall(word)}
    return names | {PROMPT_FILE} if any(PROMPT_FILE in word for word in words) else names


def _fits(prompt: str) -> bool:
    """Return whether a prompt fits into an argument."""
    try:
        return len(os.fsencode(prompt)) <= ARGUMENT_LIMIT and "\0" not in prompt
    except UnicodeEncodeError:
        return False


def ended_badly(code: int, name: str) -> Failed | None:
    """Return the failure of an exit code; None for a clean one. `code` as subprocess gives it: negative for a signal."""
    if code == 0:
        return None
    if code < 0:
        try:
            by = signal.Signals(-code).name
        except ValueError:
            by = f"signal {-code}"
        return Failed("crash", f"agent {name} was terminated by {by}", {"signal": by})
    return Failed("exit", f"agent {name} exited with code {code}", {"exit_code": code})


def _template(agent: JsonObject, session: JsonObject, modal: tuple[str, ...]) -> list[str]:
    words = list(agent["argv"])
    if session["model"]:
        words += agent["model"]
    words += modal
    words += agent["last"]
    return words


def _refuse_disguised(words: Sequence[str], runner: str) -> None:
    """Raise Failed for a shell with another name: a link to a program is judged as that program."""
    really = [os.path.realpath(path) if (path := shutil.which(word)) else word for word in words]
    for wrong in find_misplaced(really, runner):
        if wrong.code == "prompt_in_shell":
            raise Failed(wrong.code, f"{wrong.message}; {wrong.fix}")


_FIXES: Final = {
    True: "correct the path in `command`, or make the file executable",
    False: "install it, correct `command`, or add its folder to PATH",
}
"""Fixes for a program that cannot be found, by whether it is named by a path."""


def _program(word: str, agent: JsonObject) -> str:
    path = shutil.which(word)
    if path is None:
        where = "does not exist or is not executable" if os.sep in word else "is not on PATH"
        how = f"install it: {agent['install']}" if agent["install"] else _FIXES[os.sep in word]
        raise Failed(
            "agent_missing_binary",
            f"agent program {word!r} {where}; {how}",
            {"program": word, "agent": agent["name"] or None},
        )
    return path
