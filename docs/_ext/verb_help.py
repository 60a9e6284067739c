"""What `--help` says of every verb, asked of the same grammar that the command line and the cells parse with."""

from __future__ import annotations

import io

from cyclopts import App
from rich.console import Console

from pixirnb.verbs.app import build


def page() -> str:
    """One section a verb, as Markdown."""
    app = build()
    sections = [f"```text\n{_help(())}\n```"]
    sections += [
        f"## {verb}\n\n```text\n{_help((verb,))}\n```" for verb in sorted(first_names(app))
    ]
    return "\n\n".join(sections)


def first_names(app: App) -> list[str]:
    """Return the verbs by their first name: `status` is `show`, and has no section."""
    first = {id(app[name]): name for name in reversed([*app]) if not name.startswith("-")}
    return [*first.values()]


def _help(tokens: tuple[str, ...]) -> str:
    paper = io.StringIO()
    console = Console(file=paper, width=88, color_system=None, legacy_windows=False)
    build().help_print(list(tokens), console=console)
    return "\n".join(line.rstrip() for line in paper.getvalue().strip("\n").splitlines())
