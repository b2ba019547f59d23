"""A line of the audit: who did what, when and from where. It is a record in the log like all else: it is copied with it,
no rebuild changes it, and nothing that forgets takes it."""

import msgspec
from msgspec import Struct

from ramify.model.ids import observation_id
from ramify.model.observation import Observation, Record

FORMAT = "audit"
LONGEST = 2000  # of anything that is told


class Noted(Struct, frozen=True, omit_defaults=True):
    """`who` is the name of an identity, or the user of this machine; `way` is http, command or mcp; `what` an id, if it was done
    to one thing; `more` whatever else tells one act from another."""

    who: str
    act: str
    what: str = ""
    way: str = "http"
    address: str = ""
    more: dict[str, str] = {}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Noted).decode


def audit_record(noted: Noted, project: str, at: int, once: str) -> Record:
    """`once` is said by nobody else: two acts that are alike are two."""
    told = {_cut(name): _cut(value) for name, value in noted.more.items()}
    body = _encode(msgspec.structs.replace(noted, what=_cut(noted.what), more=told))
    return Record(observation_id("audit", at, once), project, at, "audit", FORMAT, noted.way, body)


def _cut(text: str) -> str:
    """Whatever an address held: half of a character pair is no text that could be written."""
    return text[:LONGEST].encode("utf-8", "replace").decode()


def is_audit(seen: Observation | None) -> bool:
    return isinstance(seen, Record) and seen.format == FORMAT


def read_noted(seen: Record) -> Noted | None:
    """None for what is no such line: it was written by something newer, or by nobody of ours."""
    try:
        return _decode(seen.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
