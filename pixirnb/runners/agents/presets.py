"""Coding agents by name: their command, their output, their needs. Data in `presets.toml`, here the lookup.

    command: claude          a name of the runner's table: its argv, read as its table says
    command: [a, b, c]       any other argv is used unchanged: text on standard output

The user's own `agents.toml`, in the config folder next to the signing key, replaces keys of a table and adds tables.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast

from msgspec import Struct
from msgspec.structs import asdict, fields, replace

from pixirnb.errors import Cannot
from pixirnb.json_types import JsonObject
from pixirnb.runners.agents.json_lines import wrong_rule
from pixirnb.spec.agent_commands import PERMISSION_MODES, find_misplaced
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.system.system_calls import open_plain
from pixirnb.value_codec import config_folder

RunnerName = Literal["acp", "cli", "pty"]
RUNNERS: Final[tuple[RunnerName, ...]] = ("acp", "cli", "pty")
HELLO_S: Final = 30.0
"""Seconds that an ACP agent may take for its first answer, unless its table says otherwise."""

_OWN: Final = Path(__file__).with_name("presets.toml")
_LARGEST: Final = 1024 * 1024
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Preset(Struct, frozen=True):
    """The command of one agent, and the format of its output."""

    name: str
    """Name of the agent; empty for an argv without a preset."""
    runner: RunnerName
    argv: tuple[str, ...]
    """The program and its arguments; `{prompt} {prompt_file} {model} {role} {cwd}` are filled in."""
    model: tuple[str, ...] = ()
    """Further arguments if a model is named."""
    modes: Mapping[str, tuple[str, ...]] | None = None
    """Further arguments by permission mode; for acp one word, its session mode. Empty: the agent needs none."""
    mode_env: Mapping[str, Mapping[str, str]] | None = None
    """Environment variables by permission mode."""
    folders: tuple[str, ...] = ()
    """Arguments for each folder in addition to the working folder: additional paths, other repositories; `{folder}`."""
    roots: tuple[str, ...] = ()
    """Arguments for each of the other repositories."""
    tools: tuple[str, ...] = ()
    """Arguments that offer it our tools: `{server}` all of it as JSON, `{program}` and `{args}` the parts. Not for acp."""
    files: tuple[str, ...] = ("read", "write")
    """For acp: the file requests that are offered; without one the agent accesses files itself."""
    last: tuple[str, ...] = ()
    """Arguments after all others."""
    output: Literal["text", "json-lines"] = "text"
    """Format of standard output."""
    lines: tuple[JsonObject, ...] = ()
    """Rules for JSON lines: see `agents.json_lines`."""
    env: tuple[str, ...] = ()
    """Variables it usually needs; the spec's `pass_env` decides about passing them."""
    install: str = ""
    """Instructions to install it."""
    hello_s: float = HELLO_S
    """Seconds it may take for its first answer."""

    def document(self) -> JsonObject:
        """Return the preset as plain data, for the agent's process."""
        return asdict(self)


def resolve(runner: str, command: Sequence[str] | None, path: str | None = None) -> Preset:
    """Return the preset that `command` names, or one for its argv.

    `path`: where programs are searched. Reads the user's file.

    Raises Cannot: `agent_command_missing`, `agent_command_unknown`, `agents_file_invalid`, `prompt_in_shell`,
    `prompt_in_argv`, `prompt_nowhere`, `placeholder_unknown`.
    """
    words = _words(command)
    name = cast("RunnerName", runner)
    if not words:
        raise Cannot(
            f"an agent of runner {runner} has no command",
            fix=f"name a known agent ({_known(runner, presets())}) or give an argv list",
            code="agent_command_missing",
        )
    table = presets()
    preset = table.get((name, words[0])) if len(words) == 1 else None
    if preset is not None:
        return preset
    if name == "acp" and (kin := _begun(words, table)) is not None:
        return kin
    if len(words) == 1 and os.sep not in words[0] and shutil.which(words[0], path=path) is None:
        raise Cannot(
            f"{words[0]!r} is neither a known {runner} agent nor a program on PATH",
            fix=did_you_mean(
                words[0],
                [name for its, name in table if its == runner],
                otherwise=f"use one of {_known(runner, table)}, or give an argv list",
            ),
            code="agent_command_unknown",
        )
    for wrong in find_misplaced(words, runner):
        raise Cannot(wrong.message, fix=wrong.fix, code=wrong.code)
    return Preset("", name, tuple(words))


def _begun(words: Sequence[str], table: Mapping[tuple[RunnerName, str], Preset]) -> Preset | None:
    """Return the known ACP agent whose argv is a prefix of these words; the longest argv wins."""
    known = [preset for preset in table.values() if preset.runner == "acp"]
    begun = [preset for preset in known if tuple(words[: len(preset.argv)]) == preset.argv]
    preset = max(begun, key=lambda preset: len(preset.argv), default=None)
    return None if preset is None else replace(preset, argv=tuple(words))


def presets() -> dict[tuple[RunnerName, str], Preset]:
    """Return every known agent by runner and name, the user's own included. Raises Cannot (`agents_file_invalid`)."""
    known = dict(_built_in())
    path = user_file()
    data = _user_data(path)
    if data is not None:
        for runner, name, keys in _tables(data, path):
            base = known.get((runner, name))
            known[runner, name] = _preset(runner, name, keys, path, base)
    return known


def known(runner: str) -> list[str]:
    """Return names of the agents of a runner."""
    return sorted(name for its, name in presets() if its == runner)


def user_file() -> Path:
    """Return the path of the user's own table: `pixirnb/agents.toml` in the config folder."""
    return config_folder() / "agents.toml"


def _words(command: Sequence[str] | None) -> list[str]:
    """Split a spec's command line, a list of one text, at blanks, unless it is a program's path."""
    words = list(command or ())
    if len(words) == 1 and any(map(str.isspace, words[0])) and not Path(words[0]).is_file():
        try:
            return shlex.split(words[0])
        except ValueError as error:
            raise Cannot(
                f"the command line {words[0]!r} cannot be parsed: {error}",
                fix="close its quotes, or write the command as a list",
                code="agent_command_unknown",
            ) from error
    return words


def _known(runner: str, table: Mapping[tuple[RunnerName, str], Preset]) -> str:
    return ", ".join(sorted(name for its, name in table if its == runner))


@cache
def _built_in() -> dict[tuple[RunnerName, str], Preset]:
    data = tomllib.loads(_OWN.read_text(encoding="utf-8"))
    return {
        (runner, name): _preset(runner, name, keys, _OWN, None)
        for runner, name, keys in _tables(data, _OWN)
    }


def _user_data(path: Path) -> JsonObject | None:
    """Return the user's file as data; None if there is none. It names programs to run, so it must belong to the user."""
    try:
        with open_plain(path) as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in {os.getuid(), 0} or status.st_mode & 0o002:
                raise _invalid(path, "other users can change it")
            if status.st_size > _LARGEST:
                raise _invalid(path, "it is larger than 1 MiB")
            return tomllib.loads(file.read(_LARGEST).decode())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _invalid(path, str(error)) from error


def _tables(data: JsonObject, path: Path) -> list[tuple[RunnerName, str, JsonObject]]:
    entries: list[tuple[RunnerName, str, JsonObject]] = []
    for runner, tables in data.items():
        if runner not in RUNNERS or not isinstance(tables, dict):
            raise _invalid(
                path, f"unknown runner [{runner}]; use [acp.NAME], [cli.NAME] or [pty.NAME]"
            )
        for name, keys in tables.items():
            if not isinstance(keys, dict):
                raise _invalid(path, f"[{runner}.{name}] is not a table")
            entries.append((runner, name, keys))
    return entries


def _preset(
    runner: RunnerName, name: str, keys: JsonObject, path: Path, base: Preset | None
) -> Preset:
    """Return a table as a preset, on top of `base`. Raises Cannot (`agents_file_invalid`)."""
    where = f"[{runner}.{name}]"
    allowed = {field.name for field in fields(Preset)} - {"name", "runner"}
    if unknown := sorted(set(keys) - allowed):
        raise _invalid(
            path,
            f"{where} has the unknown key {unknown[0]!r}; known keys: {', '.join(sorted(allowed))}",
        )
    changed: JsonObject = {}
    for key, value in keys.items():
        match key:
            case "argv" | "model" | "last" | "env" | "folders" | "roots" | "tools":
                changed[key] = _texts(value, f"{where} {key}", path)
            case "files":
                changed[key] = _texts(value, f"{where} files", path)
                if not set(changed[key]) <= {"read", "write"}:
                    raise _invalid(path, f"{where} files must be read or write")
            case "modes":
                changed[key] = _modes(value, where, path)
            case "mode_env":
                changed[key] = _mode_env(value, where, path)
            case "lines":
                changed[key] = _rules(value, where, path)
            case "output":
                if value not in {"text", "json-lines"}:
                    raise _invalid(path, f'{where} output must be "text" or "json-lines"')
                changed[key] = value
            case "hello_s":
                if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
                    raise _invalid(path, f"{where} hello_s must be a number of seconds")
                changed[key] = float(value)
            case _:
                if not isinstance(value, str):
                    raise _invalid(path, f"{where} {key} must be a string")
                changed[key] = value
    if base is None and not changed.get("argv"):
        raise _invalid(path, f"{where} has no `argv`")
    preset = replace(base or Preset(name, runner, ()), **changed)
    if not preset.argv or (preset.output == "json-lines" and not preset.lines):
        raise _invalid(path, f"{where} requires `argv`, and `lines` for json-lines output")
    for mode in ((), *(preset.modes or {}).values()):
        words = [*preset.argv, *preset.model, *mode, *preset.last]
        for wrong in find_misplaced(words, runner, is_known=True):
            raise _invalid(path, f"{where} {wrong.message}: {wrong.fix}")
    return preset


def _texts(value: object, what: str, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _invalid(path, f"{what} must be a list of strings")
    if any("\0" in item for item in value):
        raise _invalid(path, f"{what} contains a NUL character")
    return tuple(value)


def _modes(value: object, where: str, path: Path) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not set(value) <= set(PERMISSION_MODES):
        raise _invalid(path, f"{where} modes must be read_only, ask or auto")
    return {
        mode: (value,) if isinstance(value, str) else _texts(value, f"{where} modes.{mode}", path)
        for mode, value in value.items()
    }


def _mode_env(value: object, where: str, path: Path) -> dict[str, dict[str, str]]:
    if not isinstance(value, dict) or not set(value) <= set(PERMISSION_MODES):
        raise _invalid(path, f"{where} mode_env keys must be read_only, ask or auto")
    for mode, variables in value.items():
        named = variables.items() if isinstance(variables, dict) else [("", None)]
        if any(not _NAME.fullmatch(name) or not isinstance(value, str) for name, value in named):
            raise _invalid(
                path, f"{where} mode_env.{mode} must be a table of variables with string values"
            )
        _texts([*variables.values()], f"{where} mode_env.{mode}", path)
    return value


def _rules(value: object, where: str, path: Path) -> tuple[JsonObject, ...]:
    if not isinstance(value, list):
        raise _invalid(path, f"{where} lines must be a list of tables")
    for number, rule in enumerate(value):
        if mistake := wrong_rule(rule):
            raise _invalid(path, f"{where} lines[{number}]: {mistake}")
    return tuple(value)


def _invalid(path: Path, what: str) -> Cannot:
    return Cannot(
        f"the table of agents {path} cannot be used: {what}",
        fix="correct or remove the file; the built-in agents do not need it",
        code="agents_file_invalid",
    )
