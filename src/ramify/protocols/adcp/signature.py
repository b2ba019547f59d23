"""Whether a push comes from whom it says: AdCP's signature over the bytes as they were sent, or A2A's plain token."""

import hashlib
import hmac
from collections.abc import Mapping

TIMESTAMP, SIGNATURE = "x-adcp-timestamp", "x-adcp-signature"
TOKEN = "x-a2a-notification-token"
WINDOW_SECONDS = 300


def signature(secret: str, timestamp: str, raw: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + raw, hashlib.sha256).hexdigest()


def refusal(headers: Mapping[str, str], raw: bytes, secret: str, now_seconds: float) -> str:
    """Why an AdCP push is not believed; nothing where it is. `headers` have small letters."""
    timestamp, given = headers.get(TIMESTAMP, "").strip(), headers.get(SIGNATURE, "").strip()
    if not timestamp or not given:
        return f"the headers {TIMESTAMP} and {SIGNATURE} are missing"
    if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
        return f"{TIMESTAMP} is no number of seconds"
    if not equal(signature(secret, timestamp, raw), given):
        return "the signature is wrong"
    if abs(now_seconds - int(timestamp)) > WINDOW_SECONDS:
        return f"{TIMESTAMP} is more than {WINDOW_SECONDS} seconds off"
    return ""


def has_token(headers: Mapping[str, str], tokens: tuple[str, ...]) -> bool:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = [headers.get(TOKEN, ""), bearer.strip() if scheme.lower() == "bearer" else ""]
    return any(one and equal(one, token) for one in given for token in tokens if token)


def equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogateescape"), other.encode("utf-8", "surrogateescape"))
