"""What a person has to fill in cannot be taken for something to paste."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from pixirnb.machine.next_actions import decide_step
from pixirnb.views.basics.phrases import mark_placeholders


@pytest.mark.parametrize(
    ("choices", "shown"),
    [
        (["now", "later"], "--value <now|later>"),
        (["not yet", 3], "--value <not yet|3>"),
        (["it's", "ok"], "--value <it's|ok>"),
        (["now"], "--value now"),
        (["a|b"], """--value '"a|b"'"""),
    ],
)
def test_choices_stand_in_angle_brackets_and_a_value_as_it_is(
    choices: list[str], shown: str
) -> None:
    command = decide_step("r", "gate", choices)["command"]
    assert mark_placeholders(command) == f"pixirnb decide r gate accept {shown}"


def test_a_shell_refuses_a_placeholder() -> None:
    for command in (
        decide_step("r", "gate", ["now", "later"])["command"],
        decide_step("r", "gate", [], takes_answer=True)["command"],
        "pixirnb resume r --spec FILE",
        "pixirnb decide r s1 accept --note WHY",
    ):
        shown = mark_placeholders(command)
        done = subprocess.run(["sh", "-n", "-c", shown], capture_output=True, check=False)
        assert (shown != command, done.returncode != 0) == (True, True), shlex.quote(shown)
