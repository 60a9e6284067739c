"""What a spec may name in `tools` is what there is: the plan, which stands below those who have them, knows all the names."""

from __future__ import annotations

from pixirnb.agent_tools.definitions import SURFACE
from pixirnb.planning.checks import agents
from pixirnb.runners.agents.llm import report_tool
from pixirnb.sessions import permissions


def test_the_plan_knows_every_tool_there_is_and_no_other() -> None:
    own = {*permissions.TOOLS, report_tool.DEFINITION["name"]}
    assert set(agents.TOOLS) == own | {tool.name for tool in SURFACE}
