"""What `convert` makes of a relay file, frozen: its document, and the YAML that people have kept since."""

from __future__ import annotations

import json
from pathlib import Path

from pixirnb.operations.workflow_source import convert_source
from pixirnb.spec.loader import load_text

HERE = Path(__file__).parent
RELAY = HERE.parent / "spec/relay/relay_files/release.yaml"


def test_the_document_of_convert_is_what_it_was() -> None:
    text, notes = convert_source(RELAY)
    document = {"ok": True, "yaml": text, "notes": [note.document() for note in notes]}
    assert document == json.loads((HERE / "convert.json").read_text(encoding="utf-8"))


def test_what_was_kept_is_still_what_the_file_says() -> None:
    kept = json.loads((HERE / "convert.json").read_text(encoding="utf-8"))["yaml"]
    assert load_text(kept).workflow == load_text(RELAY.read_text(encoding="utf-8")).workflow
