"""What a world has of files: who works apart and writes what, merge steps, seams, and what people do about all that.

In a quiet world every step writes a file of its own, so that nothing hangs on who came first. In the others they meet.
"""

from __future__ import annotations

from random import Random
from typing import Final

from harness.simulator.files import PATHS
from harness.simulator.world import Document

_NOTES: Final = ("types", "names")
_BUSY: Final = ("a/x", "c")
"""Files that many steps write."""
_MERGE: Final = "land"


def with_files(
    chance: Random, written: Document, known: dict[str, list[Document]], *, is_quiet: bool
) -> None:
    """Have steps work apart, write, merge and declare seams."""
    if chance.random() < 0.2:
        return  # a world as it was before there were any files
    steps = written["steps"]
    for step in steps:
        if "ask" not in step:
            _place(chance, step)
            _writes(chance, step, known[step["id"]], is_quiet=is_quiet)
        if not is_quiet and chance.random() < 0.06:
            step["seams"] = [chance.choice(_NOTES)]
        if not is_quiet and "task" in step and chance.random() < 0.15:
            for behaviour in known[step["id"]]:
                if "report" in behaviour:
                    behaviour["report"] = {**behaviour["report"], "seams": ["the other side"]}
    if chance.random() < 0.5:
        _merge(chance, steps, known, is_quiet=is_quiet)


def _place(chance: Random, step: Document) -> None:
    if ("run" in step and chance.random() < 0.45) or (
        "call" in step and step.get("process") and chance.random() < 0.6
    ):
        step["workspace"] = "isolated"


def is_apart(step: Document) -> bool:
    """Whether a step as written has folders of its own and may change them."""
    if step.get("posture") == "read_only" or step.get("agent") == "reader":
        return False
    if "call" in step and "write_set" not in step:
        return False
    return str(step.get("workspace", "isolated" if "task" in step else "shared")) == "isolated"


def _writes(chance: Random, step: Document, known: list[Document], *, is_quiet: bool) -> None:
    own = f"w/{step['id']}"
    is_alone = is_apart(step)
    if not is_alone and (is_quiet or chance.random() < 0.7):
        return
    paths = [own]
    if not is_quiet:
        paths = chance.sample([own, *PATHS[:3], *_BUSY, *_BUSY], chance.randint(1, 3))
        paths = list(dict.fromkeys(paths))
        paths = [f"-{path}" if path != own and chance.random() < 0.1 else path for path in paths]
    if "write_set" in step:
        kept_to = chance.random() < 0.85
        step["write_set"] = [*step["write_set"], *([own] if kept_to else [])]
        if kept_to and not is_quiet:
            paths = [own, *(path for path in paths if path in step["write_set"] and path != own)]
    elif is_alone and chance.random() < 0.4:
        step["write_set"] = [own, *(path.removeprefix("-") for path in paths if path != own)]
    for behaviour in known:
        if chance.random() < 0.9:
            behaviour["writes"] = paths


def _merge(
    chance: Random, steps: list[Document], known: dict[str, list[Document]], *, is_quiet: bool
) -> None:
    """A step that merges some of what works apart, with all that it builds on; and sometimes one behind it."""
    by_name = {step["id"]: step for step in steps}
    apart = [step["id"] for step in steps if is_apart(step)]
    if not apart:
        return
    wanted = chance.sample(apart, chance.randint(1, len(apart)))
    before: set[str] = set()
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name not in before:
            before.add(name)
            pending += by_name[name].get("depends_on", ())
    merged = [name for name in apart if name in before]
    steps.append({"id": _MERGE, "merge": merged, "depends_on": merged})
    if chance.random() < 0.4:
        step: Document = {"id": "after", "run": ["work"], "depends_on": [_MERGE], "timeout": "20s"}
        step["workspace"] = chance.choice(["isolated", "shared"])
        behaviour: Document = {"lasts": 1.0}
        if step["workspace"] == "isolated":
            behaviour["writes"] = ["w/after"]
        elif not is_quiet:
            behaviour["writes"] = chance.sample(PATHS, 1)
        steps.append(step)
        known["after"] = [behaviour]


def with_merges(chance: Random, acts: list[Document]) -> None:
    """People edit their files, merge, take merges back, and resolve seams: while a run goes on, and between."""
    for act in list(acts):
        if act["form"] == "record":
            continue
        for _ in range(chance.choice((0, 1, 2, 3, 4))):
            op: Document = {"at": round(chance.uniform(0.0, 30.0), 3)}
            op["do"] = chance.choice(("edit", "merge", "merge", "merge", "undo", "resolve"))
            op["pick"] = chance.randrange(100)
            if op["do"] == "edit":
                op["paths"] = chance.sample([*_BUSY, *PATHS[:3]], chance.randint(1, 2))
            if op["do"] == "merge" and op["pick"] % 2:
                op["sides"] = "workspace"
            op["again"] = chance.choice([None, None, "same"])
            act.setdefault("ops", []).append(op)
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        act = {"form": "merge", "gap": 1.0, "run": chance.choice([0, 0, 1])}
        act["pick"] = chance.randrange(100)
        act["undo"] = chance.random() < 0.3
        act["fresh"] = chance.random() < 0.5
        if chance.random() < 0.5:
            act["sides"] = "workspace"
        if chance.random() < 0.3:
            act["touch"] = chance.sample(PATHS, 1)
        place = chance.randint(1, len(acts))
        acts.insert(place, act)
        if not act["undo"] and chance.random() < 0.4:
            acts.insert(place + 1, {"form": "merge", "gap": 1.0, "run": act["run"], "undo": True})


def with_regrets(chance: Random, acts: list[Document]) -> None:
    """A process dies between an end and its verdict, and before another settles it a person takes the last merge back."""
    for place in range(len(acts), 0, -1):
        act = acts[place - 1]
        if act["form"] in {"start", "resume"} and "death" not in act and chance.random() < 0.15:
            act["death"] = {"end": chance.randint(1, 12), "strays": chance.random() < 0.4}
            if chance.random() < 0.7:
                run = act.get("run", 0)
                acts.insert(place, {"form": "merge", "gap": 1.0, "run": run, "undo": True})


def with_clash(chance: Random, written: Document, known: dict[str, list[Document]]) -> None:
    """One step writes a file that another deletes, and a third merges both."""
    sides = {"warm": _BUSY[1], "cold": f"-{_BUSY[1]}"}
    for name, path in sides.items():
        step: Document = {"id": name, "run": ["work"], "workspace": "isolated", "timeout": "20s"}
        written["steps"].append({**step, "write_set": [_BUSY[1], f"w/{name}"]})
        known[name] = [{"lasts": chance.choice([0.5, 2.0]), "writes": [path]}]
    written["steps"].append({"id": "settle", "merge": [*sides], "depends_on": [*sides]})


def with_words(chance: Random, acts: list[Document]) -> None:
    """A person says a word on a conflict and goes on editing: before the attempt after it, and after one that was disturbed."""
    told: list[Document] = [{"form": "resume", "gap": 40.0}]
    for _ in range(2):
        word: Document = {"form": "record", "gap": 1.0, "pick": chance.choice([0, 1, 2, 2])}
        told.append({**word, "verdict": "accept", "value": None, "on": "conflict", "permit": False})
        for disturbs in (chance.random() < 0.6, False):
            act: Document = {"form": "resume", "gap": 1.0, "disturb": disturbs}
            if disturbs or chance.random() < 0.5:
                act["touch"] = list(_BUSY)
            told.append(act)
    place = chance.randint(1, len(acts))
    acts[place:place] = told
