"""The document of each verb that keeps house, frozen: keys may be added to it, none is renamed or removed.

Made from the golden logs alone, so that they say what old logs mean. Where one changes on purpose, its file changes with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pixirnb.history.codec import decode_lines
from pixirnb.history.events import Event
from pixirnb.operations.doctor import diagnose, diagnose_all
from pixirnb.operations.export import export_run
from pixirnb.operations.prune import PruneFilter, prune_runs
from pixirnb.operations.run_list import list_runs
from pixirnb.operations.run_summary import compare_runs
from pixirnb.store.file_store import FileStore

HERE = Path(__file__).parent
RUN = "r-20261121-234457-jmx0yn"
EARLIER = "r-20261121-234456-jmx0yn"


def history() -> list[Event]:
    """The log of the first closed issue."""
    return decode_lines((HERE / "engine-1.jsonl").read_bytes()).events


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """The golden run, and an earlier one that came no further than the same run's first rest."""
    found = FileStore(tmp_path / "state")
    events = history()
    first = next(place for place, event in enumerate(events, 1) if event.kind == "run_finished")
    for name, part in ((RUN, events), (EARLIER, events[:first])):
        opening = {**part[0].data, "run_id": name, "workspace": str(tmp_path)}
        found.create(name, [replace(part[0], data=opening), *part[1:]]).close()
    return found


def nobody(run_id: str) -> Any:
    """No run is live here."""
    raise AssertionError(run_id)


def told_of(document: Any, tmp_path: Path) -> Any:
    """The document without what depends on the place."""
    return json.loads(json.dumps(document).replace(str(tmp_path), "HERE"))


VERBS: dict[str, Callable[[FileStore, Path], Any]] = {
    "runs": lambda store, _: {"runs": list_runs(store, nobody)},
    "doctor": lambda store, _: diagnose(store, RUN).document(),
    "doctor-all": lambda store, _: diagnose_all(store),
    "compare": lambda store, _: compare_runs((store, EARLIER), (store, RUN)),
    "export": lambda store, path: export_run(store, RUN, path / "run.html", is_page=True),
    "prune": lambda store, _: prune_runs(
        store, nobody, PruneFilter(statuses=("needs_orchestrator",))
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_document_of_a_verb_is_what_it_was(verb: str, store: FileStore, tmp_path: Path) -> None:
    found = told_of(VERBS[verb](store, tmp_path), tmp_path)
    if verb in {
        "export",
        "prune",
    }:  # sizes follow the length of paths, and the page's the look of it
        for entry in (found, *found.get("runs", [])):
            assert entry.pop("bytes") > 0
    expected = json.loads((HERE / f"{verb}.json").read_text(encoding="utf-8"))
    assert found == expected
