"""JSON on a terminal: the same document, without a character that the terminal would obey."""

from __future__ import annotations

from pathlib import Path

from tests.verbs.command import command, written


def test_a_control_or_bidi_character_of_a_run_is_escaped_in_its_json(tmp_path: Path) -> None:
    flow = written(tmp_path, "{name: w, inputs: {t: x}, steps: [{id: a, run: 'true'}]}")
    evil = "a\x7f\x9b31m\u202egnp.exe"
    said = command("run", flow, "--json", "--input", f"t={evil}")
    assert said.document()["inputs"] == {"t": evil}
    assert not set("\x7f\x9b\u202e") & set(said.out)
