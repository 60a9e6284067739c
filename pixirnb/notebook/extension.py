"""`%load_ext pixirnb`: cells, verbs and their completion, and how pixirnb's values and errors are shown."""

from __future__ import annotations

from typing import Any

from pixirnb.notebook import rendering
from pixirnb.notebook.completion import matcher
from pixirnb.notebook.kernel.async_cell import await_waiting
from pixirnb.notebook.kernel.cell_options import accept_bodiless_step
from pixirnb.notebook.live.open_views import forget_runs, show_runs
from pixirnb.notebook.magics import PixirMagics, has_kernel
from pixirnb.views.basics.times import show_times
from pixirnb.wording import local_time


def load_ipython_extension(shell: Any) -> None:
    """Register the magics: called by `%load_ext pixirnb`."""
    show_times(local_time)
    rendering.register(shell)
    if has_kernel(shell):
        show_runs(shell)
    shell.register_magics(PixirMagics(shell))
    shell.magics_manager.register_alias("pixirnb", "pixir", "line")
    matcher.register(shell)
    # A terminal abandons what it awaited when Ctrl-C comes; there the magics block, and end the run themselves.
    for transformer in (accept_bodiless_step, await_waiting)[: 2 if has_kernel(shell) else 1]:
        if transformer not in shell.input_transformers_post:
            shell.input_transformers_post.append(transformer)


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics: called by `%unload_ext pixirnb`. Live runs continue: they belong to the process."""
    rendering.forget(shell)
    matcher.forget(shell)
    forget_runs(shell)
    for transformer in (accept_bodiless_step, await_waiting):
        if transformer in shell.input_transformers_post:
            shell.input_transformers_post.remove(transformer)
    for kind in ("line", "cell"):
        for name in PixirMagics.NAMES:
            shell.magics_manager.magics[kind].pop(name, None)
