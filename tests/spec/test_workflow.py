"""What was written is kept, spelled as the author spelled it, and loads back to the same workflow."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.digest import json_digest, spec_digest
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load_mapping, load_text
from pixirnb.spec.policies import Check
from pixirnb.spec.steps import PythonStep, ShellStep
from pixirnb.spec.workflow import Workflow

EVERY_KEY = r"""
name: release
description: every key once
max_concurrency: 6
timeout: 4h
undeclared_writers: allow
on_failure: continue
readiness: strict
inputs: {n: {type: integer, default: 3}, names: {type: array, default: [a, b]},
  scope: {type: string, enum: [quick, full], default: quick}}
repos: {cloud: ../cloud}
never_copy: [".env*"]
phases: [{name: build, steps: [make, each, gate]}]
defaults: {timeout: 20m, retry: {max_attempts: 1}}
agents:
  worker: {runner: scripted, role: "You refactor.", posture: writer, permission_mode: auto,
    tools: [read, write], cwd: repos.cloud, additional_paths: [../shared-ui], timeout: 15m,
    retry: {max_attempts: 2}, pass_env: [HOME],
    script: {refactor: [
      [{say: "starting"}, {sleep: 2s}, {write: src/a.py, text: "x\n"},
       {fail: context_overflow, message: full}],
      [{tool: read, args: {path: src/a.py}, result: "x"}, {delete: p}, {marker: partial},
       {report: {checkpoint_status: checkpoint_ready, summary: done, output: {n: 1},
         limitations: [], seams: []}}],
      [{hang: true}], [{crash: 9}], [{exit: 3}]]}}
steps:
  - {id: make, run: [python, -m, build], cwd: ., env: {MODE: "{{ inputs.n }}"},
     write_set: ["dist/**"], artifacts: ["dist/*.whl"], timeout: 45m, allow_long_timeout: true,
     verify: [{exit_code: 0}, {file_exists: "dist/*.whl"},
       {command: "test -s dist/x", exit_code: 0, timeout: 60s}, {git_changes: "dist/**"},
       {output_contains: built}, {output_matches: '\d+ files'}]}
  - {id: each, call: "pkg.mod:f", with: {names: "{{ inputs.names }}"}, process: true,
     posture: read_only, reuse: reads, read_set: ["data/**"],
     verify: [{python: "pkg.checks:ok"}, {schema: {type: object}}], output: {type: object}}
  - {id: gate, ask: {question: "Ship {{ inputs.n }}?", choices: [now, later]},
     depends_on: [make, each], when: "{{ inputs.n }} > 2 and {{ steps.make.output }} != ''"}
  - {id: refactor, task: "Refactor.", agent: worker, depends_on: [gate], phase: ship,
     workspace: isolated, write_set: ["repos.cloud:src/**"], additional_paths: [../docs],
     carry: [node_modules], seams: ["types ↔ cloud"], rerun: auto, description: one line,
     retry: {max_attempts: 3, delay: 15s, backoff: 2, jitter: 0.1, max_delay: 5m,
       timeout_scale: 1.5, include_failure_context: true, classes: [timeout, context_overflow]}}
  - {id: land, merge: [refactor], depends_on: [refactor]}
"""


def test_every_key_loads_and_plans() -> None:
    workflow = require(load_text(EVERY_KEY))
    found = report(workflow, Environment())
    assert found.errors == ()
    assert found.levels == (("make", "each"), ("gate",), ("refactor",), ("land",))
    assert found.agent_minutes == 45.0


def test_what_was_written_comes_back_and_loads_to_an_equal_workflow() -> None:
    workflow = load_text(EVERY_KEY).require()
    canonical = workflow.canonical()
    again = load_mapping(canonical).require()
    assert again == workflow
    assert again.canonical() == canonical
    assert canonical["steps"][1]["with"] == {"names": "{{ inputs.names }}"}
    assert canonical["steps"][1]["verify"][1] == {"schema": {"type": "object"}}
    assert canonical["steps"][0]["timeout"] == "45m"
    assert "readiness" in canonical
    assert "kind" not in canonical["steps"][0]


def test_only_what_was_written_is_kept() -> None:
    spec = {"name": "w", "steps": [{"id": "a", "run": "x"}]}
    assert load_mapping(spec).require().canonical() == spec


def test_canonical_says_what_the_models_say() -> None:
    workflow = load_text(EVERY_KEY).require()
    assert workflow.canonical() == workflow.model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )


def test_one_digest_for_one_workflow_however_it_came() -> None:
    text = "steps:\n- run: x\n  timeout: 60s\n  id: a\nname: w\n"
    spec = {"name": "w", "steps": [{"id": "a", "run": "x", "timeout": 60}]}
    objects = Workflow(name="w", steps=(ShellStep(id="a", run="x", timeout="1m"),))
    digests = {
        spec_digest(load_text(text).require()),
        spec_digest(load_mapping(spec).require()),
        spec_digest(objects),
    }
    assert len(digests) == 1
    assert spec_digest(objects.model_copy(update={"name": "v"})) not in digests
    assert digests.pop() == json_digest(objects.canonical())


def test_a_digest_is_pinned() -> None:
    assert json_digest({"b": [1, None], "a": "ü"}) == json_digest({"a": "ü", "b": [1, None]})
    assert json_digest({"b": [1, None], "a": "ü"}) == (
        "b2:8585224eb5a4ec4dd1c5fe694bff525fe962ae9e3305809bde3c5fe3914025cc"
    )
    with pytest.raises(ValueError, match="JSON compliant"):
        json_digest(float("nan"))


def test_objects_take_pythons_word_for_with() -> None:
    step = PythonStep(id="a", call="m:f", arguments={"x": 1})
    assert step.canonical() == {"id": "a", "call": "m:f", "with": {"x": 1}}
    assert load_mapping({"name": "w", "steps": [step.canonical()]}).require().steps[0] == step


def test_a_workflow_cannot_be_changed() -> None:
    workflow = load_mapping({"name": "w", "steps": [{"id": "a", "run": "x"}]}).require()
    with pytest.raises(ValueError, match="frozen"):
        workflow.name = "v"  # type: ignore[misc]  # because that is the promise


@pytest.mark.parametrize(
    ("written", "kind", "argument"),
    [
        ({"exit_code": 0}, "exit_code", 0),
        ({"command": "x", "exit_code": 3}, "command", "x"),
        ({"command": ["x", "y"]}, "command", ("x", "y")),
        ({"file_exists": "x"}, "file_exists", "x"),
        ({"git_changes": "x"}, "git_changes", "x"),
        ({"output_contains": "x"}, "output_contains", "x"),
        ({"output_matches": "x"}, "output_matches", "x"),
        ({"python": "m:f"}, "python", "m:f"),
        ({"schema": {"type": "object"}}, "schema", {"type": "object"}),
    ],
)
def test_a_check_knows_its_kind(written: dict[str, Any], kind: str, argument: object) -> None:
    check = Check.model_validate(written)
    assert (check.kind, check.argument) == (kind, argument)
