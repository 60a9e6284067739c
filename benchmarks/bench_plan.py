"""How long planning takes, beside what it is measured against, in one run on one machine.

    python benchmarks/bench_plan.py [STEPS] [--strict]

* plan: a dict of 10,000 steps with their own write sets and about 3 dependencies each is validated, analysed (conflicts,
  waves, warnings) and reported by `api.plan`, in at most 2.5 times what networkx needs to build the same graph and sort it
  into generations. The collector stays as Python has it; pixirnb holds it back by itself (see `pixirnb.system.gc_pause`);
* compiled: the same dict becomes a Workflow and a Plan, as a run needs it; here the collector is off for both sides, so
  that nothing but the work itself is compared;
* YAML: the same workflow as text is read in at most 2 times what `yaml.CSafeLoader` needs for the text alone.

Each is taken in turns with its yardstick; the median of the rounds' ratios counts.
"""

from __future__ import annotations

import gc
import random
import resource
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import networkx as nx
import yaml
from figures import Promise, verdict

from pixirnb import api
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import compile_plan
from pixirnb.spec.loader import load_mapping, load_text

ROUNDS = 9


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


def generations(spec: dict[str, Any]) -> object:
    """The least any planner must do: the graph and its levels."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(step["id"] for step in spec["steps"])
    graph.add_edges_from((a, step["id"]) for step in spec["steps"] for a in step["depends_on"])
    return graph, list(nx.topological_generations(graph))


def in_turns(
    rounds: int, ours: Callable[[], object], theirs: Callable[[], object], *, collects: bool
) -> tuple[float, float, float]:
    """Median milliseconds of both, and the median of the rounds' ratios. What they return dies off the clock."""
    spans: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, found in zip((ours, theirs), spans, strict=True):
            gc.collect()
            if not collects:
                gc.disable()
            started = time.perf_counter()
            kept = work()
            found.append((time.perf_counter() - started) * 1000)
            gc.enable()
            del kept
    ratio = median(mine / other for mine, other in zip(*spans, strict=True))
    return median(spans[0]), median(spans[1]), ratio


def main(arguments: list[str]) -> int:
    """Measure the three."""
    count = int(next((word for word in arguments if word.isdigit()), "10000"))
    rounds = ROUNDS if count <= 20_000 else 1
    spec = workflow(count)
    text = as_yaml(spec)

    def compared(name: str, most: float, ours: Callable[[], object], **how: Any) -> bool:
        mine, other, ratio = in_turns(how["rounds"], ours, how["theirs"], collects=how["collects"])
        return verdict(f"{name} ({mine:.0f} ms, {other:.0f} ms)", ratio, Promise(most))

    def least() -> object:
        return generations(spec)

    def compiled() -> object:
        return compile_plan(load_mapping(spec).require(), Environment(), {})

    assert api.plan(spec).ok
    print(f"{count} steps")
    kept = compared(
        "plan / networkx", 2.5, lambda: api.plan(spec), theirs=least, rounds=rounds, collects=True
    )
    kept &= compared(
        "compiled / networkx", 3, compiled, theirs=least, rounds=rounds, collects=False
    )
    kept &= compared(
        "YAML / CSafeLoader",
        2,
        lambda: load_text(text).require(),
        theirs=lambda: yaml.load(text, Loader=yaml.CSafeLoader),
        rounds=min(rounds, 3),
        collects=False,
    )
    loaded = load_mapping(spec).require()
    started = time.perf_counter()
    spec_digest(loaded)
    print(f"its digest, asked for once a run: {(time.perf_counter() - started) * 1000:.0f} ms")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
