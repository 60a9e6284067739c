"""Where a tool is asked for: the arguments are checked, the agent's rights are, and it is done or refused. Never raises."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from pixirnb.errors import InvalidArguments, PixirnbError
from pixirnb.tools import delegated_runs, lookups
from pixirnb.tools.arguments import checked
from pixirnb.tools.asker import Asker
from pixirnb.tools.results import Result, broken, refused
from pixirnb.tools.surface import SURFACE, Tool

_DONE_BY: Final[Mapping[str, Callable[[Mapping[str, Any], Asker], Awaitable[Result]]]] = {
    "run_workflow": delegated_runs.run_workflow,
    "resume_workflow": delegated_runs.resume_workflow,
    "inspect_run": lookups.inspect_run,
    "decide_step": delegated_runs.decide_step,
    "diagnose_run": lookups.diagnose_run,
    "workflow_checkpoint_save": delegated_runs.save_checkpoint,
}


async def use(name: str, args: Any, asker: Asker, tools: Sequence[Tool] = SURFACE) -> Result:
    """Do what a tool is asked for. Only a cancellation comes through."""
    try:
        tool = named(name, tools)
        given = checked(tool, args)
        asker.require_permission(tool, given)
        return await _DONE_BY[name](given, asker)
    except PixirnbError as error:
        return refused(error)
    except Exception as error:  # noqa: BLE001 - our bug must not end the agent that met it
        return broken(error)


def named(name: str, tools: Sequence[Tool] = SURFACE) -> Tool:
    """The tool of that name. Raises InvalidArguments (`unknown_tool`)."""
    for tool in tools:
        if tool.name == name:
            return tool
    raise InvalidArguments(
        f"There is no tool `{name:.80}`.",
        fix="There are: " + ", ".join(tool.name for tool in tools) + ".",
        code="unknown_tool",
    )
