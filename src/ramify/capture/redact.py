"""Secrets out, before anything is stored. Everything that is not a secret stays byte for byte.

A secret becomes a mark that tells its kind and nothing else: `[redacted:anthropic-key]`. The mark does not
depend on the secret, so equal words stay equal wherever they are seen again, and nothing can be guessed.
"""

import re
from urllib.parse import quote, unquote

from ramify.capture.redact_stream import Redact, redact_events
from ramify.capture.secret_coding import redact_coded
from ramify.capture.secret_escapes import DEPTHS, through_escapes
from ramify.capture.secret_keys import redact_named
from ramify.capture.secret_patterns import FAMILIES
from ramify.capture.secret_words import redact_beside
from ramify.model.observation import Headers
from ramify.protocols.wire.coding import decode, encodings_of

VERSION = 6  # one more whenever a rule of any module here finds more: stores say by which they were searched
HEADER_MARK = "[redacted]"
PLAIN_KEYS = (
    "idempotency", "cache", "surrogate", "routing", "partition", "sort", "group", "dedup", "deduplication", "message", "object", "request",
    "correlation", "trace", "public", "websocket", "primary", "foreign", "ordering", "concurrency", "lock",
)  # fmt: skip
"""Of tables, queues and caches, and those that say that two requests are one: links may rest on them."""
SECRET_HEADER = re.compile(
    r"authorization|cookie2?$|secret|passw|credential|token|signature|jwt|[-_]auth$|^auth$"
    r"|(?:api|subscription|functions|access|account|master|shared|app|application|auth|private|signing|rapidapi)[-_]?key"
    r"|(?:^|[-_])authentication$|^dpop$|^x-ramify-session$|^x-honeycomb-team$|^x-amzn-oidc-|^(?:x-)?session$|(?:^|[-_])(?:pass|pwd|otp|totp|sid|csrf|xsrf)$|"
    + "".join(f"(?<!{each})" for each in PLAIN_KEYS)
    + r"[-_]key$",
    re.IGNORECASE,
)
# Counts, limits and the ids that a client states: words like `token` in their names mean something else.
PLAIN_HEADER = re.compile(
    r"ratelimit|rate-limit|tokens|^x-claude-code-|^anthropic-(?:beta|version)$", re.IGNORECASE
)
PERCENT = re.compile(rb"%[2-7][0-9A-Fa-f]")
PARTS = re.compile(r"([/?&;#])")
WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
# One replacement may uncover the start of another secret; real text never needs more rounds than this.
ROUNDS = 8


def is_secret_header(name: str) -> bool:
    return bool(SECRET_HEADER.search(name)) and not PLAIN_HEADER.search(name)


def redact_headers(headers: Headers) -> Headers:
    """By their names; and what others hold, such as the address of a page or of a redirection, by its form."""
    hidden = tuple((name, HEADER_MARK if value and is_secret_header(name) else value) for name, value in headers)
    values = "\n".join(value for _, value in hidden).encode("utf-8", "surrogatepass")
    if patterns_once(values) == values and not PERCENT.search(values):
        return hidden
    return tuple((name, redact_address(value)) for name, value in hidden)


def redact_address(address: str) -> str:
    """An address, also as it reads: `sk%2Dant…`. Its parts keep their bytes if they hold nothing."""
    clean = redact_string(address)
    if "%" not in clean or reads_clean(clean):
        return clean
    parts = "".join(part if reads_clean(part) else quote(redact_string(read(part)), safe="[]:=+") for part in PARTS.split(clean))
    return parts if reads_clean(parts) else redact_string(read(parts))


def reads_clean(address: str) -> bool:
    """Also half read: what one program has encoded may be read by two."""
    once, plain = unquote(address), read(address)
    return redact_string(plain) == plain and (once == plain or redact_string(once) == once)


def read(address: str) -> str:
    """However often it was encoded."""
    for _ in range(DEPTHS):
        before, address = address, unquote(address)
        if address == before:
            break
    return address


def redact_string(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    clean = redact_text(raw)
    return text if clean == raw else clean.decode("utf-8", "surrogatepass")


def patterns_once(text: bytes) -> bytes:
    return redact_coded(by_form(text), lambda plain: redact_named(by_form(plain)))


def by_form(text: bytes) -> bytes:
    for family in FAMILIES:
        if family.probe.search(text):
            for pattern in family.patterns:
                text = pattern.shape.sub(pattern.replace, text)
    return redact_beside(text)


def redact_text(text: bytes) -> bytes:
    """Secrets that their own form gives away."""
    return through_escapes(text, patterns_in_rounds)


def redact_json(raw: bytes) -> bytes:
    """The same, and values whose name says that they are secret. Broken JSON and plain text are fine, too."""
    return through_escapes(raw, names_in_rounds)


def patterns_in_rounds(text: bytes) -> bytes:
    for _ in range(ROUNDS):
        before, text = text, patterns_once(text)
        if text == before:
            break
    return text


def names_in_rounds(raw: bytes) -> bytes:
    for _ in range(ROUNDS):
        before, raw = raw, redact_named(patterns_once(raw))
        if raw == before:
            break
    return raw


def redact_sse(raw: bytes) -> bytes:
    """An event stream; a secret may be spread over several events of one block."""
    return redact_events(raw, redact_json)


def redact_body(raw: bytes, content_type: str, content_encoding: str, redact: Redact = redact_json) -> tuple[bytes, bool]:
    """The body without secrets, and whether it had to be decoded for that (and is no longer compressed)."""
    encodings = encodings_of(content_encoding)
    if not encodings:
        return redact_plain(raw, content_type, redact), False
    decoded = decode(raw, encodings)
    if decoded is None:
        return raw, False
    redacted = redact_plain(decoded, content_type, redact)
    return (raw, False) if redacted == decoded else (redacted, True)


def redact_plain(raw: bytes, content_type: str, redact: Redact = redact_json) -> bytes:
    if raw[:2] in WIDE:
        return redact_wide(raw, redact)
    if "event-stream" in content_type.lower():
        return redact_events(raw, redact)
    return redact(raw)


def redact_wide(raw: bytes, redact: Redact) -> bytes:
    """Text of two bytes a letter, as some programs of Windows write it; what is none of it stays."""
    coding = WIDE[raw[:2]]
    try:
        plain = raw[2:].decode(coding).encode()
    except UnicodeError:
        return raw
    clean = redact(plain)
    return raw if clean == plain else raw[:2] + clean.decode().encode(coding)
