"""A check's verdict is that of its function, however large or strange what it returned; what cannot be read never passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.run import Run
from pixirnb.protocols.work import Ended
from pixirnb.runners.checks import UNREADABLE, problems_of

CHECKS = """
class Silent:
    def __repr__(self):
        raise SystemExit

class Undecided:
    def __bool__(self):
        raise SystemExit

def flag(output):
    import numpy
    return numpy.True_

def unflagged(output):
    import numpy
    return numpy.False_

def silent(output):
    return Silent()

def function(output):
    return lambda: 1

def long(output):
    return "yes" * 20_000

def surrogate(output):
    return "\\udc80"

def empty(output):
    return ()

def undecided(output):
    return Undecided()

def yielding(output):
    yield output.startswith("ok")
"""
MODEL = """
from typing import Annotated
from pydantic import AfterValidator, BaseModel

def refuse(value):
    raise ValueError(REASON)

class Refusing(BaseModel):
    n: Annotated[int, AfterValidator(refuse)]
"""


def checked(folder: Path, **fields: Any) -> Run:
    """Return an ended run of a step with checks of its own."""
    step = {"id": "a", "run": "echo '{\"n\": 1}'", **fields}
    run = api.start({"name": "checked", "steps": [step]}, workspace=folder)
    run.wait()
    return run


@pytest.mark.parametrize(
    ("name", "passes", "text"),
    [
        ("flag", True, "returned "),
        ("unflagged", False, "returned "),
        ("silent", True, "returned a value of type Silent"),
        ("function", True, "returned <function function.<locals>.<lambda> at"),
        ("long", True, "returned 'yesyes"),
        ("surrogate", True, r"returned '\udc80'"),
        ("empty", False, "returned ()"),
        ("undecided", False, "step called sys.exit(None)"),
        ("yielding", False, "TypeError: a check returns its verdict"),
    ],
)
def test_the_verdict_is_the_truth_of_what_the_function_returned(
    name: str, passes: bool, text: str, tmp_path: Path
) -> None:
    (tmp_path / "checks_that_return.py").write_text(CHECKS)
    run = checked(tmp_path, verify=[{"python": f"checks_that_return:{name}"}])
    [check] = next(e.data["checks"] for e in run.history() if e.kind == "verification_recorded")
    assert check["passed"] is passes
    assert check["evidence"]["saw"].startswith(text)
    assert len(check["evidence"]["saw"]) <= 200
    assert run.outcome.ok is passes


@pytest.mark.parametrize("reason", ["'no ' * 20_000", "'\\udc80'"], ids=["long", "surrogate"])
def test_a_model_that_has_a_lot_to_say_against_a_value_refuses_it(
    reason: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    module = f"refusing_{request.node.callspec.id}"
    (tmp_path / f"{module}.py").write_text(MODEL.replace("REASON", reason))
    step = checked(tmp_path, output=f"{module}:Refusing").outcome.step("a")
    assert step.checkpoint_status == "failed"
    assert step.error is not None
    assert step.error["kind"] == "output_invalid"


@pytest.mark.parametrize(
    "ended",
    [
        Ended("completed"),
        Ended("completed", value={"format": "json", "bytes": 20_000}, payload=b"[]"),
        Ended("completed", value={"format": "pickle", "bytes": 4}, payload=b"...."),
        Ended("completed", value={"format": "none"}),
        Ended("completed", value={"format": "json", "value": [1]}),
        Ended("completed", value={"format": "text", "value": ""}),
    ],
)
def test_problems_that_cannot_be_read_are_a_problem(ended: Ended) -> None:
    assert problems_of(ended) == [UNREADABLE]
