"""What a seed draws: a world, with people and faults in it or with faults alone.

Each part of a world is drawn from a chance of its own, so that a change of one generator leaves the others' draws alone.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Final

from harness.simulator.behaviours import behaviours, with_wishes
from harness.simulator.files import PATHS
from harness.simulator.isolation import (
    with_clash,
    with_files,
    with_merges,
    with_regrets,
    with_words,
)
from harness.simulator.items import with_items, with_other_items, with_restless_items
from harness.simulator.workflows import with_placement, workflow
from harness.simulator.world import Document, World

QUIET: Final = 0.25
"""So many worlds have faults and nobody in them: their end must be that of the same world without faults."""


ITEMS: Final = 0.3
"""So many worlds have steps with lists."""


def world(seed: int) -> World:
    """The world of a seed."""

    def chance(purpose: str) -> Random:
        return Random(f"{seed}/{purpose}")

    is_quiet = chance("kind").random() < QUIET
    written = workflow(chance("workflow"), is_timeless=is_quiet)
    is_lenient = written["readiness"] == "lenient"
    known = {
        step["id"]: found
        for step in written["steps"]
        if (found := behaviours(chance(f"step {step['id']}"), step, is_lenient=is_lenient))
    }
    if not is_quiet:
        for step in written["steps"]:
            if "task" in step:
                with_wishes(chance(f"wishes {step['id']}"), known[step["id"]])
    with_files(chance("files"), written, known, is_quiet=is_quiet)
    lists = chance("items")
    has_items = lists.random() < ITEMS
    if has_items:
        with_items(lists, written, known, is_quiet=is_quiet)
    with_placement(chance("placement"), written)
    words = chance("words")
    has_words = not is_quiet and words.random() < 0.2
    if has_words:
        with_clash(words, written, known)
    drawn = chance("acts")
    inputs = {"n": drawn.randint(0, 3)} if drawn.random() < 0.4 else {}
    edits = chance("edits")
    acts = _quiet_acts(drawn) if is_quiet else _acts(drawn, edits, written, known)
    if not is_quiet:
        _permissions(chance("permissions"), acts)
        with_merges(chance("merges"), acts)
        with_regrets(chance("regrets"), acts)
        _forgeries(chance("forgeries"), acts)
        if has_words:
            with_words(words, acts)
        if has_items:
            with_other_items(lists, written, acts)
            with_restless_items(chance("restless"), written, acts)
    _losses(chance("owners"), acts, is_quiet=is_quiet)
    return World(str(seed), written, known, inputs, acts, is_quiet)


def _losses(chance: Random, acts: list[Document], *, is_quiet: bool) -> None:
    """Locks are removed under live runs, and logs are damaged between two courses."""
    for act in acts:
        if act["form"] not in {"record", "merge"} and chance.random() < 0.12:
            op: Document = {"at": round(chance.uniform(0.0, 15.0), 3), "do": "lose_lock"}
            op["after"] = chance.choice([0.0, 0.1, 0.3, 4.0, None])
            act.setdefault("ops", []).append(op)
        is_plain = act["form"] == "resume" and not ({"flags", "workflow", "inputs"} & act.keys())
        if is_plain and not is_quiet and chance.random() < 0.12:
            act["damage"], act["fresh"] = chance.randrange(100), True


def _forgeries(chance: Random, acts: list[Document]) -> None:
    """Processes below steps, and others that prove nothing, ask for what only a person may."""
    for act in acts:
        if act["form"] == "record" or chance.random() > 0.4:
            continue
        for _ in range(chance.choice((1, 2, 6))):
            op: Document = {"at": round(chance.uniform(0.0, 30.0), 3), "do": "forge"}
            op["verb"] = chance.choice(
                ("decide", "decide", "permit", "merge", "resolve", "cancel", "cancel_step")
            )
            op["sender"] = chance.choice(("own_step", "own_step", "unproven"))
            _word(chance, op)
            act.setdefault("ops", []).append(op)


def _permissions(chance: Random, acts: list[Document]) -> None:
    """Somebody is there, or not, and answers what agents ask, or does not."""
    for act in acts:
        if act["form"] == "record":
            continue
        act["attended"] = chance.random() < 0.6
        for _ in range(chance.choice((0, 1, 3, 5))):
            op: Document = {"at": round(chance.uniform(0.0, 30.0), 3), "do": "permit"}
            op["pick"] = chance.randrange(100)
            op["verdict"] = chance.choice(["accept", "accept", "accept", "reject"])
            op["again"] = chance.choice([None, None, "same"])
            act.setdefault("ops", []).append(op)


def _quiet_acts(chance: Random) -> list[Document]:
    acts: list[Document] = [{"form": "start"}]
    acts += [{"form": "resume", "gap": 2.0} for _ in range(chance.randint(0, 3))]
    for act in acts:
        _faults(chance, act)
        if act["form"] == "resume":
            act["fresh"] = chance.random() < 0.5
            if chance.random() < 0.3:
                act["lose_blob"] = chance.randrange(100)
    return acts


def _acts(
    chance: Random, edits: Random, written: Document, known: dict[str, list[Document]]
) -> list[Document]:
    now = written
    acts: list[Document] = [_under_way(chance, {"form": "start"})]
    for _ in range(chance.randint(0, 4)):
        act: Document = {"form": "resume", "gap": chance.choice([0.5, 5.0, 40.0])}
        act["fresh"] = chance.random() < 0.5
        act["run"] = chance.choice([0, 0, 1])
        if chance.random() < 0.1:
            act["lose_blob"] = chance.randrange(100)
        if chance.random() < 0.25:
            act["touch"] = chance.sample(PATHS, 2)
        match chance.choice(
            (
                "plain",
                "plain",
                "plain",
                "decide",
                "record",
                "flags",
                "flags",
                "edit",
                "edit",
                "fork",
            )
        ):
            case "decide":
                act["form"] = "decide"
                _word(chance, act)
            case "record":
                act["form"] = "record"
                _word(chance, act)
                if chance.random() < 0.3:
                    act["checkpoint"] = f"mark{chance.randrange(3)}"
                act["twice"] = chance.random() < 0.3
            case "flags":
                act["flags"] = _flags(chance, now)
            case "edit":
                if chance.random() < 0.3:
                    act["inputs"] = {"n": chance.randint(0, 3)}
                else:
                    now = act["workflow"] = _edited(edits, now, known)
                if chance.random() < 0.2:
                    act["flags"] = _flags(chance, now)
            case "fork":
                act["form"] = "fork"
                act["pick"] = chance.randrange(100)
            case _:
                pass
        acts.append(act if act["form"] == "record" else _under_way(chance, act))
    return acts


def _word(chance: Random, act: Document) -> None:
    act["pick"] = chance.randrange(100)
    act["verdict"] = chance.choice(["accept", "accept", "reject"])
    act["value"] = chance.choice([None, "v1", {"n": 2}])


def _flags(chance: Random, now: Document) -> Document:
    names = [step["id"] for step in now["steps"]]
    one, other = chance.choice(names), chance.choice(names)
    # A step that does not come after the first is refused: as often as not one that does is named.
    after = [one]
    for name in after:
        found = [step["id"] for step in now["steps"] if name in step.get("depends_on", ())]
        after += [each for each in found if each not in after]
    last = other if names.index(other) % 2 else after[names.index(other) % len(after)]
    return chance.choice(
        [{"from": one}, {"from": one}, {"only": one}, {"until": one}, {"from": one, "until": last}]
    )


def _under_way(chance: Random, act: Document) -> Document:
    """What happens while the course of an act runs."""
    _faults(chance, act)
    ops: list[Document] = []
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        op: Document = {"at": round(chance.uniform(0.0, 30.0), 3)}
        op["do"] = chance.choice(
            ("cancel", "drain", "interrupt", "cancel_step", "cancel_step", "rival")
            + ("decide",) * 5
            + ("checkpoint",) * 2
        )
        op["pick"] = chance.randrange(100)
        if op["do"] in {"cancel", "drain", "interrupt"}:
            op["via"] = chance.choice(["here", "inbox"])
        if op["do"] == "decide":
            _word(chance, op)
            op["again"] = chance.choice([None, None, "same", "other"])
        if op["do"] == "checkpoint":
            op["name"] = f"mark{chance.randrange(3)}"
            op["again"] = "same" if op["pick"] % 3 == 0 else None
        ops.append(op)
    if chance.random() < 0.06:
        at = round(chance.uniform(0.0, 15.0), 3)
        ops.append({"at": at, "do": "disk", "full": True, "torn": chance.choice([0, 40, 700])})
        ops.append({"at": at + chance.choice([0.5, 20.0]), "do": "disk", "full": False})
    if chance.random() < 0.15:
        act["rival"] = True
    if ops:
        act["ops"] = ops
    return act


def _faults(chance: Random, act: Document) -> None:
    if chance.random() < 0.55:
        return
    if chance.random() < 0.5:
        death: Document = {"at": round(chance.uniform(0.0, 25.0), 4)}
    else:
        death = {
            "append": chance.choice([1, 1, 2, 3, chance.randint(1, 25)]),
            "how": chance.choice(["before", "torn", "torn", "after"]),
            "bytes": int(10 ** chance.uniform(0, 3.6)),
        }
    death["strays"] = chance.random() < 0.4
    act["death"] = death


def _edited(chance: Random, now: Document, known: dict[str, list[Document]]) -> Document:
    """The workflow after an edit: some steps changed, or one added, removed, or given another edge."""
    found: Document = copy.deepcopy(now)
    steps = found["steps"]
    some = chance.sample(steps, min(len(steps), chance.randint(1, 4)))
    step = some[0]
    match chance.choice(("change", "change", "add", "remove", "edge", "aside")):
        case "change":
            for each in some:
                each["env"] = {"EDITED": str(chance.randrange(1000))}
        case "add":
            name = f"x{chance.randrange(1000)}"
            if all(other["id"] != name for other in steps):
                steps.append({"id": name, "run": ["work"], "depends_on": [step["id"]]})
                known.setdefault(name, [{"lasts": 1.0}])
        case "remove":
            _remove(found, step["id"])
        case "edge":
            before = [other["id"] for other in steps if other["id"] not in _below(steps, step)]
            if before:
                more = chance.choice(before)
                step["depends_on"] = sorted({*step.get("depends_on", ()), more})
        case _:
            for each in some:
                each["description"] = f"told anew, {chance.randrange(1000)}"
                each["timeout"] = "35s"
    return found


def _remove(found: Document, name: str) -> None:
    """Take a step out, where nobody refers to it and another is left."""
    steps = [step for step in found["steps"] if step["id"] != name and step.get("merge") != [name]]
    is_named = f"steps.{name}." in str(steps) or f"'same_as': '{name}'" in str(steps)
    if is_named or not steps:
        return
    for step in steps:
        if name in step.get("depends_on", ()):
            step["depends_on"] = [other for other in step["depends_on"] if other != name]
        if name in step.get("merge", ()):
            step["merge"] = [other for other in step["merge"] if other != name]
    for phase in found.get("phases", ()):
        phase["steps"] = [other for other in phase["steps"] if other != name]
    found["steps"] = steps


def _below(steps: list[Document], step: Document) -> set[str]:
    """A step and all after it."""
    found = {step["id"]}
    while True:
        more = {s["id"] for s in steps if found & set(s.get("depends_on", ()))} - found
        if not more:
            return found
        found |= more
