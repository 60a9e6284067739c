"""Looks at what a step left with a pydantic model of the user's in hand. Called as a step's function, where the user's code is
imported and what never ends can be ended.
"""

from __future__ import annotations

import importlib
from typing import Any

from pydantic import TypeAdapter, ValidationError


def problems(model: str, value: Any) -> list[str]:
    """What keeps `value` from being a `package.module:Model`, one sentence each; empty when it is one.

    Raises ImportError or AttributeError where there is no such model.
    """
    module, _, name = model.partition(":")
    declared: Any = importlib.import_module(module)
    for part in name.split("."):
        declared = getattr(declared, part)
    try:
        TypeAdapter(declared).validate_python(value)
    except ValidationError as error:
        return [
            f"{'.'.join(map(str, found['loc'])) or 'value'}: {found['msg']}"
            for found in error.errors()[:5]
        ]
    return []
