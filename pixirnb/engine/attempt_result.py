"""The result of an attempt: the message of its end, its report as a log can hold it, its declared output, and its value.

The messages for stops stand in one place, for the log of the run and that of the session. Source: contract.md §1, §4.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from typing import Any, BinaryIO, Final

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import from_json

from pixirnb import value_codec
from pixirnb.engine.agent_text import declared_text
from pixirnb.engine.artifacts import Kept
from pixirnb.engine.output_capture import SUMMARY_LIMIT, Capture
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.history.codec import NotCanonicalError, canonical, encode_data
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import AttemptEnded, ErrorData, PayloadRecord, StoredValue
from pixirnb.history.validation import fits
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonObject, deep_copy
from pixirnb.machine.failure_evidence import SILENT, UNREPORTED, exit_message
from pixirnb.machine.fingerprint import digest
from pixirnb.machine.items import Tally
from pixirnb.machine.next_actions import ENDED_WITH_RUN
from pixirnb.planning.plan import PlannedStep
from pixirnb.protocols.ports import Offload
from pixirnb.protocols.work import Ended, LargeValue, PythonWork, UnloadedValue
from pixirnb.runners import checks
from pixirnb.runners.output.mask import Mask
from pixirnb.runners.output.printed import Printed
from pixirnb.sessions.json_values import plain_data
from pixirnb.spec.steps import StepKind
from pixirnb.system.system_calls import open_plain
from pixirnb.wording import not_json

_STOPPED: Final[dict[str, tuple[str, str]]] = {
    "timed_out": ("timeout", "timed out after {limit}"),
    "cancelled": ("cancelled", "canceled by the operator"),
    "interrupted": ("interrupted", "interrupted by the operator"),
}


def bug(error: Exception) -> Ended:
    """Return the end of an attempt that a bug of ours broke, with the last of its traceback."""
    trace = "".join(traceback.format_exception(error))[-2000:]
    message = f"pixirnb failed while running this step: {type(error).__name__}: {error}"
    return Ended("failed", "internal_error", message, {"traceback": trace})


def describe_stop(ended: Ended, *, timeout_ms: int | None, elapsed_ms: int) -> Ended:
    """Return the end, with a kind and a sentence where the runner knew only that it was to stop."""
    if ended.status in _STOPPED:
        kind, sentence = _STOPPED[ended.status]
        message = sentence.format(limit=f"{(timeout_ms or 0) / 1000:g} s")
        if ended.status == "timed_out" and (timeout_ms is None or elapsed_ms < timeout_ms):
            message = ENDED_WITH_RUN
        also = f": {ended.message}" if ended.message else ""
        return replace(ended, error_kind=kind, message=f"{message}{also}")
    if ended.status == "detached":
        message = ended.message or "the thread cannot be stopped and keeps running"
        if ended.details.get("reason") == "timed_out":
            message = f"timed out after {(timeout_ms or 0) / 1000:g} s; {message}"
        return replace(ended, error_kind="detached", message=message)
    return ended


def error_of(ended: Ended, mask: Mask, timeout_ms: int | None, elapsed_ms: int) -> ErrorData | None:
    """Return the error of an attempt as the log has it; None for a clean end."""
    if ended.status == "completed":
        return None
    stopped = describe_stop(ended, timeout_ms=timeout_ms, elapsed_ms=elapsed_ms)
    return {
        "kind": stopped.error_kind or "failed",
        "message": mask.beginning(stopped.message, SUMMARY_LIMIT),
        "details": mask.value(dict(stopped.details)),
    }


def loggable_drafts(drafts: list[EventDraft], attempt: Attempt) -> list[EventDraft]:
    """Return the events of an attempt; where one holds what no log can hold, the rest, and that the attempt failed by it."""
    kept: list[EventDraft] = []
    reasons: list[str] = []
    for draft in drafts:
        try:
            encode_data(draft.data)
        except NotCanonicalError as error:
            reasons.append(f"{draft.kind}: {error}"[:SUMMARY_LIMIT])
            continue
        if fits(draft.kind, draft.data):
            kept.append(draft)
        else:  # the fold would pass over it, and the run wait for ever
            reasons.append(f"{draft.kind}: malformed event")
    if not reasons:
        return drafts
    ended: AttemptEnded = {
        "step": attempt.step.id,
        "attempt": attempt.number,
        "status": "failed",
        "error": {
            "kind": "result_unloggable",
            "message": "the log cannot store the result",
            "details": {"reasons": reasons},
        },
        "elapsed_ms": max((draft.data.get("elapsed_ms", 0) for draft in drafts), default=0),
        "summary": "",
        "exit_code": None,
        "signal": None,
    }
    others = [draft for draft in kept if draft.kind != "attempt_ended"]
    return [*others, EventDraft("attempt_ended", ended)]


def loggable_report(report: JsonObject) -> JsonObject:
    """Return a structured report as the log holds it; where it differs from the agent's, its limitations say so."""
    kept: JsonObject = plain_data(report)
    if kept == report:
        return kept
    limits = kept.get("limitations") or []
    known = [str(each) for each in limits] if isinstance(limits, list) else [str(limits)]
    return {**kept, "limitations": [*known, "report_not_plain_json"]}


def summary_of(
    ended: Ended, kind: StepKind, report: JsonObject | None, capture: Capture | None, mask: Mask
) -> str:
    """Return a summary of an attempt without secrets: its report's summary, the end of a value, or the last printed line."""
    if report is not None and report.get("summary") is not None:
        return mask.text(str(report["summary"]))[:SUMMARY_LIMIT]
    if kind == "python" and ended.value is not None:
        value = ended.value.get("value")
        if value is not None:
            # Before it is written as text, too: a text in it may be written with escapes for the second time.
            lines = mask.text(str(mask.value(value))).strip().splitlines()
            return lines[-1][:SUMMARY_LIMIT] if lines else ""
    # Once more: what stood between the letters of a secret is not in a summary.
    return "" if capture is None else mask.text(capture.summary())


_PROVENANCE = {"shell": "harness_projection", "python": "tool_result", "agent": "model_declared"}


class Payload(Struct, frozen=True):
    """The verdict on a declared output."""

    schema_id: str
    provenance: str
    problems: list[str]
    value: Any
    is_parsed: bool
    """True if the value was parsed from text, and is stored in place of the text; NOT_READ: the text is stored as JSON."""

    def record(self) -> PayloadRecord:
        """Return the record for `attempt_ended.payload`."""
        return {
            "schema_id": self.schema_id,
            "provenance": self.provenance,
            "validation": {"passed": not self.problems, "errors": self.problems},
        }


async def check_payload(
    results: Results, value: Any, printed: Printed, nested: checks.Nested, offload: Offload
) -> Payload | None:
    """Validate an output against its declaration; return None where the step declares none.

    `value`: NOT_READ for printed text. Text that fits an event is parsed here, all other in a process that can be ended.
    """
    step, declared = results.step, results.step.spec.output
    if declared is None:
        return None
    schema_id = declared if isinstance(declared, str) else digest("schema", declared)
    provenance = _PROVENANCE.get(step.kind, "event_fold")
    is_parsed = False
    if value is checks.NOT_READ:
        if not printed.is_offered:
            return Payload(schema_id, provenance, [checks.too_large(printed)], value, is_parsed)
        if printed.path is not None:
            named = "model" if isinstance(declared, str) else "schema"
            problems = await checks.function_problems(
                checks.JSON_PROBLEMS, {"printed": printed.argument, named: declared}, nested
            )
            return Payload(schema_id, provenance, problems, value, is_parsed=not problems)
        text = printed.text or ""
        shown = declared_text(text) if step.kind == "agent" else printed.data
        try:
            value = from_json(shown, allow_inf_nan=False)
            canonical(value)  # 1e400 reads as infinity, which no log can hold
            is_parsed = True
        except (ValueError, RecursionError) as error:
            unsaid = UNREPORTED if shown.strip() else SILENT
            problem = unsaid if step.kind == "agent" else not_json(results.mask.text(text), error)
            return Payload(schema_id, provenance, [problem], text, is_parsed)
    if isinstance(declared, str):
        problems = await _model_problems(declared, value, nested)
    else:
        problems = await checks.find_schema_problems(value, dict(declared), nested, offload)
    return Payload(schema_id, provenance, problems, value, is_parsed)


async def _model_problems(model: str, value: Any, nested: checks.Nested) -> list[str]:
    """Return the problems of a value, as the user's model finds them in a process of its own, like a step's function."""
    is_unloaded = isinstance(value, UnloadedValue)
    work = PythonWork(
        "pixirnb.runners.output.printed:model_problems",
        {"model": model, "value": deep_copy(value)},
        None,
        process=is_unloaded and value.is_foreign,
        holds_unloaded=is_unloaded,
    )
    return checks.problems_of((await nested(work))[0])


_CHUNK: Final = 1024 * 1024


class Results(Struct, frozen=True):
    """The output of one attempt, as its checks and the log take it."""

    step: PlannedStep
    mask: Mask
    report: JsonObject | None
    context: RunContext

    def typed_value(self, ended: Ended) -> Any:
        """Return the value itself, for checks and a declared output; NOT_READ where the printed text is the value. Blocking.

        Large data is not loaded: each check loads its own, and a pickle's `__setstate__` would run as the engine.
        """
        if self.step.kind == "python":
            if ended.value is None:
                return None
            data = bytes_of(ended.payload)
            form = ended.value["format"]
            if form != "text" and data is not None:
                is_foreign = self.step.process and form == "pickle"
                return UnloadedValue(ended.value, data, is_foreign=is_foreign)
            return value_codec.decode(ended.value, data)
        if self.report is not None and "output" in self.report:
            return self.report["output"]
        return checks.NOT_READ

    async def output(
        self, ended: Ended, printed: Printed, capture: Capture, payload: Payload | None
    ) -> StoredValue:
        """Return the value as the log keeps it."""
        is_parsed = payload is not None and payload.is_parsed
        if payload is not None and is_parsed and payload.value is not checks.NOT_READ:
            return await self.stored(*value_codec.encode(payload.value))
        if self.step.kind == "python":
            return await self.stored(ended.value or {"format": "none"}, ended.payload)
        if self.report is not None and "output" in self.report:
            return await self.stored(*value_codec.encode(self.report["output"]))
        if self.step.kind == "agent" and printed.text is not None:
            return await self.stored(*value_codec.encode(printed.text))
        if (short := capture.inline()) is not None:
            return short
        return await self.context.offload(capture.stored, "json" if is_parsed else "text")

    async def stored(self, stored: StoredValue, data: bytes | LargeValue | None) -> StoredValue:
        """Return a value with secrets masked, its bytes as a blob where they are too large for the log."""
        if data is not None and not isinstance(data, bytes):
            return {**stored, "blob": await self.context.offload(self._kept, stored, data)}
        if data is None:
            masked: StoredValue = self.mask.data(stored)
            if "value" in stored:
                masked["value"] = self.mask.value(stored["value"])
            return masked
        if stored["format"] == "text":
            data = self.mask.text(data.decode("utf-8")).encode("utf-8")
        elif stored["format"] == "json":
            data = b"".join(self.mask.json(data))
        digest = await self.context.offload(self.context.log.blobs.put, data)
        return {**stored, "blob": digest, "bytes": len(data)}

    def _kept(self, stored: StoredValue, draft: LargeValue) -> str:
        """Return the digest of bytes that came as a draft; text and JSON are masked on the way. Blocking."""
        if stored["format"] not in {"text", "json"} or not self.mask.secrets or draft.path is None:
            return draft.keep()
        with self.context.log.blobs.draft() as masked, open_plain(draft.path) as file:
            for piece in self._pieces(file, is_json=stored["format"] == "json"):
                masked.write(piece)
            draft.drop()
            return masked.keep()

    def _pieces(self, file: BinaryIO, *, is_json: bool) -> Iterator[bytes]:
        if is_json:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as text:
                yield from self.mask.json(text)
            return
        stream = self.mask.stream()
        while chunk := file.read(_CHUNK):
            yield stream.feed(chunk)
        yield stream.flush()


def bytes_of(payload: bytes | LargeValue | None) -> bytes | None:
    """Return the bytes of a value; None where it is inline. Blocking."""
    if payload is None or isinstance(payload, bytes) or payload.path is None:
        return payload if isinstance(payload, bytes) else None
    with open_plain(payload.path) as file:
        return file.read()


class Products(Struct, frozen=True):
    """The output, artifacts and declared output of an attempt, as far as it came to them."""

    output: StoredValue | None = None
    kept: Kept | None = None
    payload: Payload | None = None
    is_proven: bool = True
    """False if a check did not pass."""
    items: Tally | None = None
    """The items whose values it gathered."""

    @property
    def is_as_declared(self) -> bool:
        """Return whether every check passed, and the output is as declared."""
        return self.is_proven and (self.payload is None or not self.payload.problems)


def end_data(  # noqa: PLR0917 - all that an attempt came to
    attempt: Attempt,
    ended: Ended,
    products: Products,
    context: RunContext,
    mask: Mask,
    report: JsonObject | None,
    capture: Capture | None,
) -> AttemptEnded:
    """Return the data of `attempt_ended`, without the session."""
    step, output = attempt.step, products.output
    elapsed_ms = round((context.clock.now() - attempt.started) * 1000)
    data: AttemptEnded = {
        "step": step.id,
        "attempt": attempt.number,
        "status": ended.status,
        "error": error_of(ended, mask, attempt.timeout_ms, elapsed_ms),
        "elapsed_ms": elapsed_ms,
        "summary": summary_of(ended, step.spec.kind, report, capture, mask),
        "exit_code": ended.exit_code,
        "signal": ended.signal,
    }
    if output is not None:
        data["output"] = output
        # One text is held once: a short output is often its last line.
        if output.get("value") == data["summary"]:
            data["summary"] = output["value"]
    if products.items is not None:
        data["summary"] = str(products.items)
        if products.items.others:
            data["missing"] = list(products.items.others)
    if report is not None:
        data["report"] = mask.value(report)
    data.update(mask.data(products.kept or {}))
    if products.payload is not None:
        data["payload"] = mask.data(products.payload.record())
    if ended.strays:
        data["strays"] = ended.strays
    if ended.survivors is not None:
        data["survivors"] = list(ended.survivors)
    # A merge that touches files is finished, though its time is over.
    is_late = ended.status == "completed" and attempt.stop.reason == "timed_out"
    if overdue_ms := elapsed_ms if is_late else ended.overdue_ms:
        data["overdue_ms"] = overdue_ms
    if capture is not None:
        tail = capture.tail.decode("utf-8", errors="replace")
        error, text = data["error"], exit_message(ended.exit_code, tail)
        if step.kind == "shell" and error is not None and text is not None:
            data["error"] = {**error, "message": text}
        data["output_log"] = capture.record(f"output/{attempt_name(step.id, attempt.number)}.log")
        is_clean = ended.status == "completed" and products.is_as_declared
        if not is_clean or (step.retry.include_failure_context and step.retry.max_attempts > 1):
            data["tail"] = tail
    return data
