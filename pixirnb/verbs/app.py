"""The grammar of `pixirnb VERB` and `%pixir VERB`, one for both. Source: contract.md §9.

Each verb returns a Result (see `answers`). `perform` reads a line, does what it says and raises pixirnb's errors alone;
`build` is the grammar itself. `help_pages` lists the verbs; the module of a verb is loaded when a line names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from cyclopts import App, Group
from cyclopts.exceptions import CycloptsError

from pixirnb.system.version import release
from pixirnb.verbs import help_pages
from pixirnb.verbs.answers import Answer, Desk, Result
from pixirnb.verbs.options import with_last
from pixirnb.verbs.verb_list import HOMES


class Grammar(Protocol):
    """Builder of the verbs of a surface."""

    def __call__(self, *, name: str) -> App: ...


def build(*, name: str = "pixirnb", homes: Mapping[str, str] = HOMES) -> App:
    """Build the verbs of a surface that calls them `name`. `homes`: verb to function; `call` calls one."""
    parameters = Group("Parameters")
    app = App(
        name=name,
        help=help_pages.ABOUT,
        help_format="plaintext",
        group_arguments=parameters,
        group_parameters=parameters,
        version_flags=["--version"],
        version=release,
        result_action="return_value",
    )
    help_pages.add_verbs(app, name, homes)
    return app


def perform(
    desk: Desk, tokens: Sequence[str], *, name: str = "pixirnb", grammar: Grammar = build
) -> Result | None:
    """Perform one line of words by a grammar; None if it printed a help page.

    Raises InvalidArguments for a line that is refused.
    """
    if not tokens:
        return Answer("message", {"ok": True, "message": help_pages.overview(name)})
    if tokens[0] == "help":
        tokens = [*tokens[1:], "--help"]
    try:
        return call(grammar(name=name), desk, with_last(tokens))
    except CycloptsError as error:
        from pixirnb.verbs.usage_errors import usage_error

        raise usage_error(error, name) from error


def call(app: App, desk: Desk, tokens: Sequence[str]) -> Result | None:
    """Call the verb that a line names. Raises CycloptsError."""
    verb, bound, unparsed = app.parse_args(tokens, exit_on_error=False, print_error=False)
    given = {"desk": desk} if "desk" in unparsed else {}
    result: Result | None = verb(*bound.args, **bound.kwargs, **given)
    return result


app: Final = build()
"""The verbs of the command line."""
