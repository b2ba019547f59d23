"""From a record of Claude Code or its SDK to events, whatever way it was seen."""

from ramify.model.event import Event
from ramify.model.observation import Record
from ramify.protocols.claude.hooks import decode_hook
from ramify.protocols.claude.stream import decode_sdk, decode_stream
from ramify.protocols.claude.transcript import decode_transcript
from ramify.protocols.otel import decode as otel

FORMATS = frozenset({"claude", "stream-json", "sdk", "claude-hook"})


def decode(record: Record) -> tuple[Event, ...]:
    """Never raises. A format that is not ours means nothing."""
    match record.format:
        case "claude":
            return decode_transcript(record)
        case "stream-json":
            return decode_stream(record)
        case "sdk":
            return decode_sdk(record)
        case "claude-hook":
            return decode_hook(record)
        case otel.FORMAT:
            return otel.told(record)
        case _:
            return ()
