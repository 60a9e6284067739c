"""The documents of `diff` and `merge`, frozen: keys may be added to them, none is renamed or removed.

Of a run made here, so that trees and patches are real; only its id is another each time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.run import Run

HERE = Path(__file__).parent
SPEC: dict[str, Any] = {
    "name": "two",
    "steps": [
        {"id": "types", "run": "sed -i s/one/ONE/ a.txt; echo x > new.txt; chmod +x tool; touch .env",
         "workspace": "isolated", "write_set": ["a.txt", "new.txt"]},
        {"id": "api", "run": "sed -i s/one/uno/ a.txt; rm gone.txt", "workspace": "isolated",
         "write_set": ["a.txt", "gone.txt"], "depends_on": ["ask"]},
        {"id": "ask", "ask": {"question": "Go on?"}},
    ],
}  # fmt: skip


def told_of(document: Any, run: Run) -> Any:
    """The document without what is another for each run."""
    return json.loads(json.dumps(document).replace(run.id, "RUN"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two writers who changed one line otherwise; one wrote outside its write_set, and was accepted."""
    files = {"a.txt": "one\ntwo\n", "gone.txt": "bye\n", "tool": "#!/bin/sh\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = api.start(SPEC, workspace=tmp_path)
    found.wait()
    found.decide("types", "accept", note="tool is fine").wait()
    found.decide("ask", "accept", value="yes").wait()
    return found


def frozen(name: str) -> Any:
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def test_the_document_of_a_diff_is_what_it_was(run: Run) -> None:
    run.merge("types")

    assert told_of(run.diff().document(), run) == frozen("diff")


def test_the_documents_of_a_merge_are_what_they_were(run: Run) -> None:
    reports = {
        "clean": run.merge("types", preview=True),
        "merged": run.merge("types"),
        "conflict": run.merge("api"),
        "undone": run.merge(undo=True),
    }
    run.merge("api")
    run.merge("types", sides="types")
    reports["nothing"] = run.merge()

    found = {name: told_of(report.document(), run) for name, report in reports.items()}
    assert found == frozen("merge")
