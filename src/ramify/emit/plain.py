"""Any value as JSON: fast where it is plain already, and always something where it is not."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

DEPTH = 60
NODES = 200_000
DIGITS = 10_000  # binary ones: Python writes, and servers read, no number with many more
ENDLESS = "[…]"


def plain(value: Any) -> Any:
    """What JSON does not know, by what it has: no library is imported to recognise its classes."""
    dump = getattr(value, "model_dump", None)  # pydantic
    if callable(dump):
        return dump(mode="json")
    fields = getattr(value, "__dataclass_fields__", None) or getattr(value, "__struct_fields__", None)
    if fields is not None and not isinstance(value, type):
        return {name: getattr(value, name, None) for name in fields}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, set | frozenset | tuple | list):
        return list(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(type(value), "__members__"):  # an enumeration
        return value.value
    return str(value)


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain).encode


def encode(value: Any) -> bytes:
    try:
        return _encode(value).encode()
    except (TypeError, ValueError, RecursionError, RuntimeError):
        # Keys that are no strings, NaN, circles, great depth, half a surrogate pair, or changed while it was read.
        return _encode(Tamed().of(value)).encode("utf-8", "replace")


class Tamed:
    """A copy of which JSON can say everything; what has no end is cut."""

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._left = NODES

    def of(self, value: Any) -> Any:
        self._left -= 1
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, int):
            return value if value.bit_length() <= DIGITS else hex(value)
        if isinstance(value, float):
            return value if value - value == 0 else str(value)  # neither infinite nor no number
        if self._left < 0 or len(self._path) >= DEPTH or id(value) in self._path:
            return ENDLESS
        self._path.add(id(value))
        try:
            return self._inner(value)
        finally:
            self._path.discard(id(value))

    def _inner(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._name(name): self.of(each) for name, each in list(value.items())}
        if isinstance(value, list | tuple | set | frozenset):
            return self._all(value)
        return self.of(plain(value))

    def _all(self, values: Iterable[Any]) -> list[Any]:
        return [self.of(each) for each in list(values)]

    def _name(self, name: Any) -> str:
        return name if isinstance(name, str) else str(name)
