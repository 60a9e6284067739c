"""Usage errors: a command line that cyclopts refuses, as an error of pixirnb that names the argument and the fix."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from cyclopts import App
from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from pixirnb.errors import InvalidArguments
from pixirnb.spec.did_you_mean import nearest
from pixirnb.verbs.help_pages import usage_of

_VERBS: Final = {
    "run": "start exec launch",
    "resume": "restart continue retry",
    "runs": "ps history",
    "logs": "tail output cat",
    "show": "info inspect describe explain",
    "cancel": "stop kill abort",
    "decide": "accept reject answer",
    "prune": "rm delete remove clean",
    "init": "new create",
    "plan": "validate check lint graph",
}
_OPTIONS: Final = {
    "--follow": "--tail --watch",
    "--workspace": "--dir --cwd --directory",
    "--input": "--param --set --var",
    "--max-concurrency": "--jobs --parallel",
    "--quiet": "--silent",
    "--to": "--output --out",
    "--note": "--message --reason",
}
"""Names of ours to the words of other programs for them."""
_OF_CELLS: Final = ("--wait", "--expect", "--as")
"""Options that a cell takes out of the line before a verb sees it."""
_TYPES: Final = {int: "a whole number", float: "a number", bool: "true or false"}


def usage_error(error: CycloptsError, name: str) -> InvalidArguments:
    """Return a refused command line as an error; `name` is how the surface calls the verbs."""
    verb = " ".join(error.command_chain or ())
    help_ = f"see `{name} {verb} --help`" if verb else f"see `{name} --help`"
    match error:
        case UnknownCommandError(unused_tokens=[word, *_]):
            known = [each for each in error.app or () if not each.startswith("-")]
            message, fix = f"unknown verb `{word}`", _meant(word, known, _VERBS)
            if word.startswith("-"):
                message, fix = f"`{word:.80}` before the verb", f"write `{name} VERB {word:.80}`"
        case UnknownOptionError(token=token, argument_collection=arguments):
            word = token.keyword or token.value
            names = [each for argument in arguments for each in argument.names]
            known = [each for each in names if each.startswith("-")]
            known += _OF_CELLS if name.startswith("%") else ()
            message, fix = f"unknown option `{word:.80}`", _meant(word, known, _OPTIONS)
            if word.lstrip("-").upper() in names:
                fix = _usage(error.app, name, verb)  # an argument, which has no option
        case MissingArgumentError(argument=argument) if argument is not None:
            message, fix = _missing(argument, error.keyword), _usage(error.app, name, verb)
        case UnusedCliTokensError(unused_tokens=[word, *_]):
            message, fix = f"unexpected argument `{word:.80}`", _usage(error.app, name, verb)
        case CoercionError(token=token, argument=argument) if token and argument is not None:
            message, fix = _unfit(argument, token.value, error.target_type), ""
        case _:
            message, fix = " ".join(str(error).split()).rstrip("."), ""
    return InvalidArguments(message, fix=fix or help_)


def _meant(word: str, known: Sequence[str], others: Mapping[str, str]) -> str:
    """Return `did you mean …?` for a word that is close to a known one or begins it, or that other programs use."""
    known_as = next((name for name, words in others.items() if word in words.split()), None)
    name = known_as if known_as in known else nearest(word, known)
    names = [each for each in known if each.startswith(word)][:3] if name is None else [name]
    return f"did you mean {' or '.join(map('`{}`'.format, names))}?" if names else ""


def _missing(argument: Any, keyword: str | None) -> str:
    if argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY or keyword:
        return f"`{keyword or argument.name}` needs a value"
    return f"missing argument {argument.name.lstrip('-').upper()}"


def _usage(app: App | None, name: str, verb: str) -> str:
    """Return the usage without options; empty if there is no verb."""
    return f"usage: {usage_of(name, verb, app)}" if app is not None and verb else ""


def _unfit(argument: Any, value: str, expected: Any) -> str:
    name = (
        argument.name if argument.field_info.is_keyword_only else argument.name.lstrip("-").upper()
    )
    choices = [str(each) for each in get_args(expected)]
    expected_text = (
        f"one of {', '.join(choices)}" if choices else _TYPES.get(expected, "another value")
    )
    return f"`{name}` must be {expected_text}, got `{value:.80}`"
