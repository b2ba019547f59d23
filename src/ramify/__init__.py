"""Ramify: what your AI agents, and the agents those agents started, really did."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ramify.recording import flush, instrument, record, uninstrument

__version__ = "0.1.0"
__all__ = ["__version__", "flush", "instrument", "record", "uninstrument"]


def __getattr__(name: str) -> Any:
    """Loaded on use: `import ramify` costs nothing, and the command asks for the version often."""
    if name in __all__:
        from ramify import recording

        return getattr(recording, name)
    raise AttributeError(f"module 'ramify' has no attribute {name!r}")
