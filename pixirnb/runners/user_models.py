"""Checks of a step's result with a pydantic model of the user.

Called like a step's function, where user code can be imported and endless work can be killed.
"""

from __future__ import annotations

import importlib
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pixirnb.wording import cut


def problems(model: str, value: Any) -> list[str]:
    """Return why `value` does not match a `package.module:Model`, one sentence each; empty when it does.

    Raises ImportError or AttributeError if the model does not exist.
    """
    module, _, name = model.partition(":")
    declared: Any = importlib.import_module(module)
    for part in name.split("."):
        declared = getattr(declared, part)
    try:
        TypeAdapter(declared).validate_python(value)
    except ValidationError as error:
        return [
            cut(f"{'.'.join(map(str, error_detail['loc'])) or 'value'}: {error_detail['msg']}", 300)
            for error_detail in error.errors()[:5]
        ]
    return []
