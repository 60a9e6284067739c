"""Templates between `{{` and `}}` in a relay file: references, as ours, and the parameters of custom steps.

{{steps.NAME.output}}   {{ steps.ID.output }}
{{name}} {{a.b}}        {{ inputs.name }}, declared as a required text
{{run.id}}              {{ run.id }}
any other `{{`          {{ inputs.open_braces }}, whose default is `{{`: text stays what it is

`use: NAME` stands for a definition in `.relay/steps.yaml`, its `{{param}}` filled in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.fields import shown
from pixirnb.spec.relay.keys import STEP
from pixirnb.spec.relay.parser import RelayParser, safe_names
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.yaml.reader import read_yaml

BRACES: Final = "open_braces"
"""The input that stands for two braces meant as text."""

_TEMPLATE: Final = re.compile(r"\{\{([^{}]*)\}\}")
_OUTPUT: Final = re.compile(r"steps\.([^{}|]+)\.output")
_VARIABLE: Final = re.compile(r"\w[\w-]*(?:\.[\w-]+)*")
DEFINITIONS: Final = ".relay/steps.yaml"
"""Path of the definitions, below the workspace."""

_PARAMETER: Final = re.compile(r"\{\{\s*([\w-]+)\s*\}\}")


class Templates(Struct):
    """Translator of the templates of one workflow, which collects the inputs that they need."""

    reading: RelayParser
    ids: Mapping[str, str]
    """Relay name of a step to its id."""
    inputs: dict[str, dict[str, Any]]
    """Declared because a template wants them."""
    _called: dict[str, str] = field(default_factory=dict)

    def native(self, text: str, parts: PathParts, step: str) -> str:
        """Return `text` with references of ours. `parts` is where it stands, `step` the relay name of its step."""
        pieces: list[str] = []
        position = 0
        while (start := text.find("{{", position)) >= 0:
            pieces.append(text[position:start])
            match = _TEMPLATE.match(text, start)
            if match is None:
                pieces.append(self._braces())
                position = start + 2
                continue
            pieces.append(self._one(match.group(1), match.group(), parts, step))
            position = match.end()
        return "".join([*pieces, text[position:]])

    def _one(self, inner: str, whole: str, parts: PathParts, step: str) -> str:
        bare = inner.strip()
        if output := _OUTPUT.fullmatch(bare):
            return self._output(output.group(1), inner, whole, parts)
        if bare in {"run.id", "step.name"}:
            message = f"`{whole}` is replaced here; agent-relay keeps it as text"
            self._note(parts, message, "remove it if it is literal text")
            return "{{ run.id }}" if bare == "run.id" else step.replace("{{", "{ {")
        if _VARIABLE.fullmatch(bare) and not bare.startswith(("steps.", "step.", "run.")):
            return "{{ inputs." + self._input(bare, whole, parts) + " }}"
        if not bare.startswith((".", "-", "range", "if ", "end", "else", "with ", "json ")):
            # Those are templates of other programs, such as `docker inspect --format`: nothing to tell.
            message = f"unknown template `{whole:.60}` is kept as text"
            self._note(parts, message, "write `{{steps.NAME.output}}`")
        return self._braces() + whole[2:]

    def _note(self, parts: PathParts, message: str, fix: str) -> None:
        self.reading.note("relay_differs", parts, message, fix)

    def _output(self, name: str, inner: str, whole: str, parts: PathParts) -> str:
        known = self.ids.get(name) or self.ids.get(name.strip())
        if known is None:
            self.reading.wrong(
                "reference_unknown_step",
                parts,
                f"unknown step in `{whole:.100}`",
                did_you_mean(name, self.ids, otherwise="use a step that this one depends on"),
            )
            return "x"  # the mistake is told; the text around it is still looked at
        if inner != inner.strip():
            message = f"`{whole:.100}` is replaced here; agent-relay needs it without blanks"
            self._note(parts, message, "remove the blanks")
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
            message = f"`{whole:.60}` is read from the input `{called}`"
            self._note(parts, message, f"pass `--input {called}=…`")
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


class CustomSteps(Struct):
    """The definitions there are, read once."""

    reading: RelayParser
    text: str | None
    """The definitions as written; None where there is no such file."""
    _known: dict[str, Any] | None = field(default=None)

    def whole(
        self, step: Mapping[str, Any], parts: PathParts
    ) -> tuple[dict[str, Any], frozenset[str]]:
        """Return a step with its definition put in, and the keys that come from there. Without `use` it is the step itself."""
        name, at = self.reading.text(step, "use", parts), (*parts, "use")
        defined = None if name is None else self._definition(name, at)
        if defined is None:
            return dict(step), frozenset()
        items = defined.get("params")
        params = {
            item["name"]: item
            for item in (items if isinstance(items, list) else [])
            if isinstance(item, dict) and isinstance(item.get("name"), str)
        }
        values: dict[str, str] = {}
        for key, param in params.items():
            value = step.get(key, param.get("default"))
            if value is None and param.get("required") is True:
                message = f"the custom step `{name:.80}` requires `{key:.80}`"
                self._wrong(at, message, f"add `{key:.80}:` to this step")
            values[key] = "" if value is None else value if isinstance(value, str) else shown(value)
        body = {
            key: _filled(value, values)
            for key, value in defined.items()
            if key not in {"params", "name"}
        }
        own = {key for key in step if key in STEP.read or key in STEP.inert}
        # What the format knows stands before what it does not: so it is told of.
        kept = [
            *(key for key in step if key in own),
            *(key for key in step if key not in own | params.keys()),
        ]
        return {**body, **{key: step[key] for key in kept}}, frozenset(body) - own

    def _wrong(self, at: PathParts, message: str, fix: str) -> None:
        self.reading.wrong("relay_custom_step", at, message, fix)

    def _definition(self, name: str, at: PathParts) -> dict[str, Any] | None:
        if self._known is None:
            if self.text is None:
                message = f"{DEFINITIONS} not found next to this file; `use` needs it"
                self._wrong(at, message, "add the file, or write the step out")
                return None
            read = read_yaml(self.text)
            wrong = read.mistakes[0] if read.mistakes else None
            steps = read.value.get("steps") if isinstance(read.value, dict) else None
            if wrong is not None or not isinstance(steps, dict):
                why = "has no `steps` mapping" if wrong is None else wrong.message
                line = "" if wrong is None or wrong.line is None else f", line {wrong.line}"
                self._wrong(at, f"{DEFINITIONS}{line}: {why}", "fix that file")
                return None
            self._known = steps
        defined = self._known.get(name)
        if isinstance(defined, dict):
            return defined
        fix = did_you_mean(name, map(str, self._known), otherwise="define it there")
        self._wrong(at, f"unknown custom step `{name:.80}`: not in {DEFINITIONS}", fix)
        return None


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PARAMETER.sub(lambda match: values.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    return value
