"""Calls of a library that are carried by another one: the lower one adds to what the upper one tells, and tells nothing."""

from contextvars import ContextVar
from typing import NamedTuple

from ramify.emit import Call


class Carrier(NamedTuple):
    """`call` is None where the upper library only looks how work stands."""

    client: object
    call: Call | None


carrier: ContextVar[Carrier | None] = ContextVar("ramify_carrier", default=None)
