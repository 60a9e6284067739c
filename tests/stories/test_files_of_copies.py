"""A run of an earlier release, which kept trees as copies where there was no git: it is read, and says what it cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.history.codec import decode_lines
from pixirnb.history.events import Event
from pixirnb.store.file_store import FileStore
from tests.stories.filestory import plant, said
from tests.stories.storyline import ROOT
from tests.verbs.command import command

pytestmark = pytest.mark.story

LOG = ROOT / "tests" / "golden" / "copies-1.jsonl"
PATCH = """\
diff --git a/{name}.txt b/{name}.txt
new file mode 100644
index 0000000000000000000000000000000000000000..{digest}
--- /dev/null
+++ b/{name}.txt
@@ -0,0 +1,1 @@
+{line}
"""
PATCHES = (
    PATCH.format(name="one", digest="d00491fd7e5bb6fa28c517a0bb32b8b506539d4d", line="1"),
    PATCH.format(name="two", digest="0cfbf08886fca9a91cb753ec8734c84fcbe52c9f", line="2"),
)


def at(home: Path, value: Any) -> Any:
    """Data of the log, as if the run had lain there."""
    match value:
        case dict():
            return {key: at(home, inner) for key, inner in value.items()}
        case list():
            return [at(home, inner) for inner in value]
        case str():
            return value.replace("/somewhere/w", str(home))
        case _:
            return value


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where it ran: what `one` made was merged, what `two` made was not, and `both` failed."""
    return plant(tmp_path / "home", {"a.txt": "a\n", "one.txt": "1\n"})


@pytest.fixture
def run_id(home: Path) -> str:
    events = decode_lines(LOG.read_bytes()).events
    run_id: str = events[0].data["run_id"]
    log = FileStore(home / ".pixirnb").create(run_id)
    for patch in PATCHES:
        log.blobs.put(patch.encode())
    log.append([Event(one.seq, one.at, one.kind, at(home, one.data)) for one in events])
    log.close()
    return run_id


def test_it_is_shown_explained_and_compared(
    home: Path, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(home, "show", run_id)[1]["status"] == "partial"
    assert said(home, "show", run_id, "two")[0] == 0
    assert said(home, "doctor", run_id)[0] == 0
    assert said(home, "resume", run_id, "--dry-run")[0] == 0
    assert "one.txt" in str(api.open_run(run_id, state=home / ".pixirnb").explain("one"))
    monkeypatch.chdir(home)
    assert "+2" in command("diff", run_id).out


def test_what_needs_its_files_is_named_and_begins_anew(home: Path, run_id: str) -> None:
    (home / "go").touch()
    code, document = said(home, "resume", run_id)
    assert code == 1
    [error] = [step["error"] for step in document["steps"] if step["step_id"] == "both"]
    assert error["kind"] == "tree_missing"
    assert f"`pixirnb resume {run_id} --from two`" in error["message"]
    for words in (("merge", run_id), ("merge", run_id, "--undo")):
        assert said(home, *words)[1]["error"]["code"] == "tree_missing"
    assert said(home, "resume", run_id, "--from", "two")[0] == 0
    assert said(home, "merge", run_id)[0] == 0
    assert (home / "two.txt").read_text() == "2\n"
    assert said(home, "export", run_id)[0] == 0
    assert said(home, "prune", "--keep", "0", "--yes")[0] == 0
