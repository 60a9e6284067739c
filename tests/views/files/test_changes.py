"""What is too much to be shown is counted as it is, and the whole of it can be reached."""

from __future__ import annotations

import json
from typing import Any, cast

from pixirnb.history.run_state import fold
from pixirnb.testing.generators.file_facts import change
from pixirnb.testing.generators.histories import Rehearsal
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.model import ROWS
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.files.changes import changes_phrase, diff_document
from pixirnb.views.files.diff import diff_blocks
from pixirnb.views.files.patch_parser import parse_patch, rename_files
from pixirnb.views.live.panel_files import patch_document
from tests.views.file_histories import met

CUT = "diff --git a/fat b/fat\nnew file mode 100644\n--- /dev/null\n+++ b/fat\n@@ -0,0 +1,900 @@\n"
CUT += "".join(f"+{n}\n" for n in range(100))
"""The first of 900 lines, and of two files."""
CHANGES: Any = {
    "patch": "b2:" + "1" * 64,
    "files": [change("fat", "added", 900), change("thin", "added", 3)],
    "count": 2,
    "more": None,
}


def test_lines_and_files_after_the_place_where_a_patch_is_cut_are_counted() -> None:
    told = patch_document(rename_files(parse_patch(CUT, lines=60), CHANGES), 77, CHANGES["patch"])

    assert (told["files"][0]["added"], len(told["files"][0]["hunks"][0]["lines"])) == (900, 60)
    assert told["sentence"].startswith(
        "Not shown: 840 lines, 1 file, 77 bytes. The complete patch is blob b2:1"
    )


def test_a_diff_counts_what_is_cut_as_the_log_does() -> None:
    entry = {"step": "types", "changes": CHANGES, "patch_text": CUT, "patch_cut": 77}
    document: Any = {"run_id": "r-1", "changes": [entry]}

    assert "fat +900 -0" in draw_html(diff_blocks(document))
    for told in (draw_text(diff_blocks(document)), draw_html(diff_blocks(document))):
        assert "Not shown: 800 lines, 1 file, 77 bytes." in told


def test_a_file_that_became_another_kind_of_file_is_counted_as_its_patch_has_it() -> None:
    twice = (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n"
    )
    found = rename_files(
        parse_patch(twice), cast("Any", {"files": [change("x", added=1, deleted=1)], "count": 1})
    )

    assert [(file.added, file.deleted, file.cut) for file in found.files] == [(0, 1, 0), (1, 0, 0)]
    assert (found.cut, found.files_cut) == (0, 0)


def many(count: int) -> tuple[Rehearsal, Any]:
    """A step that made so many files, and the reader of its blobs."""
    files = [change(f"f{n:05}", "added", 2) for n in range(count)]
    play = met(files=files)
    for event in play.events:
        if event.kind == "workspace_captured" and event.data["step"] == "types":
            event.data["changes"] |= {
                "files": files[:200], "more": "b2:" + "2" * 64, "added": 2 * count, "deleted": 0,
            }  # fmt: skip
    data = json.dumps(files).encode()
    return play, lambda _, limit: (data[:limit], len(data))


def test_of_more_files_than_the_log_names_all_lines_are_counted_and_stat_lists_every_one() -> None:
    play, read = many(400)
    run = fold(play.events)
    brief = diff_document(play.plan, run, "types", lambda *_: (b"", 0))
    whole = diff_document(play.plan, run, "types", read, with_patch=False)

    for told in (brief, whole):
        assert draw_text(diff_blocks(told)).startswith("types · 400 files, +800 -0 · ")
    assert len(brief["changes"][0]["changes"]["files"]) == 200
    assert f"and 200 files more: `pixirnb diff {run.run_id} --stat`" in draw_text(
        diff_blocks(brief)
    )
    assert "f00399" in draw_text(diff_blocks(whole))
    assert "files more" not in draw_text(diff_blocks(whole))


def test_a_page_is_not_flooded_by_a_list_of_files() -> None:
    play, read = many(ROWS + 5)
    told = draw_html(
        diff_blocks(diff_document(play.plan, fold(play.events), "types", read, with_patch=False))
    )

    assert f"f{ROWS - 1:05}" in told
    assert f"f{ROWS:05}" not in told
    assert "and 5 more rows" in told


def test_old_logs_say_that_there_were_more_lines_than_they_count() -> None:
    changes: Any = {"patch": None, "files": [change("a")], "count": 2, "more": "b2:" + "2" * 64}

    assert changes_phrase(changes) == "2 files, +1 -0 and more"
