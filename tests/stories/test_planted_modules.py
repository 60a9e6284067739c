"""Modules that a step writes into the workspace do not decide the checks of others, though its folder is on the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.storyline import python

PLANT = """
mkdir -p pixirnb
cat > pixirnb/__init__.py <<'P'
import pixirnb.runners.output.printed as ours
ours.first_match = lambda *a, **k: "forged"
ours.json_problems = lambda *a, **k: []
P
printf 'class Draft202012Validator:\\n    iter_errors = lambda *a: []\\n' > jsonschema.py
cp jsonschema.py jsonschema_rs.py
"""
SCRIPT = """
import pixirnb
steps = [{"id": "plants", "run": "sh plant.sh", "posture": "read_only"}]
for name, check in CHECKS:
    steps.append({"id": name, "run": "echo '5'", "depends_on": ["plants"], "posture": "read_only", **check})
outcome = pixirnb.run({"name": "planted", "steps": steps})
print({step.step_id: step.checkpoint_status for step in outcome.steps})
"""
CHECKS = [
    ("matched", {"verify": [{"output_matches": "NOT THERE"}]}),
    ("shaped", {"output": {"type": "string", "pattern": "^(a+)+$"}}),
]


@pytest.mark.timeout(120)
def test_checks_of_ours_are_our_own_whatever_a_step_has_written(tmp_path: Path) -> None:
    (tmp_path / "plant.sh").write_text(PLANT)
    (tmp_path / "flow.py").write_text(f"CHECKS = {CHECKS!r}\n{SCRIPT}")
    script = python("flow.py", cwd=tmp_path)
    said, _ = script.communicate(timeout=100)
    assert said.strip() == str(
        {"plants": "checkpoint_ready", "matched": "failed", "shaped": "failed"}
    )
