"""The order of keys in mappings of users: a line sorts them, and what a step is handed must not depend on a restart.

    {"output":{"value":{"alpha":2,"zeta":1}},"$keys":[["zeta","alpha"]]}

`data["$keys"]` lists an order for each set of keys that was not sorted. Of several orders of one set, the first holds for all
but those that have an entry of their own: `[7,"zeta","alpha"]`, the number of the mapping among all of them.
Only what users give or make is listed (`_MEMBERS`): the members of events have no order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pixirnb.json_types import JsonObject

KEYS: Final = "$keys"
"""Member of `data` that lists orders."""

_MEMBERS: Final = frozenset({"args", "choices", "inputs", "report", "spec", "value"})
_INNER: Final = {"output": "value", "items": "value"}
"""Members that are ours, with the member of each that is a user's."""
_OF_USERS: Final = _MEMBERS | _INNER.keys()


def with_orders(data: JsonObject) -> JsonObject:
    """Return `data`, with KEYS where a mapping of users has keys that are not sorted."""
    if _OF_USERS.isdisjoint(data):
        return data
    rules: dict[tuple[str, ...], list[str]] = {}
    others: list[list[Any]] = []
    for number, each in enumerate(_mappings(data)):
        keys = list(each)
        rule = rules.setdefault(tuple(sorted(keys)), keys)
        if rule != keys:
            others.append([number, *keys])
    listed = [rule for known, rule in rules.items() if rule != list(known)] + others
    return {**data, KEYS: listed} if listed else data


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
    for number, each in enumerate(list(_mappings(data))):
        known = tuple(each)
        keys = others.get(number) or rules.get(known) or []
        if len(keys) == len(each) and set(keys) == each.keys():
            given = [(key, each[key]) for key in keys]
            each.clear()
            each.update(given)
    return data


def _mappings(data: JsonObject) -> Iterator[JsonObject]:
    """Yield all mappings of two keys and more, in the order in which a line has them."""
    queue = [data[name] for name in sorted(_MEMBERS & data.keys())]
    for name, member in _INNER.items():
        ours = data.get(name)
        among = ours if isinstance(ours, list) else (ours,)
        queue += [each[member] for each in among if isinstance(each, dict) and member in each]
    queue.reverse()
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            if len(value) > 1:
                yield value
            queue += [value[key] for key in sorted(value, reverse=True)]
        elif isinstance(value, list | tuple):
            queue += reversed(value)
