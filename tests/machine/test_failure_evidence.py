"""What a failure shows of itself: each check with what it expected and saw, and a hint where one is known."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.history.events import CheckResult
from pixirnb.machine.failure_evidence import check_phrase, finding, hint

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
        ("exit", "exited with code 127", 127, SH, "", "`nosuch` was not found"),
        ("exit", "exited with code 127", 127, SH + BASH, "", "`other-tool` was not found"),
        ("exit", "exited with code 127", 127, "", "", "the command was not found"),
        ("exit", "exited with code 126", 126, "", "", "chmod +x"),
        ("exit", "exited with code 137", 137, "", "", "memory"),
        ("exit", "exited with code 1", 1, SH, "", ""),
        ("exception", "NameError: name 'pd' is not defined", None, "", ":load", "get `pd` inside"),
        ("exception", "NameError: name 'pd' is not defined", None, "", "m:load", ""),
        ("exception", "ModuleNotFoundError: No module named 'x.y'", None, "", "m:f", "install `x`"),
        ("exception", "SystemExit: 0", None, "", ":f", "return instead"),
        ("timeout", "timed out after 1 s", 127, SH, "", ""),
    ],
)
def test_a_failure_that_is_known_well_has_a_hint(
    kind: str, message: str, exit_code: int | None, tail: str, call: str, says: str
) -> None:
    text = hint({"kind": kind, "message": message, "details": {}}, exit_code, tail, call)
    assert says in text
    assert bool(text) == bool(says)
