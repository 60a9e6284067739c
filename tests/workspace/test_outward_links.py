"""Where a link leads is worked out from the tree, through its other links."""

from __future__ import annotations

import pytest

from pixirnb.protocols.trees import FILE, LINK, TreeChange, TreeEntry
from pixirnb.workspace.outward_links import Outlook

LINKS = {
    "x": "d/e",
    "d/e/up": "../..",
    "d/e/deep": "../../x",
    "out": "/etc",
    "round": "round/round",
    "a/b/beside": "../../../api/src",
}


@pytest.mark.parametrize(
    ("path", "target", "leads_out"),
    [
        ("l", "a.txt", False),
        ("l", "../w/a.txt", False),
        ("l", "..", True),
        ("l", "../other", True),
        ("l", "../api/src", False),
        ("l", "/etc/passwd", True),
        ("l", "/srv/w/a.txt", False),
        ("l", "/srv/w", False),
        ("l", "/srv/wide", True),
        ("d/e/l", "../../a.txt", False),
        ("d/e/l", "../../../a.txt", True),
        ("d/e/l", "./.././../../passwd", True),
        ("l", "x/up/a.txt", False),
        ("l", "x/up/../a.txt", True),
        ("l", "x/../../a.txt", False),
        ("l", "d/e/deep/../../../a.txt", True),
        ("l", "out/passwd", True),
        ("l", "round", False),
        ("l", "a/b/beside", False),
        ("l", ".git/hooks/post-commit", True),
        ("l", "/srv/w/.pixirnb/isolated/r/a.1/b", True),
        ("l", "//etc", True),
        ("l", "", False),
    ],
)
def test_a_link_leads_out_as_the_tree_says(path: str, target: str, leads_out: bool) -> None:
    links = {**LINKS, path: target}
    entries = {name: TreeEntry(LINK, name) for name in links} | {"a.txt": TreeEntry(FILE, "a")}
    outlook = Outlook(
        "/srv/w", ["/srv/w", "/srv/api"], lambda: entries, lambda name: links[name].encode()
    )
    found = outlook.leading_out([TreeChange(path, None, entries[path])])
    assert found == ({path: target} if leads_out else {})
