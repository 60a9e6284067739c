"""Outputs of steps, read back: from the log where they are small, from blobs where they are not.

The value of a reference is defined here for a running step; `Board.lookup` is its counterpart for the machine, which may not
read a disk. Source: contract.md §1 (references), §3 (values).
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from pixirnb import value_codec
from pixirnb.errors import Cannot, LogDamaged
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import StoredValue
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import deep_copy
from pixirnb.machine.reference_values import pick_output
from pixirnb.protocols.ports import Blobs
from pixirnb.protocols.work import UnloadedValue, WorkRefused
from pixirnb.spec.expressions.references import Reference, as_text, pick
from pixirnb.spec.limits import OFFERED_BYTES


class Outputs(Struct, frozen=True):
    """The outputs of one run."""

    run: RunState
    blobs: Blobs

    def value(self, step: StepState, *, trust: bool = False) -> Any:
        """Return the typed value a step left.

        Raises Cannot (`output_too_large`, `output_cut`, `value_not_trusted`, `value_unreadable`) or LogDamaged.
        """
        stored = stored_output(step)
        if "printed" in stored:
            raise self._too_large(stored)
        data = self.blobs.get(stored["blob"]) if "blob" in stored else None
        key = value_codec.user_key() if stored["format"] == "pickle" and not trust else None
        return value_codec.decode(stored, data, key, trust=trust)

    def lookup(self, reference: Reference) -> Any:
        """Return the value of a reference, the caller's own; a large one as `UnloadedValue`.

        Raises as `value` does, and WorkRefused where there is no file to name.
        """
        if reference.source == "run":
            return self.run.run_id
        if reference.source == "input":
            return deep_copy(_picked(self.run.inputs.get(reference.name), reference))
        step = self.run.step(reference.name)
        if reference.part == "summary":
            return "" if step.ended is None else step.ended["summary"]
        if reference.part == "output_path":
            return self._path(reference, step)
        try:
            stored = stored_output(step)
            is_blob = "blob" in stored and "printed" not in stored
            if is_blob and stored["format"] != "text":
                data = self.blobs.get(stored["blob"])
                if stored["format"] == "pickle":
                    value_codec.require_signature(stored, data, value_codec.user_key())
                return UnloadedValue(stored, data, reference)
            value = self.value(step)
            try:
                return pick_output(self.run, value, reference)
            except LookupError as error:
                raise WorkRefused("reference_missing", str(error)) from error
        except Cannot as error:
            if error.code not in {"output_too_large", "output_cut"}:
                raise
            raise WorkRefused(error.code, f"{reference.text}: {error.one_line()}") from error

    def _path(self, reference: Reference, step: StepState) -> str:
        stored = stored_output(step)
        digest = stored.get("blob")
        if stored.get("printed", 0) > stored.get("bytes", 0):
            raise self._too_large(stored)
        if digest is None:
            value = stored.get("value", "")
            texts = map(as_line, value) if stored["format"] == "jsonl" else [as_text(value)]
            digest = self.blobs.put("".join(texts).encode("utf-8"))
        elif not self.blobs.is_whole(digest):
            # Whoever reads it by its name does not compare its digest.
            is_there = self.blobs.has(digest)
            raise LogDamaged(
                f"the stored output of `{reference.name}` is {'damaged' if is_there else 'missing'}",
                fix=f"resume the run: `{reference.name}` is rerun",
                code="blob_damaged" if is_there else "blob_missing",
            )
        path = self.blobs.path(digest)
        if path is None:
            raise WorkRefused(
                "no_output_path", f"{reference.text} requires a run folder, and this store has none"
            )
        return str(path)

    def _too_large(self, stored: StoredValue) -> Cannot:
        """Return the error for printed text that is not handed on as a value, with the location of the text."""
        size, kept = stored["printed"], stored["bytes"]
        details = {"printed": size, "kept": kept, "most": OFFERED_BYTES}
        if size > kept:
            message = f"the step printed {size} bytes, of which only the first {kept} are stored"
            fix = "print less or write a file"
            return Cannot(message, fix=fix, code="output_cut", details=details)
        path = self.blobs.path(stored["blob"])
        return Cannot(
            f"the step printed {size} bytes, more than the limit of {OFFERED_BYTES} for a value",
            fix=f"use output_path{f' or read {path}' if path else ''}",
            code="output_too_large",
            details=details,
        )


def as_line(value: Any) -> str:
    """Return a value as a line of JSON Lines."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _picked(value: Any, reference: Reference) -> Any:
    try:
        return pick(value, reference)
    except LookupError as error:
        raise WorkRefused("reference_missing", str(error)) from error
