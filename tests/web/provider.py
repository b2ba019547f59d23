"""An OpenID provider that plays by the rules, PKCE included, unless a test tells it to break one."""

import json
import secrets
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from aiohttp import web
from aiohttp.test_utils import TestServer
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

BASIC = "Basic " + b64encode(b"ramify:a%20secret%3A%20of%20the%20client%27s").decode()  # as a form would write it
CLIENT, SECRET = "ramify", "a secret: of the client's"
Claims = dict[str, Any]


class Scripted:
    def __init__(self) -> None:
        self.url = ""
        self.key: Any = first_key()
        self.shown: list[Any] = [self.key]
        self.algorithm = "RS256"
        self.person: Claims = {"sub": "ann", "email": "ann@example.org", "email_verified": True, "groups": ["agents"]}
        self.lie: Callable[[Claims], Claims] = lambda claims: claims
        self.metadata: Claims = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.way = "client_secret_basic"
        self.key_questions = 0
        self.refused: list[str] = []

    def rotate(self) -> None:
        self.key = ECKey.generate_key("P-256", {"kid": secrets.token_hex(4)})
        self.shown, self.algorithm = [self.key], "ES256"

    def authorize(self, address: str) -> dict[str, str]:
        """What a person's browser would bring back after they agreed."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def knows(self, header: str, form: Mapping[str, Any]) -> bool:
        """The client, in the one way in which it may say who it is."""
        said = {"client_id": form.get("client_id"), "client_secret": form.get("client_secret")}
        ways = {
            "client_secret_basic": (BASIC, {"client_id": None, "client_secret": None}),
            "client_secret_post": ("", {"client_id": CLIENT, "client_secret": SECRET}),
            "none": ("", {"client_id": CLIENT, "client_secret": None}),
        }
        return (header, said) == ways[self.way]

    async def configuration(self, request: web.Request) -> web.Response:
        own = {"issuer": self.url, "authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/keys"}
        return web.json_response(own | self.metadata)

    async def keys(self, request: web.Request) -> web.Response:
        self.key_questions += 1
        return web.json_response(KeySet(self.shown).as_dict(private=False))

    async def token(self, request: web.Request) -> web.Response:
        form = await request.post()
        asked = self.codes.pop(str(form["code"]), None)
        problem = (
            "code" if asked is None
            else "client" if not self.knows(request.headers.get("authorization", ""), form)
            else "address" if form["redirect_uri"] != asked["redirect_uri"]
            else "verifier" if create_s256_code_challenge(str(form["code_verifier"])) != asked["code_challenge"]
            else ""
        )  # fmt: skip
        if problem or asked is None:
            self.refused.append(problem)
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = int(time.time())
        claims = {"iss": self.url, "aud": asked["client_id"], "exp": now + 60, "iat": now, "nonce": asked["nonce"], **self.person}
        header = {"alg": self.algorithm, "kid": getattr(self.key, "kid", None)}
        signed = unsigned(self.lie(claims)) if self.algorithm == "none" else jwt.encode(header, self.lie(claims), self.key, algorithms=[self.algorithm])
        return web.json_response({"access_token": "x", "token_type": "Bearer", "id_token": signed})


def unsigned(claims: Claims) -> str:
    parts = (urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims))
    return ".".join((*parts, ""))


@cache
def first_key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "first"})


def shared_key() -> OctKey:
    return OctKey.import_key(SECRET.ljust(32, "."), {"kid": "first"})


@asynccontextmanager
async def scripted() -> AsyncIterator[Scripted]:
    provider = Scripted()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.configuration)
    app.router.add_get("/keys", provider.keys)
    app.router.add_post("/token", provider.token)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    provider.url = str(server.make_url("")).rstrip("/")
    try:
        yield provider
    finally:
        await server.close()


def query(answer: dict[str, str]) -> str:
    return f"/api/oidc/callback?{urlencode(answer)}"
