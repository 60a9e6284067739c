"""python -m harness.cluster_trials: trials of real clusters, and how many promises broke.

    --trials N [--from K] [--jobs J]   N seeds, J at once
    --seed S                           one seed; its folder stays

Exit code 0 when every promise was kept, 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.cluster_trials.trial import Trial, Verdict


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m harness.cluster_trials")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args(arguments)
    if given.seed is not None:
        verdicts = [_tried(given.seed, Path(tempfile.mkdtemp(prefix="pixirnb-trial-")))]
        sys.stdout.write("".join(f"{said}\n" for said in verdicts[0].breaches))
    else:
        seeds = range(given.start, given.start + given.trials)
        with ThreadPoolExecutor(given.jobs) as pool:
            verdicts = list(pool.map(_in_passing, seeds))
    sys.stdout.write(_figures(verdicts))
    return 1 if any(verdict.breaches for verdict in verdicts) else 0


def _in_passing(seed: int) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="pixirnb-trial-", ignore_cleanup_errors=True) as place:
        verdict = _tried(seed, Path(place))
    if verdict.breaches:
        sys.stderr.write(f"seed {seed}, {', '.join(verdict.failed)}: {verdict.breaches}\n")
    return verdict


def _tried(seed: int, place: Path) -> Verdict:
    return Trial(seed, place).run()


def _figures(verdicts: Sequence[Verdict]) -> str:
    failed = Counter(what for verdict in verdicts for what in verdict.failed)
    broken = Counter(said.partition(":")[0] for each in verdicts for said in each.breaches)
    ends: Counter[str] = sum((each.ends for each in verdicts), Counter())
    lines = [
        f"trials {len(verdicts)} · courses {sum(each.courses for each in verdicts)} · "
        f"attempts begun {sum(each.attempts for each in verdicts)} · breaches {broken.total()}",
        "  failed: " + " · ".join(f"{what} {count}" for what, count in sorted(failed.items())),
        "  courses ended: " + " · ".join(f"{what} {count}" for what, count in sorted(ends.items())),
        *(f"  {word}: {count}" for word, count in sorted(broken.items())),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
