"""A delivery as an observation: the payload stays byte for byte, with what came beside it around it."""

import json
from pathlib import Path

from ramify.capture.broker.receiver import Delivery
from ramify.capture.importer import Imported
from ramify.capture.mesh_file import read_line
from ramify.capture.mesh_secrets import redact_message
from ramify.model.moment import iso
from ramify.model.nested import storable
from ramify.model.observation import Record
from ramify.protocols.sam.decode import FORMAT
from ramify.protocols.sam.identity import delivery_id
from ramify.protocols.sam.wire import read_envelope


def records_of(delivery: Delivery, project: str, at: int, source: str, zone: str) -> list[Imported]:
    """What was written down before has its own time; what comes now came now."""
    if delivery.line:
        return list(read_line(delivery.line, delivery.number, Path(source), project, zone))
    body = redact_message(body_of(delivery, at))
    seen = read_envelope(body)
    assert not isinstance(seen, str), seen  # we have just written it
    id = delivery_id(seen, project, live=True)
    return [Imported((Record(id, project, at, FORMAT, FORMAT, f"{source}:{delivery.topic}", body),), 0)]


def body_of(delivery: Delivery, at: int) -> bytes:
    beside = {"topic": delivery.topic, "received_at": iso(at)}
    if delivery.properties:
        beside["user_properties"] = storable(delivery.properties)
    if delivery.redelivered:
        beside["redelivered"] = True  # type: ignore[assignment]
    head = json.dumps(storable(beside), ensure_ascii=False).encode()
    return head[:-1] + b', "payload": ' + as_json(delivery.payload) + b"}"


def as_json(payload: bytes) -> bytes:
    """JSON as it came, words as a string, and anything else as its bytes."""
    try:
        text = payload.decode()
        json.loads(text)
        return payload.strip()
    except UnicodeDecodeError:
        return json.dumps({"binary_data": payload.hex()}).encode()
    except (ValueError, RecursionError):
        return json.dumps(text).encode() if payload else b"null"
