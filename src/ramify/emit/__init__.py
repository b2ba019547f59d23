"""Events of a program's own work, told to whoever subscribes: standard library only, no store, no network.

Where events go to (`ServerSink`) is loaded on use.
"""

from typing import TYPE_CHECKING, Any

from ramify.emit.call import Call
from ramify.emit.emitter import Emitter
from ramify.emit.item import Emitted
from ramify.emit.memory import Memory
from ramify.emit.scope import Within, bind, create_operation_id, current, operation, parent_task, session
from ramify.emit.subscription import Away, Subscription
from ramify.emit.webhook import webhook

if TYPE_CHECKING:
    from ramify.emit.server import ServerSink

__all__ = [
    "Away",
    "Call",
    "Emitted",
    "Emitter",
    "Memory",
    "ServerSink",
    "Subscription",
    "Within",
    "bind",
    "create_operation_id",
    "current",
    "emitter",
    "operation",
    "parent_task",
    "session",
    "webhook",
]

emitter = Emitter()
"""The process's own: what `ramify.instrument` sees is told here."""


def __getattr__(name: str) -> Any:
    if name == "ServerSink":
        from ramify.emit.server import ServerSink

        return ServerSink
    raise AttributeError(f"module 'ramify.emit' has no attribute {name!r}")
