"""What a failed step says, word for word: each failure provoked in one run, with its message and its hint."""

from __future__ import annotations

from typing import Any

import pytest

import pixirnb

MODULE = """
import os
import sys
import pixirnb

def leaves(): sys.exit(0)
def halfway(): pixirnb.progress("half")
def imports(): import no_such_module
def forgets(): return undefined
def alone(): return os.environ["PIXIRNB_STEP_ID"]
def fills(): raise MemoryError
def text(): return "hi"
def take(x): return x
"""
MEMORY = "often caused by lack of memory; use less or raise the limit"
FAILURES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no-file": (
        {"run": "true", "verify": [{"file_exists": "build/x"}]},
        "check failed: `file_exists build/x`: no file matches",
        "",
    ),
    "no-command": (
        {"run": "no-such-command"},
        "command not found: no-such-command (exit 127)",
        "install `no-such-command` or check PATH",
    ),
    "no-program": (
        {"run": ["no-such-command", "x"]},
        "command not found: no-such-command",
        "install it or check PATH",
    ),
    "no-mode": (
        {"run": "./a.sh"},
        "command not executable: ./a.sh (exit 126)",
        "run `chmod +x ./a.sh`, or check the first line of the file",
    ),
    "no-mode-argv": (
        {"run": ["./a.sh"]},
        "command not executable: ./a.sh",
        "run `chmod +x` on it, or check its first line",
    ),
    "killed": ({"run": "kill -9 $$"}, "killed by SIGKILL", MEMORY),
    "killed-within": (
        {"run": "sh -c 'kill -9 $$'; exit $?"},
        "killed by SIGKILL (exit 137)",
        MEMORY,
    ),
    "slow": (
        {"run": "sleep 60", "timeout": 1},
        "timed out after 1 s",
        "raise `timeout` or split the step",
    ),
    "exits": ({"run": "exit 3"}, "exited with code 3", ""),
    "leaves": ({"call": "steps:leaves"}, "step called sys.exit(0); return instead", ""),
    "halfway": (
        {"call": "steps:halfway"},
        "TypeError: fraction must be a number from 0 to 1, got 'half'",
        "",
    ),
    "imports": (
        {"call": "steps:imports"},
        "ModuleNotFoundError: No module named 'no_such_module'",
        "install `no_such_module`, or add its folder to PYTHONPATH",
    ),
    "forgets": (
        {"call": "steps:forgets"},
        "NameError: name 'undefined' is not defined",
        "import or define `undefined`",
    ),
    "alone": (
        {"call": "steps:alone", "process": False},
        "KeyError: 'PIXIRNB_STEP_ID'",
        "set `process: true` (%%step: `--process`): a thread has the environment of the kernel",
    ),
    "fills": ({"call": "steps:fills"}, "MemoryError", "use less memory or raise the limit"),
    "field-of-print": (
        {"run": "echo {{ steps.prints.output.y }}", "depends_on": ["prints"]},
        "{{ steps.prints.output.y }}: the output of `prints` is text; "
        "declare `output: {type: object}` to parse JSON",
        "",
    ),
    "field-of-text": (
        {"call": "steps:take", "with": {"x": "{{ steps.text.output.y }}"}, "depends_on": ["text"]},
        "{{ steps.text.output.y }}: the output of `text` is text; return a mapping",
        "",
    ),
}
SOUND: dict[str, dict[str, Any]] = {"prints": {"run": "echo hi"}, "text": {"call": "steps:text"}}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """Return the message and the hint of each failed step of one run."""
    folder = tmp_path_factory.mktemp("failures")
    (folder / "steps.py").write_text(MODULE)
    (folder / "a.sh").write_text("true\n")
    written = SOUND | {name: step for name, (step, _, _) in FAILURES.items()}
    steps = [
        {"id": name, "process": True, **step} if "call" in step else {"id": name, **step}
        for name, step in written.items()
    ]
    outcome = pixirnb.run(
        {"name": "failures", "steps": steps}, workspace=folder, state=folder / "state"
    )
    errors = {step.step_id: step.error for step in outcome.steps if step.error is not None}
    return {name: (e["message"], e["details"].get("hint", "")) for name, e in errors.items()}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_says_what_happened_and_how_to_fix_it(
    name: str, found: dict[str, tuple[str, str]]
) -> None:
    _, message, hint = FAILURES[name]
    assert found[name] == (message, hint)
