"""Fingerprints: digests of all that a step's result depends on, which a resume compares. Source: contract.md §6.

Static: the definition of the step. Dynamic: its input. Neither sees descriptions, phases, time-outs, retries, sets, order,
times, ids or summaries that no step refers to, so a change of these repeats no work.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pixirnb.history.bundles import changes, describe_output, has_artifacts, stored_output
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.machine.reference_values import value_of
from pixirnb.planning.items import Lookup, lookup_in
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.steps import PythonStep

_NAMED_REPO: Final = re.compile(r"\brepos\.([A-Za-z0-9_-]+)")
_REPO_VARIABLE: Final = "PIXIRNB_REPO_"
"""Prefix of the variables that name a step's folders."""


def static(step: PlannedStep, sources: dict[str, str]) -> str:
    """Return the digest of the step's definition: kind, payload or pinned source, agent, folder, checks and declared output.

    Of a `for_each`: that of its items, scripts for some of them alone, its list as written, and how many must be ready.
    """
    if step.template is not None:
        each = step.spec.for_each
        of_list = None if each is None else [each.items, each.same_as, each.require]
        item, agent = static(step.template, sources), step.template.agent
        scripts = {} if agent is None else agent.scripts_of_items(step.id)
        return digest(step.kind, {"item": item, "list": of_list, "scripts": scripts})
    written = step.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    seen: JsonObject = {
        key: written[key]
        for key in ("run", "call", "with", "task", "ask", "merge", "cwd", "env", "output")
        if key in written and written[key] != {}
    }
    seen["verify"] = written.get("verify", [])
    seen["artifacts"] = written.get("artifacts", [])
    seen["workspace"] = step.workspace
    if "carry" in written:
        seen["carry"] = written["carry"]
    if isinstance(step.spec, PythonStep):
        seen["source"] = sources.get(step.spec.call)
    functions = {check.python or "" for check in step.spec.verify}
    if not functions.isdisjoint(sources):
        seen["check_sources"] = {name: sources[name] for name in sorted(functions & sources.keys())}
    if step.agent is not None:
        agent = step.agent
        if agent.cwd is not None:
            seen.setdefault("cwd", agent.cwd)
        seen["agent"] = {
            "role": agent.role,
            "runner": agent.runner,
            "model": agent.model,
            "command": agent.model_dump(mode="json")["command"],
            "tools": list(agent.tools),
            "script": agent.script_of(step.id),
        }
    return digest(step.kind, seen)


def dynamic(
    plan: Plan, run: RunState, step: PlannedStep, *, inputs: JsonMapping | None = None
) -> str:
    """Return the digest of the step's present input: its references resolved, and the results of its dependencies.

    Of a `for_each` the results of its items are among these. `inputs`: those to resolve with, where they are not the run's.
    """
    given: dict[str, str | None] = {}
    of_list = _of_list(plan, run, step)
    for dependency in step.depends_on:
        name = plan.steps[dependency].id
        if dependency == step.leader or name in of_list:
            continue  # it counts by the items, one by one
        state = run.steps.get(name)
        given[name] = None if state is None else state.digest
        if plan.steps[dependency].parent == step.index and not _stands(state):
            given[name] = None  # it is none of those whose values are gathered
    known = run.inputs if inputs is None else inputs
    seen_by = lookup_in(plan, step, lambda reference: _seen(run, reference, known))
    # The keys of a list tell items apart, and are no part of them.
    of_values = (each for each in step.list_references if each.source != "item")
    references = step.references if step.template is None else of_values
    resolved = {reference.text: _or_none(seen_by, reference) for reference in references}
    seen: JsonObject = {"dependencies": given, "references": resolved}
    numbers = [plan.steps[item].number for item in plan.items.get(step.index, ())]
    if numbers != sorted(numbers):  # the list has been sorted again, and so are the values
        seen["order"] = numbers
    if step.workspace == "isolated" or step.kind == "merge":
        # Files flow past steps that only read: what its copy begins from is of all before it, not of the last alone.
        files = _changed_before(plan, run, step, of_list)
        if files:
            seen["files"] = files
    return digest("given", seen)


def _stands(state: StepState | None) -> bool:
    """Return whether a step is ready, or was when a resume set it back that has not come to it yet."""
    if state is None or state.stage == "idle":
        return state is not None and state.kept == "checkpoint_ready"
    return state.checkpoint_status == "checkpoint_ready"


def _of_list(plan: Plan, run: RunState, step: PlannedStep) -> set[str]:
    """Return the steps that the list of an item comes from: what the item is counts, and not what else is in the list.

    One with artifacts is none of them: an item may read any of these.
    """
    if step.parent is None:
        return set()
    names = {each.name for each in plan.steps[step.parent].list_references if each.source == "step"}
    return {name for name in names if not has_artifacts(run.steps.get(name))}


def still_holds(step: PlannedStep, lookup: Lookup) -> bool:
    """Return whether a condition on inputs and the item holds: no fingerprint has these. True for any other, and for none."""
    when = step.when
    is_own = when is not None and all(each.source in {"input", "item"} for each in when.references)
    return when is None or not is_own or when.evaluate(lookup)


def admits_more(plan: Plan, run: RunState, step: PlannedStep, inputs: JsonMapping) -> bool:
    """Return whether a `when` that skipped an item of a list may let it in now: somebody edited the `when`.

    Where it names a value that is not loaded, or none, only a `when` that is written as in the last course skips it as before.
    """

    def may_run(item: PlannedStep) -> bool:
        if item.when is None:
            return True
        seen_by = lookup_in(plan, item, lambda reference: value_of(run, reference, inputs=inputs))
        holds = item.when.holds(seen_by)
        return _is_edited(run, step.id, item.when.text) if holds is None else holds

    items = (plan.steps[index] for index in plan.items.get(step.index, ()))
    return any(run.step(item.id).hold == "when" and may_run(item) for item in items)


def _is_edited(run: RunState, name: str, when: str) -> bool:
    return all(each["id"] != name or each.get("when") != when for each in run.spec["steps"])


def has_moved(step: PlannedStep, state: StepState, repos: Mapping[str, str]) -> bool:
    """Return whether a repository that the step uses or names is another folder than it was then: no fingerprint sees that."""
    moved = {name for name in repos.keys() & state.repos.keys() if repos[name] != state.repos[name]}
    if not moved:
        return False
    written = step.spec.model_dump_json()
    if step.agent is not None:
        written += step.agent.model_dump_json()
    used = {root.removeprefix("repos.") for root in step.roots}
    return bool(moved & used.union(_NAMED_REPO.findall(written))) or _REPO_VARIABLE in written


def _changed_before(
    plan: Plan, run: RunState, step: PlannedStep, of_list: set[str]
) -> dict[str, str]:
    """Return the patch of every isolated step before this one, but for dependencies whose digests cover their patches.

    One that is not ready leaves no files to it: a list without items stands between them.
    `of_list`: dependencies whose digests do not count.
    """
    patches: dict[str, str] = {}
    pending = [at for at in step.depends_on if plan.steps[at].id in of_list]
    reached = set(step.depends_on).difference(pending)
    pending += [at for known in reached for at in plan.steps[known].depends_on]
    while pending:
        at = pending.pop()
        if at in reached:
            continue
        reached.add(at)
        pending.extend(plan.steps[at].depends_on)
        state = run.steps.get(plan.steps[at].id)
        if state is not None and state.captured is not None and _stands(state):
            patch = changes(state)["patch"]
            if patch is not None:
                patches[plan.steps[at].id] = patch
    return patches


def of_result(step: StepState) -> str:
    """Return the digest of produced, payload and changes: all that dependents can see of a result."""
    made = describe_output(step)
    payload = None if step.ended is None else step.ended.get("payload")
    schema = None if payload is None else payload.get("schema_id")
    seen = {"produced": made, "schema": schema}
    changed = changes(step)
    if changed["patch"] is not None:
        seen["changes"] = changed["patch"]
    return digest("result", seen)


# `json.dumps` makes an encoder a call; a step has three digests.
_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest(tag: str, value: Any) -> str:
    """Return the digest of plain data, tagged by its kind so that equal data of two kinds never meet."""
    text = _encode(value)
    return "b2:" + hashlib.blake2b(f"{tag}\n{text}".encode(), digest_size=16).hexdigest()


def _or_none(lookup: Lookup, reference: Reference) -> Any:
    try:
        return lookup(reference)
    except LookupError:
        return None


def _seen(run: RunState, reference: Reference, inputs: JsonMapping) -> Any:
    """Return a value as a fingerprint sees it: itself, or the name of the blob it lies in, whether that was loaded or not."""
    if reference.source == "step" and reference.name in run.steps:
        state = run.steps[reference.name]
        if reference.part == "output_path":
            return state.digest
        blob = stored_output(state).get("blob") if reference.part == "output" else None
        if blob is not None:
            return [blob, list(reference.fields)]
    try:
        return value_of(run, reference, inputs=inputs)
    except LookupError:
        return None
