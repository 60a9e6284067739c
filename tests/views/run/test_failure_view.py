"""The frames of a traceback name file and line, however deep the file lies."""

from __future__ import annotations

from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.failure_view import failure_blocks


def test_a_frame_of_a_file_in_a_deep_folder_keeps_its_name_and_line() -> None:
    frame = {"file": "/srv" + "/deeper" * 20 + "/sales.py", "line": 12, "function": "total"}
    shown = draw_text(failure_blocks({"details": {"frames": [{**frame, "code": "return 1 / 0"}]}}))
    assert "/sales.py:12" in shown
    assert "/srv" not in shown
