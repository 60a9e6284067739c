"""Words of other tools for keys and values of a workflow, and the fix for an unknown one. Only called for errors.

A table for each kind of mapping: the neighbors' word, to the key here. What has no counterpart has an advice instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

import yaml

from pixirnb.spec.did_you_mean import did_you_mean, nearest, shape
from pixirnb.spec.durations import format_duration

LISTED: Final = 6
"""Maximum number of candidates in a fix."""
_LINE: Final = 60
"""Maximum length of a corrected line in a fix."""

Words = dict[str, str]


def _table(rows: Mapping[str, str]) -> Words:
    """Return each word of a row (`a b c`) with its key, or the keys to choose from."""
    return {shape(word): key for words, key in rows.items() for word in words.split()}


STEP: Final = _table(
    {
        "needs requires require after dependencies deps dependency upstream": "depends_on",
        "command cmd shell script bash sh exec entrypoint": "run",
        "function func callable method python": "call",
        "args kwargs params parameters arguments": "with",
        "prompt instruction instructions": "task",
        "question approve approval confirm": "ask",
        "if condition only_if": "when",
        "environment variables vars environ envs": "env",
        "workdir working_dir working_directory dir directory folder chdir": "cwd",
        "time_limit deadline": "timeout",
        "check checks assert asserts expect tests": "verify",
        "name step key": "id description",
        "label display_name heading": "title",
        "desc comment doc help": "description",
        "stage group": "phase",
        "writes creates generates": "write_set",
        "reads sources": "read_set",
        "outputs produces": "artifacts",
        "cache cached": "reuse",
        "foreach with_items": "for_each",
    }
)
TOP: Final = _table(
    {
        "jobs tasks stages nodes": "steps",
        "pipeline workflow": "name steps",
        "parameters params variables vars arguments args": "inputs",
        "concurrency parallelism max_parallel max_workers workers": "max_concurrency",
        "fail_fast": "on_failure",
        "id": "name",
        "label display_name heading": "title",
        "desc comment doc help": "description",
        "repositories": "repos",
        "default": "defaults",
        "roles subagents": "agents",
    }
)
AGENT: Final = _table(
    {
        "type kind provider backend": "runner",
        "system system_prompt prompt instructions instruction": "role",
        "cmd argv": "command",
        "permissions permission mode": "permission_mode",
        "env environment": "pass_env",
        "workdir working_dir working_directory": "cwd",
    }
)
RETRY: Final = _table(
    {
        "attempts max times count": "max_attempts",
        "wait interval sleep backoff_delay": "delay",
        "on when errors": "classes",
        "factor multiplier": "backoff",
    }
)
FOR_EACH: Final = _table(
    {
        "list values in over item": "items",
        "max concurrency parallelism max_concurrency workers limit": "max_parallel",
        "name id by unique": "key",
        "like zip with": "same_as",
        "min least needs threshold": "require",
    }
)
CHECK: Final = _table(
    {
        "file exists path": "file_exists",
        "contains stdout output": "output_contains",
        "matches regex regexp pattern": "output_matches",
        "cmd run shell": "command",
        "exit returncode rc status": "exit_code",
        "json_schema": "schema",
        "call function": "python",
        "git diff changes": "git_changes",
    }
)
INPUT: Final = _table(
    {
        "options choices values allowed": "enum",
        "value initial": "default",
        "help doc desc title": "description",
        "kind": "type",
    }
)
QUESTION: Final = _table({"text prompt message title": "question", "options enum": "choices"})
PHASE: Final = _table({"id title": "name", "tasks jobs": "steps"})

_FAN_OUT: Final = "use `for_each`: it runs a step for each item of a list"
_REMOVE: Final = "remove it"
ADVICE: Final[Mapping[str, Words]] = {
    "step": {
        **dict.fromkeys(map(shape, ("matrix", "strategy", "loop", "map")), _FAN_OUT),
        **dict.fromkeys(
            map(shape, ("continue_on_error", "allow_failure", "ignore_errors", "ignore_error")),
            "remove it: steps that do not depend on a failed step run anyway",
        ),
        **dict.fromkeys(
            map(shape, ("image", "container", "docker", "runs_on", "uses")),
            "remove it: steps run on this machine",
        ),
        "model": "move it to the agent of the step, under `agents`",
        "runner": "move it to the agent of the step, under `agents`",
    },
    "top": {
        **dict.fromkeys(map(shape, ("version", "api_version", "schema", "kind")), _REMOVE),
        **dict.fromkeys(
            ("on", "triggers", "schedule", "cron"),
            "remove it: a workflow runs when it is started",
        ),
    },
    "input": {"required": "remove it: an input without `default` is required"},
}
_COUNTS: Final = {"retries": 1, "maxretries": 1, "retrycount": 1, "attempts": 0, "maxattempts": 0}
"""Word for a number of attempts, to what it leaves out: retries do not count the first attempt."""
_MINUTES: Final = {
    **{shape(word): 60_000 for word in ("timeout_minutes", "timeout_min", "timeout_mins")},
    **{shape(word): 1_000 for word in ("timeout_seconds", "timeout_sec", "timeout_secs")},
}

CHOICES: Final = _table(
    {
        "int long": "integer",
        "str text": "string",
        "float double decimal": "number",
        "bool flag": "boolean",
        "list tuple sequence": "array",
        "dict map mapping json": "object",
        "abort fail exit halt failfast": "stop",
        "ignore proceed": "continue",
        "openai anthropic gpt model api": "llm",
        "shell bash command subprocess": "cli",
        "terminal tty": "pty",
        "mock fake": "scripted",
        "read readonly ro reader": "read_only",
        "write rw readwrite": "writer",
        "copy worktree sandbox separate": "isolated",
        "same": "shared",
        "full yolo always": "auto",
        "prompt confirm": "ask",
        "none no": "never",
    }
)
"""Other words for the values of keys that take one of a few."""


def meant(key: str, words: Words, known: Iterable[str]) -> str | None:
    """Return the key that an unknown one most likely means."""
    known = list(known)
    word = shape(key)
    if word not in words and (named := nearest(key, known)) is not None:
        return named
    word = word if word in words else nearest(key, words) or ""
    return next((each for each in words.get(word, "").split() if each in known), None)


def unknown_key_fix(key: str, value: Any, kind: str, words: Words, known: list[str]) -> str:
    """Return the fix for an unknown key: the corrected line, the key that is meant, or the likely ones."""
    form = shape(key)
    if advice := ADVICE.get(kind, {}).get(form):
        return advice
    if form in _COUNTS and "retry" in known and type(value) is int:
        return f"write `retry: {{max_attempts: {max(1, value + _COUNTS[form])}}}`"
    if form in _COUNTS and "retry" in known:
        return "did you mean `retry`?"
    if form in _MINUTES and "timeout" in known and type(value) is int and value > 0:
        return f"write `timeout: {format_duration(value * _MINUTES[form])}`"
    named = meant(key, words, known)
    if named is None:
        return _likely(key, known)
    # A slip of the pen needs no more than the key; the word of another tool may be used in another way.
    is_other = named == "steps" and not isinstance(value, list)
    return f"did you mean `{named if is_other or nearest(key, [named]) else line(named, value)}`?"


def choice_fix(value: object, known: list[str]) -> str:
    """Return the fix for a value that is not one of the few of its key."""
    text = value if isinstance(value, str) else ""
    named = CHOICES.get(shape(text))
    if named in known:
        return f"did you mean `{named}`?"
    return did_you_mean(text, known, otherwise="use " + one_of(known))


def check_fix(text: str, known: list[str], *, is_item: bool) -> str:
    """Return the fix for a check that is text: `output_contains 3` names its kind, all else is a command."""
    word, argument = (*re.split(r"[:\s]+", text.strip(), maxsplit=1), "")[:2]
    kind = meant(word, CHECK, known) if argument else None
    written = text if kind is None else argument
    value = int(argument) if kind == "exit_code" and argument.isdecimal() else written
    check = line(kind or "command", value)
    return f"write `{{{check}}}`" if is_item else f"write `verify: {{{check}}}`"


def one_of(known: Iterable[str]) -> str:
    """Return the candidates of a fix: at most six."""
    names = [f"`{name}`" for name in known]
    if len(names) > LISTED:
        return ", ".join(names[:LISTED]) + " …"
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))


def line(key: str, value: Any) -> str:
    """Return `key: value` as YAML if it is short, else the key."""
    try:
        text = yaml.safe_dump(
            [value], default_flow_style=True, width=2**31, allow_unicode=True, sort_keys=False
        ).rstrip("\n")
    except (yaml.YAMLError, RecursionError, ValueError):
        return key
    text = f"{key}: {text[1:-1]}"
    is_short = len(text) <= _LINE and text.isprintable() and "`" not in text
    return text if is_short and value not in (None, "", [], {}) else key


def _likely(key: str, known: list[str]) -> str:
    near = get_close_matches(shape(key), [shape(name) for name in known], n=LISTED, cutoff=0.5)
    by_shape = {shape(name): name for name in known}
    some = [by_shape[each] for each in near] or known
    return f"remove it, or use {one_of(some)}"
