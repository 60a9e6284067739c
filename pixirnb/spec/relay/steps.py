"""The steps of a relay workflow as steps of ours, its preflight first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pixirnb.spec.expressions.references import BadReference, parse_references
from pixirnb.spec.relay.agents import Team
from pixirnb.spec.relay.checks import preflight_checks, read_check
from pixirnb.spec.relay.custom_steps import CustomSteps
from pixirnb.spec.relay.folders import Folders, normal
from pixirnb.spec.relay.keys import PREFLIGHT, STEP
from pixirnb.spec.relay.parser import RelayParser, safe_names
from pixirnb.spec.relay.permissions import Permissions, RelayPermission
from pixirnb.spec.relay.shell import settle
from pixirnb.spec.relay.templates import Templates
from pixirnb.spec.source_map import PathParts

TYPES: Final = ("agent", "deterministic", "worktree", "integration", "waitFor")
_UNSUPPORTED: Final = {
    "integration": "an action of a service that its own runner is connected to",
    "waitFor": "an event from outside, which nothing here receives",
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
_REFUSE: Final = 'echo "there is no branch $branch" >&2; exit 1'


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of the file, its definition put in."""

    parts: PathParts
    name: str
    id: str
    said: Mapping[str, Any]
    defined: frozenset[str]
    """Keys that stand in the definition of a custom step, and not in the file."""

    def at(self, key: str) -> PathParts:
        """Where a key stands in the file."""
        return (*self.parts, "use" if key in self.defined else key)


@dataclass(slots=True)
class Steps:
    """Translates the steps of one workflow."""

    reading: RelayParser
    team: Team
    folders: Folders
    permissions: Permissions
    custom: CustomSteps
    retry: Mapping[str, Any]
    """What `errorHandling` says of retries, without a number of attempts."""
    native: list[dict[str, Any]] = field(default_factory=list)
    _made: dict[str, str] = field(default_factory=dict)
    """Folders that worktree steps make, to the step's id."""

    def read(self, workflow: Mapping[str, Any], parts: PathParts) -> Templates:
        """Read preflight and steps into `native`; returns the templates with the inputs they need."""
        found = self._named(workflow, parts)
        ids = {step.name: step.id for step in found}
        templates = Templates(self.reading, ids)
        last = self._preflight(workflow, parts, templates, ids)
        for step in found:
            if step.said.get("type") == "worktree":
                path = step.said.get("path")
                made = path if isinstance(path, str) else f".worktrees/{step.name}"
                self._made["/".join(normal(made))] = step.id
        for step in found:
            native = self._step(step, templates, ids)
            if last is not None and not native.get("depends_on"):
                native["depends_on"] = [last]
            self.native.append(native)
        return templates

    def _named(self, workflow: Mapping[str, Any], parts: PathParts) -> list[_Step]:
        """The steps that have a name of their own, with their ids."""
        reading = self.reading
        raw: list[tuple[PathParts, str, dict[str, Any], frozenset[str]]] = []
        first: dict[str, int] = {}
        for at, item in reading.mappings(workflow, "steps", parts):
            said, defined = self.custom.whole(item, at)
            reading.keys({key: said[key] for key in said if key not in defined}, at, STEP)
            name = reading.needed(said, "name", at)
            place = at[-1]
            assert isinstance(place, int)
            if name is None:
                continue
            if name in first:
                reading.wrong(
                    "duplicate_id",
                    (*at, "name"),
                    f"`{name:.80}` is already the name of steps[{first[name]}]",
                    "give it another name",
                )
                continue
            first[name] = place
            raw.append((at, name, said, defined))
        ids = safe_names(name for _, name, _, _ in raw)
        for at, name, _, _ in raw:
            reading.renamed((*at, "name"), name, ids[name])
        return [_Step(at, name, ids[name], said, defined) for at, name, said, defined in raw]

    def _preflight(
        self,
        workflow: Mapping[str, Any],
        parts: PathParts,
        templates: Templates,
        ids: Mapping[str, str],
    ) -> str | None:
        """Preflight checks as steps, one after the other; returns the last one's id."""
        reading = self.reading
        items = [*reading.mappings(workflow, "preflight", parts)]
        names = [f"preflight {number}" for number in range(1, len(items) + 1)]
        safe = safe_names(names, ids.values())
        last: str | None = None
        for (at, item), name in zip(items, names, strict=True):
            reading.keys(item, at, PREFLIGHT)
            own = ("steps", len(self.native))
            reading.moved[own] = at
            native: dict[str, Any] = {"id": safe[name]}
            description = reading.text(item, "description", at)
            if description:
                native["description"] = description
            command = reading.needed(item, "command", at)
            where = (*at, "command")
            native["run"] = self._settled(command or "true", where, templates, name, native)
            reading.moved[*own, "run"] = where
            native |= {"timeout": _PREFLIGHT_TIMEOUT, "retry": {"max_attempts": 1}}
            checks = preflight_checks(reading, item, at)
            if checks:
                native["verify"] = [check for check, _ in checks]
                for place, (_, where) in enumerate(checks):
                    reading.moved[*own, "verify", place] = where
            if last is not None:
                native["depends_on"] = [last]
            last = safe[name]
            self.native.append(native)
        return last

    def _step(self, step: _Step, templates: Templates, ids: Mapping[str, str]) -> dict[str, Any]:
        reading, said, parts = self.reading, step.said, step.parts
        own: PathParts = ("steps", len(self.native))
        reading.moved[own] = parts
        reading.moved[*own, "id"] = (*parts, "name")
        native: dict[str, Any] = {"id": step.id}
        if description := reading.text(said, "description", parts):
            native["description"] = description
        depends_on = reading.texts(said, "dependsOn", parts)
        if depends_on:
            native["depends_on"] = [ids.get(name, name) for name in dict.fromkeys(depends_on)]
            reading.moved[*own, "depends_on"] = (*parts, "dependsOn")
        cwd = self._cwd(step)
        kind = reading.text(said, "type", parts)
        if kind is None:
            kind = "agent"
            if "command" in said and "agent" not in said:
                reading.wrong(
                    "missing_key",
                    parts,
                    "the step has a `command` and is of type agent, as every step that does not say its type",
                    "add `type: deterministic`",
                )
                kind = ""
        match kind:
            case "agent":
                cwd = self._agent(native, step, own, templates, cwd)
            case "deterministic":
                self._deterministic(native, step, own, templates, cwd)
            case "worktree":
                self._worktree(native, step, own, templates)
            case "integration" | "waitFor":
                reading.wrong(
                    "relay_unsupported",
                    step.at("type"),
                    f"`type: {kind}` stands for {_UNSUPPORTED[kind]}: no step here can do that",
                    "write the step as a command (type deterministic)",
                )
            case "":
                pass
            case _:
                reading.no_choice(step.at("type"), kind, "no type of step", TYPES)
        if "run" not in native and "task" not in native:
            native["run"] = "true"  # a step with a mistake: it is looked at further, and never run
        self._policies(native, step, own, templates, cwd)
        return native

    def _cwd(self, step: _Step) -> str | None:
        cwd = self.folders.folder(step.said, step.parts)
        return None if cwd == "." else cwd

    def _agent(
        self,
        native: dict[str, Any],
        step: _Step,
        own: PathParts,
        templates: Templates,
        cwd: str | None,
    ) -> str | None:
        """Task and agent; returns the folder its checks look from."""
        reading, said, parts = self.reading, step.said, step.parts
        agent = reading.text(said, "agent", parts)
        task = reading.needed(said, "task", parts)
        hand = None if agent is None else self.team.hands.get(agent)
        preface = "" if hand is None or not hand.preface else hand.preface + "\n\n"
        native["task"] = templates.native(preface + (task or "none"), step.at("task"), step.name)
        reading.moved[*own, "task"] = step.at("task")
        if agent is not None:
            # One that nobody declares may be a role in a file: the plan looks for it.
            native["agent"] = agent if hand is None else hand.name
            reading.moved[*own, "agent"] = step.at("agent")
        if cwd is not None:
            native["cwd"] = cwd
            reading.moved[*own, "cwd"] = (*parts, "workdir" if "workdir" in said else "cwd")
        elif hand is not None and hand.cwd != ".":
            cwd = hand.cwd
        self._leave(native, step, own, None if hand is None else hand.leave, cwd)
        return cwd

    def _leave(
        self,
        native: dict[str, Any],
        step: _Step,
        own: PathParts,
        of_agent: RelayPermission | None,
        cwd: str | None,
    ) -> None:
        """What the step may write: as it says itself, else as its agent may."""
        leave = of_agent or RelayPermission()
        if step.said.get("permissions") is not None:
            leave = self.permissions.of(step.said, step.parts, is_step=True)
            if leave.posture is not None:
                native["posture"] = leave.posture
                self.reading.moved[*own, "posture"] = leave.access_at
        if leave.writes:
            native["write_set"] = leave.write_set(cwd)
            self.reading.moved[*own, "write_set"] = leave.writes_at

    def _deterministic(
        self,
        native: dict[str, Any],
        step: _Step,
        own: PathParts,
        templates: Templates,
        cwd: str | None,
    ) -> None:
        reading, said, parts = self.reading, step.said, step.parts
        command = reading.needed(said, "command", parts) or "true"
        where = step.at("command")
        native["run"] = self._settled(command, where, templates, step.name, native)
        reading.moved[*own, "run"] = where
        if not reading.flag(said, "failOnError", parts, default=True):
            native["run"] = _TOLERANT.format(command=native["run"].rstrip("\n"))
            reading.note(
                "relay_differs",
                step.at("failOnError"),
                "whatever this command exits with, the step counts as ready; how it ended is the last line of its output",
                "take `failOnError` out where a failure matters",
            )
        if not reading.flag(said, "captureOutput", parts, default=True):
            reading.note(
                "relay_inert",
                step.at("captureOutput"),
                "`captureOutput: false` changes nothing here: what a step prints is kept, up to a limit",
                "leave it, or take it out",
            )
        if cwd is None:
            return
        if any(cwd == made or cwd.startswith(f"{made}/") for made in self._made):
            # It comes to be in the run: a plan would miss it.
            native["run"] = f"cd {shlex.quote(cwd)} || exit 1\n" + native["run"]
            return
        native["cwd"] = cwd
        reading.moved[*own, "cwd"] = (*parts, "workdir" if "workdir" in said else "cwd")

    def _worktree(
        self, native: dict[str, Any], step: _Step, own: PathParts, templates: Templates
    ) -> None:
        reading, said, parts = self.reading, step.said, step.parts
        branch = reading.needed(said, "branch", parts) or "none"
        path = reading.text(said, "path", parts) or f".worktrees/{step.name}"
        base = reading.text(said, "baseBranch", parts) or "HEAD"
        is_made = reading.flag(said, "createBranch", parts, default=True)
        words = {
            key: _word(templates.native(text, step.at(key), step.name))
            for key, text in (("branch", branch), ("path", path), ("baseBranch", base))
        }
        create = _CREATE.format(base=words["baseBranch"]) if is_made else _REFUSE
        native["run"] = _WORKTREE.format(branch=words["branch"], path=words["path"], create=create)
        reading.moved[*own, "run"] = step.at("branch")

    def _settled(
        self, command: str, at: PathParts, templates: Templates, name: str, native: dict[str, Any]
    ) -> str:
        done = settle(templates.native(command, at, name))
        for text, place in done.refused:
            self.reading.wrong(
                "quoted_reference",
                at,
                f"{text} stands {place}, where its value cannot be kept apart from what is written",
                f"assign it on a line above, as in V={text.replace(' ', '')}, and hand over $V as an argument",
            )
        if done.free:
            self.reading.note(
                "relay_differs",
                at,
                f"{done.free[0]} is one word here, whatever is in it; its own runner pastes the text in",
                "where it is to be parted into words, assign it to a variable and use that without quotes",
            )
        if done.env:
            native["env"] = {**native.get("env", {}), **done.env}
        return done.script

    def _policies(
        self,
        native: dict[str, Any],
        step: _Step,
        own: PathParts,
        templates: Templates,
        cwd: str | None,
    ) -> None:
        """Time-out, retries and check."""
        reading, said, parts = self.reading, step.said, step.parts
        timeout = reading.span(said, "timeoutMs", parts)
        if timeout is not None:
            native["timeout"] = timeout
            reading.moved[*own, "timeout"] = step.at("timeoutMs")
        retries = reading.count(said, "retries", parts)
        if retries is not None:
            native["retry"] = {"max_attempts": retries + 1, **self.retry}
            reading.moved[*own, "retry"] = step.at("retries")
        check = read_check(reading, said, parts, cwd)
        if check is None:
            return
        if isinstance(check.get("command"), str):
            at = (*step.at("verification"), "value")
            check["command"] = self._settled(check["command"], at, templates, step.name, native)
        native["verify"] = [check]
        reading.moved[*own, "verify", 0] = step.at("verification")


def _word(text: str) -> str:
    """One word of a script: what is written is quoted, references stand free."""
    try:
        references = parse_references(text)
    except BadReference:
        return shlex.quote(text.replace("{{", "{ {"))
    pieces: list[str] = []
    place = 0
    for reference in references:
        literal = text[place : reference.start]
        pieces += [shlex.quote(literal) if literal else "", reference.text]
        place = reference.end
    rest = text[place:]
    return "".join([*pieces, shlex.quote(rest) if rest else ""]) or "''"
