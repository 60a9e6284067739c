"""Templates of a relay file, as references of ours: `{{steps.NAME.output}}`, caller variables, and braces that are only text.

{{steps.NAME.output}}   {{ steps.ID.output }}
{{name}} {{a.b}}        {{ inputs.name }}, declared as a required text
{{run.id}}              {{ run.id }}
any other `{{`          {{ inputs.open_braces }}, whose default is `{{`: text stays what it is
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.relay.parser import RelayParser, safe_names
from pixirnb.spec.source_map import PathParts

BRACES: Final = "open_braces"
"""The input that stands for two braces meant as text."""

_TEMPLATE: Final = re.compile(r"\{\{([^{}]*)\}\}")
_OUTPUT: Final = re.compile(r"steps\.([^{}|]+)\.output")
_VARIABLE: Final = re.compile(r"\w[\w-]*(?:\.[\w-]+)*")


@dataclass(slots=True)
class Templates:
    """Translates the templates of one workflow, and collects the inputs that they need."""

    reading: RelayParser
    ids: Mapping[str, str]
    """Relay name of a step to its id."""
    inputs: dict[str, dict[str, Any]]
    """Declared because a template wants them."""
    _called: dict[str, str] = field(default_factory=dict)

    def native(self, text: str, parts: PathParts, step: str) -> str:
        """`text` with references of ours. `parts` is where it stands, `step` the relay name of the step it belongs to."""
        pieces: list[str] = []
        place = 0
        while (start := text.find("{{", place)) >= 0:
            pieces.append(text[place:start])
            found = _TEMPLATE.match(text, start)
            if found is None:
                pieces.append(self._braces())
                place = start + 2
                continue
            pieces.append(self._one(found.group(1), found.group(), parts, step))
            place = found.end()
        return "".join([*pieces, text[place:]])

    def _one(self, inner: str, whole: str, parts: PathParts, step: str) -> str:
        bare = inner.strip()
        if output := _OUTPUT.fullmatch(bare):
            return self._output(output.group(1), inner, whole, parts)
        if bare in {"run.id", "step.name"}:
            self.reading.note(
                "relay_differs",
                parts,
                f"`{whole}` is filled in here, its own runner leaves it as it is",
                "take it out where the text is meant as it stands",
            )
            return "{{ run.id }}" if bare == "run.id" else step.replace("{{", "{ {")
        if _VARIABLE.fullmatch(bare) and not bare.startswith(("steps.", "step.", "run.")):
            return "{{ inputs." + self._input(bare, whole, parts) + " }}"
        if not bare.startswith((".", "-", "range", "if ", "end", "else", "with ", "json ")):
            # Those are templates of other programs, such as `docker inspect --format`: nothing to tell.
            self.reading.note(
                "relay_differs",
                parts,
                f"`{whole:.60}` is nothing that is filled in: it stays as it is, as with its own runner",
                "write `{{steps.NAME.output}}`",
            )
        return self._braces() + whole[2:]

    def _output(self, name: str, inner: str, whole: str, parts: PathParts) -> str:
        known = self.ids.get(name) or self.ids.get(name.strip())
        if known is None:
            self.reading.wrong(
                "reference_unknown_step",
                parts,
                f"`{whole:.100}` names no step of this workflow",
                did_you_mean(name, self.ids, otherwise="refer to a step that this one comes after"),
            )
            return "x"  # the mistake is told; the text around it is still looked at
        if inner != inner.strip():
            self.reading.note(
                "relay_differs",
                parts,
                f"`{whole:.100}` is filled in here, its own runner reads it only without blanks",
                "take the blanks out",
            )
        return "{{ steps." + known + ".output }}"

    def _input(self, name: str, whole: str, parts: PathParts) -> str:
        called = self._called.get(name)
        if called is None:
            called = safe_names([name.replace(".", "-")], self.inputs)[name.replace(".", "-")]
            while called in self.inputs:
                called += "-2"
            self._called[name] = called
            self.inputs[called] = {"type": "string"}
            self.reading.moved["inputs", called] = parts
            self.reading.note(
                "relay_differs",
                parts,
                f"`{whole:.60}` is filled in from an input of the run, `{called}`",
                f"give it: --input {called}=…",
            )
        return called

    def _braces(self) -> str:
        if BRACES not in self.inputs:
            self._called[BRACES] = BRACES
            self.inputs[BRACES] = {
                "type": "string",
                "default": "{{",
                "description": "Two braces that are only text.",
            }
        return "{{ inputs." + BRACES + " }}"
