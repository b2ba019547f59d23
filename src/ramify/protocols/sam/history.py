"""The history that a call to a model carried along, as it stands in the message that tells of the call."""

from typing import Any

from ramify.protocols.sam.identity import message_of
from ramify.protocols.sam.wire import list_at, read_envelope, table_at


def contents(body: bytes, part: int) -> list[Any]:
    found = read_envelope(body)
    parts = [] if isinstance(found, str) else list_at(message_of(found.payload), "parts")
    data = table_at(parts[part], "data") if part < len(parts) else {}
    return list_at(table_at(data, "request"), "contents")
