"""Further arguments of a coding agent, each in the agent's own form: its permission mode, folders, our tools.

modal_of           arguments of a permission mode; for an ACP agent its session mode
extra_arguments    arguments with its additional folders, and with our tools
tool_server        the command of `pixirnb mcp` for an agent in a step: it knows its agent and the agent's permissions
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from pixirnb.json_types import JsonMapping
from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.tools.confinement import other_roots

TOOLS_NAME: Final = "pixirnb"
"""Name of our tools in an agent's list of servers."""
_PLACEHOLDER: Final = re.compile(r"\{(folder|server|program|args)\}")


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
    return [sys.executable, "-m", "pixirnb", "mcp", *folders]


def _filled(words: list[str], values: Mapping[str, str]) -> list[str]:
    return [_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in words]
