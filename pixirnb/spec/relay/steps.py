"""The steps of a relay workflow as steps of ours, its preflight first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from pixirnb.spec.expressions.references import BadReference, parse_references
from pixirnb.spec.relay.agents import Hand, Team
from pixirnb.spec.relay.checks import preflight_checks, read_check
from pixirnb.spec.relay.folders import normal, where
from pixirnb.spec.relay.keys import PREFLIGHT, STEP
from pixirnb.spec.relay.parser import RelayDraft, RelayParser, safe_names
from pixirnb.spec.relay.shell import settle
from pixirnb.spec.relay.templates import CustomSteps, Templates
from pixirnb.spec.source_map import PathParts

TYPES: Final = ("agent", "deterministic", "worktree", "integration", "waitFor")
_UNSUPPORTED: Final = {
    "integration": "external services",
    "waitFor": "external events",
}
_PREFLIGHT_TIMEOUT: Final = "30s"
_TOLERANT: Final = """\
(
{command}
)
code=$?
[ "$code" -eq 0 ] || echo "exited with $code, which this step allows" >&2
exit 0
"""
_WORKTREE: Final = """\
branch={branch}
path={path}
top=$(git -C "$path" rev-parse --show-toplevel 2>/dev/null)
if [ "$top" = "$(cd "$path" 2>/dev/null && pwd -P)" ] && [ -n "$top" ] &&
  [ "$(git -C "$path" symbolic-ref --short HEAD)" = "$branch" ]; then
  echo "$path is there already" >&2
elif git show-ref --verify --quiet "refs/heads/$branch"; then
  git worktree add "$path" "$branch" >&2 || exit 1
else
  {create}
fi
cd "$path" && pwd
"""
_CREATE: Final = 'git worktree add -b "$branch" "$path" {base} >&2 || exit 1'
_REFUSE: Final = 'echo "unknown branch $branch" >&2; exit 1'


class _Step(Struct, frozen=True):
    """One step of the file, its definition put in, and what becomes of it."""

    parts: PathParts
    name: str
    data: Mapping[str, Any]
    defined: frozenset[str]
    """Keys that stand in the definition of a custom step, and not in the file."""
    draft: RelayDraft

    def at(self, key: str) -> PathParts:
        """Return the path of a key in the file."""
        return (*self.parts, "use" if key in self.defined else key)


@dataclass(slots=True)
class Steps:
    """Translator of the steps of one workflow."""

    reading: RelayParser
    team: Team
    custom: CustomSteps
    native: list[dict[str, Any]] = field(default_factory=list)
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Declared because a template wants them."""
    _ids: dict[str, str] = field(default_factory=dict)
    """By the name in the file."""
    _templates: Templates = field(init=False)
    _made: dict[str, str] = field(default_factory=dict)
    """Folders that worktree steps make, to the step's id."""

    def read(self, workflow: Mapping[str, Any], parts: PathParts) -> None:
        """Read preflight and steps into `native`, and the inputs that their templates need."""
        steps = self._named(workflow, parts)
        self._ids = safe_names(name for _, name, _, _ in steps)
        self._templates = Templates(self.reading, self._ids, self.inputs)
        for at, name, data, _ in steps:
            self.reading.renamed((*at, "name"), name, self._ids[name])
            if data.get("type") == "worktree":
                path = data.get("path")
                made = path if isinstance(path, str) else f".worktrees/{name}"
                self._made["/".join(normal(made))] = self._ids[name]
        last = self._preflight(workflow, parts)
        for at, name, data, defined in steps:
            draft = self._begun(self._ids[name], at)
            self._step(_Step(at, name, data, defined, draft))
            if last is not None and not draft.native.get("depends_on"):
                draft.native["depends_on"] = [last]

    def _begun(self, id_: str, parts: PathParts) -> RelayDraft:
        draft = RelayDraft(self.reading, ("steps", len(self.native)), {"id": id_})
        draft.came(at=parts)
        self.native.append(draft.native)
        return draft

    def _named(
        self, workflow: Mapping[str, Any], parts: PathParts
    ) -> list[tuple[PathParts, str, dict[str, Any], frozenset[str]]]:
        """Return the steps that have a name of their own."""
        reading = self.reading
        named: dict[str, tuple[PathParts, str, dict[str, Any], frozenset[str]]] = {}
        for at, item in reading.mappings(workflow, "steps", parts):
            data, defined = self.custom.whole(item, at)
            reading.keys({key: data[key] for key in data if key not in defined}, at, STEP)
            name = reading.needed(data, "name", at)
            if name in named:
                message = f"`{name:.80}` is already used by steps[{named[name][0][-1]}]"
                reading.wrong("duplicate_id", (*at, "name"), message, "rename one of them")
            elif name is not None:
                named[name] = (at, name, data, defined)
        return [*named.values()]

    def _preflight(self, workflow: Mapping[str, Any], parts: PathParts) -> str | None:
        """Make steps of preflight checks, one after the other; return the last one's id."""
        reading = self.reading
        items = [*reading.mappings(workflow, "preflight", parts)]
        names = [f"preflight {number}" for number in range(1, len(items) + 1)]
        safe = safe_names(names, self._ids.values())
        last: str | None = None
        for (at, item), name in zip(items, names, strict=True):
            reading.keys(item, at, PREFLIGHT)
            draft = self._begun(safe[name], at)
            draft.put("description", reading.text(item, "description", at) or None)
            command = reading.needed(item, "command", at) or "true"
            draft.put(
                "run", self._settled(command, (*at, "command"), name, draft), (*at, "command")
            )
            draft.put("timeout", _PREFLIGHT_TIMEOUT)
            draft.put("retry", {"max_attempts": 1})
            checks = preflight_checks(reading, item, at)
            draft.put("verify", [check for check, _ in checks])
            for index, (_, there) in enumerate(checks):
                draft.came("verify", index, at=there)
            draft.put("depends_on", [last] if last is not None else None)
            last = safe[name]
        return last

    def _step(self, step: _Step) -> None:
        reading, data, parts, draft = self.reading, step.data, step.parts, step.draft
        draft.came("id", at=(*parts, "name"))
        draft.put("description", reading.text(data, "description", parts) or None)
        depends_on = dict.fromkeys(reading.texts(data, "dependsOn", parts))
        waits = [self._ids.get(name, name) for name in depends_on]
        draft.put("depends_on", waits, (*parts, "dependsOn"))
        cwd = self.team.folders.folder(data, parts)
        cwd = None if cwd == "." else cwd
        kind = reading.text(data, "type", parts)
        match kind:
            case None if "command" in data and "agent" not in data:
                message = "a step with a `command` needs a `type`: the default is `agent`"
                reading.wrong("missing_key", parts, message, "add `type: deterministic`")
            case None | "agent":
                cwd = self._agent(step, cwd)
            case "deterministic":
                self._deterministic(step, cwd)
            case "worktree":
                self._worktree(step)
            case "integration" | "waitFor":
                message = f"`type: {kind}` ({_UNSUPPORTED[kind]}) is not supported"
                fix = "use a command (`type: deterministic`)"
                reading.wrong("relay_unsupported", step.at("type"), message, fix)
            case "":
                pass
            case _:
                reading.no_choice(step.at("type"), kind, "type of step", TYPES)
        if draft.native.keys().isdisjoint(("run", "task")):
            draft.put(
                "run", "true"
            )  # a step with a mistake: it is looked at further, and never run
        of_policies = (step.at("timeoutMs"), step.at("retries"))
        draft.policies(data, parts, self.team.retry, of_policies)
        check = read_check(reading, data, parts, cwd)
        if check is None:
            return
        at = step.at("verification")
        if isinstance(check.get("command"), str):
            check["command"] = self._settled(check["command"], (*at, "value"), step.name, draft)
        draft.put("verify", [check])
        draft.came("verify", 0, at=at)

    def _agent(self, step: _Step, cwd: str | None) -> str | None:
        """Read task and agent; return the folder its checks look from."""
        reading, data, draft = self.reading, step.data, step.draft
        agent = reading.text(data, "agent", step.parts)
        task = reading.needed(data, "task", step.parts) or "none"
        # One that nobody declares may be a role in a file: the plan looks for it.
        hand = self.team.hands.get(agent or "", Hand(agent or ""))
        whole = f"{hand.preface}\n\n{task}" if hand.preface else task
        draft.put(
            "task", self._templates.native(whole, step.at("task"), step.name), step.at("task")
        )
        draft.put("agent", None if agent is None else hand.name, step.at("agent"))
        draft.put("cwd", cwd, where(data, step.parts))
        if cwd is None and hand.cwd != ".":
            cwd = hand.cwd
        # What it may write: as it says itself, else as its agent may.
        leave = hand.leave
        if data.get("permissions") is not None:
            leave = self.team.permissions.of(data, step.parts, is_step=True)
            draft.put("posture", leave.posture, leave.access_at)
        draft.put("write_set", leave.write_set(cwd), leave.writes_at)
        return cwd

    def _deterministic(self, step: _Step, cwd: str | None) -> None:
        reading, data, draft = self.reading, step.data, step.draft
        command, at = reading.needed(data, "command", step.parts) or "true", step.at("command")
        run = self._settled(command, at, step.name, draft)
        if not reading.flag(data, "failOnError", step.parts):
            run = _TOLERANT.format(command=run.rstrip("\n"))
            message = (
                "the step is ready whatever the exit code is; the last line of its output shows it"
            )
            fix = "remove `failOnError` if a failure matters"
            reading.note("relay_differs", step.at("failOnError"), message, fix)
        if not reading.flag(data, "captureOutput", step.parts):
            message = "`captureOutput: false` is ignored: output is always kept, up to a limit"
            fix = "remove it"
            reading.note("relay_inert", step.at("captureOutput"), message, fix)
        if cwd is not None and any(f"{cwd}/".startswith(f"{made}/") for made in self._made):
            # It comes to be in the run: a plan would miss it.
            run, cwd = f"cd {shlex.quote(cwd)} || exit 1\n{run}", None
        draft.put("run", run, at)
        draft.put("cwd", cwd, where(data, step.parts))

    def _worktree(self, step: _Step) -> None:
        reading, data, parts = self.reading, step.data, step.parts
        texts = {
            "branch": reading.needed(data, "branch", parts) or "none",
            "path": reading.text(data, "path", parts) or f".worktrees/{step.name}",
            "baseBranch": reading.text(data, "baseBranch", parts) or "HEAD",
        }
        is_made = reading.flag(data, "createBranch", parts)
        words = {
            key: _word(self._templates.native(text, step.at(key), step.name))
            for key, text in texts.items()
        }
        create = _CREATE.format(base=words["baseBranch"]) if is_made else _REFUSE
        run = _WORKTREE.format(branch=words["branch"], path=words["path"], create=create)
        step.draft.put("run", run, step.at("branch"))

    def _settled(self, command: str, at: PathParts, name: str, draft: RelayDraft) -> str:
        done = settle(self._templates.native(command, at, name))
        for text, position in done.refused:
            message = f"{text} is {position}, where its value could be read as code"
            fix = f"assign it on a line above, `V={text.replace(' ', '')}`, and pass `$V` as an argument"
            self.reading.wrong("quoted_reference", at, message, fix)
        if done.free:
            message = (
                f"{done.free[0]} is a single argument here; agent-relay inserts it as shell text"
            )
            fix = "to split it, assign it to a variable and use that without quotes"
            self.reading.note("relay_differs", at, message, fix)
        if done.env:
            draft.put("env", {**draft.native.get("env", {}), **done.env})
        return done.script


def _word(text: str) -> str:
    """Return one word of a script: what is written is quoted, references stand free."""
    try:
        references = parse_references(text)
    except BadReference:
        return shlex.quote(text.replace("{{", "{ {"))
    pieces: list[str] = []
    index = 0
    for reference in references:
        literal = text[index : reference.start]
        pieces += [shlex.quote(literal) if literal else "", reference.text]
        index = reference.end
    rest = text[index:]
    return "".join([*pieces, shlex.quote(rest) if rest else ""]) or "''"
