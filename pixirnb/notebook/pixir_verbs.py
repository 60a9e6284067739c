"""The verbs of `%pixir`: those of the command line, and `forget`, which only a notebook has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from cyclopts import App

from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.kernel.cell_output import CellOutput
from pixirnb.notebook.kernel.front_ends import is_attended
from pixirnb.notebook.kernel.line_args import WAIT_OPTIONS, WAITING_VERBS
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Answer, Desk, Result
from pixirnb.verbs.app import build
from pixirnb.verbs.app import perform as perform_verb
from pixirnb.verbs.verb_list import HOMES

LAUNCHING: Final = frozenset({"run", "resume", "fork", "decide", "approve", "deny"})
"""Verbs after which a run is under way: an interrupt waits until its view is shown."""
_PRINTING: Final = frozenset({"--help", "-h", "--version"})
"""Words after which a text is printed instead of an answer."""
_WIDTH: Final = 88
"""Width of a help page, about that of a cell's output."""


class _Whole(dict[str, Workflow]):
    """Workflows of the notebook for a verb that is to run one, once the words of its line are found to be right."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return a workflow. Raises InvalidSpec if a step of a cell names steps that no cell defines."""
        REGISTRY.draft(name).require_whole()
        return super().get(name, default)


def forget(name: str, /) -> Answer:
    """Remove a workflow and its %%step cells from this notebook's memory; its runs stay.

    Args:
        name: The workflow's name.
    """
    REGISTRY.forget(name)
    return Answer("message", {"ok": True, "message": f"Forgot workflow {name}."})


def build_verbs(*, name: str = "%pixir") -> App:
    """Build the verbs of `%pixir`."""
    verbs = build(name=name, homes={**HOMES, "forget": f"{__name__}:forget"})
    verbs["run"].help = "Start a run of a workflow. The cell returns at once; --wait blocks."
    rows = [
        (f"{option} {value}".rstrip(), about) for option, (value, about) in WAIT_OPTIONS.items()
    ]
    here = "\n".join(f"  {option:<21}{about}" for option, about in rows)
    for verb in WAITING_VERBS:
        page = str(verbs[verb].help_epilogue).replace("--tail", "--tail --wait")
        verbs[verb].help_epilogue = f"In a cell:\n{here}\n\n{page}"
    return verbs


def perform(tokens: Sequence[str], tail: CellOutput, shell: Any) -> Result | None:
    """Return the answer of a verb. Raises InvalidArguments for a line that is refused."""
    desk = Desk(
        _Whole(REGISTRY.workflows),
        REGISTRY.functions,
        lambda is_tailed: (tail.on_news,) if is_tailed else (),
        is_attended=lambda: is_attended(shell),
        is_notebook=True,
    )
    if not _PRINTING.intersection(tokens):
        return perform_verb(desk, tokens, name="%pixir", grammar=build_verbs)
    from rich.console import Console

    page = Console(width=_WIDTH, force_jupyter=False, color_system=None)

    def printing(*, name: str) -> App:
        verbs = build_verbs(name=name)
        verbs.console = page
        return verbs

    with page.capture() as printed:
        result = perform_verb(desk, tokens, name="%pixir", grammar=printing)
    sys.stdout.write(printed.get())
    return result


def with_workspace(tokens: Sequence[str]) -> list[str]:
    """Return the words with the folder that the cell of a workflow names."""
    words = list(tokens)
    if words[:1] in (["run"], ["plan"]) and not any(
        word.startswith(("--workspace", "-C")) for word in words
    ):
        workspace = next(
            (REGISTRY.workspaces[w] for w in words[1:] if w in REGISTRY.workspaces), None
        )
        words += [] if workspace is None else ["--workspace", workspace]
    return words
