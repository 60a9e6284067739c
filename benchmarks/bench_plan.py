"""How long planning takes, beside what it is measured against, in one run on one machine.

    python benchmarks/bench_plan.py [STEPS]

* plan: a dict of 10,000 steps with their own write sets and about 3 dependencies each becomes a Workflow, a report and a
  plan, in at most 3 times what networkx needs to build the same graph and sort it into generations;
* YAML: the same workflow as text is read in at most 2 times what `yaml.CSafeLoader` needs for the text alone.

As `timeit` does, the collector is off while a clock runs, and the best of several rounds counts. Exit code 1 when a
promise is not kept.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import yaml

from pixirnb.planning.analysis import analyse
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.facts import Facts
from pixirnb.planning.report import plan_of, report_of
from pixirnb.spec.loader import load_mapping, load_text

ROUNDS = 7
PLAN_PROMISE = 3.0
YAML_PROMISE = 2.0


def workflow(count: int) -> dict[str, Any]:
    """Each step depends on about three of the 200 before it and writes a folder of its own."""
    dice = random.Random(7)
    steps = []
    for number in range(count):
        before = {dice.randrange(max(0, number - 200), number) for _ in range(3)} if number else ()
        steps.append(
            {
                "id": f"s{number}",
                "run": "true",
                "depends_on": [f"s{other}" for other in sorted(before)],
                "write_set": [f"out/{number}/**"],
            }
        )
    return {"name": "bench", "steps": steps}


def as_yaml(spec: dict[str, Any]) -> str:
    """The workflow as a person would write it."""
    lines = [f"name: {spec['name']}", "steps:"]
    for step in spec["steps"]:
        lines += [
            f"  - id: {step['id']}",
            f'    run: "{step["run"]}"',
            f"    depends_on: [{', '.join(step['depends_on'])}]",
            f'    write_set: ["{step["write_set"][0]}"]',
        ]
    return "\n".join(lines)


def plan(spec: dict[str, Any]) -> None:
    """What a run does before it starts."""
    analysis = analyse(load_mapping(spec).require(), Facts())
    assert report_of(analysis).ok
    plan_of(analysis, {})


def generations(spec: dict[str, Any]) -> None:
    """The least any planner must do: the graph and its levels."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for step in spec["steps"]:
        graph.add_node(step["id"])
        for earlier in step["depends_on"]:
            graph.add_edge(earlier, step["id"])
    list(nx.topological_generations(graph))


def best_of(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Seconds of each, taken in turns so that a busy moment of the machine hits them alike."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            gc.collect()
            gc.disable()
            started = time.perf_counter()
            work()
            best[place] = min(best[place], time.perf_counter() - started)
            gc.enable()
    return best


def told(name: str, ours: float, theirs: float, promise: float) -> bool:
    """Print one comparison; whether the promise is kept."""
    ratio = ours / theirs
    kept = ratio <= promise
    verdict = "kept" if kept else "BROKEN"
    print(
        f"{name}: {ours * 1000:.0f} ms beside {theirs * 1000:.0f} ms, ratio {ratio:.2f} "
        f"(promise {promise:g}: {verdict})"
    )
    return kept


def main() -> int:
    """Measure both promises."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    spec = workflow(count)
    text = as_yaml(spec)
    rounds = ROUNDS if count <= 20_000 else 1
    ours, theirs = best_of(rounds, lambda: plan(spec), lambda: generations(spec))
    is_kept = told(f"plan of {count} steps / networkx", ours, theirs, PLAN_PROMISE)
    loaded = load_mapping(spec).require()
    (hashing,) = best_of(rounds, lambda: spec_digest(loaded))
    print(f"its digest, asked for once a run: {hashing * 1000:.0f} ms")
    ours, theirs = best_of(
        min(rounds, 3),
        lambda: load_text(text).require(),
        lambda: yaml.load(text, Loader=yaml.CSafeLoader),
    )
    is_kept &= told(f"YAML of {count} steps / CSafeLoader", ours, theirs, YAML_PROMISE)
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
