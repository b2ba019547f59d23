"""Ramify: what your AI agents, and the agents those agents started, really did."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ramify.emit import (
        Emitter,
        Memory,
        ServerSink,
        bind,
        create_operation_id,
        current,
        emitter,
        operation,
        parent_task,
        session,
        webhook,
    )
    from ramify.recording import StoreSink, flush, instrument, record, uninstrument

__version__ = "0.1.0"
RECORDING = ("StoreSink", "flush", "instrument", "record", "uninstrument")
EMIT = (
    "Emitter", "Memory", "ServerSink", "bind", "create_operation_id", "current", "emitter",
    "operation", "parent_task", "session", "webhook",
)
__all__ = [
    "Emitter",
    "Memory",
    "ServerSink",
    "StoreSink",
    "__version__",
    "bind",
    "create_operation_id",
    "current",
    "emitter",
    "flush",
    "instrument",
    "operation",
    "parent_task",
    "record",
    "session",
    "uninstrument",
    "webhook",
]


def __getattr__(name: str) -> Any:
    """Loaded on use: `import ramify` costs nothing, and the command asks for the version often."""
    if name in EMIT:
        from ramify import emit

        return getattr(emit, name)
    if name in RECORDING:
        from ramify import recording

        return getattr(recording, name)
    raise AttributeError(f"module 'ramify' has no attribute {name!r}")
