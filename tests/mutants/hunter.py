"""Lives through seeds with whatever pixirnb is first on the path, and tells of each that broke a promise.

    python hunter.py FROM TO     one line of JSON for each such seed: [seed, [rule, …]]

Run by `plant.py` in a folder with a copy of the package that has a bug in it: a seed may also raise, or go on for ever.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType

import pixirnb
from harness.simulator import campaign

PATIENCE_S = 30
"""Of real time: a world takes a tenth of a second."""


class TooLongError(BaseException):
    """Raised into a seed that does not end; no `except Exception` of the engine takes it for its own."""


def main(first: int, behind: int) -> None:
    """Tell of every seed from `first` up to `behind` that broke something."""
    if not Path(pixirnb.__file__).is_relative_to(Path.cwd()):
        sys.exit(f"{pixirnb.__file__} is not the copy with the bug in it")
    signal.signal(signal.SIGALRM, _out_of_patience)
    for seed in range(first, behind):
        signal.alarm(PATIENCE_S)
        broken = _broken(seed)
        signal.alarm(0)
        if broken:
            sys.stdout.write(json.dumps([seed, broken]) + "\n")
            sys.stdout.flush()


def _broken(seed: int) -> list[str]:
    try:
        return [rule for failure in campaign.simulate([seed]).failures for rule in failure.rules]
    except TooLongError:
        return ["course_ends"]
    except Exception as error:  # noqa: BLE001 - a bug may raise anything, and that is how it was caught
        return [f"raises {type(error).__name__}"]


def _out_of_patience(_signal: int, _frame: FrameType | None) -> None:
    raise TooLongError


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
