"""What is wrong with a line of words that names no verb, or leaves out what its verb needs, in a sentence for every surface."""

from __future__ import annotations

from inspect import Parameter

from cyclopts.exceptions import CycloptsError, MissingArgumentError, UnusedCliTokensError


def slip(error: CycloptsError) -> str:
    """The sentence. Names what is missing as the help does: `RUN` by its place, `--input` by its name."""
    verb = verb_of(error)
    match error:
        case MissingArgumentError(argument=argument) if argument is not None and verb:
            if argument.field_info.kind is Parameter.KEYWORD_ONLY:
                return f"`{argument.name}` needs a value."
            return f"`{verb}` needs {argument.name.lstrip('-').upper()}, which is not said."
        case UnusedCliTokensError(unused_tokens=[first, *_]) if verb:
            return f"`{verb}` knows nothing to do with `{first}`."
        case _:
            return " ".join(str(error).split())


def verb_of(error: CycloptsError) -> str:
    """The verb that was meant; empty where there is none."""
    return " ".join(error.command_chain or ())
