"""Amounts of resources as an author writes them: `{GPU: 1, memory: 8GiB}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pixirnb.spec.fields import mistake, shown

_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGT]i?)?B?")
_UNITS: Final = {"k": 1, "m": 2, "g": 3, "t": 4}


def amounts(value: object) -> object:
    """Return amounts by name as numbers. A mistake (`bad_resources`) names what is none."""
    if not isinstance(value, Mapping):
        return value  # its type is told like that of any other key
    return {name: _amount(str(name), amount) for name, amount in value.items()}


def amounts_text(given: Mapping[str, float]) -> str:
    """Return amounts as an author may write them: `GPU: 1, memory: 8GiB`."""
    return ", ".join(f"{name}: {_text(amount)}" for name, amount in given.items())


def _text(amount: float) -> str:
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB")):
        if amount >= 1024**power and not amount % 1024**power:
            return f"{amount / 1024**power:g}{unit}"
    return f"{amount:g}" if amount < 1e6 else f"{amount:.0f}"


def _amount(name: str, value: object) -> float:
    if not name.strip() or not name.isprintable():
        raise mistake(
            "bad_resources",
            f"invalid name of a resource: {shown(name)}",
            "write for example `GPU: 1`",
        )
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18:
        return float(value)
    written = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if written is None or not float(written[1]):
        raise mistake(
            "bad_resources",
            f"`{name}` must be a positive number or a size, got {shown(value)}",
            "write for example `GPU: 1` or `memory: 8GiB`",
        )
    unit = written[2] or ""
    base = 1024 if unit.endswith("i") else 1000
    power = _UNITS.get(unit[:1].lower(), 0)
    return float(written[1]) * float(base**power)
