"""What a failure shows of itself: each check with what it expected and saw, and a hint where one is known."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.history.events import CheckResult
from pixirnb.machine.failure_evidence import check_phrase, exit_message, finding, hint

SH = "sh: 1: nosuch: not found\n"
BASH = "bash: line 3: other-tool: command not found\n"


def checked(check: dict[str, Any], **evidence: Any) -> CheckResult:
    """A check that did not pass."""
    return {"check": check, "passed": False, "evidence": evidence}


@pytest.mark.parametrize(
    ("check", "evidence", "phrase", "expected", "seen"),
    [
        (
            {"file_exists": "build/x"},
            {"saw": "0 found", "files": []},
            "file_exists build/x",
            "a file that matches",
            "no file matches",
        ),
        (
            {"output_contains": "world"},
            {"saw": "8 bytes of output", "found": False, "output": "hello\nyou"},
            "output_contains world",
            "this text in the output",
            "hello you",
        ),
        (
            {"output_contains": "world"},
            {"saw": "11 bytes of output", "found": True},
            "output_contains world",
            "this text in the output",
            "found",
        ),
        (
            {"command": ["test", "-f", "a b"], "exit_code": 3},
            {"saw": "exit code 1", "expected": 3, "output": "nope\n"},
            "command test -f a b",
            "exit code 3",
            "exit code 1: nope",
        ),
        ({"exit_code": 4}, {"saw": "exit code 0"}, "exit_code 4", "exit code 4", "exit code 0"),
        (
            {"schema": {"type": "object"}},
            {"saw": "$: 3 is not of type 'object'"},
            "schema",
            "an output of this schema",
            "$: 3 is not of type 'object'",
        ),
        (
            {"python": "m:f", "timeout": 2},
            {"saw": "returned False"},
            "python m:f",
            "true",
            "returned False",
        ),
        ({}, {}, "exit_code", "exit code ", ""),
    ],
)
def test_a_check_says_what_it_expected_and_what_it_saw(
    check: dict[str, Any], evidence: dict[str, Any], phrase: str, expected: str, seen: str
) -> None:
    found = finding(checked(check, **evidence))
    assert check_phrase(check) == phrase
    assert (found["expected"], found["seen"], found["passed"]) == (expected, seen, False)


@pytest.mark.parametrize(
    ("kind", "message", "exit_code", "tail", "call", "says"),
    [
        ("exit", "exited with code 127", 127, SH, "", "install `nosuch` or check PATH"),
        ("exit", "exited with code 127", 127, SH + BASH, "", "install `other-tool` or"),
        ("exit", "exited with code 127", 127, "", "", "install the command or check PATH"),
        ("exit", "exited with code 126", 126, "", "", "chmod +x"),
        ("exit", "exited with code 137", 137, "", "", "memory"),
        ("exit", "exited with code 1", 1, SH, "", ""),
        (
            "exception",
            "NameError: name 'pd' is not defined",
            None,
            "",
            ":load",
            "import or define `pd` inside",
        ),
        (
            "exception",
            "NameError: name 'pd' is not defined",
            None,
            "",
            "m:load",
            "import or define `pd`",
        ),
        (
            "exception",
            "line 2 of the cell: NameError: name 'df' is not defined",
            None,
            "",
            ":step_a",
            "import or define `df` in the cell, or pass plain data with `--use`",
        ),
        ("exception", "line 2 of the cell: KeyError: 'n'", None, "", ":step_a", ""),
        ("detached", "timed out after 1 s", None, "", ":step_a", "(%%step: `--process`)"),
        ("exception", "ModuleNotFoundError: No module named 'x.y'", None, "", "m:f", "install `x`"),
        ("exception", "SystemExit: 0", None, "", ":f", "return instead"),
        ("exception", "MemoryError", None, "", "m:f", "use less memory"),
        ("exception", "PermissionError: [Errno 13] Permission denied: 'x'", None, "", "", "of 'x'"),
        ("exception", "ValueError: x", None, "", "m:f", ""),
        ("timeout", "timed out after 1 s", 127, SH, "", "raise `timeout`"),
        ("timeout", "ended with the timeout of the whole run", None, "", "", ""),
        (
            "detached",
            "timed out after 1 s; it cannot be stopped",
            None,
            "",
            "",
            "raise `timeout`, or",
        ),
        (
            "detached",
            "the thread cannot be stopped: it keeps running",
            None,
            "",
            "",
            "set `process",
        ),
        ("crash", "killed by SIGKILL", None, "", "", "memory"),
        ("crash", "killed by SIGSEGV", None, "", "", ""),
        ("spawn_failed", "command not found: x", None, "", "", "install it"),
        ("spawn_failed", "command not executable: x", None, "", "", "chmod +x"),
    ],
)
def test_a_failure_that_is_known_well_has_a_hint(
    kind: str, message: str, exit_code: int | None, tail: str, call: str, says: str
) -> None:
    text = hint({"kind": kind, "message": message, "details": {}}, exit_code, tail, call)
    assert says in text
    assert bool(text) == bool(says)


@pytest.mark.parametrize(
    ("exit_code", "tail", "says"),
    [
        (127, SH, "command not found: nosuch (exit 127)"),
        (127, SH + BASH, "command not found: other-tool (exit 127)"),
        (127, "", "command not found (exit 127)"),
        (126, "sh: 1: ./a.sh: Permission denied\n", "command not executable: ./a.sh (exit 126)"),
        (137, "", "killed by SIGKILL (exit 137)"),
        (1, SH, None),
        (0, "", None),
        (None, "", None),
    ],
)
def test_an_exit_code_with_a_meaning_is_put_into_words(
    exit_code: int | None, tail: str, says: str | None
) -> None:
    assert exit_message(exit_code, tail) == says
