"""Values of JSON of any depth: a function that calls itself for each level ends with an error at some hundreds of them, and others decide how deep they are."""

import math
from collections.abc import Callable
from typing import Any

LARGEST_INTEGER = 2**63


def rebuilt(value: Any, table: Callable[[dict[Any, Any]], dict[Any, Any]], leaf: Callable[[Any], Any] | None = None) -> Any:
    """The same value of other tables and lists: each table as `table` makes it, and whatever is neither as `leaf` does."""
    top = [value]
    waiting: list[Any] = [top]
    while waiting:
        one = waiting.pop()
        for at, item in enumerate(one) if isinstance(one, list) else one.items():
            if isinstance(item, dict):
                item = table(item)
            elif isinstance(item, list):
                item = item.copy()
            else:
                if leaf is not None:
                    one[at] = leaf(item)
                continue
            one[at] = item
            waiting.append(item)
    return top[0]


def storable(value: Any) -> Any:
    """The same without what JSON proper, MessagePack and databases refuse."""
    return rebuilt(value, lambda table: {_storable(name): one for name, one in table.items()}, _storable)


def _storable(value: Any) -> Any:
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case float():
            return value if math.isfinite(value) else None
        case bool() | None:
            return value
        case int():
            return value if -LARGEST_INTEGER <= value < LARGEST_INTEGER else str(value)
        case _:
            return str(value)
