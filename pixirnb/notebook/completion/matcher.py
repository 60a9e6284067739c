"""Registers the completion of our cells with IPython, as one of its matchers (version 2).

Where a cell or line is ours it answers alone, also when it has nothing to offer: Python's names mean nothing in a workflow.
Everywhere else it is silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from pixirnb.json_types import JsonObject
from pixirnb.notebook.completion.commands import MagicCommand, magic
from pixirnb.notebook.completion.complete import complete
from pixirnb.notebook.completion.kernel_context import Neighbourhood
from pixirnb.wording import cut

IDENTIFIER: Final = "pixirnb"
"""Names the matcher in IPython's configuration: `c.IPCompleter.disable_matchers = ["pixirnb"]`."""
_FIRST: Final = 1000.0
"""Priority: before all others, which need not work for nothing."""


_WIDEST: Final = 72
"""Characters of the line on a candidate: what is longer would push it out of the page."""


_UNBROKEN: Final = str.maketrans(
    {" ": "\N{NO-BREAK SPACE}", "-": "\N{NON-BREAKING HYPHEN}", "/": "/\N{WORD JOINER}"}
)


class NothingElse(tuple[SimpleCompletion, ...]):
    """No completions, as an answer: IPython lets a matcher silence the others only if it has some."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[SimpleCompletion]:
        return iter(())


def register(shell: Any) -> None:
    """Complete the cells of this shell; once, however often it is called."""
    forget(shell)
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if matchers is not None:
        matchers.append(_matcher(shell))


def forget(shell: Any) -> None:
    """Complete them no more."""
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if matchers is not None:
        matchers[:] = [
            each for each in matchers if getattr(each, "matcher_identifier", None) != IDENTIFIER
        ]


def _matcher(shell: Any) -> Any:
    @context_matcher(identifier=IDENTIFIER, priority=_FIRST)
    def pixirnb(context: CompletionContext) -> JsonObject:
        above = context.full_text.split("\n")[: context.cursor_line]
        offset = sum(len(row) + 1 for row in above) + context.cursor_position
        world = Neighbourhood(shell.user_ns, shell.user_ns_hidden)
        completions = complete(context.full_text, offset, world, _magics(shell))
        if completions is None:
            return {"completions": [], "suppress": False}
        shown = [
            SimpleCompletion(each.text, type=_on_one_line(each.about))
            for each in completions.candidates
        ]
        return {
            "completions": shown or NothingElse(),
            "matched_fragment": completions.typed,
            "suppress": True,
            "ordered": True,
        }

    return pixirnb


def _on_one_line(about: str) -> str:
    """Return a sentence as a list of candidates can show it: JupyterLab breaks a line wherever it may, over those below."""
    return cut(about, _WIDEST).translate(_UNBROKEN)


def _magics(shell: Any) -> Mapping[str, MagicCommand]:
    """Return our cell magics, as they declare themselves."""
    registered = shell.magics_manager.magics["cell"]
    magics = {name: registered.get(name) for name in ("workflow", "step")}
    return {
        name: magic(getattr(function, "decorators", ()))
        for name, function in magics.items()
        if function is not None
    }
