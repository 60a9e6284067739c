"""How long a log takes to read and fold, beside parsing the same lines and doing nothing with them, in one run.

    python benchmarks/bench_history.py [STEPS]

The log is one of 10,000 steps as the engine writes it: scheduled, started, ended and decided for each, 40,002 lines.

* parsed: `pydantic_core.from_json` on each line;
* read and folded: every line checked against the chain, made an event and folded into the state of the run, as `show` and
  every resume do; at most 3 times as long;
* folded: the fold alone, on events that are read already.

As `timeit` does, the collector is off while a clock runs, and the best of several rounds counts.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

from figures import Promise, verdict
from pydantic_core import from_json

from pixirnb.history.codec import GENESIS, decode_lines, encode
from pixirnb.history.events import Event
from pixirnb.history.run_state import fold

ROUNDS = 7
AT = "2026-11-21T22:03:44.123456Z"
DIGEST = "b2:" + "5d" * 16


def events_of(steps: int) -> list[Event]:
    """A run of shell steps, eight at a time, all of them ready."""
    data: list[tuple[str, dict[str, object]]] = [("run_started", _opening(steps))]
    for first in range(0, steps, 8):
        wave = [f"s{number}" for number in range(first, min(first + 8, steps))]
        data += [("step_scheduled", _scheduled(step, first // 8)) for step in wave]
        data += [("attempt_started", {"step": step, "attempt": 1, "pid": 4242}) for step in wave]
        for step in wave:
            data += [("attempt_ended", _ended(step)), ("checkpoint_decided", _decided(step))]
    counts = {"checkpoint_ready": steps}
    ending = {"status": "completed", "reasons": [], "elapsed_ms": 812_345, "counts": counts}
    data.append(("run_finished", ending))
    return [Event(seq, AT, kind, each) for seq, (kind, each) in enumerate(data, start=1)]


def _opening(steps: int) -> dict[str, object]:
    spec = {"name": "bench", "steps": [{"id": f"s{n}", "run": "true"} for n in range(steps)]}
    return {
        "run_id": "r-20261121220344-1f2e3d4c5b6a",
        "workflow": "bench",
        "spec": spec,
        "spec_digest": DIGEST,
        "inputs": {},
        "workspace": "/srv/project",
        "source": "/srv/project/bench.yaml",
        "sources": {},
        "owner": {"host": "laptop", "pid": 4242, "instance": "0f1e2d3c4b5a6978"},
        "pixirnb": "0.1.0",
    }


def _scheduled(step: str, wave: int) -> dict[str, object]:
    return {
        "step": step,
        "attempt": 1,
        "wave": wave,
        "timeout_ms": 1_800_000,
        "workspace": "shared",
        "fingerprint": {"static": DIGEST, "dynamic": DIGEST},
    }


def _ended(step: str) -> dict[str, object]:
    return {
        "step": step,
        "attempt": 1,
        "status": "completed",
        "error": None,
        "elapsed_ms": 12,
        "summary": "all 12 files are as they should be",
        "exit_code": 0,
        "signal": None,
        "output": {"format": "text", "value": "all 12 files are as they should be", "bytes": 34},
        "output_log": {"path": f"output/{step}.1.log", "bytes": 35, "truncated": False},
    }


def _decided(step: str) -> dict[str, object]:
    return {
        "step": step,
        "attempt": 1,
        "status": "checkpoint_ready",
        "subagent_status": "completed",
        "error": None,
        "limitations": [],
        "digest": DIGEST,
    }


def best_of(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Seconds of each, taken in turns so that a busy moment of the machine hits them alike."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            gc.collect()
            gc.disable()
            started = time.perf_counter()
            kept = work()
            best[place] = min(best[place], time.perf_counter() - started)
            gc.enable()
            del kept
    return best


def main(arguments: list[str]) -> int:
    """Measure the three."""
    steps = int(next((word for word in arguments if word.isdigit()), "10000"))
    chain, lines = GENESIS, []
    events = events_of(steps)
    for event in events:
        line, chain = encode(event, chain)
        lines.append(line)
    data = b"".join(lines)
    parse, read, alone = best_of(
        ROUNDS,
        lambda: [from_json(line) for line in lines],
        lambda: fold(decode_lines(data).events),
        lambda: fold(events),
    )
    state = fold(decode_lines(data).events)
    assert len(state.steps) == steps
    assert state.finished
    assert not state.unread
    print(f"log of {steps} steps: {len(lines)} lines, {len(data) / len(lines):.0f} bytes each")
    print(f"parsed only: {parse * 1000:.0f} ms")
    kept = verdict(f"read and folded ({read * 1000:.0f} ms) / parsed", read / parse, Promise(3))
    kept &= verdict(f"folded alone ({alone * 1000:.0f} ms) / parsed", alone / parse, Promise(3))
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
