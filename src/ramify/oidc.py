"""Somebody else vouches for people: OpenID Connect, by the authorization code with PKCE, a state and a nonce.

What the provider says is believed only as an ID token that it signed for us, for this very login, just now. Who may do what is
said by rules over its claims; the first that fits counts, and whoever fits none is nobody here.

A login under way is kept by the browser alone, as a random word: what goes to the provider follows from that word and a secret of the
store, so that any server of the store can end what another began, and nothing is written for strangers who only begin.
"""

import asyncio
import base64
import hmac
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec
from msgspec import Struct

from ramify.model.claims import Rule, identity_of
from ramify.model.identity import Identity
from ramify.model.mistake import UserMistake

log = logging.getLogger("ramify")
# Keys of the provider's own only: with a shared secret, or none, anybody who knows the client could sign.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
MOST_ENDED = 1000
PENDING_SECONDS = 600
KNOWN_SECONDS = 3600  # how long what the provider says of itself is believed
AGAIN_SECONDS = 10  # no sooner are its keys asked for again, whatever is presented
LEEWAY = 60  # seconds by which clocks may differ
LARGEST = 256 * 1024
TIMEOUT = aiohttp.ClientTimeout(total=10)


class NotVouched(Exception):
    """A login that came to nothing. `unknown`: the provider knows them, and no rule does."""

    def __init__(self, reason: str, unknown: bool = False) -> None:
        super().__init__(reason)
        self.unknown = unknown


class Client(Struct, frozen=True):
    """What we are to the provider. Without a secret we are a public client, which PKCE protects."""

    issuer: str
    id: str
    secret: str
    scopes: str
    rules: tuple[Rule, ...]


class Metadata(Struct, frozen=True):
    """What it says of itself (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Pending:
    """A login under way. `held` is what the browser keeps: a word, and until when it is good, which all else depends on."""

    def __init__(self, held: str, secret: bytes) -> None:
        self._held, self._secret = held.encode("utf-8", "surrogateescape"), secret
        self.state, self.nonce, self.verifier = map(self._derived, ("state", "nonce", "verifier"))

    def _derived(self, what: str) -> str:
        made = hmac.digest(self._secret, b"oidc " + what.encode() + b" " + self._held, "sha256")
        return base64.urlsafe_b64encode(made).decode().rstrip("=")

    @property
    def until(self) -> int:
        """Whatever stands there, the state was made from it."""
        written = self._held.rpartition(b".")[2]
        return int(written) if written.isdigit() and len(written) < 12 else 0


class Provider:
    """`back` is where it sends people back to; `secret` is the same for all servers to which it may send them."""

    def __init__(self, client: Client, back: Callable[[], str], secret: Callable[[], bytes]) -> None:
        self.name = urlsplit(client.issuer).hostname or client.issuer
        self._client = client
        self._back = back
        self._secret = secret
        self._ended: deque[str] = deque(maxlen=MOST_ENDED)
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, Any] | None = None

    async def begin(self) -> tuple[str, str]:
        """Where to send the browser, and what it must hold when it comes back."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        metadata = await self._said()
        browser = f"{secrets.token_urlsafe(32)}.{int(time.time()) + PENDING_SECONDS}"
        pending = Pending(browser, self._secret())
        address: str = prepare_grant_uri(
            metadata.authorization_endpoint, self._client.id, "code", self._back(), self._client.scopes, pending.state,
            nonce=pending.nonce, code_challenge=create_s256_code_challenge(pending.verifier), code_challenge_method="S256",
        )  # fmt: skip
        return address, browser

    async def finish(self, browser: str, answer: Mapping[str, str]) -> Identity:
        """Raises NotVouched, whatever was wrong. A state is good for one attempt here; elsewhere the provider's code is."""
        pending = Pending(browser, self._secret())
        if not hmac.compare_digest(pending.state.encode(), answer.get("state", "").encode("utf-8", "surrogateescape")):
            raise NotVouched("another browser began this login")
        if time.time() > pending.until or pending.state in self._ended:
            raise NotVouched("the state is used or too old")
        self._ended.append(pending.state)
        if "error" in answer or not answer.get("code"):
            raise NotVouched(f"the provider refused: {answer.get('error', 'no code')[:80]}")
        if answer.get("iss", self._client.issuer).rstrip("/") != self._client.issuer.rstrip("/"):
            raise NotVouched("another provider answered")  # RFC 9207
        claims = await self._claims(await self._exchanged(answer["code"], pending), pending)
        identity = identity_of(claims, self._client.rules)
        if identity is None:
            raise NotVouched("no rule fits their claims", unknown=True)
        return identity

    # -- the provider's word -------------------------------------------------------------------------------------------

    async def _exchanged(self, code: str, pending: Pending) -> str:
        metadata = await self._said()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self._back(), "code_verifier": pending.verifier}
        headers = {"accept": "application/json"}
        if not self._client.secret:
            form["client_id"] = self._client.id
        elif "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            # RFC 6749, section 2.3.1: both are written as in a form first.
            pair = f"{quote(self._client.id, safe='')}:{quote(self._client.secret, safe='')}"
            headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            form |= {"client_id": self._client.id, "client_secret": self._client.secret}
        answer = await asked("POST", metadata.token_endpoint, form, headers)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise NotVouched("the provider gave no ID token")
        return token

    async def _claims(self, token: str, pending: Pending) -> dict[str, Any]:
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        header, claims = await self._verified(token)
        client, issuer = self._client.id, (await self._said()).issuer
        options = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": client}}
        try:
            CodeIDToken(claims, header, options, {"nonce": pending.nonce, "client_id": client}).validate(int(time.time()), LEEWAY)
        except (JoseError, ValueError) as problem:
            raise NotVouched(f"the ID token is not for this login: {type(problem).__name__}: {problem}") from None
        return claims

    async def _verified(self, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A key that is not known may be new: providers change them. They are asked again then, but not by everybody who wishes."""
        for attempt in range(2):
            asked_at, keys = await self._known_keys(attempt == 1)
            try:
                return await asyncio.to_thread(decoded, token, keys)
            except Exception as problem:  # of several libraries; whatever it is, the token is not good
                if attempt == 1 or time.monotonic() - asked_at < AGAIN_SECONDS:
                    raise NotVouched(f"the ID token is not signed by the provider: {type(problem).__name__}") from None
        raise AssertionError("unreachable")

    async def _known_keys(self, again: bool) -> tuple[float, Any]:
        from joserfc.jwk import KeySet

        if self._keys is None or again or time.monotonic() - self._keys[0] > KNOWN_SECONDS:
            found = await asked("GET", (await self._said()).jwks_uri)
            try:
                self._keys = (time.monotonic(), KeySet.import_key_set(found))  # type: ignore[arg-type]
            except (ValueError, KeyError, TypeError) as problem:
                raise NotVouched(f"the provider's keys cannot be read: {type(problem).__name__}") from None
        return self._keys

    async def _said(self) -> Metadata:
        if self._metadata is None or time.monotonic() - self._metadata[0] > KNOWN_SECONDS:
            found = await asked("GET", self._client.issuer.rstrip("/") + "/.well-known/openid-configuration")
            self._metadata = (time.monotonic(), checked(found, self._client.issuer))
        return self._metadata[1]


def decoded(token: str, keys: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    from joserfc import jwt

    found = jwt.decode(token, keys, algorithms=ALGORITHMS)
    return dict(found.header), dict(found.claims)


def checked(found: dict[str, Any], issuer: str) -> Metadata:
    try:
        metadata = msgspec.convert(found, Metadata)
    except msgspec.ValidationError as problem:
        raise NotVouched(f"the provider does not say enough of itself: {problem}") from None
    if metadata.issuer.rstrip("/") != issuer.rstrip("/"):  # a setting is written without the slash that some have
        raise NotVouched(f"the provider calls itself {metadata.issuer[:200]!r}, not {issuer!r}")
    for address in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri):
        if issuer.startswith("https:") and not address.startswith("https:"):
            raise NotVouched("the provider names an address without TLS")
    return metadata


async def asked(method: str, address: str, form: dict[str, str] | None = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """A JSON object, of bounded size and in bounded time; redirections are not followed."""
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as session,
            session.request(method, address, data=form, headers=headers, allow_redirects=False) as response,
        ):
            body = await response.content.read(LARGEST + 1)
            while len(body) <= LARGEST and (more := await response.content.read(LARGEST + 1 - len(body))):
                body += more
            status = response.status
    except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
        raise NotVouched(f"{urlsplit(address).hostname} does not answer: {type(problem).__name__}") from None
    if status != 200 or len(body) > LARGEST:
        raise NotVouched(f"{urlsplit(address).hostname} answered {status} with {len(body)} bytes")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotVouched(f"{urlsplit(address).hostname} answered what is no JSON object") from None


def require_library() -> None:
    try:
        import authlib.oidc.core  # noqa: F401
        import joserfc  # noqa: F401
    except ImportError:
        raise UserMistake("OpenID Connect needs the package authlib, which is not installed", "pip install 'ramify[oidc]'") from None
