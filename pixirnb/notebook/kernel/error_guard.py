"""The last line of defence of a cell: a bug of ours is one line that says so, never a traceback unasked."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator

from IPython.core.error import UsageError

from pixirnb.errors import InternalError, PixirnbError


@contextlib.contextmanager
def honest() -> Iterator[None]:
    """Let errors meant for the user through; raise InternalError for any other."""
    try:
        yield
    except (PixirnbError, UsageError):
        raise
    except Exception as error:
        if os.environ.get("PIXIRNB_DEBUG"):
            traceback.print_exception(error)
        raise InternalError(
            f"pixirnb failed: {type(error).__name__}: {error}",
            fix="Set PIXIRNB_DEBUG=1 to see where, and please report it. Logs on disk are sound.",
        ) from error
