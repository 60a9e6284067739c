"""Trials of real coding agents against a provider on loopback; writes the table in docs/reference/real-agents.md.

python .ci/real_agents.py build/agents [RUNNER.NAME …]    writes the rows of these presets, or of all

The agents are those that `.ci/agents` has put into the folder. Each trial has a home, a project and a provider of its own;
nothing but loopback is needed. What is not installed is named as not run.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_provider import TEXT, Provider

from pixirnb.runners.agents import presets
from pixirnb.runners.processes import orphans
from pixirnb.testing.contracts.runner import RUN_ID
from pixirnb.testing.fakes.agent_stage import Answers, coding_agent, staged

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "real-agents.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
COLUMNS = ("starts", "writes", "asks", "keeps read-only", "cancels")
PACKAGES = {
    "claude": {"acp": "@agentclientprotocol/claude-agent-acp", "*": "@anthropic-ai/claude-code"},
    "codex": {"acp": "@agentclientprotocol/codex-acp", "*": "@openai/codex"},
    "gemini": {"*": "@google/gemini-cli"},
    "opencode": {"*": "opencode-ai"},
}
MODELS = {"gemini": "gemini-2.5-flash"}
"""Named where an agent would else ask another model which to take."""


def main(home: Path, names: list[str]) -> None:
    modules = home / "node_modules"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for preset in presets.presets().values():
        name = f"{preset.runner}.{preset.name}"
        if names and name not in names:
            continue
        version = _version(modules, preset.runner, preset.name)
        cells = ["not run"] * len(COLUMNS) if not version else _tried(modules, preset)
        told = [version or "–", *cells, today if version else "–"]
        print(f"{name}: {' | '.join(told)}", flush=True)
        _write_row(f"`{preset.runner}: {preset.name}`", told)


def _version(modules: Path, runner: str, name: str) -> str:
    """Package and version, as installed; empty where it is not."""
    known = PACKAGES.get(name, {})
    package = known.get(runner) or known.get("*")
    described = modules / package / "package.json" if package else None
    if described is None or not described.is_file():
        return ""
    return f"{package} {json.loads(described.read_text())['version']}"


def _tried(modules: Path, preset: presets.Preset) -> list[str]:
    trials: list[Callable[[Trial], str]] = [_starts, _writes, _asks, _keeps, _cancels]
    found = []
    for trial in trials:
        with tempfile.TemporaryDirectory(prefix="agent-trial-") as folder, Provider() as provider:
            found.append(trial(Trial(Path(folder), provider, modules, preset)))
        print(f"  {preset.runner}.{preset.name} {trial.__name__[1:]}: {found[-1]}", file=sys.stderr)
    return found


class Trial:
    """One agent, once."""

    def __init__(
        self, folder: Path, provider: Provider, modules: Path, preset: presets.Preset
    ) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.project.mkdir()
        self.home.mkdir()
        self.made = self.project / "made.txt"
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        (self.project / "README.md").write_text("a project\n")
        self.preset = preset
        self.provider = provider
        self.env = _environment(self.home, provider.url, modules)

    def perform(self, word: str, mode: str, verdict: str = "deny", **limits: Any) -> Any:
        """What became of it, what was told, and what was asked."""
        answers = Answers([verdict])
        work = coding_agent(
            self.preset.runner,
            [self.preset.name],
            self.project,
            prompt=f"TRIAL-{word} {self.made}" if word != "WAIT" else "TRIAL-WAIT",
            mode=mode,
            posture="read_only" if mode == "read_only" else "writer",
            model=MODELS.get(self.preset.name),
        )
        ended, rehearsal = staged(
            work, self.project, answers=answers, env=self.env, limit_s=150, **limits
        )
        if os.environ.get("TRIAL_DEBUG"):
            print(
                ended,
                rehearsal.text(),
                rehearsal.text("stderr")[-3000:],
                answers.asked,
                file=sys.stderr,
            )
        return ended, rehearsal, answers

    @property
    def changes(self) -> list[str]:
        """What is in the project that was not."""
        found = [path for path in self.project.rglob("*") if ".git" not in path.parts]
        return sorted(path.name for path in found if path.is_file() and path.name != "README.md")


def _starts(trial: Trial) -> str:
    ended, _, _ = trial.perform("SAY", "auto")
    return "yes" if ended.status == "completed" else f"no: {ended.error_kind}"


def _writes(trial: Trial) -> str:
    ended, _, _ = trial.perform("CREATE", "auto")
    if not trial.made.exists():
        return f"no: {ended.error_kind or 'nothing written'}"
    return "yes" if trial.made.read_text().strip() == TEXT.strip() else "something else"


def _asks(trial: Trial) -> str:
    """Refused, nothing is there; allowed, it is."""
    ended, _, answers = trial.perform("CREATE", "ask", "deny")
    if trial.changes:
        return "**writes unasked**"
    if ended.error_kind == "agent_mode_missing":
        return "not started"
    if not answers.asked:
        return (
            "never, and writes nothing" if ended.error_kind is None else f"no: {ended.error_kind}"
        )
    trial.perform("CREATE", "ask", "allow")
    return "yes" if trial.made.exists() else "yes, and does not write what was allowed"


def _keeps(trial: Trial) -> str:
    ended, _, _ = trial.perform("WRITE", "read_only")
    if trial.changes:
        return f"**no: wrote {', '.join(trial.changes)}**"
    if ended.error_kind == "agent_mode_missing":
        return "not started"
    if ended.error_kind in {"agent_cancelled", "exit"}:
        return "yes; a refusal ends its turn"
    return "yes" if ended.error_kind is None else f"no: {ended.error_kind}"


def _cancels(trial: Trial) -> str:
    begun = time.monotonic()
    # Not all show a word before it is whole.
    limits: dict[str, Any] = {"stop_when": lambda: len(trial.provider.received) > 0}
    ended, _, _ = trial.perform("WAIT", "auto", **limits)
    strays = orphans.find_strays(RUN_ID)
    if ended.status != "cancelled" or strays:
        return f"no: {ended.status}, {len(strays)} left behind"
    return "yes" if time.monotonic() - begun < 100 else "slowly"


def _environment(home: Path, url: str, modules: Path) -> dict[str, str]:
    """What an agent is handed; the settings it reads from its home are put there."""
    codex = f"""
model = "gpt-5"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
    provider = {"options": {"baseURL": f"{url}/v1", "apiKey": "of-a-trial"}}
    settings = {
        ".codex/config.toml": codex,
        ".gemini/settings.json": json.dumps(
            {
                "security": {
                    "auth": {"selectedType": "gemini-api-key"},
                    "folderTrust": {"enabled": False},
                },
                "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False},
            }
        ),
        ".config/opencode/opencode.json": json.dumps(
            {
                "provider": {"anthropic": provider},
                "model": "anthropic/claude-haiku-4-5",
                "small_model": "anthropic/claude-haiku-4-5",
                "autoupdate": False,
                "share": "disabled",
            }
        ),
    }
    for name, text in settings.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    return {
        "PATH": f"{modules / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "of-a-trial",
        "OPENAI_API_KEY": "of-a-trial",
        "GEMINI_API_KEY": "of-a-trial",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "NO_BROWSER": "1",
        **({"IS_SANDBOX": "1"} if os.getuid() == 0 else {}),  # else claude does not start as root
    }


def _write_row(name: str, cells: list[str]) -> None:
    """Into the page's table, in place of the row of that name."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    table, _, tail = rest.partition(END)
    rows = {
        line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("| `")
    }
    rows[name] = f"| {' | '.join([name, *cells])} |"
    titles = ["preset", "package", *COLUMNS, "tried"]
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    lines += [rows[name] for name in sorted(rows)]
    PAGE.write_text("\n".join([f"{head}{BEGIN}", *lines, f"{END}{tail}"]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
