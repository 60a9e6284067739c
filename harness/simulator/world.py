"""A world: everything that will happen from outside, as data. A seed draws one; a shrunk one needs no seed.

Acts follow one another: each begins with what lies between two courses (`gap touch lose_blob fresh`), is of a `form`, and may
hold what happens while its course runs (`ops death full`). What depends on how things stand then (which checkpoint, which
question) is a number that picks among what there is. The keys are listed in docs/internals/simulator.md.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from pixirnb.machine.resume import Selection
from pixirnb.operations.workflow_source import Edit
from pixirnb.planning.report import require
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.workflow import Workflow

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class World:
    """One world. Two that are equal are lived through byte by byte the same."""

    salt: str
    """What chance inside the world is drawn from; the seed's number, as a rule."""
    workflow: Document
    """As its author would write it."""
    behaviours: dict[str, list[Document]]
    """Step to how its attempts go, one by one; the last repeats."""
    inputs: Document = field(default_factory=dict)
    acts: list[Document] = field(default_factory=lambda: [{"form": "start"}])
    is_comparable: bool = False
    """Nobody interferes and nothing depends on when things happen: faults must not change how it ends."""

    def chance(self, purpose: str) -> Random:
        """Chance for one purpose: drawing more for one leaves the others as they were."""
        return Random(f"{self.salt}/{purpose}")

    def calm(self) -> World:
        """The same work with nobody and nothing in its way."""
        return replace(self, acts=[{"form": "start"}])

    def document(self) -> Document:
        """As JSON."""
        return {
            "salt": self.salt,
            "workflow": self.workflow,
            "behaviours": self.behaviours,
            "inputs": self.inputs,
            "acts": self.acts,
            "is_comparable": self.is_comparable,
        }

    def copied(self) -> Document:
        """The document, for someone who will change it."""
        return copy.deepcopy(self.document())

    def text(self) -> str:
        """The document as text."""
        return json.dumps(self.document(), indent=1, ensure_ascii=False)


def world_of(document: Mapping[str, Any]) -> World:
    """The world that a document describes."""
    return World(
        salt=str(document["salt"]),
        workflow=dict(document["workflow"]),
        behaviours=dict(document["behaviours"]),
        inputs=dict(document.get("inputs") or {}),
        acts=list(document["acts"]),
        is_comparable=bool(document.get("is_comparable")),
    )


def shape(act: Document) -> str:
    """What kind of act it is, for counting."""
    flags: Sequence[str] = sorted(act.get("flags") or {})
    edits = [key for key in ("workflow", "inputs") if act.get(key) is not None]
    return " ".join([act["form"], *flags, *edits])


def workflow_of(document: Document) -> Workflow:
    """The workflow of a world, or of an edit. Raises InvalidSpec."""
    return require(load_mapping(dict(document)))


def choice_of(act: Document) -> tuple[Edit, Selection]:
    """What an act edits, and which steps it selects. Raises InvalidSpec."""
    edited, flags = act.get("workflow"), act.get("flags") or {}
    edit = Edit(None if edited is None else workflow_of(edited), act.get("inputs"))
    return edit, Selection(flags.get("from"), flags.get("only"), flags.get("until"))
