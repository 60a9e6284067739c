"""Which front-end a kernel serves, as far as it can tell, and what that one cannot do.

The live view is proved in JupyterLab and Notebook 7. VS Code and Colab load widgets in ways of their own and hold back what a
background thread says, so there a run is a picture that is redrawn; a cell that waits for its run shows each change.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, Literal

from pixirnb.json_types import JsonMapping

View = Literal["live", "picture"]

CHOICE: Final = "PIXIRNB_VIEW"
"""Set to `live` or `picture`, it decides for every front-end."""

_NOTES: Final = {
    "vscode": "VS Code shows runs as pictures that are redrawn; the live view needs JupyterLab or Notebook 7. "
    "Use --wait to follow a run, or set PIXIRNB_VIEW=live to force the live view.",
    "colab": "Colab redraws the picture of a run only while a cell runs: use --wait or `await run`. "
    "The live view needs JupyterLab or Notebook 7; set PIXIRNB_VIEW=live to force it.",
}


def view_for(shell: Any) -> tuple[View, str]:
    """Return how a run is best shown to a person here, and a sentence on what this front-end cannot do; empty for none."""
    chosen = os.environ.get(CHOICE, "")
    if chosen == "live":
        return "live", ""
    if chosen == "picture":
        return "picture", ""
    name = _front_end(shell)
    return ("picture", _NOTES[name]) if name in _NOTES else ("live", "")


def _front_end(shell: Any) -> str:
    if "COLAB_RELEASE_TAG" in os.environ:
        return "colab"
    # Its Jupyter extension leaves the notebook's path in every kernel it starts or joins.
    if "__vsc_ipynb_file__" in getattr(shell, "user_ns", {}):
        return "vscode"
    return "jupyter"


def is_attended(shell: Any) -> bool:
    """Return whether the current cell was sent by a front-end that could ask a person. False without a kernel."""
    if getattr(shell, "kernel", None) is None:
        return False
    content = _request(shell).get("content")
    return isinstance(content, Mapping) and content.get("allow_stdin") is True


def _request(shell: Any) -> JsonMapping:
    """Return the message that carried the cell; empty if neither shell nor kernel knows it, as in kernels of another make."""
    for keeper in (shell, shell.kernel):
        get_parent = getattr(keeper, "get_parent", None)
        request = get_parent() if callable(get_parent) else None
        if isinstance(request, Mapping) and request:
            return request
    return {}
