"""An observation as stores keep it: its head, and its body apart."""

import msgspec
from msgspec.structs import replace

from ramify.model.observation import Correction, Observation, Record, Request, Response

_heads = msgspec.msgpack.Decoder(Request | Response | Record | Correction)


def seen_with(head: bytes, body: bytes) -> Observation:
    seen: Observation = _heads.decode(head)
    return seen if isinstance(seen, Correction) else replace(seen, body=body)
