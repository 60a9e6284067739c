"""The documents of `show RUN --session` and `--acp`, frozen: keys may be added to it, none is renamed or removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pixirnb import api
from pixirnb.history.codec import decode_lines
from pixirnb.history.events import Event
from pixirnb.store.file_store import FileStore
from pixirnb.verbs.interchange import acp_document

HERE = Path(__file__).parent
RUN = "r-20261121-234457-jmx0yn"
TOLD: list[tuple[str, dict[str, Any]]] = [
    ("user_message", {"text": "Look.", "origin": "prompt"}),
    ("assistant_message", {"text": "I lo", "partial": True, "final": False}),
    ("tool_call", {"call_id": "c1", "name": "read", "args": {"path": "a.py"}}),
    ("tool_result", {"call_id": "c1", "ok": True, "output": "x = 1"}),
    ("a_kind_to_come", {"of": "a newer pixirnb"}),
    ("assistant_message", {"text": "Seen.", "partial": False, "final": True}),
]


def test_the_document_of_a_session_is_what_it_was(tmp_path: Path) -> None:
    folder, step = told(tmp_path)
    found = api.open_run(folder).session(step, 1).document()
    assert found == json.loads((HERE / "session.json").read_text(encoding="utf-8"))


def test_what_an_editor_is_told_of_a_run_and_a_session_is_what_it_was(tmp_path: Path) -> None:
    folder, step = told(tmp_path)
    run = api.open_run(folder)
    found = {"run": acp_document(run, None), "session": acp_document(run, f"{step}.1")}
    assert found == json.loads((HERE / "acp.json").read_text(encoding="utf-8"))


def told(tmp_path: Path) -> tuple[Path, str]:
    """The folder of a run with one session, and the session's step."""
    store = FileStore(tmp_path / "state")
    events = decode_lines((HERE / "engine-1.jsonl").read_bytes()).events
    opening = {**events[0].data, "workspace": str(tmp_path)}
    log = store.create(RUN, [replace(events[0], data=opening), *events[1:]])
    step = next(event.data["step"] for event in events if event.kind == "step_scheduled")
    session = log.session(f"{step}.1")
    session.append(
        [
            Event(seq, f"2026-11-22T08:00:0{seq}.000000Z", kind, data)
            for seq, (kind, data) in enumerate(TOLD, 1)
        ]
    )
    session.close()
    log.close()
    return store.folder(RUN), step
