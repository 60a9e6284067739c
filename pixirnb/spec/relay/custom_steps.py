"""Custom steps: `use: NAME` in a relay file stands for a definition in `.relay/steps.yaml`, its `{{param}}` filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.fields import shown
from pixirnb.spec.relay.keys import STEP
from pixirnb.spec.relay.parser import RelayParser
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.yaml.reader import read_yaml

DEFINITIONS: Final = ".relay/steps.yaml"
"""Where definitions lie, below the workspace."""

_PARAMETER: Final = re.compile(r"\{\{\s*([\w-]+)\s*\}\}")


@dataclass(slots=True)
class CustomSteps:
    """The definitions there are, read once."""

    reading: RelayParser
    text: str | None
    """The definitions as written; None where there is no such file."""
    _known: dict[str, Any] | None = field(default=None)

    def whole(
        self, step: Mapping[str, Any], parts: PathParts
    ) -> tuple[dict[str, Any], frozenset[str]]:
        """A step with its definition put in, and the keys that come from there. Without `use` it is the step itself."""
        reading = self.reading
        name = reading.text(step, "use", parts)
        if name is None:
            return dict(step), frozenset()
        at = (*parts, "use")
        known = self._read(at)
        if known is None:
            return dict(step), frozenset()
        defined = known.get(name)
        if not isinstance(defined, dict):
            reading.wrong(
                "relay_custom_step",
                at,
                f"{DEFINITIONS} defines no step `{name:.80}`",
                did_you_mean(name, map(str, known), otherwise="define it there"),
            )
            return dict(step), frozenset()
        values = self._values(step, defined, name, parts)
        body = {
            key: _filled(value, values)
            for key, value in defined.items()
            if key not in {"params", "name"}
        }
        own = {key: value for key, value in step.items() if key in STEP.read or key in STEP.inert}
        strange = {
            key: value
            for key, value in step.items()
            if key not in own and key not in _params(defined.get("params"))
        }
        came = frozenset(body) - frozenset(own)
        return {**body, **own, **strange}, came

    def _values(
        self, step: Mapping[str, Any], defined: Mapping[str, Any], name: str, parts: PathParts
    ) -> dict[str, str]:
        values: dict[str, str] = {}
        for key, param in _params(defined.get("params")).items():
            value = step.get(key, param.get("default"))
            if value is None and param.get("required") is True:
                self.reading.wrong(
                    "relay_custom_step",
                    (*parts, "use"),
                    f"the custom step `{name:.80}` needs `{key:.80}`",
                    f"add `{key:.80}:` to this step",
                )
            values[key] = "" if value is None else value if isinstance(value, str) else shown(value)
        return values

    def _read(self, at: PathParts) -> dict[str, Any] | None:
        if self._known is not None:
            return self._known
        if self.text is None:
            self.reading.wrong(
                "relay_custom_step",
                at,
                f"there is no {DEFINITIONS} beside this file, and `use` names a step of it",
                "put the definitions there, or write the step out",
            )
            return None
        read = read_yaml(self.text)
        wrong = read.mistakes[0] if read.mistakes else None
        steps = read.value.get("steps") if isinstance(read.value, dict) else None
        if wrong is not None or not isinstance(steps, dict):
            why = "has no `steps` mapping" if wrong is None else wrong.message
            line = "" if wrong is None or wrong.line is None else f", line {wrong.line}"
            self.reading.wrong(
                "relay_custom_step", at, f"{DEFINITIONS}{line}: {why}", "mend that file"
            )
            return None
        self._known = steps
        return steps


def _params(said: object) -> dict[str, dict[str, Any]]:
    """The parameters of a definition, by name."""
    items = said if isinstance(said, list) else []
    return {
        item["name"]: item
        for item in items
        if isinstance(item, dict) and isinstance(item.get("name"), str)
    }


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PARAMETER.sub(lambda found: values.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    return value
