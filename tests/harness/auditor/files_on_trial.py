"""The small runs with files that are doctored: isolated steps, merges, conflicts and seams, told by hand."""

from __future__ import annotations

from typing import Any, cast

from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.resume import Selection
from tests.harness.auditor.taped_runs import Tape, begun
from tests.harness.auditor.workflows_on_trial import play, shell, spec, task

READY = {"checkpoint_status": "checkpoint_ready"}
UNLOOKED = {"paths": [], "count": 0, "unchecked": "The disk is gone."}


def apart(name: str, *after: str, **said: Any) -> dict[str, Any]:
    """A step with folders of its own."""
    return shell(name, *after, workspace="isolated", **{"write_set": ["x/**"], **said})


def merging(name: str, *merged: str, after: tuple[str, ...] = ()) -> dict[str, Any]:
    """A merge step."""
    return {"id": name, "merge": list(merged), "depends_on": list(after or merged)}


def changes(*paths: str) -> dict[str, Any]:
    """What an event tells of changes."""
    files = [{"path": path, "change": "modified", "added": 1, "deleted": 0} for path in paths]
    patch = f"patch of {' '.join(paths)}" if paths else None
    return {"patch": patch, "files": files, "count": len(files), "more": None}


def captured(tape: Tape, step: str, *paths: str, **said: Any) -> EventDraft:
    """What an attempt left."""
    built_on = said.get("built_on", [])
    base = f"base of {step}" if built_on else "seen"
    left = f"left by {step}" if paths else base
    root = {"root": ".", "folder": "/w", "method": "git", "seen": "seen", "base": base}
    data = {
        "step": step,
        "attempt": tape.state(step).attempt,
        "roots": [{**root, "left": left}],
        "built_on": built_on,
        "changes": changes(*paths),
    }
    return EventDraft("workspace_captured", cast("Any", {**data, **said}))


def works(tape: Tape, step: str, *paths: str, **said: Any) -> Tape:
    """An isolated step begins, changes files and ends."""
    ended = {key: said.pop(key) for key in ("report", "outside_shared") if key in said}
    begins: Any = {"step": step, "attempt": tape.state(step).attempt, "pid": None}
    told = [EventDraft("attempt_started", begins), captured(tape, step, *paths, **said)]
    tape.record(*told, *tape.ending(step, **ended))
    return tape


def merged(tape: Tape, name: str, *steps: str, step: str | None = None, **said: Any) -> EventDraft:
    """Changes came into the user's files."""
    data = {
        "merge": name,
        "step": step,
        "by": "ada" if step is None else f"step {step}",
        "steps": list(steps),
        "attempts": {each: tape.state(each).attempt for each in steps},
        "roots": [{"root": ".", "folder": "/w", "method": "git", "before": "1", "after": "2"}],
        "changes": changes("x/1"),
        "undoes": None,
        "request_id": None if step is not None else f"r {name}",
    }
    return EventDraft("merge_applied", cast("Any", {**data, **said}))


def clash(tape: Tape, step: str, *steps: str) -> list[EventDraft]:
    """The files of an attempt clash, and it ends as that."""
    attempt = tape.state(step).attempt
    file: dict[str, Any] = {"path": "x/1", "kind": "content", "sides": [], "marked": None}
    between = ["workspace", steps[-1]]
    data: Any = {
        "step": step, "attempt": attempt, "steps": list(steps), "between": between,
        "files": [file], "count": 1, "roots": [{"root": ".", "seen": "t"}],
    }  # fmt: skip
    seam: Any = {
        "id": "s1", "reason": "conflict", "between": [*between, step], "paths": ["x/1"],
        "count": 1, "note": "",
    }  # fmt: skip
    told = [EventDraft("merge_conflicted", data), EventDraft("seam_opened", seam)]
    return [*told, *tape.ending(step, "failed", error="merge_conflict")]


def resolved(name: str, note: str = "They fit.") -> EventDraft:
    """A person's word on a seam."""
    data: Any = {"id": name, "by": "ada", "note": note, "request_id": f"r {name}"}
    return EventDraft("seam_resolved", data)


def flowing() -> Tape:
    """Two work apart, a third builds on both, and a merge step brings all of it back."""
    steps = (
        apart("a"),
        apart("b", write_set=["y/**"]),
        apart("c", "a", "b", write_set=["z/**"]),
        merging("m", "a", "b", "c"),
    )
    tape = begun(spec(*steps))
    works(tape, "a", "x/1")
    works(tape, "b", "y/1")
    works(tape, "c", "z/1", built_on=["a", "b"])
    tape.record(merged(tape, "m1", "a", "b", "c", step="m"), *tape.ending("m"))
    return tape


def waiting() -> Tape:
    """One works apart, and nobody has brought it back; another is at work."""
    tape = begun(spec(apart("a"), shell("b", "a", posture="read_only", read_set=["y/**"])))
    return works(tape, "a", "x/1")


def chained() -> Tape:
    """c builds on a; a person merges both while another is at work."""
    tape = begun(spec(apart("a"), apart("c", "a", write_set=["z/**"]), shell("z")))
    works(tape, "a", "x/1")
    works(tape, "c", "z/1", built_on=["a"])
    tape.record(merged(tape, "m1", "a", "c"))
    return play(tape, "z")


def rested() -> Tape:
    """The same, over."""
    return play(waiting(), "b")


def undone() -> Tape:
    """A person merges while the run goes on, and takes it back."""
    tape = waiting()
    tape.record(merged(tape, "m1", "a"))
    tape.record(merged(tape, "m2", "a", undoes="m1"))
    return play(tape, "b")


def beside_claims() -> Tape:
    """An isolated step writes where it had not claimed to, and a person accepts it."""
    tape = begun(spec(apart("a"), shell("b")))
    works(tape, "a", "x/1", "q", outside={"paths": ["q"], "count": 1})
    tape.decide("a")
    return play(tape, "b")


def touching() -> Tape:
    """A shared step runs while something nobody claims is changed, and an isolated one leaves what is ignored."""
    tape = begun(spec(shell("a", write_set=["x/**"]), apart("b", write_set=["y/**"])))
    tape.end("a", outside={"paths": ["q"], "count": 1})
    return works(tape, "b", "y/1", left_behind={"paths": ["y/.env"], "count": 1})


def unlooked() -> Tape:
    """Nobody could look what changed beside the claims of a; b is an agent that says such a thing of itself."""
    tape = begun(spec(shell("a", write_set=["x/**"]), task("b")))
    tape.end("a", outside=UNLOOKED)
    tape.end("b", report={**READY, "limitations": ["writes_not_checked: Mine."]})
    return tape


def clashing() -> Tape:
    """The files of c clash; a person solves it, and c goes on."""
    steps = (apart("a"), apart("c", "a", write_set=["z/**"]), shell("z"))
    tape = works(begun(spec(*steps)), "a", "x/1")
    tape.record(*clash(tape, "c", "a"))
    tape.decide("c")
    works(tape, "c", "z/1", built_on=["a"])
    return play(tape, "z")


def disturbed() -> Tape:
    """The files of a merge step clash; the attempt after a person's word meets something else, and a later one merges."""
    tape = works(begun(spec(apart("a"), merging("m", "a"), shell("z"))), "a", "x/1")
    tape.record(*clash(tape, "m", "a"))
    tape.decide("m")
    tape.end("m", "failed", error="merge_disturbed")
    tape = play(tape, "z").resume()
    told = merged(tape, "m.3", "a", step="m", solved=[])
    return tape.record(told, *tape.ending("m"))


def stuck() -> Tape:
    """The same, before anybody has solved it."""
    steps = (apart("a"), apart("c", "a", write_set=["z/**"]))
    tape = works(begun(spec(*steps)), "a", "x/1")
    return tape.record(*clash(tape, "c", "a"))


def meeting() -> Tape:
    """Two steps change one file; a person says that it fits."""
    tape = begun(spec(apart("a"), apart("b"), shell("z")))
    works(tape, "a", "x/1")
    works(tape, "b", "x/1", "x/2")
    tape.record(resolved("s1"))
    return play(tape, "z")


def open_seam() -> Tape:
    """The same, and nobody says so."""
    tape = begun(spec(apart("a"), apart("b")))
    works(tape, "a", "x/1")
    return works(tape, "b", "x/1", "x/2")


def declaring() -> Tape:
    """a declares a seam, an agent reports another; b names the first and is ready."""
    steps = (shell("a", seams=["types"]), shell("b", "a", seams=["types"]), task("t"))
    tape = begun(spec(*steps))
    tape.end("t", report={**READY, "seams": ["the cloud side"]})
    play(tape, "a", "b")
    return tape.resume(Selection(is_decision=True), facts=[resolved("s1")])
