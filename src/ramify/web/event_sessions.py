"""Whose events a request is about: a cookie or a header that the server itself has given out.

It is a capability, so it is never printed and never stored: it carries the server's own signature, and the session's
public name is a part of its hash. What the server did not give is not taken over; the caller gets a new one.
"""

import base64
import hmac
import secrets

from aiohttp import web

from ramify.model.ids import session_name

COOKIE = "ramify_session"
HEADER = "X-Ramify-Session"
RANDOM_BYTES = 18
SIGNATURE_BYTES = 18
PURPOSE = b"event session "


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


def new_token(secret: bytes) -> str:
    return signed(secret, secrets.token_bytes(RANDOM_BYTES))


def signed(secret: bytes, random: bytes) -> str:
    return encoded(random) + encoded(hmac.digest(secret, PURPOSE + random, "sha256")[:SIGNATURE_BYTES])


def is_ours(secret: bytes, token: str) -> bool:
    try:
        raw = base64.urlsafe_b64decode(token.encode("ascii"))
    except (ValueError, UnicodeError):
        return False
    return len(raw) == RANDOM_BYTES + SIGNATURE_BYTES and hmac.compare_digest(signed(secret, raw[:RANDOM_BYTES]), token)


class Caller:
    """The session of one request; `token` is set where the caller must be told it."""

    def __init__(self, request: web.Request, secret: bytes) -> None:
        given = request.headers.get(HEADER) or request.cookies.get(COOKIE, "")
        self.token = "" if is_ours(secret, given) else new_token(secret)
        self.session = session_name(self.token or given)
        self._secure = request.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"

    def tell(self, response: web.StreamResponse) -> None:
        if self.token:
            response.set_cookie(COOKIE, self.token, path="/", httponly=True, samesite="Lax", secure=self._secure)
            response.headers[HEADER] = self.token
