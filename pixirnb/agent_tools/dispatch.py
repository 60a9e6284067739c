"""Dispatch of tool calls: checks the arguments and the agent's rights, then executes or refuses. Never raises."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from pixirnb.agent_tools import inspect_tools, run_tools
from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.definitions import SURFACE, Tool
from pixirnb.agent_tools.result import Result, bug_result, refusal_result
from pixirnb.agent_tools.validate import validate_arguments
from pixirnb.errors import InvalidArguments, PixirnbError
from pixirnb.json_types import JsonMapping

_DONE_BY: Final[Mapping[str, Callable[[JsonMapping, Asker], Awaitable[Result]]]] = {
    "run_workflow": run_tools.run_workflow,
    "resume_workflow": run_tools.resume_workflow,
    "inspect_run": inspect_tools.inspect_run,
    "decide_step": run_tools.decide_step,
    "diagnose_run": inspect_tools.diagnose_run,
    "workflow_checkpoint_save": run_tools.save_checkpoint,
}


async def use(name: str, args: Any, asker: Asker, tools: Sequence[Tool] = SURFACE) -> Result:
    """Execute a tool call. Only a cancellation is raised."""
    try:
        tool = find_tool(name, tools)
        given = validate_arguments(tool, args)
        asker.require_permission(tool, given)
        return await _DONE_BY[name](given, asker)
    except PixirnbError as error:
        return refusal_result(error)
    except Exception as error:  # noqa: BLE001 - our bug must not end the agent that met it
        return bug_result(error)


def find_tool(name: str, tools: Sequence[Tool] = SURFACE) -> Tool:
    """Return the tool of that name. Raises InvalidArguments (`unknown_tool`)."""
    for tool in tools:
        if tool.name == name:
            return tool
    raise InvalidArguments(
        f"unknown tool `{name:.80}`",
        fix="use one of: " + ", ".join(tool.name for tool in tools),
        code="unknown_tool",
    )
