"""The live table of `watch`: drawn in place on a terminal, one line for each change in a pipe."""

from __future__ import annotations

from pixirnb.cli.render import Screen
from pixirnb.verbs.activity import Watch


def watch_run(watch: Watch, screen: Screen) -> None:
    """Show a run until it finishes or pauses."""
    if screen.is_json:
        for _ in watch.changes():
            pass
    elif not screen.out.isatty():
        for lines in watch.changes():
            for line in lines:
                screen.line(line)
    else:
        _draw(watch, screen)


def _draw(watch: Watch, screen: Screen) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=screen.out, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for lines in watch.changes():
            for line in lines:
                console.print(Text(line), soft_wrap=True)
            drawn = "\n".join(screen.drawn(watch.blocks()))
            live.update(Text.from_ansi(drawn, no_wrap=True, overflow="crop"), refresh=True)
