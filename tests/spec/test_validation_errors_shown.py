"""Mistakes as a user meets them: each is provoked, and what is shown is compared, line by line."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml

import pixirnb
from pixirnb.errors import PixirnbError, Problem
from pixirnb.planning.report import problems_of
from pixirnb.spec.fields import shown as shown_value
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.loader import load
from pixirnb.spec.steps import ShellStep

Shown = tuple[str, ...]


def step(**keys: Any) -> dict[str, Any]:
    """Return a workflow of one step."""
    return {"name": "w", "steps": [{"id": "a", **keys}]}


def shell(**keys: Any) -> dict[str, Any]:
    """Return a workflow of one shell step."""
    return step(run="true", **keys)


def whole(**keys: Any) -> dict[str, Any]:
    """Return a workflow with more keys."""
    return {"name": "w", **keys, "steps": [{"id": "a", "run": "true"}]}


HEAD = "name: w\nsteps:\n  - id: a\n"

NAMELESS: Any = lambda: None  # noqa: E731 - the point is that it has no name

# What was written, then every line that is shown: code and sentence.
LOADED: dict[str, tuple[Any, Shown]] = {
    "an agent written where its name belongs": (
        step(task="x", agent={"runner": "llm"}),
        (
            "wrong_type: steps[0].agent: `agent` takes the name of an agent, got a mapping"
            " → declare the agent under `agents` and write its name here",
        ),
    ),
    "a retry that is text": (
        shell(retry="often"),
        ("wrong_type: steps[0].retry: expected a mapping, got 'often' → write `key: value` pairs",),
    ),
    "a retry that is a flag": (
        shell(retry=True),
        ("wrong_type: steps[0].retry: expected a mapping, got true → write `key: value` pairs",),
    ),
    "a dependency that is a number": (
        shell(depends_on=3),
        ("wrong_type: steps[0].depends_on: expected a list, got 3 → write `depends_on: ['3']`",),
    ),
    "the dependencies of other tools": (
        shell(requires=["b"]),
        (
            "unknown_key: steps[0].requires: unknown key `requires` → did you mean `depends_on: [b]`?",
        ),
    ),
    "needs": (
        shell(needs="b"),
        ("unknown_key: steps[0].needs: unknown key `needs` → did you mean `depends_on: b`?",),
    ),
    "command": (
        step(command="make"),
        ("unknown_key: steps[0].command: unknown key `command` → did you mean `run: make`?",),
    ),
    "command, next to another mistake": (
        step(command="make", timeout="soon"),
        (
            "unknown_key: steps[0].command: unknown key `command` → did you mean `run: make`?",
            "bad_duration: steps[0].timeout: 'soon' is not a duration"
            " → use `45s`, `15m`, `1h30m`, `2d` or a number of seconds",
        ),
    ),
    "cmd": (
        step(cmd=["make", "all"]),
        ("unknown_key: steps[0].cmd: unknown key `cmd` → did you mean `run: [make, all]`?",),
    ),
    "script": (
        step(script="make"),
        ("unknown_key: steps[0].script: unknown key `script` → did you mean `run: make`?",),
    ),
    "shell": (
        step(shell="make"),
        ("unknown_key: steps[0].shell: unknown key `shell` → did you mean `run: make`?",),
    ),
    "args": (
        step(call="m:f", args={"n": 3}),
        ("unknown_key: steps[0].args: unknown key `args` → did you mean `with: {n: 3}`?",),
    ),
    "kwargs": (
        step(call="m:f", kwargs={"n": 3}),
        ("unknown_key: steps[0].kwargs: unknown key `kwargs` → did you mean `with: {n: 3}`?",),
    ),
    "retries": (
        shell(retries=2),
        (
            "unknown_key: steps[0].retries: unknown key `retries` → write `retry: {max_attempts: 3}`",
        ),
    ),
    "if": (
        shell(**{"if": "true"}),
        ("unknown_key: steps[0].if: unknown key `if` → did you mean `when: 'true'`?",),
    ),
    "foreach": (
        shell(foreach=[1, 2]),
        ("unknown_key: steps[0].foreach: unknown key `foreach` → did you mean `for_each`?",),
    ),
    "matrix": (
        shell(matrix={"n": [1, 2]}),
        (
            "unknown_key: steps[0].matrix: unknown key `matrix`"
            " → use `for_each`: it runs a step for each item of a list",
        ),
    ),
    "continue_on_error": (
        shell(continue_on_error=True),
        (
            "unknown_key: steps[0].continue_on_error: unknown key `continue_on_error`"
            " → remove it: steps that do not depend on a failed step run anyway",
        ),
    ),
    "a time limit in minutes": (
        shell(timeout_minutes=10),
        (
            "unknown_key: steps[0].timeout_minutes: unknown key `timeout_minutes`"
            " → write `timeout: 10m`",
        ),
    ),
    "version": (
        whole(version="1.0"),
        ("unknown_key: version: unknown key `version` → remove it",),
    ),
    "a key that nothing is like": (
        shell(zzz=1),
        (
            "unknown_key: steps[0].zzz: unknown key `zzz` → remove it, or use"
            " `run`, `depends_on`, `when`, `env`, `timeout`, `retry` …",
        ),
    ),
    "a key of steps at the top": (
        whole(env={"A": "b"}),
        (
            "unknown_key: env: `env` is not a key of a workflow"
            " → write it under `defaults`: `defaults: {env: {A: b}}`",
        ),
    ),
    "an action as a default": (
        whole(defaults={"run": "true"}),
        ("unknown_key: defaults.run: `run` cannot be a default → move `run` to each step",),
    ),
    "a key of another kind of step": (
        step(ask="Ship it?", agent="x"),
        (
            "unknown_key: steps[0].agent: `agent` is not supported on decision steps"
            " → remove `agent`",
        ),
    ),
    "no action": (
        step(),
        (
            "step_kind: steps[0]: the step has no action → add `run`, `call`, `task`, `ask` or `merge`",
        ),
    ),
    "an agent without a task": (
        step(agent="b"),
        ("step_kind: steps[0]: the step has no action → add `task`",),
    ),
    "two actions": (
        step(run="true", call="m:f"),
        (
            "step_kind: steps[0]: a step can have only one action, found `run` and `call`"
            " → keep one of them, or write 2 steps",
        ),
    ),
    "int": (
        whole(inputs={"n": {"type": "int"}}),
        ("not_a_choice: inputs.n.type: invalid value 'int' for `type` → did you mean `integer`?",),
    ),
    "openai": (
        whole(agents={"x": {"runner": "openai"}}),
        (
            "not_a_choice: agents.x.runner: invalid value 'openai' for `runner`"
            " → did you mean `llm`?",
        ),
    ),
    "abort": (
        whole(on_failure="abort"),
        (
            "not_a_choice: on_failure: invalid value 'abort' for `on_failure`"
            " → did you mean `stop`?",
        ),
    ),
    "a choice that nothing is like": (
        whole(on_failure="zzz"),
        (
            "not_a_choice: on_failure: invalid value 'zzz' for `on_failure`"
            " → use `continue` or `stop`",
        ),
    ),
    "a duration with a blank": (
        shell(timeout="10 min"),
        ("bad_duration: steps[0].timeout: '10 min' is not a duration → write `10m`",),
    ),
    "a duration with a fraction": (
        shell(timeout="1.5 hours"),
        ("bad_duration: steps[0].timeout: '1.5 hours' is not a duration → write `90m`",),
    ),
    "a duration that is too long": (
        shell(timeout="30d"),
        ("bad_duration: steps[0].timeout: '30d' is longer than 7 days → use at most `7d`",),
    ),
    "a duration that is none": (
        shell(timeout="soon"),
        (
            "bad_duration: steps[0].timeout: 'soon' is not a duration"
            " → use `45s`, `15m`, `1h30m`, `2d` or a number of seconds",
        ),
    ),
    "a schema of an unknown type": (
        shell(output={"type": "dict"}),
        ("bad_schema: steps[0].output.type: unknown type `dict` → did you mean `object`?",),
    ),
    "output: json": (
        shell(output="json"),
        (
            "bad_output: steps[0].output: `output` must be a JSON Schema mapping or"
            " `package.module:Model`, got 'json' → write `output: {type: object}`",
        ),
    ),
    "a check as text": (
        shell(verify="output_contains 3"),
        (
            "wrong_type: steps[0].verify: expected a list, got 'output_contains 3'"
            " → write `verify: {output_contains: '3'}`",
        ),
    ),
    "a check as text with a colon": (
        shell(verify="exit_code:0"),
        (
            "wrong_type: steps[0].verify: expected a list, got 'exit_code:0'"
            " → write `verify: {exit_code: 0}`",
        ),
    ),
    "a command as a check": (
        shell(verify="test -s out.csv"),
        (
            "wrong_type: steps[0].verify: expected a list, got 'test -s out.csv'"
            " → write `verify: {command: test -s out.csv}`",
        ),
    ),
    "a check as text in the list": (
        shell(verify=["contains 3"]),
        (
            "wrong_type: steps[0].verify[0]: expected a mapping, got 'contains 3'"
            " → write `{output_contains: '3'}`",
        ),
    ),
    "a wrong letter in a short action": (
        step(rum="echo hi"),
        ("unknown_key: steps[0].rum: unknown key `rum` → did you mean `run`?",),
    ),
    "python": (
        step(python="m:slow"),
        ("unknown_key: steps[0].python: unknown key `python` → did you mean `call: 'm:slow'`?",),
    ),
    "a function with a dot": (
        step(call="mymodule.func"),
        (
            "bad_function: steps[0].call: `mymodule.func` does not name a function"
            " → did you mean `mymodule:func`?",
        ),
    ),
    "no steps": (
        {"name": "w", "steps": []},
        ("empty: steps: `steps` must contain at least one step → add a step",),
    ),
    "a name with a blank": (
        {"name": "my flow", "steps": [{"id": "a", "run": "true"}]},
        (
            "bad_name: name: invalid name 'my flow' → use a-z, A-Z, 0-9, `-` and `_`,"
            " at most 64, beginning with a letter or digit; `title: my flow` can keep this name",
        ),
    ),
    "a number where text belongs": (
        shell(cwd=3),
        ('wrong_type: steps[0].cwd: expected a string, got 3 → quote it: `"3"`',),
    ),
    "a list that is no workflow": (
        [1],
        (
            "not_a_mapping: expected a workflow as path, YAML, dict or Workflow, got a list"
            " → write `name:` and `steps:` at the top",
        ),
    ),
    "no workflow at all": (
        None,
        (
            "not_a_mapping: expected a workflow as path, YAML, dict or Workflow, got null"
            " → write `name:` and `steps:` at the top",
        ),
    ),
    "a lambda as a call": (
        step(call=NAMELESS),
        (
            f"bad_function: steps[0].call: {shown_value(NAMELESS)} has no name that a step"
            " can call → define it with `def` at the top level of a module or of the notebook",
        ),
    ),
    "steps in a mapping": (
        "name: w\nsteps:\n  a: {rnu: make}\n",
        ("unknown_key: line 3: steps.a.rnu: unknown key `rnu` → did you mean `run`?",),
    ),
    "a tab before an item": (
        "name: w\nsteps:\n  - id: a\n    run: x\n\t- id: b\n",
        ("yaml_tab: line 5: tab in indentation → use spaces",),
    ),
    "a tab before a key": (
        HEAD + "\trun: x\n",
        ("yaml_tab: line 4: tab in indentation → use spaces",),
    ),
    "a reference without quotes in an argv": (
        HEAD + "    run: [echo, {{ inputs.n }}]\n",
        (
            "unquoted_reference: line 4: steps[0].run[1]: unquoted reference: YAML reads bare"
            ' braces as a mapping → quote it: `"{{ … }}"`',
        ),
    ),
    "a reference without quotes": (
        HEAD + "    run: {{ inputs.n }}\n",
        (
            "unquoted_reference: line 4: steps[0].run: unquoted reference: YAML reads bare"
            ' braces as a mapping → quote it: `"{{ … }}"`',
        ),
    ),
    "a reference without quotes for a duration": (
        HEAD + "    run: x\n    timeout: {{ inputs.n }}\n",
        (
            "unquoted_reference: line 5: steps[0].timeout: unquoted reference: YAML reads bare"
            ' braces as a mapping → quote it: `"{{ … }}"`',
        ),
    ),
    "a reference in a plain value between braces": (
        "name: w\ninputs: {n: 1}\nsteps:\n"
        '  - {id: a, run: echo "a {{ inputs.n }}", posture: read_only}\n'
        '  - {id: b, run: x, when: "{{ inputs.n }} > 1"}\n',
        (
            "unquoted_reference: line 4: unquoted reference: YAML reads bare braces as a mapping"
            """ → quote the whole value: `run: 'echo "a "{{ inputs.n }}'`""",
        ),
    ),
    "a comment in a value between braces": (
        "name: w\nsteps:\n  - {id: a, run: echo a # b, posture: read_only}\n  - {id: b, run: x}\n",
        (
            "yaml_syntax: line 3: ` #` begins a comment that hides the rest"
            " → quote the whole value: `run: 'echo a # b'`",
        ),
    ),
    "a block that is not indented": (
        HEAD + "    run: |\n    echo one\n    echo two\n",
        (
            "yaml_syntax: line 5: the text below `run: |` is not indented"
            " → indent it more than `run`",
        ),
    ),
    "a missing colon": (
        "name w\nsteps:\n  - {id: a, run: x}\n",
        ("yaml_syntax: line 1: missing `:` after `name` → write `name: w`",),
    ),
    "a missing colon in a step": (
        HEAD + "    run x\n    cwd: y\n",
        ("yaml_syntax: line 4: missing `:` after `run` → write `run: x`",),
    ),
    "a missing blank after a dash": (
        "name: w\nsteps:\n  -id: a\n    run: x\n",
        ("yaml_syntax: line 3: missing space after `-` → write `- id: a`",),
    ),
    "a key that suggests none": (
        "name: w\nscript: x\nsteps:\n  - {id: a, run: x}\n",
        (
            "unknown_key: line 2: script: unknown key `script`"
            " → remove it, or use `description` or `inputs`",
        ),
    ),
    "a missing blank after a colon": (
        HEAD + "    run:x\n    cwd: y\n",
        ("yaml_syntax: line 4: missing space after `run:` → write `run: x`",),
    ),
    "a colon and a quoted reference in a value": (
        HEAD.replace("steps:\n", "inputs: {n: 3}\nsteps:\n")
        + '    run: echo "n: {{ inputs.n }}"\n',
        (
            "yaml_syntax: line 5: the value of `run` contains `: `"
            " → quote it: `run: 'echo \"n: \"{{ inputs.n }}'`",
        ),
    ),
    "a colon and both quotes in a value": (
        HEAD + "    run: echo \"a: 'b'\"\n",
        (
            "yaml_syntax: line 4: the value of `run` contains `: `"
            " → quote it: `run: 'echo \"a: ''b''\"'`",
        ),
    ),
    "a colon in a value": (
        HEAD + "    run: echo a: b\n",
        ('yaml_syntax: line 4: the value of `run` contains `: ` → quote it: `run: "echo a: b"`',),
    ),
    "a glob without quotes": (
        HEAD + "    run: x\n    write_set: [*.py]\n",
        ("yaml_syntax: line 5: an unquoted value cannot begin with `*` → quote the value",),
    ),
    "a merge key of no mapping": (
        HEAD + "    run: x\n    <<: 3\n",
        (
            "merge_key: line 5: steps[0].<<: `<<` merges mappings only"
            " → write `<<: *NAME`, with the anchor `&NAME` on a mapping above",
        ),
    ),
}


@pytest.mark.parametrize(("written", "shown"), LOADED.values(), ids=LOADED.keys())
def test_a_mistake_is_shown_once_with_its_place_and_its_fix(written: Any, shown: Shown) -> None:
    problems = problems_of(load(written))
    assert tuple(f"{each.code}: {each.sentence()}" for each in problems) == shown


def corrected(written: Any, problem: Problem) -> Any:
    """Return what was written with the corrected line of a fix pasted over it; None for a fix without a whole line."""
    pasted = re.search(r"`(\w+: [^`]+)`\??$", problem.fix)
    if pasted is None:
        return None
    if isinstance(written, str):
        rows = written.split("\n")
        row = rows[(problem.line or 0) - 1]
        over = (
            "run: .*(?=, posture)" if "{id:" in row else r"\S.*"
        )  # a line, or a pair between braces
        rows[(problem.line or 0) - 1] = re.sub(over, lambda _: pasted[1], row, count=1)
        return "\n".join(rows)
    whole: dict[str, Any] = copy.deepcopy(written)
    place = whole["steps"][0] if problem.path.startswith("steps[0]") else whole
    place.pop(problem.path.removeprefix("steps[0].").partition("[")[0].partition(".")[0])
    place.update(yaml.safe_load(pasted[1]))
    # What a step depends on may be any other step.
    after = place.get("depends_on") or []
    others = [after] if isinstance(after, str) else after
    whole["steps"] += [{"id": name, "run": "true"} for name in others]
    return whole


def test_a_corrected_line_that_is_pasted_back_is_right() -> None:
    pasted = 0
    for written, _ in LOADED.values():
        problems = problems_of(load(written))
        for problem in problems:
            if (again := corrected(written, problem)) is not None:
                pasted += 1
                assert len(problems_of(load(again))) < len(problems), (problem.fix, again)
    assert pasted >= 20


INPUTS = load("name: w\ninputs: {n: {type: integer}}\nsteps: [{id: a, run: x}]\n").require()
REFUSED: dict[str, tuple[Any, str]] = {
    "a missing input": (
        lambda: resolve_inputs(INPUTS, {}),
        "input_missing: line 2: inputs.n: missing input `n` (integer) → pass `--input n=3`",
    ),
    "an unknown input": (
        lambda: resolve_inputs(INPUTS, {"n": 1, "m": 2}),
        "input_unknown: line 2: inputs.m: unknown input `m` → use `n`",
    ),
    "an unknown input of a workflow without inputs": (
        lambda: resolve_inputs(load(whole()).require(), {"m": 2}),
        "input_unknown: inputs.m: unknown input `m` → remove it: the workflow declares no inputs",
    ),
    "an input of another type": (
        lambda: resolve_inputs(INPUTS, {"n": "x"}),
        "input_invalid: line 2: inputs.n: input `n`: expected an integer, got 'x'"
        " → use a value such as `3`",
    ),
    "two inputs given wrongly": (
        lambda: resolve_inputs(INPUTS, {"m": 2}),
        "input_unknown: 2 errors in the inputs of `w`\n"
        "  input_unknown: line 2: inputs.m: unknown input `m` → use `n`\n"
        "  input_missing: line 2: inputs.n: missing input `n` (integer) → pass `--input n=3`",
    ),
    "inputs that are text": (
        lambda: resolve_inputs(INPUTS, "n=3"),  # type: ignore[arg-type]  # a caller's mistake is the point
        'invalid_args: inputs must be a mapping, got str\n→ pass them as `{"name": value}`',
    ),
    "a Workflow without steps": (
        lambda: pixirnb.Workflow(name="x", steps=[]),
        "invalid_spec: Workflow: 1 error\n"
        "  empty: steps: `steps` must contain at least one step → add a step",
    ),
    "a step with a misspelt key": (
        lambda: ShellStep(id="a", run="true", timout=3),  # type: ignore[call-arg]  # as above
        "invalid_spec: ShellStep: 1 error\n"
        "  unknown_key: timout: unknown key `timout` → did you mean `timeout`?",
    ),
}


@pytest.mark.parametrize(("provoke", "shown"), REFUSED.values(), ids=REFUSED.keys())
def test_a_wrong_call_is_refused_in_one_sentence(provoke: Any, shown: str) -> None:
    with pytest.raises(PixirnbError) as refused:
        provoke()
    assert str(refused.value) == shown


def test_every_error_of_a_workflow_is_counted_below_its_file() -> None:
    with pytest.raises(PixirnbError) as refused:
        load("name: 3\nsteps: 2\n", "w.yaml").require()
    assert refused.value.message == "w.yaml: 2 errors"
    assert refused.value.fix == ""
