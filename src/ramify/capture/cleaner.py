"""Redaction of whole observations. A request repeats its history, so each message is searched for secrets once."""

import msgspec
import xxhash

from ramify.capture.redact import redact_body, redact_headers, redact_json
from ramify.model.observation import Correction, Headers, Observation, Record, Request, Response
from ramify.protocols.anthropic.wire import Envelope, read_envelope, spans

MEMO = 200_000


class Cleaner:
    def __init__(self) -> None:
        self._clean: set[bytes] = set()

    def clean(self, seen: Observation) -> Observation:
        match seen:
            case Request() | Response():
                return self._exchange(seen)
            case Record():
                return msgspec.structs.replace(seen, body=redact_json(seen.body))
            case Correction():
                return seen

    def _exchange(self, seen: Request | Response) -> Observation:
        headers = redact_headers(seen.headers)
        body = self._request_body(seen) if isinstance(seen, Request) else None
        if body is None:
            body, decoded = redact_body(seen.body, _header(headers, "content-type"), _header(headers, "content-encoding"))
            if decoded:
                headers = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
        if headers == seen.headers and body is seen.body:
            return seen
        return msgspec.structs.replace(seen, headers=headers, body=body)

    def _request_body(self, seen: Request) -> bytes | None:
        """Piece by piece; None where the body is no list of messages that could be taken apart."""
        if _header(seen.headers, "content-encoding"):
            return None
        envelope = read_envelope(seen.body)
        if not isinstance(envelope, Envelope):
            return None
        kept: list[bytes] = []
        position, changed = 0, False
        for start, end in [*spans(seen.body, envelope), (len(seen.body), len(seen.body))]:
            for piece in (seen.body[position:start], seen.body[start:end]):
                clean = self._piece(piece)
                changed = changed or clean is not piece
                kept.append(clean)
            position = end
        return b"".join(kept) if changed else seen.body

    def _piece(self, piece: bytes) -> bytes:
        if len(piece) < 12:
            return piece
        digest = xxhash.xxh3_128_digest(piece)
        if digest in self._clean:
            return piece
        clean = redact_json(piece)
        if clean != piece:
            return clean
        if len(self._clean) > MEMO:
            self._clean.clear()
        self._clean.add(digest)
        return piece


def _header(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")
