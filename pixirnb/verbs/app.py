"""The grammar of `pixirnb VERB` and `%pixir VERB`, one for both. Source: contract.md §9.

Each verb returns a Result (see `answers`); calling the App with tokens does both. Mistakes in the command line are
cyclopts errors, all others are pixirnb's own. Modules hold the verbs by subject:

    running        plan run resume fork        files          merge diff checkpoint
    inspection     show logs events            housekeeping   runs doctor compare export prune
    decisions      decide approve deny cancel  interchange    convert mcp
    smoke          smoke

`help` arranges them in the groups of `--help`, with examples.
"""

from __future__ import annotations

from typing import Final

from cyclopts import App, Group

from pixirnb.system.version import release
from pixirnb.verbs import (
    decisions,
    files,
    help_pages,
    housekeeping,
    inspection,
    interchange,
    running,
)
from pixirnb.verbs.answers import Desk
from pixirnb.verbs.smoke import verb


def build(desk: Desk, *, name: str = "pixirnb") -> App:
    """Build the verbs, bound to a surface that calls them `name`. Calling it with tokens returns a Result."""
    parameters = Group("Parameters")
    app = App(
        name=name,
        help="Run workflows in steps, resume them after a crash, and count a step only if its checks pass.",
        help_format="plaintext",
        group_arguments=parameters,
        group_parameters=parameters,
        version_flags=["--version"],
        version=release,
        result_action="return_value",
    )
    running.add(app, desk)
    inspection.add(app)
    decisions.add(app, desk)
    files.add(app)
    housekeeping.add(app)
    interchange.add(app, desk)
    verb.add(app)
    help_pages.arrange(app, name)
    return app


app: Final = build(Desk())
"""The verbs of the command line."""
