"""pixirnb, as a peer of the harness that `beside.py` is given: chains, fan-outs, layered graphs, a resume.

PYTHONPATH=HARNESS python benchmarks/peers/peer_pixirnb.py --rows A,B,C --repeats 5
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from harness import CONCURRENCY, Peer, Trace, main
from pixirnb import api


def traced(i: int, folder: str) -> int:
    """A step of the chain that dies on the way."""
    return Trace(Path(folder)).step(i)


def step(name: str, parents: list[str], **fields: Any) -> dict[str, Any]:
    return {"id": name, "call": "builtins:dict", "depends_on": parents, **fields}


class Pixirnb(Peer):
    name = "pixirnb"
    packages: ClassVar[list[str]] = ["pixirnb"]
    imports = "import pixirnb.api"
    durability = (
        "every step's end is in the run's log and synced before a step that needs it starts"
    )
    concurrency = f"max_concurrency {CONCURRENCY}, threads"

    def setup(self, folder: Path) -> None:
        self.state = folder / "state"
        self.start, self.resume = api.start, api.resume  # loads what they need
        if self.row != "E":
            self.run(folder, [step("a", []), step("b", ["a"])])

    def run(self, folder: Path, steps: list[dict[str, Any]]) -> int:
        spec = {"name": "peer", "max_concurrency": CONCURRENCY, "steps": steps}
        outcome = self.start(self.built(spec), workspace=folder, state=self.state).wait()
        assert outcome.ok, outcome.summary
        return len(steps)

    def chain(self, folder: Path, n: int) -> int:
        return self.run(folder, [step(f"s{i}", [f"s{i - 1}"] if i else []) for i in range(n)])

    def fanout(self, folder: Path, n: int) -> int:
        middle = [f"m{i}" for i in range(n)]
        steps = [step("first", []), *(step(name, ["first"]) for name in middle)]
        return self.run(folder, [*steps, step("last", middle)])

    def layered(self, folder: Path, dag: dict[str, list[str]]) -> int:
        return self.run(folder, [step(name, parents) for name, parents in dag.items()])

    def plan(self, _folder: Path, dag: dict[str, list[str]]) -> None:
        spec = {"name": "peer", "steps": [step(name, parents) for name, parents in dag.items()]}
        assert api.plan(spec).ok

    def crash(self, folder: Path, n: int, _trace: Trace, resume: bool) -> None:
        if resume:
            (run,) = [path.name for path in (self.state / "runs").iterdir()]
            assert self.resume(run, state=self.state).wait().ok
            return
        steps = []
        for i in range(n):
            given = {"i": i, "folder": str(folder)}
            parents = [f"s{i - 1}"] if i else []
            steps.append(step(f"s{i}", parents, call="peer_pixirnb:traced", **{"with": given}))
        self.run(folder, steps)


if __name__ == "__main__":
    main(Pixirnb)
