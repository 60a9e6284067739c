"""Seven small workflows whose steps leave a line for each attempt, so that what was done can be counted beside what was logged.

A line of the effects file is `step.attempt` for a shell step, `step` for a Python one, which runs in a thread of the engine.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

EFFECTS: Final = "effects.txt"

_MARK: Final = f'echo "${{PIXIRNB_STEP##*/}}" >> {EFFECTS}'
_HERE: Final = "harness.crash_points.shapes"
_LARGE: Final = 300_000
"""Characters of an input that make `run_started` too large for a line of the log."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A workflow and what it is started with; `effects`, the file to leave lines in, is added to the inputs."""

    name: str
    workflow: dict[str, Any]
    inputs: dict[str, Any] = field(default_factory=dict)


def leave(step: str, effects: str) -> str:
    """A Python step: leave a line, return a small text."""
    _mark(step, effects)
    return f"{step} done"


def bulky(step: str, effects: str) -> str:
    """A Python step whose value goes to a blob."""
    _mark(step, effects)
    return f"{step} " * 10_000


def signed(step: str, effects: str) -> set[int]:
    """A Python step whose value only a signed pickle holds."""
    _mark(step, effects)
    return {1, 2, 3}


def starts(step: str, effects: str) -> str:
    """A Python step that leaves a process behind, and a daemon that emptied its environment."""
    _mark(step, effects)
    command = ["sh", "-c", 'env -i PATH="$PATH" setsid sleep 600 & exec sleep 600']
    # What it leaves is left on purpose: nobody is to be told that it still runs.
    subprocess.Popen(command, stdin=subprocess.DEVNULL).returncode = 0
    return f"{step} done"


def effects_of(workspace: Path) -> Counter[str]:
    """Step to attempts that left a line."""
    path = workspace / EFFECTS
    lines = path.read_text().split() if path.is_file() else []
    return Counter(line.partition(".")[0] for line in lines)


def _mark(step: str, effects: str) -> None:
    descriptor = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{step}\n".encode())
    finally:
        os.close(descriptor)


def _shell(step: str, *after: str, then: str = "", **fields: Any) -> dict[str, Any]:
    run = f"{_MARK}; {then}" if then else _MARK
    return {"id": step, "run": run, "depends_on": list(after), **fields}


def _python(step: str, *after: str, function: str = "leave", **fields: Any) -> dict[str, Any]:
    given = {"step": step, "effects": "{{ inputs.effects }}"}
    return {
        "id": step,
        "call": f"{_HERE}:{function}",
        "with": given,
        "depends_on": list(after),
        **fields,
    }


def _workflow(name: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    inputs = {"effects": {"type": "string"}, **fields.pop("inputs", {})}
    return {
        "name": name,
        "inputs": inputs,
        "undeclared_writers": "allow",
        "defaults": {"retry": {"max_attempts": 1, "delay": 0}},
        **fields,
        "steps": list(steps),
    }


_CHAIN = _workflow(
    "chain",
    _shell("first"),
    _python("second", "first"),
    _shell("third", "second", then="echo said", verify=[{"output_contains": "said"}]),
    _python("fourth", "third"),
)
_FAN = _workflow(
    "fan",
    _python("root"),
    _shell("east", "root"),
    _python("west", "root"),
    _shell("north", "root"),
    _python("south", "root", function="starts"),
)
_DIAMOND = _workflow(
    "diamond",
    _python("top"),
    _shell("left", "top", then="mkdir -p lib; echo l > lib/left", write_set=["lib/**", EFFECTS]),
    _shell("right", "top", then="mkdir -p lib; echo r > lib/right", write_set=["lib/**", EFFECTS]),
    _shell("bottom", "left", "right", then="cat lib/left lib/right", read_set=["lib/**"]),
)
_RETRY = _workflow(
    "retry",
    _python("before"),
    _shell(
        "flaky",
        "before",
        then="test -e tried || { touch tried; exit 1; }",
        retry={"max_attempts": 3, "delay": 0},
    ),
    _python("after", "flaky"),
)
_GATE = _workflow(
    "gate",
    _shell("make"),
    _python("test", "make"),
    {"id": "ship", "ask": {"question": "Ship it?"}, "depends_on": ["test"]},
    _shell("send", "ship"),
    phases=[
        {"name": "build", "steps": ["make", "test"]},
        {"name": "out", "steps": ["ship", "send"]},
    ],
)
_LARGE_ONES = _workflow(
    "large",
    _shell("print", then="head -c 40000 /dev/zero | tr '\\0' x"),
    _python("value", function="bulky"),
    _python("pickle", function="signed"),
    _shell(
        "files",
        "print",
        then="cat {{ steps.print.output_path }} > kept.txt; mkdir -p many; cp kept.txt many/a; echo b > many/b",
        artifacts=["kept.txt", "many/**"],
    ),
    _python("last", "files", "value", "pickle"),
    inputs={"text": {"type": "string"}},
)


def _isolated(step: str, *after: str, then: str, **fields: Any) -> dict[str, Any]:
    """A step in a copy; its line is left in the user's own folder all the same."""
    mark = 'echo "${PIXIRNB_STEP##*/}" >> {{ inputs.effects }}'
    run = f"{mark}; {then}"
    return {"id": step, "run": run, "depends_on": list(after), "workspace": "isolated", **fields}


_FILES = _workflow(
    "files",
    _shell("make", then="seq 9 > both.txt; echo old > gone.txt"),
    _isolated(
        "left",
        "make",
        then="sed -i s/1/one/ both.txt; rm gone.txt",
        write_set=["both.txt", "gone.txt"],
    ),
    _isolated(
        "right",
        "make",
        then="mkdir new; echo r > new/right.txt; chmod +x new/right.txt",
        write_set=["new/**"],
    ),
    {"id": "land", "merge": ["left", "right"], "depends_on": ["left", "right"]},
    _shell("look", "land", then="cat both.txt new/right.txt; ls"),
)

SHAPES: Final[dict[str, Shape]] = {
    "chain": Shape("chain", _CHAIN),
    "fan": Shape("fan", _FAN),
    "diamond": Shape("diamond", _DIAMOND),
    "retry": Shape("retry", _RETRY),
    "gate": Shape("gate", _GATE),
    "files": Shape("files", _FILES),
    "large": Shape("large", _LARGE_ONES, {"text": "x" * _LARGE}),
}
