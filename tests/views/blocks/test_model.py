"""What can be done next reads well where it is typed and where it is only read."""

from __future__ import annotations

import re

from pixirnb.views.blocks.html_renderer import body_html
from pixirnb.views.blocks.model import Code, next_blocks
from pixirnb.views.blocks.text_renderer import draw_text

ACTIONS = [(Code("%pixir resume r-1"), "rerun the failed steps"), (Code("%pixir fork r-1"), "copy")]


def test_a_terminal_has_the_command_first_and_a_page_what_it_is_for() -> None:
    blocks = next_blocks(ACTIONS)

    assert draw_text(blocks).splitlines() == [
        "next",
        "  %pixir resume r-1  rerun the failed steps",
        "  %pixir fork r-1    copy",
    ]
    words = re.sub(r"<[^>]+>", "|", body_html(blocks))
    assert words.index("rerun the failed steps") < words.index("%pixir resume r-1")
    assert words.index("%pixir resume r-1") < words.index("copy") < words.index("%pixir fork r-1")


def test_there_is_no_section_where_nothing_can_be_done() -> None:
    assert next_blocks([]) == []
