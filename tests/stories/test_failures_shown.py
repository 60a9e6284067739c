"""A failed step shows why: its checks, the author's frames, what it printed last, and a hint; wherever it is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.run import Run
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.outcome_view import step_blocks
from tests.stories.storyline import python, shell, spec

pytestmark = pytest.mark.story

MODULE = """
def inner(rows):
    return rows["price"]

def load():
    return inner({})
"""
CHECKS = [{"file_exists": "build/x"}, {"output_contains": "world"}, {"output_matches": "^h"}]


@pytest.fixture
def failed(tmp_path: Path) -> Run:
    """A run whose every step failed in its own way."""
    (tmp_path / "prices.py").write_text(MODULE)
    run = api.start(
        spec(
            shell("checked", "echo hello; echo you", verify=CHECKS),
            {"id": "raised", "call": "prices:load"},
            {"id": "apart", "call": "prices:load", "process": True},
            shell("missing", "nosuchcommand --now"),
            shell("printed", "echo out; echo err >&2; exit 3"),
            shell("shaped", "echo '{}'", output={"type": "object", "required": ["b"]}),
            {"id": "unseen", "call": ":f"},
        ),
        workspace=tmp_path,
        functions={":f": "def f():\n    return pd.DataFrame()\n"},
    )
    run.wait()
    return run


def details(run: Run, step: str) -> dict[str, Any]:
    """The evidence of a step in the JSON of the outcome."""
    document = json.loads(json.dumps(run.outcome.step(step).document()))
    return dict(document["error"]["details"])


def test_json_has_the_checks_the_frames_the_output_and_the_hint(failed: Run) -> None:
    found = details(failed, "checked")
    rows = [(each["passed"], each["expected"], each["seen"]) for each in found["checks"]]
    assert rows == [
        (False, "a file that matches", "no file matches"),
        (False, "this text in the output", "hello you"),
        (True, "a match in the output", "h"),
    ]
    assert found["output_tail"] == "hello\nyou\n"
    for step in ("raised", "apart"):
        frames = details(failed, step)["frames"]
        assert [(Path(f["file"]).name, f["line"], f["function"]) for f in frames] == [
            ("prices.py", 3, "inner"),
            ("prices.py", 6, "load"),
        ]
        assert frames[0]["code"] == 'return rows["price"]'
    assert "install `nosuchcommand`" in details(failed, "missing")["hint"]
    assert sorted(details(failed, "printed")["output_tail"].split()) == ["err", "out"]
    assert details(failed, "shaped")["output_tail"] == "{}\n"
    assert "`pd`" in details(failed, "unseen")["hint"]
    assert details(failed, "unseen")["frames"][0]["line"] == 2


def test_a_notebook_and_a_terminal_show_it_once(failed: Run) -> None:
    shown = failed.outcome._repr_mimebundle_()  # type: ignore[attr-defined]
    page = re.sub(r"<[^>]+>", " ", shown["text/html"])
    for text in (shown["text/plain"], page.replace("&#39;", "'").replace("&quot;", '"')):
        assert "a file that matches" in text
        assert "no file matches" in text
        assert 'return rows["price"]' in text
        assert "hint: install `nosuchcommand`" in text or "`nosuchcommand`" not in text
        assert "command not found: nosuchcommand (exit 127)" in text
    assert shown["text/plain"].count("exited with code 3") == 1


def test_a_verb_shows_the_evidence_of_one_step(failed: Run, tmp_path: Path) -> None:
    child = python("-m", "pixirnb", "show", failed.id, "checked", cwd=tmp_path)
    out, _ = child.communicate(timeout=60)
    assert "check" in out
    assert "no file matches" in out
    assert "build/x" in out


def test_a_step_that_went_well_keeps_no_end_of_its_output(tmp_path: Path) -> None:
    run = api.start(spec(shell("well", "echo fine")), workspace=tmp_path)
    run.wait()
    assert '"tail"' not in (run.folder / "log.jsonl").read_text()


@pytest.mark.parametrize(
    "odd", [[1], [{}], [{"check": 5}], {"check": {}}, "x", [{"check": {}, "seen": [1]}]]
)
def test_a_foreign_log_shows_whatever_its_error_holds(failed: Run, odd: Any) -> None:
    document = failed.outcome.step("printed").document()
    error = document["error"]
    assert error is not None
    for key in ("checks", "frames", "output_tail", "hint"):
        document["error"] = {**error, "details": {key: odd}}
        assert draw_text(step_blocks(document))


def test_the_output_of_a_live_step_is_followed_to_its_end(tmp_path: Path) -> None:
    """Another process follows; a line comes while the step goes on."""
    text = "echo first; while [ ! -e go ]; do sleep 0.05; done; printf last"
    run = api.start(spec(shell("slow", text)), workspace=tmp_path)
    child = python("-m", "pixirnb", "logs", run.id, "slow", "-f", cwd=tmp_path)
    assert child.stdout is not None
    assert child.stdout.readline() == "first\n"
    (tmp_path / "go").touch()
    rest, _ = child.communicate(timeout=60)
    assert (rest, child.returncode) == ("last\n", 0)
    run.wait()
