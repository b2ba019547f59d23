"""Redaction of whole observations: headers, paths, bodies, plain or compressed."""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from ramify.capture.a2a.secrets import redact_frame
from ramify.capture.a2a.stored import StoredStreams
from ramify.capture.mesh_secrets import redact_message
from ramify.capture.otel_secrets import redact_attributes
from ramify.capture.redact import redact_address, redact_body, redact_headers, redact_json, redact_string
from ramify.model.observation import Correction, Headers, Observation, Record, Request, Response
from ramify.protocols.adcp.redact import redact_line
from ramify.redaction import Sent


class Cleaner:
    """Equal lists of headers are common: each is cleaned once."""

    def __init__(self) -> None:
        self._headers: dict[Headers, Headers] = {}

    def piece(self, raw: bytes) -> bytes:
        return redact_json(raw)

    def headers(self, headers: Headers) -> Headers:
        found = self._headers.get(headers)
        if found is None:
            if len(self._headers) > 10_000:
                self._headers.clear()
            found = self._headers[headers] = redact_headers(headers)
        return found

    def head(self, seen: Sent) -> Sent:
        headers, path = self.headers(seen.headers), redact_address(seen.path)
        plain = seen if headers == seen.headers and path == seen.path else replace(seen, headers=headers, path=path)
        return without_error(plain)

    def finds_nothing(self, seen: Response, blocks: list[dict[str, Any]]) -> bool:
        """A quick look that suffices for almost every answer. A secret may be spread over events: both are looked at."""
        if _header(seen.headers, "content-encoding"):
            return False
        whole = msgspec.json.encode(blocks)
        return redact_json(whole) == whole and redact_json(seen.body) == seen.body

    def streams(self) -> StoredStreams:
        return StoredStreams()

    def observation(self, seen: Observation) -> Observation:
        match seen:
            case Request() | Response():
                return self._exchange(seen)
            case Record():
                clean, place = self._record(seen), redact_place(seen.place)
                return clean if place == clean.place else replace(clean, place=place)
            case Correction():
                return seen

    def _record(self, seen: Record) -> Record:
        match seen:
            case Record(format="a2a"):
                body = redact_frame(seen.body)
                return seen if body is seen.body else replace(seen, body=body)
            case Record(format="adcp"):
                return replace(seen, body=redact_json(redact_line(seen.body)))
            case Record(format="sam"):
                body = redact_message(seen.body)
                return seen if body is seen.body else replace(seen, body=body)
            case Record(format="otlp"):
                return replace(seen, body=redact_attributes(seen.body))
        return replace(seen, body=redact_json(seen.body))

    def _exchange(self, seen: Request | Response) -> Observation:
        headers = self.headers(seen.headers)
        body, decoded = redact_body(seen.body, _header(headers, "content-type"), _header(headers, "content-encoding"))
        if decoded:
            headers = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
        path = redact_address(seen.path)
        if headers != seen.headers or body != seen.body or path != seen.path:
            seen = replace(seen, headers=headers, body=body, path=path)
        return seen if isinstance(seen, Request) else without_error(seen)


def redact_place(place: str) -> str:
    """Files have names that somebody gave them; the number of the line, after a colon, is none of those."""
    file, colon, line = place.rpartition(":")
    return f"{redact_name(file)}{colon}{line}" if file else place


@lru_cache(4096)
def redact_name(file: str) -> str:
    return redact_string(file)


def without_error(seen: Sent) -> Sent:
    """What went wrong is told with the addresses and the answers of others."""
    if isinstance(seen, Request) or not seen.error:
        return seen
    error = redact_string(seen.error)
    return seen if error == seen.error else replace(seen, error=error)


def _header(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")
