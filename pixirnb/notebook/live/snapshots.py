"""Snapshots of a run for its view: the history so far, and moments of it, without reading the log for every question.

    SnapshotReader.at(run, seq) ──▶ Seen: the moment, who drove the run then, what is wrong with the log
    Seen.output(…)            the end of what an attempt printed
    Seen.value(…)             what a step left

Belongs to one thread at a time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from pixirnb import value_codec
from pixirnb.engine.step_outputs import Outputs
from pixirnb.errors import InvalidArguments, PixirnbError
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import Event, StoredValue
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonMapping, PageObject
from pixirnb.machine.outcome import RunOutcome, outcome
from pixirnb.notebook.live.event_source import driver
from pixirnb.notebook.live.value_previews import rich_preview
from pixirnb.operations.resume_plan import written_plan
from pixirnb.operations.run import Run
from pixirnb.operations.run_summary import read_started, require_beginning
from pixirnb.planning.plan import Plan
from pixirnb.store.private_files import open_private, unusable
from pixirnb.views.basics.ansi import LIMIT, render_ansi
from pixirnb.views.basics.sanitize import line
from pixirnb.views.live.attempt_history import Replay, StateAt
from pixirnb.views.live.value_preview import stored_preview

UNASKED: Final = 16 * 1024 * 1024
"""Bytes of plain data that are read without a click."""
LOADED: Final = 256 * 1024 * 1024
"""Bytes that are read with one."""
LOADED_OUTPUT: Final = 256 * 1024
"""Bytes of an output log that are read with one."""
_NEEDS_CODE: Final = "pickle"
_TAIL: Final = 4096


class RunSnapshot(Struct, frozen=True):
    """A run at one moment, as far as the disk tells."""

    run: Run
    moment: StateAt
    events: Sequence[Event]
    live: str
    """Location of its driver: `here`, `elsewhere`, or empty for none."""
    damage: str
    """Damage of the log; empty for a sound one and for a past that lies before the damage."""

    @property
    def is_live(self) -> bool:
        """True if it was driven at that moment. In the past, this is known by the end that was written, or not."""
        return self.moment.run.finished is None if self.moment.is_past else bool(self.live)

    def outcome(self) -> RunOutcome:
        """Return how the run stood."""
        if not self.moment.is_past:
            return self.run.outcome
        return outcome(self.moment.plan, self.moment.run, is_live=self.is_live)

    def plan_with(self, step: str) -> Plan:
        """Return the plan that has the step: that of the moment, else that of now. Raises InvalidArguments."""
        if step in self.moment.plan.index:
            return self.moment.plan
        plan = self.run.compiled()
        if step not in plan.index:
            raise InvalidArguments(
                f"unknown step `{line(step, 80)}` in {self.run.id}",
                fix="use one of: " + ", ".join(list(plan.index)[:6]),
                code="unknown_step",
            )
        return plan

    def output(self, step: str, attempt: int | None, *, load: bool = False) -> PageObject:
        """Return the end of what an attempt printed, by default the last; more of it with `load`.

        Raises InvalidArguments, StateUnusable.
        """
        self.plan_with(step)
        state = self.moment.run.steps.get(step) or StepState()
        number = state.attempt if attempt is None else attempt
        is_open = number == state.attempt and state.stage in {"scheduled", "running"}
        shown: PageObject = {"step": step, "attempt": number, "is_running": is_open}
        if number < 1 or number > state.attempt:
            nothing = "No attempt yet." if number < 1 else "This attempt had not started."
            empty = {"segments": [], "bytes": 0, "shown": 0, "cut": 0}
            return {**shown, **empty, "sentence": nothing, "path": "", "can_load": False}
        name, limit = attempt_name(step, number), LOADED_OUTPUT if load else LIMIT
        tail, size = self._tail(name, limit)
        seen = render_ansi(tail.decode("utf-8", errors="replace"), limit)
        made = [each for each in self.moment.attempts.of(step) if each.attempt == number]
        ended = made[-1].ended if made else None
        log: JsonMapping = {} if ended is None else {**(ended.get("output_log") or {})}
        if not size:
            sentence = "No output yet." if is_open else "No output."
        elif is_open and self.moment.is_past:
            sentence = "Output as of now: the log does not record when each line was printed."
        else:
            sentence = (
                "The middle of the output was too long to keep."
                if log.get("truncated") is True
                else ""
            )
        return {
            **shown,
            "segments": [list(segment) for segment in seen.segments],
            "bytes": size,
            "shown": len(tail),
            "cut": size - len(tail),
            "sentence": sentence,
            "path": str(self._log_path(name)),
            "can_load": len(tail) < size and not load,
        }

    def printed(self, step: str) -> str:
        """Return the last that the step's last attempt printed, if that is not ready; empty where nothing can be read."""
        state = self.moment.run.steps.get(step) or StepState()
        if state.ended is None or state.checkpoint_status == "checkpoint_ready":
            return ""
        try:
            return self._tail(attempt_name(step, state.attempt), _TAIL)[0].decode(
                "utf-8", "replace"
            )
        except PixirnbError:
            return ""  # the panel says how the step stands, also where its folder is gone

    def value(self, step: str, *, load: bool) -> PageObject:
        """Return a preview of what a step left. `load`: a person asked for it, whatever it takes. Raises as `Run.value`."""
        self.plan_with(step)
        state = self.moment.run.steps.get(step) or StepState()
        stored = stored_output(state)
        known = stored_preview(stored)
        if "blob" not in stored:
            return known
        size = stored.get("bytes", 0)
        limit = LOADED if load else UNASKED
        if size > limit or "printed" in stored:
            message = f"Too large to show here. Read it in a cell: run.value({step!r})."
            if "printed" in stored:
                message = f"Too large to show here. File: {self._blob_path(stored)}"
            return {
                **known,
                "can_load": not load and size <= LOADED and "printed" not in stored,
                "sentence": message,
            }
        if stored["format"] == _NEEDS_CODE and not load:
            return {**known, "can_load": self._is_ours(stored)}
        preview = rich_preview(
            Outputs(self.moment.run, self.run.store.blobs(self.run.id)).value(state)
        )
        return {**preview, "bytes": size, "type": preview["type"] or known["type"]}

    def _blob_path(self, stored: StoredValue) -> str:
        path = self.run.store.blobs(self.run.id).path(stored["blob"])
        return "missing" if path is None else str(path)

    def _is_ours(self, stored: StoredValue) -> bool:
        key = value_codec.known_key()
        if key is None:
            return False
        data = self.run.store.blobs(self.run.id).get(stored["blob"])
        return value_codec.is_trusted(stored, data, key)

    def _log_path(self, name: str) -> Path:
        return self.run.folder / "output" / f"{name}.log"

    def _tail(self, name: str, limit: int) -> tuple[bytes, int]:
        """Return the last bytes of an output log, and how many there are in all; nothing where there is no file."""
        path = self._log_path(name)
        try:
            with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
                size = file.seek(0, os.SEEK_END)
                begin = max(0, size - limit)
                file.seek(begin)
                tail = file.read(limit)
                return (_whole_lines(tail) if begin else tail), size
        except FileNotFoundError:
            return b"", 0
        except OSError as error:
            raise unusable(path, error) from error


class SnapshotReader(Struct, eq=False):
    """Part of one run that was read so far."""

    _events: Sequence[Event] = ()
    _replay: Replay = field(default_factory=lambda: Replay(written_plan))
    _mark: tuple[int, int, int] | None = None
    """Inode, size and change of the log as it was read."""
    _damage: str = ""

    def at(self, run: Run, seq: int | None) -> RunSnapshot:
        """Return the run when the event `seq` had been recorded, or as it is now. Raises UnknownRun, LogDamaged, StateUnusable.

        The past is answered from what was read before, though the folder may be gone by now.
        """
        if seq is not None and seq < len(self._events):
            return RunSnapshot(run, self._replay.at(self._events, seq), self._events, "", "")
        live = self._refresh(run)
        require_beginning(run.id, self._events)
        moment = self._replay.at(self._events, seq)
        return RunSnapshot(run, moment, self._events, live, "" if moment.is_past else self._damage)

    def _refresh(self, run: Run) -> str:
        """Read what is new; who drives the run."""
        if (live := run.live_here()) is not None:
            self._take(live.ask(lambda scheduler: list(scheduler.durable)))
            self._mark, self._damage = None, ""
            return "here"
        mark = _log_mark(run)
        if mark is None or mark != self._mark:
            reading = read_started(run.store, run.id)
            self._take(reading.events)
            self._damage = "" if reading.damage is None else reading.damage.message
            self._mark = mark
        return driver(run)

    def _take(self, events: Sequence[Event]) -> None:
        """Take a longer history of this run; of another one (a folder put in its place) all that was known is dropped."""
        shared = min(len(events), len(self._events))
        if shared and events[shared - 1] != self._events[shared - 1]:
            self._replay.forget()
        self._events = events


def _whole_lines(tail: bytes) -> bytes:
    """Return what follows the first line break, where one begins soon: half a letter or half a colour would be read as text."""
    line = tail.find(b"\n", 0, 4096) + 1
    return tail[line:] if line else tail.lstrip(bytes(range(0x80, 0xC0)))


def _log_mark(run: Run) -> tuple[int, int, int] | None:
    try:
        status = (run.folder / "log.jsonl").stat()
    except (OSError, PixirnbError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
