"""Records on their way from a program to a server, as JSON: `{"records": [{"id", "at", "format", "body", …}]}`."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ramify.model.audit import FORMAT as AUDIT
from ramify.model.ids import digest, observation_id
from ramify.model.moment import FIRST, LAST
from ramify.model.observation import Record


class Sent(Struct, frozen=True, forbid_unknown_fields=True):
    """One record. `body` is the text of the line, verbatim; without a project, the server's own is taken."""

    id: str
    at: Annotated[int, Meta(ge=FIRST, le=LAST)]
    source: str
    format: str
    body: str
    place: str = ""
    project: str = ""


class Batch(Struct, frozen=True, forbid_unknown_fields=True):
    records: tuple[Sent, ...]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Batch).decode


def encode_records(records: Sequence[Record]) -> bytes:
    """What is no UTF-8 inside a body is lost here, marked as such: JSON has no other text."""
    return _encode(
        Batch(
            tuple(
                Sent(seen.id, seen.at, seen.source, seen.format, seen.body.decode("utf-8", "replace"), seen.place, seen.project)
                for seen in records
            )
        )
    )


def decode_records(raw: bytes, project: str) -> tuple[Record, ...]:
    """Raises msgspec's own errors and UnicodeDecodeError: whoever sent it is told what is wrong."""
    found = _decode(raw).records
    if any(sent.format == AUDIT for sent in found):
        raise msgspec.ValidationError("the audit is written by Ramify alone")
    return tuple(
        Record(sent.id, sent.project or project, sent.at, sent.source, sent.format, sent.place, sent.body.encode()) for sent in found
    )


def hook_record(body: bytes, project: str, at: int) -> Record:
    """What a client told a hook. It has neither an id nor a time of its own: two that say the same are two."""
    identity = observation_id("record", project, "claude-hook", at, digest(body))
    return Record(identity, project, at, "hook", "claude-hook", "hook:1", body)
