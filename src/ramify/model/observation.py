"""What was seen, verbatim: four kinds, never changed once stored. Secrets are cut out before that, and marked."""

from typing import Literal

from msgspec import Struct

Headers = tuple[tuple[str, str], ...]
Outcome = Literal["complete", "aborted", "cut", "failed", "lost"]
"""How an exchange ended: whole; the client left; the server left in the middle; the upstream could not be
reached; nobody will ever know (no answer was recorded)."""


class Request(Struct, frozen=True, tag="request", array_like=True):
    """An HTTP request as it arrived. `exchange` is the id that the place of capture gave it."""

    id: str
    project: str
    at: int  # microseconds since 1970, UTC
    source: str  # "proxy", or what was imported
    exchange: str
    method: str
    path: str
    headers: Headers
    body: bytes
    credential: str = ""  # keyed fingerprint of the caller's key, never the key


class Response(Struct, frozen=True, tag="response", array_like=True):
    """How that exchange ended."""

    id: str
    project: str
    at: int
    source: str
    request: str  # the request's observation id
    path: str
    status: int  # 0: none
    headers: Headers
    body: bytes
    outcome: Outcome
    first_byte: int = 0  # 0: none came
    error: str = ""


class Record(Struct, frozen=True, tag="record", array_like=True):
    """A line of a file, a frame of a stream, a broker message, an event that a program reported."""

    id: str
    project: str
    at: int
    source: str
    format: str
    place: str
    body: bytes


class Correction(Struct, frozen=True, tag="correction", array_like=True):
    """A person's word about a link. It outlives every rebuild, because it is in the log like all else."""

    id: str
    project: str
    at: int
    source: str
    act: Literal["link", "unlink", "withdraw"]  # the last takes back what was said before: the rules decide again
    child: str
    parent: str = ""


Observation = Request | Response | Record | Correction
