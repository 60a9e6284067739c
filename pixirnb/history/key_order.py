"""The order of keys in mappings of users: a line sorts them, and what a step is handed must not depend on a restart.

    {"output":{"value":{"alpha":2,"zeta":1}},"$keys":[["zeta","alpha"]]}

`data["$keys"]` lists an order for each set of keys that was not sorted. Of several orders of one set, the first holds for all
but those that have an entry of their own: `[7,"zeta","alpha"]`, the number of the mapping among all of them.
Only what users give or make is listed (`_MEMBERS`): the members of events have no order.
"""

from __future__ import annotations

from typing import Any, Final

from pixirnb.json_types import JsonObject

KEYS: Final = "$keys"
"""Member of `data` that lists orders."""

_MEMBERS: Final = ("args", "choices", "inputs", "report", "spec", "value")
_INNER: Final = {"output": "value", "items": "value"}
"""Members that are ours, with the member of each that is a user's."""
OF_USERS: Final = frozenset((*_MEMBERS, *_INNER))
"""Members of `data` that hold what is a user's."""


def with_orders(data: JsonObject) -> JsonObject:
    """Return `data`, with KEYS where a mapping of users has keys that are not sorted."""
    mappings = _mappings(data)
    for each, names in mappings:
        if list(each) != names:
            return {**data, KEYS: _orders(mappings)}
    return data


def _orders(mappings: list[tuple[JsonObject, list[str]]]) -> list[list[Any]]:
    rules: dict[tuple[str, ...], list[str]] = {}
    others: list[list[Any]] = []
    for number, (each, names) in enumerate(mappings):
        keys = list(each)
        if rules.setdefault(tuple(names), keys) != keys:
            others.append([number, *keys])
    return [keys for names, keys in rules.items() if keys != list(names)] + others


def in_order(data: JsonObject) -> JsonObject:
    """Return the data of a line that has KEYS, without it and in that order. Changes it; skips entries that fit nothing."""
    listed = data.pop(KEYS)
    rules: dict[tuple[str, ...], list[str]] = {}
    others: dict[int, list[str]] = {}
    for entry in listed if isinstance(listed, list) else ():
        match entry:
            case [int(number), *keys] if all(isinstance(key, str) for key in keys):
                others[number] = keys
            case list(keys) if all(isinstance(key, str) for key in keys):
                rules[tuple(sorted(keys))] = keys
    for number, (each, names) in enumerate(_mappings(data)):
        keys = others.get(number) or rules.get(tuple(names)) or []
        if len(keys) == len(names) and set(keys) == each.keys():
            given = [(key, each[key]) for key in keys]
            each.clear()
            each.update(given)
    return data


def _mappings(data: JsonObject) -> list[tuple[JsonObject, list[str]]]:
    """Return all mappings of users with two keys and more, each with its keys sorted: in one order, whatever theirs is.

    Short: events of every step come here.
    """
    queue: list[Any] = [data[name] for name in _MEMBERS if name in data]
    for name, member in _INNER.items():
        if name in data:
            ours = data[name]
            among = ours if type(ours) is list else (ours,)
            queue += [each[member] for each in among if type(each) is dict and member in each]
    mappings: list[tuple[JsonObject, list[str]]] = []
    for value in queue:  # it grows meanwhile
        if type(value) is dict:
            names = sorted(value)
            if len(names) > 1:
                mappings.append((value, names))
            queue += map(value.__getitem__, names)
        elif type(value) is list or type(value) is tuple:
            queue += value
    return mappings
