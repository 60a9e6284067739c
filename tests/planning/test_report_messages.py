"""What planning reports, word for word: a table of texts and of the messages with their fixes."""

from __future__ import annotations

import pytest

from pixirnb.errors import Problem
from pixirnb.planning.environment import AgentLack, Environment
from pixirnb.planning.report import problems_of, report
from pixirnb.spec.loader import load_text

HEAD = "name: w\nsteps:\n"
AGENT = "name: w\nagents: {b: {runner: acp, command: nosuch}}\nsteps:\n"
LACK = AgentLack("agent_missing_binary", "command not found: nosuch", "install it")
WITHOUT = Environment(agents={"b": LACK})


def shown(problem: Problem) -> str:
    """Return a problem as a person reads it."""
    return f"{problem.sentence()} [{problem.code}]"


def errors(text: str, facts: Environment | None = None, source: str | None = None) -> list[str]:
    return [shown(each) for each in problems_of(load_text(text, source), facts)]


def warnings(text: str, facts: Environment | None = None) -> list[str]:
    found = report(load_text(text).require(), facts or Environment())
    assert found.errors == ()
    return [shown(each) for each in found.warnings]


ERRORS = {
    HEAD + "- {id: a, run: x, depends_on: [a]}\n": [
        "line 3: steps[0].depends_on: `a` depends on itself → remove `a` from its `depends_on` [cycle]"
    ],
    HEAD + "- {id: a, run: x, depends_on: [c]}\n- {id: b, run: x, depends_on: [a]}\n"
    "- {id: c, run: x, depends_on: [b]}\n- {id: d, run: x, depends_on: [c]}\n"
    "- {id: e, run: x, depends_on: [d]}\n": [
        "line 3: steps[0].depends_on: dependency cycle: a → c → b → a; also blocked: d, e "
        "→ remove one of these `depends_on` entries [cycle]"
    ],
    HEAD + "- {id: a, run: x}\n- {id: b, run: x}\n- {id: a, run: y}\n": [
        "line 5: steps[2].id: id `a` is already used on line 3 → rename one of the steps [duplicate_id]"
    ],
    HEAD + "- {id: a, run: x, depends_on: [nope]}\n- {id: b, run: x, depends_on: [a]}\n": [
        "line 3: steps[0].depends_on[0]: unknown step `nope` "
        "→ add a step `nope`, or remove it from `depends_on` [unknown_dependency]",
        "line 4: steps[1]: `b` cannot start: it depends on `a`, which depends on the unknown step `nope` "
        "→ correct that dependency [unreachable]",
    ],
    HEAD + "- {id: a, task: x}\n": [
        "line 3: steps[0].task: `a` has a `task` but no `agent` "
        "→ declare an agent under `agents:` and name it with `agent:` [agent_missing]"
    ],
    HEAD + "- {id: a, task: x, agent: fixer}\n": [
        "line 3: steps[0].agent: unknown agent `fixer` "
        "→ declare it under `agents:` or in roles/fixer.yaml [agent_unknown]"
    ],
    HEAD + "- {id: a, run: x, posture: read_only, write_set: [o]}\n": [
        "line 3: steps[0].write_set: `a` is `posture: read_only` but has a `write_set` "
        "→ remove the `write_set`, or write `posture: writer` [read_only_writes]"
    ],
    HEAD + "- {id: a, run: x, output: {type: dict}}\n": [
        "line 3: steps[0].output.type: unknown type `dict` → did you mean `object`? [bad_schema]"
    ],
    HEAD + "- {id: a, run: x, write_set: [/o]}\n": [
        "line 3: steps[0].write_set[0]: `/o` is absolute "
        "→ write it relative to the workspace or a repository [bad_pattern]"
    ],
    HEAD + "- {id: a, run: x}\n- {id: b, run: 'echo {{ steps.a.output }}'}\n": [
        "line 4: steps[1].run: {{ steps.a.output }}: `b` does not depend on `a` "
        "→ make `b` depend on `a` [reference_not_ancestor]"
    ],
}


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_says_what_is_wrong_and_how_to_fix_it(text: str) -> None:
    assert errors(text) == ERRORS[text]


CALL = HEAD + "- {id: a, call: ':add'}\n"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("/w/flow.yaml", "no function `add`: `:name` works only in notebooks → use `module:add`"),
        (None, "the notebook has no function `add` → define `add` in a cell above"),
    ],
)
def test_a_notebook_function_in_a_file_is_explained(source: str | None, says: str) -> None:
    facts = Environment(functions=frozenset())
    assert errors(CALL, facts, source) == [f"line 3: steps[0].call: {says} [function_missing]"]


def test_a_misspelled_notebook_function_is_suggested_in_a_file_too() -> None:
    [message] = errors(CALL, Environment(functions=frozenset({":adds"})), "/w/flow.yaml")
    assert "did you mean `:adds`?" in message


def test_every_mistake_is_reported_at_once() -> None:
    text = HEAD + "- {id: a, run: x, cwd: gone, depends_on: [nope]}\n- {id: b, call: ':f'}\n"
    facts = Environment("/w", functions=frozenset(), agents={})
    found = problems_of(load_text(text), facts)
    assert [each.code for each in found] == ["unknown_dependency", "function_missing"]


STARTS_FIRST = AGENT + "- {id: t, task: x, agent: b, output: {}, workspace: shared}\n"
LATER = {
    "after a step that may install it": "- {id: s, run: npm install, write_set: [o]}\n"
    "- {id: t, task: x, agent: b, output: {}, write_set: [p], workspace: shared, depends_on: [s]}\n",
    "only in some runs": "- {id: t, task: x, agent: b, output: {}, workspace: shared, when: '1 == 1'}\n",
    "with a PATH of its own": "- {id: t, task: x, agent: b, output: {}, workspace: shared, env: {PATH: /opt}}\n",
}


def test_an_agent_that_cannot_start_is_an_error_at_its_line() -> None:
    assert errors(STARTS_FIRST, WITHOUT) == [
        "line 2: agents.b.command: agent `b` cannot start: command not found: nosuch "
        "→ install it [agent_missing_binary]"
    ]


@pytest.mark.parametrize("steps", LATER.values(), ids=LATER)
def test_an_agent_that_may_be_there_later_is_a_warning(steps: str) -> None:
    assert (
        "line 2: agents.b.command: agent `b` cannot start: command not found: nosuch "
        "→ install it, unless an earlier step installs it [agent_missing_binary]"
    ) in warnings(AGENT + steps, WITHOUT)


def test_an_agent_that_no_step_uses_need_not_be_installed() -> None:
    text = AGENT + "- {id: a, run: x, write_set: [o]}\n"
    assert [line.rpartition(" ")[2] for line in warnings(text, WITHOUT)] == ["[agent_unused]"]


MODEL = (
    "name: w\nagents: {b: {runner: llm, model: 'openai:m'%s}}\nsteps:\n"
    "- {id: t, task: x, agent: b, output: {}, posture: read_only%s}\n"
)


@pytest.mark.parametrize(
    ("agent", "step", "is_warned"),
    [
        ("", "", True),
        (", pass_env: [OPENAI_API_KEY]", "", False),
        (", pass_env: [OPENAI_BASE_URL]", "", False),
        ("", ", env: {OPENAI_API_KEY: '{{ run.id }}'}", False),
    ],
)
def test_a_model_without_the_key_of_its_provider_is_a_warning(
    agent: str, step: str, is_warned: bool
) -> None:
    message = (
        "line 2: agents.b.model: agent `b` is not passed the key of `openai`, the variable OPENAI_API_KEY "
        "→ add `pass_env: [OPENAI_API_KEY]` [provider_key_missing]"
    )
    assert (message in warnings(MODEL % (agent, step))) is is_warned


WARNINGS = {
    "name: w\nmax_concurrency: 1\nsteps:\n- {id: a, run: x, write_set: [o]}\n- {id: b, run: x, write_set: [p]}\n": [
        "line 2: max_concurrency: up to 2 steps are ready at once but `max_concurrency` is 1 (informational) "
        "→ raise `max_concurrency` to run more in parallel [wave_wide]"
    ],
    HEAD + "- {id: a, run: x}\n- {id: b, run: x}\n": [
        "line 3: steps[0]: `a`, `b` declare no `write_set`, so write conflicts cannot be detected "
        "→ add `write_set`, `posture: read_only` or `undeclared_writers: serialize` [undeclared_writers]"
    ],
    HEAD + "- {id: a, run: x, posture: writer}\n- {id: b, run: x, write_set: [o]}\n": [
        "line 3: steps[0]: `a` has no `write_set`, so it is treated as writing everything and cannot run in parallel "
        "→ add `write_set` with the files that it writes [serialized_for_want_of_write_set]"
    ],
    HEAD + "- {id: a, run: x, write_set: [o], verify: [{exit_code: 3}]}\n": [
        "line 3: steps[0].verify[0]: a non-zero exit already fails the step, so the check `exit_code: 3` never passes "
        "→ let the command exit with 0, or use a `command` check with that `exit_code` [check_never_passes]"
    ],
}

COMPARED = HEAD.replace("steps:", "inputs: {k: {type: integer}}\nsteps:") + (
    "- {id: n, run: x, write_set: [o]}\n- {id: a, run: x, write_set: [o], depends_on: n, when: %s}\n"
)
WARNINGS |= {
    COMPARED % "'{{ steps.n.output }} > 3'": [
        "line 5: steps[1].when: `{{ steps.n.output }} > 3` is always false: `n` outputs text "
        "→ declare `output: {type: integer}` on `n` [when_types_differ]"
    ],
    COMPARED % "\"{{ inputs.k }} != '3'\"": [
        'line 5: steps[1].when: `{{ inputs.k }} != "3"` is always true: {{ inputs.k }} is a number '
        "→ compare it with a number, or declare `type: string` for `k` [when_types_differ]"
    ],
}


@pytest.mark.parametrize("text", WARNINGS)
def test_a_warning_says_what_follows_and_how_to_change_it(text: str) -> None:
    assert warnings(text) == WARNINGS[text]
