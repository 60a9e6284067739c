"""Help pages: verbs in groups and in a useful order, each with examples and exit codes, drawn in two columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from cyclopts import App, Group

from pixirnb.verbs.verb_list import HOMES, VERBS

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

_WORDS: Final = {
    "STR": "TEXT",
    "STR...": "TEXT",
    "INT": "N",
    "STEPS": "STEP…",
    "NAMES": "NAME…",
    "RUNS": "RUN…",
}
"""Names of arguments and of types to what a page calls them."""


ABOUT: Final = "Run workflows step by step, and resume them without repeating finished steps."
_FIRST: Final[Mapping[str, str]] = {
    "init": "write a commented workflow that runs as it is",
    "plan workflow.yaml": "show what a run would do",
    "run workflow.yaml": "run it",
    "show": "show the newest run",
    "logs @last STEP": "print the output of a step",
    "resume @last": "continue the newest run",
}
"""The verbs of a first session to what they do."""

_CODES: Final = (
    "0 completed, 1 partial, 2 invalid workflow or usage, 3 failed or timed out,"
    " 4 needs a decision, 5 cannot be done, 130 interrupted"
)
_SHOWN: Final = "0 shown, 2 invalid usage, 5 cannot be done"
_DONE: Final = "0 done, 2 invalid usage, 5 cannot be done"
_EXITS: Final[Mapping[str, str]] = {
    "plan": "0 the workflow can run, 2 it has errors",
    "doctor": "0 no problems, 1 warnings, 2 invalid usage, 5 blocked",
    "merge": "0 merged or nothing to merge, 2 invalid usage, 4 conflict, 5 cannot be done now",
    "smoke": "0 all proven or the code of the worst run",
    "convert": "0 converted, 2 the workflow has errors",
    **dict.fromkeys(("show", "runs", "logs", "events", "diff", "compare"), _SHOWN),
    **dict.fromkeys(("cancel", "checkpoint", "export", "prune", "mcp"), _DONE),
    **dict.fromkeys(("init", "examples", "schema", "completion", "forget"), _DONE),
}
"""Exit codes of verbs whose codes are not those of a run."""


def add_verbs(app: App, name: str, homes: Mapping[str, str] = HOMES) -> None:
    """Register the verbs on an `app` that a surface calls `name`, in groups, each with its page. `homes`: verb to function."""
    for flag in ("--help", "--version"):
        app[flag].show = False
    app.help_formatter = _Page(lambda: f"{name} VERB [ARGUMENTS]")
    app.help_epilogue = (
        f"`{name} VERB --help` shows the options and examples of a verb.\n\n{_exits(_CODES)}"
    )
    for number, (title, verbs) in enumerate(VERBS.items()):
        group = Group(title, sort_key=number)
        for position, (verb, about) in enumerate(verbs.items()):
            if verb not in homes:
                continue
            lines = "\n".join(f"  {name} {example}" for example in about.examples)
            app.command(
                homes[verb],
                name=verb,
                alias=about.aliases,
                help=about.summary,
                group=group,
                sort_key=position,
                help_formatter=_Page(partial(_usage, app, name, verb)),
                help_epilogue=f"Examples:\n{lines}\n\n{_exits(_EXITS.get(verb, _CODES))}",
            )


def _exits(codes: str) -> str:
    """Return the exit codes, a line each: none is so long that a narrow terminal wraps it."""
    rows = [code.split(" ", 1) for code in codes.split(", ")]
    return "\n".join(["Exit codes:", *(f"  {code:<5}{meaning}" for code, meaning in rows)])


def overview(name: str) -> str:
    """Return the short help: the verbs of a first session, and where all the others are."""
    lines = "\n".join(f"  {f'{name} {words}':<32}{about}" for words, about in _FIRST.items())
    return (
        f"{ABOUT}\n\n{lines}\n\n"
        f"`{name} --help` lists all verbs; `{name} VERB --help` shows the options of a verb."
    )


def _usage(app: App, name: str, verb: str) -> str:
    return usage_of(name, verb, app[verb])


def usage_of(name: str, verb: str, app: App) -> str:
    """Return the usage of a verb with its arguments: `pixirnb show [RUN] [STEP]`."""
    words = []
    for argument in app.assemble_argument_collection():
        if argument.field_info.is_positional:
            word = argument.name.lstrip("-").upper()
            word = _WORDS.get(word, word)
            words.append(word if argument.required else f"[{word}]")
    return " ".join([name, verb, *words])


class _Page:
    """The drawing of a help page: usage, description, then two columns for verbs, arguments and options."""

    def __init__(self, usage: Callable[[], str]) -> None:
        self.usage = usage

    def render_usage(self, console: Console, options: ConsoleOptions, usage: object) -> None:
        """Print the usage, with the names of the arguments."""
        del options, usage
        console.print(
            f"Usage: {self.usage()} [OPTIONS]", style="bold", soft_wrap=True, markup=False
        )

    def render_description(self, console: Console, options: ConsoleOptions, text: Any) -> None:
        """Print the purpose of the verb."""
        del options
        console.print(f"\n{_plain(text)}", markup=False, highlight=False)

    def __call__(self, console: Console, options: ConsoleOptions, panel: Any) -> None:
        """Print the verbs of a group, or the arguments and options of a verb."""
        del options
        entries = list(panel.entries)
        if panel.format == "command":
            _columns(console, panel.title, entries)
        else:
            _columns(console, "Arguments", [e for e in entries if e.positional_label])
            _columns(console, "Options", [e for e in entries if not e.positional_label])


def _columns(console: Console, title: str, entries: list[Any]) -> None:
    """Print a title, and below it names and descriptions; lines end with their last letter, not with spaces."""
    from rich.text import Text

    if not entries:
        return
    width = max(len(_label(entry)) for entry in entries) + 4
    console.print(Text(f"\n{title}:", style="bold"))
    for entry in entries:
        about = _about(entry).wrap(console, max(20, console.width - width))
        for label, line in zip_longest([f"  {_label(entry)}"], about, fillvalue=""):
            row = Text.assemble((str(label).ljust(width), "cyan"), line)
            row.rstrip()
            console.print(row, soft_wrap=True)


def _label(entry: Any) -> str:
    """Return `RUN`, `--follow, -f`, `--to PATH`, or a verb with its aliases."""
    if entry.positional_label:
        return _WORDS.get(entry.positional_label, str(entry.positional_label))
    names = ", ".join((*entry.positive_shorts, *entry.positive_names))
    return f"{names} {_WORDS.get(entry.metavar, entry.metavar)}" if entry.metavar else names


def _about(entry: Any) -> Text:
    """Return the description, with choices and a default that is worth knowing."""
    from rich.text import Text

    text = Text(_plain(entry.description))
    if entry.choices:
        text.append(f" [{', '.join(entry.choices)}]", style="dim")
    if entry.default not in {None, "False", ""}:
        text.append(f" [default: {entry.default}]", style="dim")
    return text


def _plain(described: Any) -> str:
    """Return the text of a description of cyclopts."""
    return (
        ""
        if described is None
        else str(getattr(described, "primary_renderable", described)).strip()
    )
