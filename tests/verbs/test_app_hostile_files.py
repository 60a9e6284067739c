"""`pixirnb plan FILE` of what no workflow can hold names the mistake, and prints no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verbs.command import command, written


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (f"reuse: 0x{'f' * 4000}", "not_a_choice"),
        ("verify: [{output_matches: 'a{99999999999}'}]", "bad_pattern"),
        (f"verify: [{{output_matches: '{'(' * 3000}'}}]", "bad_pattern"),
        (f"env: {{A: {'{a,' * 3000}", "limit_exceeded"),
        ('description: "\\ud800"', ""),
    ],
)
def test_a_hostile_file_is_refused_in_words(tmp_path: Path, more: str, code: str) -> None:
    path = written(tmp_path, f"name: w\nsteps:\n- id: a\n  run: x\n  {more}\n")
    found = command("plan", path)
    assert found.code == 2
    assert "Traceback" not in found.out + found.err
    assert "internal_error" not in found.out + found.err
    assert code in found.out + found.err
