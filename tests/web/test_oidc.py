"""Logging in by an OpenID provider's word: a scripted one that can break every rule, and a real one as a process of its own."""

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest

from bench.ports import free_port
from ramify.model.claims import Rule, identity_of, read_rule
from ramify.model.identity import Identity
from ramify.model.mistake import UserMistake
from ramify.oidc import PENDING_SECONDS, Client, Provider
from ramify.settings import check_provider, load
from tests.web.provider import CLIENT, SECRET, Claims, Scripted, query, scripted, shared_key
from tests.web.served import Client as Browser
from tests.web.served import serving
from tests.web.test_access import Guarded

RULES = (read_rule("groups=bosses:admin:*"), read_rule("groups=agents:read+write:billing+search"))
ANN = {"name": "oidc:ann@example.org", "scopes": ["read", "write"], "projects": ["billing", "search"], "login": True}


class World:
    """A server, a browser that has no cookies but those it is given, and a provider."""

    def __init__(self, provider: Scripted, small: Guarded, browser: Browser) -> None:
        self.provider, self.small, self.browser = provider, small, browser

    async def sent_there(self) -> tuple[str, str]:
        async with self.browser.get("/api/oidc/login", allow_redirects=False) as response:
            assert response.status == 302
            cookie = response.cookies["ramify_oidc"]
        self.browser.session.cookie_jar.clear()
        for part in ("httponly", "samesite"):
            assert cookie[part]
        return response.headers["location"], f"ramify_oidc={cookie.value}"

    async def come_back(self, answer: dict[str, str], cookie: str) -> tuple[str, str]:
        """Where the page goes on, and the login that it has."""
        async with self.browser.get(query(answer), headers={"cookie": cookie}, allow_redirects=False) as response:
            assert response.status == 302
            login = response.cookies.get("ramify_login")
        self.browser.session.cookie_jar.clear()
        return response.headers["location"], f"ramify_login={login.value}" if login is not None and login.value else ""

    async def log_in(self) -> tuple[str, str]:
        address, cookie = await self.sent_there()
        return await self.come_back(self.provider.authorize(address), cookie)

    async def who(self, login: str) -> Any:
        async with self.browser.get("/api/me", headers={"cookie": login, "sec-fetch-site": "same-origin"}) as response:
            return await response.json()

    @property
    def reasons(self) -> list[str]:
        return [line.more["why"] for line, _ in self.small.noted if line.act == "login-failed"]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with scripted() as provider:
        small = Guarded()
        async with serving(small) as browser:
            back = f"http://127.0.0.1:{browser.port}/api/oidc/callback"
            small.oidc = Provider(Client(provider.url, CLIENT, SECRET, "openid email", RULES), lambda: back, lambda: small.session_secret)
            yield World(provider, small, browser)


async def test_whom_the_provider_knows_is_let_in_as_the_rules_say(world: World) -> None:
    place, login = await world.log_in()
    assert place == "/"
    assert await world.who(login) == ANN
    assert [(line.act, line.who) for line, _ in world.small.noted] == [("login", "oidc:ann@example.org")]
    assert world.provider.refused == []
    async with world.browser.get("/api/login") as response:
        assert (await response.json())["oidc"] == "127.0.0.1"


@pytest.mark.parametrize("way", ["client_secret_post", "none"])
async def test_the_client_says_who_it_is_as_the_provider_wants_it(world: World, way: str) -> None:
    world.provider.way = way
    world.provider.metadata = {"token_endpoint_auth_methods_supported": [way]}
    client = Client(world.provider.url, CLIENT, SECRET if way != "none" else "", "openid", RULES)
    assert world.small.oidc is not None
    world.small.oidc = Provider(client, world.small.oidc._back, lambda: b"any")
    assert (await world.log_in())[0] == "/"


async def test_it_ends_after_half_a_day_and_every_server_of_the_store_knows_it(world: World) -> None:
    _, login = await world.log_in()
    world.small.access.read()
    assert await world.who(login) == ANN
    at = world.small.clock() + 12 * 3600 * 1_000_000
    world.small.access._clock = lambda: at
    assert (await world.who(login))["error"]["code"] == "unauthorized"


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        (lambda claims: claims | {"nonce": "another"}, "InvalidClaimError"),
        (lambda claims: {name: value for name, value in claims.items() if name != "nonce"}, "MissingClaimError"),
        (lambda claims: claims | {"aud": "somebody-else"}, "InvalidClaimError"),
        (lambda claims: claims | {"aud": ["somebody-else", "others"]}, "InvalidClaimError"),
        (lambda claims: claims | {"aud": [CLIENT, "others"], "azp": "others"}, "InvalidClaimError"),
        (lambda claims: claims | {"iss": "https://evil.example"}, "InvalidClaimError"),
        (lambda claims: claims | {"exp": claims["iat"] - 3600}, "ExpiredTokenError"),
        (lambda claims: {name: value for name, value in claims.items() if name != "exp"}, "MissingClaimError"),
        (lambda claims: claims | {"iat": claims["iat"] + 3600}, "issued in the future"),
    ],
    ids=["nonce", "no nonce", "audience", "audiences", "azp", "issuer", "expired", "no expiry", "future"],
)
async def test_a_token_that_is_not_for_this_login_opens_nothing(world: World, lie: Callable[[Claims], Claims], why: str) -> None:
    world.provider.lie = lie
    assert await world.log_in() == ("/?login=failed", "")
    [told] = world.reasons
    assert why in told


@pytest.mark.parametrize("way", ["another key", "shared secret", "no signature"])
async def test_a_token_that_the_provider_did_not_sign_opens_nothing(world: World, way: str) -> None:
    await world.log_in()
    if way == "another key":
        shown = world.provider.shown
        world.provider.rotate()
        world.provider.shown = shown
    elif way == "shared secret":
        world.provider.key, world.provider.algorithm = shared_key(), "HS256"
    else:
        world.provider.algorithm = "none"
    assert await world.log_in() == ("/?login=failed", "")
    assert "not signed by the provider" in world.reasons[0]


async def test_keys_that_are_new_are_asked_for_but_not_by_everybody_who_wishes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.log_in()
    await world.log_in()
    assert world.provider.key_questions == 1
    world.provider.rotate()
    assert (await world.log_in())[0] == "/?login=failed"  # they were asked for a moment ago
    assert world.provider.key_questions == 1
    monkeypatch.setattr("ramify.oidc.AGAIN_SECONDS", 0)
    assert (await world.log_in())[0] == "/"
    assert world.provider.key_questions == 2


async def test_a_state_is_good_once_for_one_browser_and_not_for_long(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    address, cookie = await world.sent_there()
    answer = world.provider.authorize(address)
    assert (await world.come_back(answer, cookie))[0] == "/"
    assert (await world.come_back(answer, cookie))[0] == "/?login=failed"
    address, cookie = await world.sent_there()
    _, others = await world.sent_there()
    for held in (others, ""):  # somebody sends us on with a login that they began
        address, _ = await world.sent_there()
        assert (await world.come_back(world.provider.authorize(address), held))[0] == "/?login=failed"
    for made_up in ({"code": "x", "state": "made-up"}, {"code": "x"}, {}):
        assert (await world.come_back(made_up, cookie))[0] == "/?login=failed"
    address, cookie = await world.sent_there()
    for prolonged in (cookie + "0", cookie.rpartition(".")[0] + ".99999999999", cookie.rpartition(".")[0] + ".x"):
        assert (await world.come_back(world.provider.authorize(address), prolonged))[0] == "/?login=failed"
    later = time.time() + PENDING_SECONDS + 1
    monkeypatch.setattr("ramify.oidc.time.time", lambda: later)
    assert (await world.come_back(world.provider.authorize(address), cookie))[0] == "/?login=failed"
    assert {"the state is used or too old", "another browser began this login"} == set(world.reasons)


async def test_a_login_that_one_server_began_another_of_the_same_store_ends(world: World) -> None:
    beside, stranger = Guarded(), Guarded()
    assert world.small.oidc is not None
    client, back = world.small.oidc._client, world.small.oidc._back
    beside.oidc = Provider(client, back, lambda: world.small.session_secret)
    stranger.oidc = Provider(client, back, lambda: b"of another store")
    for small, place in ((stranger, "/?login=failed"), (beside, "/")):
        async with serving(small) as browser:
            address, cookie = await world.sent_there()
            arrived = World(world.provider, small, browser)
            answer = world.provider.authorize(address)
            assert (await arrived.come_back(answer, cookie))[0] == place
            if small is beside:  # the code was good once, whichever server is asked
                assert (await world.come_back(answer, cookie))[0] == "/?login=failed"
    assert stranger.noted[0][0].more["why"] == "another browser began this login"


async def test_a_refusal_or_another_providers_answer_opens_nothing(world: World) -> None:
    for wrong in ({"error": "access_denied"}, {"iss": "https://evil.example"}):
        address, cookie = await world.sent_there()
        answer = world.provider.authorize(address) | wrong
        assert await world.come_back(answer, cookie) == ("/?login=failed", "")
    assert world.reasons == ["the provider refused: access_denied", "another provider answered"]


async def test_whom_no_rule_fits_is_told_so(world: World) -> None:
    world.provider.person = {"sub": "eve", "groups": ["others"], "email": "boss@example.org", "email_verified": False}
    assert await world.log_in() == ("/?login=unknown", "")


async def test_a_provider_that_says_it_is_another_is_not_asked(world: World) -> None:
    world.provider.metadata = {"issuer": "https://evil.example"}
    async with world.browser.get("/api/oidc/login", allow_redirects=False) as response:
        assert response.headers["location"] == "/?login=failed"


async def test_where_nobody_vouches_there_is_nothing() -> None:
    async with serving(Guarded()) as browser:
        for path in ("/api/oidc/login", "/api/oidc/callback?code=x&state=y"):
            async with browser.get(path, allow_redirects=False) as response:
                assert response.status == 404


# -- rules and settings ------------------------------------------------------------------------------------------------


def test_the_first_rule_that_fits_counts() -> None:
    rules = tuple(map(read_rule, ("realm_access.roles=boss:admin:*", "email=ann@example.org:write:one", "urn:x=a:b:read:two", "*:capture:three+four")))
    assert identity_of({"sub": "a", "realm_access": {"roles": ["boss"]}}, rules) == Identity("oidc:a", frozenset(["admin"]))
    verified = {"sub": "a", "email": "ann@example.org", "email_verified": True}
    assert identity_of(verified, rules) == Identity("oidc:ann@example.org", frozenset(["write"]), frozenset(["one"]))
    assert identity_of({"sub": "a", "urn:x": "a:b"}, rules) == Identity("oidc:a", frozenset(["read"]), frozenset(["two"]))
    unverified = verified | {"email_verified": "true"}
    assert identity_of(unverified, rules) == Identity("oidc:a", frozenset(["capture"]), frozenset(["three", "four"]))
    assert identity_of(unverified, rules[:3]) is None


@pytest.mark.parametrize("text", ["", "groups=a", "groups=a:read", "groups:read:x", "=a:read:x", "groups=a:root:x", "groups=a::x", "groups=a:read:", ":read:x"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        read_rule(text)


def test_settings_say_all_that_is_needed_or_are_refused() -> None:
    given: dict[str, str | None] = {"oidc_issuer": "https://login.example/", "oidc_client_id": "ramify", "oidc_map": "groups=a:read:x,*:read:y"}
    settings = load(given, {"HOME": "/nowhere"})
    check_provider(settings)
    assert settings.oidc_map == (Rule("groups", "a", ("read",), ("x",)), Rule("", "", ("read",), ("y",)))
    for name, value in (("oidc_map", None), ("oidc_client_id", None), ("oidc_issuer", "http://login.example")):
        with pytest.raises(UserMistake):
            check_provider(load(given | {name: value}, {"HOME": "/nowhere"}))
    with pytest.raises(UserMistake, match="oidc_map must"):
        load(given | {"oidc_map": "groups=a:everything:x"}, {"HOME": "/nowhere"})


# -- a real provider ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    port = free_port()
    claims = '{"sub": "ann", "email": "ann@example.org", "email_verified": true, "groups": ["agents"]}'
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true", "--user-claims", claims]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield answering(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(10)


def answering(url: str) -> str:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/.well-known/openid-configuration", timeout=5):
                return url
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the provider does not answer")


async def test_a_real_provider_lets_people_in(real: str) -> None:
    small = Guarded()
    async with serving(small) as browser, aiohttp.ClientSession() as elsewhere:
        back = f"http://127.0.0.1:{browser.port}/api/oidc/callback"
        small.oidc = Provider(Client(real, CLIENT, SECRET, "openid email", RULES), lambda: back, lambda: small.session_secret)
        async with browser.get("/api/oidc/login", allow_redirects=False) as response:
            address, held = response.headers["location"], response.cookies["ramify_oidc"].value
        async with elsewhere.get(address) as response:
            assert re.search("ann", await response.text())
        async with elsewhere.post(address, data={"sub": "ann"}, allow_redirects=False) as response:
            returned = response.headers["location"]
        assert returned.startswith(back)
        browser.session.cookie_jar.clear()
        answer = dict(parse_qsl(urlsplit(returned).query))
        async with browser.get(query(answer), headers={"cookie": f"ramify_oidc={held}"}, allow_redirects=False) as response:
            assert response.headers["location"] == "/", small.noted
            login = response.cookies["ramify_login"].value
        async with browser.get("/api/me", headers={"cookie": f"ramify_login={login}"}) as response:
            assert await response.json() == ANN
