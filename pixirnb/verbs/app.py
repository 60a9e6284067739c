"""The grammar of `pixirnb VERB` and `%pixir VERB`, one for both. Source: contract.md §9.

Each verb returns a Result (see `answers`). `perform` reads a line, does what it says and raises pixirnb's errors alone;
`build` is the grammar itself. Modules hold the verbs by subject:

    running        plan run resume fork watch  files          merge diff checkpoint
    inspection     show logs events            housekeeping   runs doctor compare export prune
    decisions      decide approve deny cancel  interchange    convert mcp
    setup          init examples completion    schemas        schema
    smoke          smoke

`help` arranges them in the groups of `--help`, with examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from cyclopts import App, Group
from cyclopts.exceptions import CycloptsError

from pixirnb.system.version import release
from pixirnb.verbs import (
    decisions,
    files,
    help_pages,
    housekeeping,
    inspection,
    interchange,
    running,
    schemas,
    setup,
)
from pixirnb.verbs.answers import Answer, Desk, Result
from pixirnb.verbs.options import with_last
from pixirnb.verbs.smoke import verb
from pixirnb.verbs.usage_errors import usage_error


class Grammar(Protocol):
    """Builder of the verbs of a surface."""

    def __call__(self, desk: Desk, *, name: str) -> App: ...


def build(desk: Desk, *, name: str = "pixirnb") -> App:
    """Build the verbs, bound to a surface that calls them `name`. Calling it with tokens returns a Result."""
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
        suppress_keyboard_interrupt=False,
    )
    running.add(app, desk)
    inspection.add(app)
    decisions.add(app, desk)
    files.add(app)
    housekeeping.add(app)
    interchange.add(app, desk)
    schemas.add(app)
    setup.add(app)
    verb.add(app)
    help_pages.arrange(app, name)
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
        result: Result | None = grammar(desk, name=name)(
            with_last(tokens), exit_on_error=False, print_error=False
        )
    except CycloptsError as error:
        raise usage_error(error, name) from error
    return result


app: Final = build(Desk())
"""The verbs of the command line."""
