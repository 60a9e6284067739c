"""A notebook that is only imagined: what surrounds a cell, said in a few lines, for tests of completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pixirnb import load
from pixirnb.notebook.completion.commands import MagicCommand, magic
from pixirnb.notebook.completion.complete import Completions, complete
from pixirnb.notebook.completion.context import Candidate
from pixirnb.notebook.magics import PixirMagics
from pixirnb.spec.workflow import Workflow

CURSOR = "⌖"
RUN = "r-20261121-220344-7f3akq"
OLDER = "r-20261120-220344-7f3akq"
MAGICS: Mapping[str, MagicCommand] = {
    name: magic(getattr(PixirMagics, name).decorators) for name in ("workflow", "step")
}
DEMO = load(
    "{name: demo, inputs: {n: {type: integer, default: 1}}, steps: ["
    "{id: make, run: echo, posture: read_only},"
    "{id: gate, ask: {question: Ship it?}, depends_on: [make]}]}\n"
)
FOLDERS: Mapping[str, Sequence[str]] = {
    "": ("data/", "src/", ".env", "README.md", "flow.yaml"),
    "src/": ("api/", "a.py"),
    "../cloud/": ("lib/", "index.ts"),
}


@dataclass(frozen=True)
class Imagined:
    """Surroundings that answer from a table."""

    folders: Mapping[str, Sequence[str]] = field(default_factory=lambda: FOLDERS)
    folder: str = ""

    def within(self, folder: str) -> Imagined:
        return replace(self, folder=f"{folder}/")

    def workflow_names(self) -> Sequence[str]:
        return ("demo",)

    def workflow(self, name: str) -> Workflow | None:
        return DEMO if name == "demo" else None

    def steps_in(self, name: str) -> Sequence[Candidate]:
        return [Candidate(step.id) for step in DEMO.steps] if name == "demo" else ()

    def runs(self) -> Sequence[Candidate]:
        return (Candidate(RUN, "demo · partial"), Candidate(OLDER, "demo · completed"))

    def steps_of(self, run_id: str) -> Sequence[Candidate]:
        said = (Candidate("make", "checkpoint_ready · shell"), Candidate("gate", "partial · agent"))
        return said if run_id == RUN else ()

    def seams_of(self, run_id: str) -> Sequence[Candidate]:
        return (Candidate("s1", "seam · make and gate"),) if run_id == RUN else ()

    def choices_of(self, run_id: str, step: str) -> Sequence[Candidate]:
        is_known = (run_id, step) == (RUN, "gate")
        return (Candidate("now"), Candidate("'not yet'")) if is_known else ()

    def workflow_of(self, run_id: str) -> Workflow | None:
        return DEMO if run_id == RUN else None

    def checkpoints_of(self, run_id: str) -> Sequence[Candidate]:
        return (Candidate("end"),) if run_id == RUN else ()

    def variables(self) -> Sequence[Candidate]:
        return (Candidate("frame", "DataFrame"), Candidate("names", "list"))

    def functions(self) -> Sequence[Candidate]:
        return (Candidate("score", "Scores a frame."),)

    def entries(self, folder: str) -> Sequence[str]:
        return self.folders.get(self.folder + folder, ())


def completions(cell: str) -> Completions | None:
    """Completions of a cell in which ⌖ stands for the cursor."""
    return complete(cell.replace(CURSOR, "", 1), cell.index(CURSOR), Imagined(), MAGICS)


def offered(cell: str) -> list[str]:
    """What a cell of ours offers at its cursor."""
    found = completions(cell)
    assert found is not None, "this place is ours"
    return [candidate.text for candidate in found.candidates]
