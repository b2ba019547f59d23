"""Secrets out of A2A frames: by the names of headers, members and query values, and by what they look like.

Agents send a client's request back in their history, so a value that a name gave away is looked for in the whole
event. What holds no secret keeps its bytes.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from ramify.capture.a2a.glance import shows_nothing
from ramify.capture.a2a.growth import redacted_events
from ramify.capture.a2a.values import (
    MARK,
    NO_NAMES,
    in_writing,
    plain_text,
    redact_broken,
    redact_path,
    redact_value,
    written,
)
from ramify.capture.redact import is_secret_header, redact_address

PACKED = b'_b64"'


def redact_header_fields(headers: Mapping[str, str], names: frozenset[str] = NO_NAMES) -> dict[str, str]:
    """`names`: headers that the agent's card says are secret."""
    return {
        name: MARK if value and (is_secret_header(name) or name.lower() in names) else redact_address(value)
        for name, value in headers.items()
    }


def scheme_names(card: object) -> Iterator[str]:
    """The headers and parameters in which an agent's card wants keys: `apiKey` in 0.3, `apiKeySecurityScheme` in 1.0."""
    schemes = card.get("securitySchemes") if isinstance(card, dict) else None
    for scheme in schemes.values() if isinstance(schemes, dict) else ():
        if isinstance(scheme, dict):
            inner = scheme.get("apiKeySecurityScheme")
            for where in (scheme, inner if isinstance(inner, dict) else {}):
                if isinstance(where.get("name"), str):
                    yield where["name"].lower()


def redact_frame(line: bytes, names: frozenset[str] = NO_NAMES) -> bytes:
    """One line of JSON; the same bytes where nothing in it is secret."""
    if not names and PACKED not in line and shows_nothing(line) and not is_stream(line):
        return line
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return redact_broken(line)
    if not isinstance(frame, dict):
        return redact_broken(line)
    try:
        clean = redact_members(frame, names)
        return in_writing(line if clean == frame else written(clean))
    except RecursionError:
        return redact_broken(line)


def is_stream(line: bytes) -> bool:
    """Of more than one event: a secret may be spread over them."""
    return b'"raw"' in line and line.count(b"data:") > 1 and b"text" in line


def redact_members(frame: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    clean = dict(frame)
    if isinstance(headers := frame.get("headers"), dict):
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in headers.items()}
        hidden = redact_header_fields(texts, names)
        clean["headers"] = {name: headers[name] if hidden[name] == texts[name] else hidden[name] for name in headers}
    if isinstance(path := frame.get("path"), str):
        clean["path"] = redact_address(plain_text(redact_path(path, names)))
    if "body" in frame:
        clean["body"] = redact_value(frame["body"])
    if isinstance(raw := frame.get("raw"), str):
        clean["raw"] = redact_stream(raw.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    for member, redact in (("body_b64", redact_broken), ("raw_b64", redact_stream)):
        if isinstance(packed := frame.get(member), str):
            clean[member] = redact_packed(packed, redact)
    return clean


def redact_packed(packed: str, redact: Any) -> str:
    try:
        raw = b64decode(packed, validate=True)
    except ValueError:
        return packed
    clean = redact(raw)
    return packed if clean == raw else b64encode(clean).decode()


def redact_stream(raw: bytes) -> bytes:
    return b"".join(clean for _, clean in redacted_events(raw))
