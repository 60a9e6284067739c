"""What a coding agent is given beside its task, each in the agent's own way: the mode of its permission, folders, our tools.

modal_of       arguments of a permission mode; of an ACP agent the word for its session mode
furnished      arguments that name the folders it may use beside the one it works in, and where our tools are
tool_server    the command of `pixirnb mcp` for an agent that is a step: it knows whom it serves, and what that may do
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.tools.confinement import other_roots

TOOLS_NAME: Final = "pixirnb"
"""What our tools are called in an agent's list of servers."""
_PLACE: Final = re.compile(r"\{(folder|server|program|args)\}")


def modal_of(agent: Mapping[str, Any], permission: str) -> tuple[str, ...]:
    """What an agent's table says for a permission mode.

    An ACP agent whose table is silent is to offer a mode called like the permission; an argv that is in no table is its
    writer's word. Raises Failed (`agent_mode_missing`) for any other that has no mode for what it may not do.
    """
    said = (agent["modes"] or {}).get(permission)
    if said is not None or permission == "auto":
        return tuple(said or ())
    if agent["runner"] == "acp":
        return (permission,)
    if not agent["name"]:
        return ()
    raise Failed(
        "agent_mode_missing",
        f"the agent {agent['name']} of runner {agent['runner']} was not started: it has no mode for `permission_mode: "
        f"{permission}`. Use another runner or agent, or say under `modes.{permission}` of its table in agents.toml by which "
        "arguments it keeps to that (`[]`: it does so by itself).",
        {
            "permission_mode": permission,
            "needed": permission,
            "offered": sorted(agent["modes"] or ()),
        },
    )


def extra_arguments(work: Mapping[str, Any]) -> list[str]:
    """Arguments behind those of its argv; none where its table knows none."""
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
        words += _filled(agent["tools"], {name: json.dumps(said) for name, said in values.items()})
    return words


def tool_server(work: Mapping[str, Any]) -> list[str] | None:
    """None where the run offers no tools, is kept nowhere, or the extra `mcp` is not installed."""
    if not work.get("surface") or not work.get("state") or find_spec("mcp") is None:
        return None
    place = ["--workspace", str(work["workspace"]), "--state", str(work["state"])]
    return [sys.executable, "-m", "pixirnb", "mcp", *place]


def _filled(words: list[str], values: Mapping[str, str]) -> list[str]:
    return [_PLACE.sub(lambda found: values.get(found[1], found[0]), word) for word in words]
