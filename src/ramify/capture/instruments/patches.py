"""Changes to other people's classes: made one by one, missing places said and left out, all of them taken back."""

import logging
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from ramify.capture.recorder import Tap

log = logging.getLogger("ramify")
NewTap = Callable[[], Tap]
Function = Callable[..., Any]


class Patch(NamedTuple):
    owner: Any
    name: str
    original: Function
    ours: Function


class Patches:
    def __init__(self) -> None:
        self.active = True  # what somebody else has wrapped once more stays in place, and passes everything on
        self._made: list[Patch] = []

    def wrap(self, owner: Any, name: str, make: Callable[[Function], Function]) -> bool:
        """False where there is nothing to wrap: another version of the library, which is said."""
        original = getattr(owner, name, None)
        if not callable(original):
            log.warning("cannot record %s.%s: this version has none", getattr(owner, "__name__", owner), name)
            return False
        ours = self._ours(original, make(original))
        setattr(owner, name, ours)
        self._made.append(Patch(owner, name, original, ours))
        return True

    def _ours(self, original: Function, made: Function) -> Function:
        """What was a coroutine function stays one: libraries look."""
        if iscoroutinefunction(original):

            @wraps(original)
            async def awaited(*given: Any, **named: Any) -> Any:
                return await (made if self.active else original)(*given, **named)

            return awaited

        @wraps(original)
        def ours(*given: Any, **named: Any) -> Any:
            return (made if self.active else original)(*given, **named)

        return ours

    def undo(self) -> None:
        self.active = False
        for owner, name, original, ours in reversed(self._made):
            if getattr(owner, name, None) is ours:
                setattr(owner, name, original)
        self._made.clear()


Install = Callable[[Patches, NewTap], None]


def find(module: str, name: str) -> Any:
    """A thing inside a library, or None in versions that have it elsewhere."""
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None
