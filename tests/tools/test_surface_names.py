"""What a spec may name in `tools` is what there is: the plan, which stands below those who have them, knows all the names."""

from __future__ import annotations

from pixirnb.planning import agent_checks
from pixirnb.runners.agents import llm_report
from pixirnb.sessions import permissions
from pixirnb.tools.surface import SURFACE


def test_the_plan_knows_every_tool_there_is_and_no_other() -> None:
    own = {*permissions.TOOLS, llm_report.DEFINITION["name"]}
    assert set(agent_checks.TOOLS) == own | {tool.name for tool in SURFACE}
