"""What a world has of lists: a step for each item, pipelines that share one, and what people change about them.

The steps are added to a workflow behind those it has. Files of items are named for the number of the item: `w/each/@`.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any, Final

from harness.simulator.actors import OUTPUT_MODEL, STEP_CALL
from harness.simulator.behaviours import behaviours
from harness.simulator.isolation import is_apart
from harness.simulator.world import Document

EACH: Final = "each"
"""The step that has a list of its own."""
_FOLLOWERS: Final = ("then", "last")
_TEXTS: Final = ("x", "y", "z", "a b", "w*", "x")
_WHEN: Final = ("{{ index }} > 0", "{{ index }} < 2", "{{ inputs.n }} > 1")
_REQUIRED: Final = ("all", "all", "all", "any", "any", "50%", 1, 2)


def with_items(
    chance: Random, written: Document, known: dict[str, list[Document]], *, is_quiet: bool
) -> None:
    """Add a step with a list, and perhaps some that share it, one that takes what they leave, and one that merges it."""
    is_lenient = written["readiness"] == "lenient"
    source = _source(chance, written, known)
    names = [EACH, *_FOLLOWERS[: chance.choice((0, 0, 1, 1, 2))]]
    others = [step["id"] for step in written["steps"] if step["id"] != source.get("of")]
    for place, name in enumerate(names):
        before = names[place - 1] if place else None
        step = _step(chance, name, before, source, is_quiet=is_quiet)
        if chance.random() < 0.2:
            step["depends_on"] = [*step.get("depends_on", ()), chance.choice(others)]
        written["steps"].append(step)
        if "ask" in step:
            continue
        for who in (name, f"{name}@0", f"{name}@2"):
            if who == name or chance.random() < 0.4:
                known[who] = behaviours(chance, step, is_lenient=is_lenient)
                _writes(chance, step, known[who], is_quiet=is_quiet)
    _behind(chance, written, known, names)


def _source(chance: Random, written: Document, known: dict[str, list[Document]]) -> Document:
    """Where the list comes from; `of`: the step that it is an output of."""
    texts = chance.sample(_TEXTS, chance.randint(0, 5))
    match chance.choice(("list", "input", "input", "input", "mapping", "output", "any")):
        case "list":
            return {"items": texts}
        case "input":
            written["inputs"]["names"] = {"type": "array", "default": texts}
            return {"items": "{{ inputs.names }}"}
        case "mapping":
            default = {text: chance.randint(0, 3) for text in texts}
            written["inputs"]["names"] = {"type": "object", "default": default}
            return {"items": "{{ inputs.names }}", "key": "{{ item.key }}"}
        case "output":
            # What it leaves is a mapping: of each of its keys there is an item.
            step: Document = {"id": "source", "run": ["work", "{{ inputs.n }}"], "timeout": "20s"}
            written["steps"].append({**step, "output": OUTPUT_MODEL})
            known["source"] = [{"lasts": 1.0, "prints": "json"}]
            return {"items": "{{ steps.source.output }}", "of": "source"}
        case _:
            # Perhaps it is no list.
            step = chance.choice(written["steps"])
            return {"items": f"{{{{ steps.{step['id']}.output }}}}", "of": step["id"]}


def _step(
    chance: Random, name: str, leader: str | None, source: Document, *, is_quiet: bool
) -> Document:
    each: Document = {"same_as": leader}
    if leader is None:
        each = {key: source[key] for key in source if key != "of"}
        if "key" not in each and chance.random() < 0.2:
            each["key"] = chance.choice(["{{ item }}", "n{{ index }}"])
    if chance.random() < 0.3:
        each["max_parallel"] = chance.randint(1, 2)
    required = chance.choice(_REQUIRED)
    # What is enough without some of its items does not begin them again: how these end hangs on faults.
    each["require"] = "all" if is_quiet else required
    step: Document = {"id": name, "for_each": each}
    if leader is None and "of" in source:
        step["depends_on"] = [source["of"]]
    given = chance.choice(["{{ item }}", "{{ item }}", "{{ index }}"])
    asked = [given] if leader is None else [given, f"{{{{ steps.{leader}.output }}}}"]
    kind = chance.choice(("run", "run", "run", "call", "task", "ask"))
    if kind == "ask" and not is_quiet:
        step["ask"] = {"question": "Keep {{ item }}?"}
        if chance.random() < 0.5:
            step["timeout"] = "25s"
    elif kind == "call":
        step |= {"call": STEP_CALL, "with": {f"x{n}": text for n, text in enumerate(asked)}}
    elif kind == "task":
        step |= {"task": " ".join(["Think.", *asked]), "agent": "helper"}
        step["workspace"] = chance.choice(["shared", "isolated"])
    else:
        step["run"] = ["work", *asked]
    if chance.random() < 0.2:
        step["when"] = chance.choice(["{{ item }} != 'x'", "{{ index }} > 0", "{{ index }} < 0"])
    if "ask" not in step:
        _policies(chance, step, is_quiet=is_quiet)
    return step


def _policies(chance: Random, step: Document, *, is_quiet: bool) -> None:
    step["timeout"] = chance.choice(["20s", "40s"])
    if "run" in step and chance.random() < 0.4:
        step["workspace"] = "isolated"
    if "call" in step and chance.random() < 0.4:
        step["process"] = True
    own = f"w/{step['id']}"
    if chance.random() < 0.4:
        sets = [f"{own}/**"], [f"{own}/{{{{ item }}}}"], [f"{own}/{{{{ index }}}}/**"], ["c"]
        step["write_set"] = chance.choice(sets)
    if chance.random() < 0.3:
        step["retry"] = {"max_attempts": 2, "delay": chance.choice(["0s", "5s"])}
    if chance.random() < 0.2:
        step["verify"] = [{"command": "check it", "timeout": "4s"}]
    if chance.random() < 0.08:
        step["reuse"] = "never"
    if not is_quiet and chance.random() < 0.2:
        step["rerun"] = "ask"


def _writes(chance: Random, step: Document, known: list[Document], *, is_quiet: bool) -> None:
    if step.get("workspace") != "isolated":
        return
    paths = [f"w/{step['id']}/@"]
    if not is_quiet and chance.random() < 0.2:
        paths.append("c")
    for behaviour in known:
        if chance.random() < 0.8:
            behaviour["writes"] = paths


def _behind(
    chance: Random, written: Document, known: dict[str, list[Document]], names: list[str]
) -> None:
    """What goes on with what items left."""
    steps, last = written["steps"], names[-1]
    apart = _apart(steps, names)
    if apart and chance.random() < 0.5:
        steps.append({"id": "bring", "merge": apart, "depends_on": apart})
    if chance.random() < 0.5:
        text = chance.choice([f"{{{{ steps.{last}.output }}}}", f"{{{{ steps.{last}.summary }}}}"])
        steps.append({"id": "sum", "run": ["work", text], "depends_on": [last], "timeout": "20s"})
        known["sum"] = [{"lasts": 1.0}]
    elif chance.random() < 0.2:
        # A list of what items left: mappings and texts, and null for those that are not ready.
        step = {"id": "again", "for_each": f"{{{{ steps.{last}.output }}}}", "depends_on": [last]}
        steps.append({**step, "run": ["work", "{{ index }}"], "timeout": "20s"})
        known["again"] = [{"lasts": 1.0}]


def _apart(steps: list[Document], names: list[str]) -> list[str]:
    """The steps with folders of their own among these and all before them: a merge brings what each builds on, too."""
    by_name = {step["id"]: step for step in steps}
    before: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in before:
            before.add(name)
            each = by_name[name].get("for_each", {})
            pending += [*by_name[name].get("depends_on", ()), *filter(None, [each.get("same_as")])]
    return [name for name, step in by_name.items() if name in before and is_apart(step)]


def with_other_items(chance: Random, written: Document, acts: list[Document]) -> None:
    """People select items, and give other lists: shorter, longer, in another order."""
    names = [step["id"] for step in written["steps"] if "for_each" in step]
    default = written["inputs"].get("names", {}).get("default")
    for act in acts:
        if act["form"] != "resume":
            continue
        flags = act.get("flags", {})
        for flag in ("from", "only"):
            if flag in flags and "until" not in flags and chance.random() < 0.6:
                act["flags"] = {flag: f"{chance.choice(names)}@{chance.choice((0, 0, 1, 1, 2, 3))}"}
        if default is not None and "inputs" not in act and chance.random() < 0.35:
            texts = chance.sample(_TEXTS, chance.randint(0, 5))
            other = {text: chance.randint(0, 3) for text in texts}
            act["inputs"] = {"names": texts if isinstance(default, list) else other}
        elif "workflow" not in act and chance.random() < 0.25:
            act["workflow"] = _edited(chance, written, chance.choice(names))


def with_restless_items(chance: Random, written: Document, acts: list[Document]) -> None:
    """In one world of two with lists: items come, go, change places and are skipped while people decide on them."""
    default = written["inputs"].get("names", {}).get("default")
    if chance.random() < 0.5 or not default:
        return
    for step in written["steps"]:
        if "for_each" in step and "when" not in step and chance.random() < 0.4:
            step["when"] = chance.choice(_WHEN)
    told: list[Document] = []
    for _ in range(chance.randint(1, 4)):
        for _ in range(chance.choice((0, 1, 1, 2))):
            word: Document = {"form": "record", "gap": 1.0, "pick": chance.randrange(100)}
            word |= {"verdict": chance.choice(["accept", "accept", "reject"]), "value": None}
            told.append({**word, "on": "item", "permit": False})
        act: Document = {"form": "resume", "gap": 1.0, "fresh": chance.random() < 0.3}
        if chance.random() < 0.7:
            act["inputs"] = {"names": _other(chance, default)}
        if chance.random() < 0.3:
            act["inputs"] = {**act.get("inputs", {}), "n": chance.randint(0, 3)}
        if chance.random() < 0.3:
            act["death"] = {"append": chance.randint(1, 25), "how": "after", "bytes": 0}
        if chance.random() < 0.4:
            act["workflow"] = _with_other_when(chance, written)
        told.append(act)
    place = chance.randint(1, len(acts))
    acts[place:place] = told


def _with_other_when(chance: Random, written: Document) -> Document:
    """The workflow after an edit of the condition of each step with a list; it may have none then."""
    found: Document = copy.deepcopy(written)
    for step in found["steps"]:
        if "for_each" in step:
            when = chance.choice([None, *_WHEN])
            step |= {"when": when}
            if when is None:
                del step["when"]
    return found


def _other(chance: Random, now: Any) -> Any:
    """The list as it was, but for its order or for one that is gone, or one more."""
    kept = chance.sample(list(now), max(0, len(now) - chance.choice((0, 0, 1))))
    more = [text for text in _TEXTS if text not in kept]
    if more and chance.random() < 0.3:
        kept.insert(chance.randint(0, len(kept)), chance.choice(more))
    return kept if isinstance(now, list) else {text: now.get(text, 1) for text in kept}


def _edited(chance: Random, written: Document, name: str) -> Document:
    """The workflow after an edit of a step with a list: other work, or another list where that is written."""
    found: Document = copy.deepcopy(written)
    step = next(step for step in found["steps"] if step["id"] == name)
    each = step["for_each"]
    if isinstance(each, dict) and isinstance(each.get("items"), list) and chance.random() < 0.6:
        each["items"] = chance.sample(_TEXTS, chance.randint(0, 5))
    elif "ask" not in step:
        step["env"] = {"EDITED": str(chance.randrange(1000))}
    return found
