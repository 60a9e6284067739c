"""Completion scripts of shells: what cyclopts generates, and below it what only the program can answer, or else files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from cyclopts import App

Shell = Literal["bash", "zsh", "fish"]
VARIABLE: Final = "_PIXIRNB_COMPLETE"
"""Set to the options that take a value: then the program prints the words that may stand last (see `cli.complete`)."""

_TEMPLATES: Final = Path(__file__).parent / "templates"


def completion_script(app: App, shell: Shell) -> str:
    """Return the script of a shell."""
    script = app.generate_completion(prog_name="pixirnb", shell=shell)
    # Readline completes files better than `compgen -f`: folders get their slash.
    script = script.replace('COMPREPLY=( $(compgen -f -- "${cur}") )', "COMPREPLY=()")
    script = script.replace("complete -F _pixirnb pixirnb\n", "")
    below = (_TEMPLATES / f"completion.{shell}").read_text(encoding="utf-8")
    below = below.replace("@VARIABLE@", VARIABLE).replace("@OPTIONS@", _with_value(app))
    return f"{script.rstrip()}\n\n{below}".rstrip()


def _with_value(app: App) -> str:
    """Return the options that take a value, as the script of bash lists them."""
    script = app.generate_completion(prog_name="pixirnb", shell="bash")  # noqa: S604 - the name of one
    listed = re.search(r"options_with_values='([^']*)'", script)
    return "" if listed is None else listed[1]
