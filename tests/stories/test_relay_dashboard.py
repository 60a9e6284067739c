"""The dashboard as a relay file: 23 steps by five agents over three real repositories, each agent at home in its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.operations.run import Run
from tests.stories.storyline import ROOT

pytestmark = pytest.mark.story

RELAY = ROOT / "tests/spec/relay/relay_files/dashboard.yaml"
AGENT = "import os; print('I am in', os.getcwd()); print('DESIGN_DONE', 'APPROVED')"
TOOL = '#!/bin/sh\necho v22.1.0 "$@" in "$(basename "$PWD")"\n'


def git(folder: Path, *words: str) -> None:
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(folder), *words]
    subprocess.run(line, check=True, capture_output=True)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three repositories side by side, the tools that the file calls, and agents known by name."""
    files = {
        "relay-dashboard": {"src/adapters/types.ts": "type A = 1\n", "src/adapters/index.ts": "export {}\n"},
        "relay-cloud": {"apps/page.ts": "export {}\n"},
        "app": {"ui/main.ts": "export {}\n"},
    }  # fmt: skip
    for name, contents in files.items():
        for path, text in contents.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
        git(tmp_path / name, "init", "-q", "-b", "main")
        git(tmp_path / name, "add", ".")
        git(tmp_path / name, "commit", "-qm", "one")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("node", "npm", "npx"):
        (tools / name).write_text(TOOL)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    config = tmp_path / "config/pixirnb"
    config.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    argv = json.dumps([sys.executable, "-c", AGENT, "{prompt}"])
    (config / "agents.toml").write_text(
        "".join(
            f"[cli.{name}]\nargv = {argv}\noutput = 'text'\nmodel = []\nlast = []\nlines = []\n"
            "modes = { read_only = [], ask = [] }\n"
            for name in ("claude", "codex")
        )
    )
    shutil.copy(RELAY, tmp_path / "app/relay.yaml")
    return tmp_path / "app"


def test_the_dashboard_runs_to_its_end_with_every_agent_in_its_repository(app: Path) -> None:
    run: Run = api.start(app / "relay.yaml")
    outcome = run.wait()
    assert outcome.status == "completed", [
        (step.step_id, step.checkpoint_status, step.error) for step in outcome.steps
    ]
    assert len(outcome.steps) == 23 + 2
    beside = app.parent
    homes = {
        "design": app,
        "adapter-types": beside / "relay-dashboard",
        "cloud-pages": beside / "relay-cloud",
        "local-pages": app,
        "lead-approve": app,
    }
    for step, home in homes.items():
        assert f"I am in {home}\n" in run.output(step), step
    assert run.value("cloud-check") == "v22.1.0 test in relay-cloud"
    assert run.value("check-types") == "v22.1.0 tsc --noEmit in relay-dashboard"
    assert str(run.value("changes")).startswith("cloud: v22.1.0 test in relay-cloud")
