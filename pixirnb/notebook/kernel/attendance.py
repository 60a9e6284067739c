"""Whether a person may be watching: a cell sent by a front-end that could ask somebody something, or by a program.

Every request to run a cell says whether its sender could put a question to a person (`allow_stdin`). JupyterLab and Notebook
say yes; nbclient, and papermill, `jupyter execute`, nbconvert and nbval with it, say no. A program that says yes gets what a
person gets; a request that says nothing is taken for a program's, as the protocol has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixirnb.json_types import JsonMapping


def is_attended(shell: Any) -> bool:
    """Whether the cell that runs now was sent by a front-end that could ask a person. False where there is no kernel."""
    if getattr(shell, "kernel", None) is None:
        return False
    content = _request(shell).get("content")
    return isinstance(content, Mapping) and content.get("allow_stdin") is True


def _request(shell: Any) -> JsonMapping:
    """The message that carried the cell; empty where neither shell nor kernel knows it, as in kernels of another make."""
    for keeper in (shell, shell.kernel):
        told = getattr(keeper, "get_parent", None)
        request = told() if callable(told) else None
        if isinstance(request, Mapping) and request:
            return request
    return {}
