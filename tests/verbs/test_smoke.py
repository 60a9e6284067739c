"""`pixirnb smoke`: what it says is read back from logs, offline and on a model, and what is not proven is not said to be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.testing.wire.answers import Answer, Call
from pixirnb.testing.wire.server import ModelServer
from pixirnb.verbs.smoke.proofs import prove_run
from pixirnb.verbs.smoke.scenarios import SCENARIOS, Scenario, workflow
from tests.verbs.command import Said, command

GOLDEN = Path(__file__).parents[1] / "golden" / "smoke.json"


def smoked(folder: Path, *words: str) -> Said:
    """One smoke run in a folder of its own."""
    return command("smoke", "--json", "--state", folder / "state", *words)


def scenario(said: Said, name: str) -> dict[str, Any]:
    """What is said of one scenario."""
    found = next(each for each in said.document()["scenarios"] if each["scenario"] == name)
    assert isinstance(found, dict)
    return found


def passed(entry: dict[str, Any]) -> dict[str, bool]:
    """Each proof, and whether it was made."""
    return {check["check"]: check["passed"] for check in entry["checks"]}


def told_of(document: dict[str, Any], folder: Path) -> Any:
    """The document without what differs from run to run."""
    text = json.dumps(document).replace(str(folder), "HERE")
    text = re.sub(r"r-\d{8}-\d{6}-[a-z0-9]{6}", "RUN", text)
    text = re.sub(r"smoke/\d{14}-[0-9a-f]{6}", "smoke/WHEN", text)
    return json.loads(re.sub(r'_seq": \d+', '_seq": 0', text))


def test_a_dry_run_plans_every_scenario_and_writes_nothing(tmp_path: Path) -> None:
    said = smoked(tmp_path, "--dry-run")
    assert said.code == 0
    assert {entry["status"] for entry in said.document()["scenarios"]} == {"planned"}
    told = command("smoke", "--dry-run", "--state", tmp_path / "state").out
    assert "waves: planned" in told
    assert "proven" not in told
    assert list(tmp_path.iterdir()) == []


def test_offline_every_scenario_is_proven_and_its_document_is_what_it_was(tmp_path: Path) -> None:
    said = smoked(tmp_path)
    assert said.code == 0
    document = said.document()
    assert told_of(document, tmp_path) == json.loads(GOLDEN.read_text(encoding="utf-8"))
    for entry in document["scenarios"]:
        assert Path(entry["log"]).is_file()
        assert len(entry["sessions"]) == 2
        assert all(Path(path).is_file() for path in entry["sessions"])
    evidence = Path(document["evidence"])
    assert {"schema_version": 1, **json.loads(evidence.read_text("utf-8"))} == document
    assert evidence.stat().st_mode & 0o077 == 0


def test_one_scenario_can_be_chosen_and_is_told_in_lines(tmp_path: Path) -> None:
    said = command("smoke", "--scenario", "dependency", "--state", tmp_path)
    assert said.code == 0
    assert "✓ dependency: completed" in said.out
    assert "summary_handed_on: proven" in said.out
    assert "micro_parallel" not in said.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--real",), "agent_missing"),
        (("--real", "--model", "openai:x", "--agent", "acp:claude"), "invalid_args"),
        (("--model", "openai:x"), "invalid_args"),
        (("--real", "--agent", "claude"), "agent_unknown"),
        (("--real", "--agent", "acp:"), "agent_unknown"),
        (("--scenario", "everything"), "invalid_args"),
        (("--timeout", "soon"), "bad_duration"),
        (("--timeout", "0s"), "bad_duration"),
        (("--timeout", "8d"), "bad_duration"),
        (("--real", "--model", "nonsense"), "model_unreadable"),
        (("--real", "--model", "openai:x", "--pass-env", "A=B"), "invalid_args"),
        (("--real", "--agent", "cli:claude", "--pass-env", "A B"), "invalid_args"),
        (("--real", "--agent", "cli:sh -c 'agent {prompt}'"), "prompt_in_shell"),
    ],
)
def test_what_is_asked_wrongly_is_said_and_nothing_is_run(
    words: tuple[str, ...], code: str, tmp_path: Path
) -> None:
    for dry in ((), ("--dry-run",)):
        said = smoked(tmp_path, *dry, *words)
        assert said.code == 2
        assert said.document()["error"]["code"] == code
        assert said.document()["error"]["fix"]
        assert "A=B" not in said.out
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_is_not_there_is_an_error_to_act_on(tmp_path: Path) -> None:
    said = smoked(
        tmp_path, "--real", "--agent", "cli:/nowhere/agent --x", "--scenario", "dependency"
    )
    assert said.code == 3
    entry = scenario(said, "dependency")
    assert not entry["ok"]
    assert entry["status"] == "not_started"
    assert entry["error"]["code"] == "agent_missing_binary"
    assert "/nowhere/agent" in entry["error"]["message"]
    assert "install it" in entry["error"]["fix"]
    assert entry["checks"] == []


def test_a_model_that_does_it_proves_the_same_from_its_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report(summary: str) -> Answer:
        said = {"checkpoint_status": "checkpoint_ready", "summary": summary}
        return Answer(calls=(Call("report_checkpoint", said),))

    def reply(body: Any) -> Answer:
        told = json.dumps(body["messages"])
        return report("I pass on quince-4711.") if "passcode is" in told else report("It was that.")

    with ModelServer({"small": [reply]}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-one")
        model = "openai-chat:small"
        said = smoked(tmp_path, "--real", "--model", model, "--scenario", "dependency")
    entry = scenario(said, "dependency")
    assert (said.code, entry["error"]) == (0, None)
    assert passed(entry)["summary_handed_on"]
    assert said.document()["agent"]["pass_env"] == ["OPENAI_API_KEY", "OPENAI_BASE_URL"]
    assert "sk-not-a-real-one" not in said.out


@pytest.mark.parametrize(
    ("name", "spoilt", "lost"),
    [
        ("micro_parallel", {"max_concurrency": 1}, {"parallel_overlap"}),
        ("dependency", {}, {"summary_handed_on"}),
        ("writer_controlled", {}, {"writers_serialized", "conflict_recorded"}),
    ],
)
def test_a_run_that_completed_and_did_not_prove_its_point_is_found_out(
    name: Scenario, spoilt: dict[str, Any], lost: set[str], tmp_path: Path
) -> None:
    source = {**workflow(name, None, timeout="1m"), **spoilt}
    if name == "dependency":
        source["agents"]["worker"]["script"]["gather"][0][0]["report"]["summary"] = ""
    if name == "writer_controlled":
        for step in source["steps"]:
            step["write_set"] = [f"shared/{step['id']}.txt"]
    run = api.start(source, workspace=tmp_path)
    assert run.wait().status == "completed"
    assert {proof.check for proof in prove_run(name, run) if not proof.passed} == lost


def test_every_scenario_plans_with_no_warning_but_that_readers_are_taken_at_their_word() -> None:
    for name in SCENARIOS:
        report = api.plan(workflow(name, None, timeout="1m"))
        assert report.ok
        assert {problem.code for problem in report.warnings} <= {"agent_unverified"}
