"""Usage errors: a sentence, for every surface, about a command line without a verb or without a required argument."""

from __future__ import annotations

from inspect import Parameter

from cyclopts.exceptions import CycloptsError, MissingArgumentError, UnusedCliTokensError


def slip(error: CycloptsError) -> str:
    """Return the sentence. Names what is missing as the help does: `RUN` by its position, `--input` by its name."""
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
    """Return the intended verb; empty if there is none."""
    return " ".join(error.command_chain or ())
