"""Logging in to the page: a cookie that no script reads and no other page can use, and that ends when it should."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ramify.access import Access
from ramify.logins import IDLE, LONGEST, read_logins
from ramify.model.identity import LOCAL, Identity
from ramify.settings import Settings
from ramify.tokens import new_secret
from ramify.web.attempts import ADDRESSES, Attempts
from tests.web.served import Client, serving
from tests.web.test_access import Guarded, bearer

OWN = {"sec-fetch-site": "same-origin"}


class Dated(Guarded):
    at = 1_700_000_000_000_000

    def clock(self) -> int:
        return self.at


@pytest.fixture
async def guarded() -> AsyncIterator[tuple[Dated, Client]]:
    small = Dated()
    async with serving(small) as client:
        yield small, client


async def log_in(client: Client, secret: str, **headers: str) -> str:
    """The id in the cookie; the client's own jar forgets it, so that each test says what it sends."""
    async with client.post("/api/login", json={"token": secret}, headers=headers) as response:
        assert response.status == 200, await response.text()
        [cookie] = response.cookies.values()
    client.session.cookie_jar.clear()
    return f"{cookie.key}={cookie.value}"


async def status(client: Client, cookie: str, path: str = "/api/health", **headers: str) -> int:
    async with client.get(path, headers={"cookie": cookie, **OWN, **headers}) as response:
        client.session.cookie_jar.clear()
        return response.status


async def test_a_login_opens_what_its_token_opens(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    cookie = await log_in(client, small.token("ann", "read", projects=["billing"]))
    async with client.get("/api/me", headers={"cookie": cookie, **OWN}) as response:
        assert await response.json() == {"name": "ann", "scopes": ["read"], "projects": ["billing"], "login": True}
    assert await status(client, cookie) == 200
    async with client.delete("/api/links/a", headers={"cookie": cookie, **OWN}) as response:
        assert response.status == 403
    assert [(line.act, line.who) for line, _ in small.noted] == [("login", "ann")]


async def test_the_cookie_is_for_our_page_alone_and_only_its_hash_is_kept(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    secret = small.token("ann", "admin")
    async with client.post("/api/login", json={"token": secret}) as response:
        [told] = response.headers.getall("set-cookie")
        assert secret not in told + await response.text()
    assert "ramify_login=" in told
    for part in ("HttpOnly", "SameSite=Strict", "Path=/api"):
        assert part in told
    assert "Secure" not in told
    assert "Domain" not in told
    value = told.partition("=")[2].partition(";")[0]
    kept = repr(small.questions.store.facts(""))
    assert value not in kept
    assert secret not in kept


@pytest.mark.parametrize("way", ["public_url", "trusted_proxy"])
async def test_under_tls_it_is_for_tls_alone(way: str) -> None:
    given = {"public_url": "https://ramify.example"} if way == "public_url" else {"trusted_proxy": "127.0.0.1"}
    small = Dated(**given)
    async with serving(small) as client:
        headers = {"x-forwarded-proto": "https", "x-forwarded-for": "6.6.6.6, 192.0.2.7"}
        async with client.post("/api/login", json={"token": small.token("ann", "read")}, headers=headers) as response:
            [told] = response.headers.getall("set-cookie")
        assert told.startswith("__Secure-ramify_login=")
        assert "Secure" in told
        assert small.noted[0][0].address == ("192.0.2.7" if way == "trusted_proxy" else "127.0.0.1")


async def test_what_anybody_may_write_is_not_believed(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    cookie = await log_in(client, small.token("ann", "read"), **{"x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7"})
    assert cookie.startswith("ramify_login=")
    assert small.noted[0][0].address == "127.0.0.1"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_other_pages_cannot_use_a_login_not_even_to_read(guarded: tuple[Dated, Client], site: str) -> None:
    small, client = guarded
    secret = small.token("ann", "admin")
    cookie = await log_in(client, secret)
    assert await status(client, cookie, **{"sec-fetch-site": site}) == 403
    assert await status(client, cookie, **{"sec-fetch-site": "none"}) == 200
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": site}, {"origin": "null"}):
        async with client.delete("/api/links/a", headers={"cookie": cookie, **headers}) as response:
            assert response.status == 403
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        async with client.post("/api/login", json={"token": secret}, headers=headers) as response:
            assert response.status == 403
    async with client.post("/api/login", data={"token": secret}) as response:
        assert response.status == 400  # a form of a foreign page could send that
    assert small.acts == []


async def test_every_login_has_an_id_of_its_own_and_ends_the_one_before(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    secret = small.token("ann", "read")
    planted = "ramify_login=" + "A" * 43
    first = await log_in(client, secret, cookie=planted)
    assert first != planted
    assert await status(client, planted) == 401
    second = await log_in(client, secret, cookie=first)
    assert second != first
    assert await status(client, first) == 401
    assert await status(client, second) == 200


async def test_logging_out_ends_it_here_and_on_every_server(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    cookie = await log_in(client, small.token("ann", "read"))
    other = Access(small.questions.store, Settings(store="memory:", require_token=True), small.clock)
    id = cookie.partition("=")[2]
    assert await other.logged_in(id) == Identity("ann", frozenset(["read"]))
    async with client.post("/api/logout", headers={"cookie": cookie}) as response:
        assert await response.json() == {"out": True}
        assert 'ramify_login=""' in response.headers["set-cookie"]
    assert await status(client, cookie) == 401
    other.read()
    assert await other.logged_in(id) is None
    assert [line.act for line, _ in small.noted] == ["login", "logout", "refused"]


async def test_it_ends_with_its_token(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    revoked, rotated = small.token("ann", "read"), small.token("bob", "read")
    ann, bob = await log_in(client, revoked), await log_in(client, rotated)
    small.made.revoke("ann", LOCAL)
    small.made.rotate("bob", 60, LOCAL)
    small.access.read()
    assert await status(client, ann) == 401
    assert await status(client, bob) == 200
    small.at += 60_000_000
    assert await status(client, bob) == 401


async def test_it_ends_when_nobody_asks_and_in_any_case_after_a_week(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    secret = small.token("ann", "read")
    idle, busy = await log_in(client, secret), await log_in(client, secret)
    began = small.at
    while small.at - began < LONGEST - IDLE:
        small.at += IDLE - 1
        small.access.read()  # what another server wrote down counts as well
        assert await status(client, busy) == 200
        if small.at - began > IDLE:  # before, the question itself would prolong it
            assert await status(client, idle) == 401
    small.at = began + LONGEST
    assert await status(client, busy) == 401


async def test_too_many_attempts_are_refused_and_noted(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    secret = small.token("ann", "read")
    for _ in range(10):
        async with client.post("/api/login", json={"token": new_secret()}) as response:
            assert response.status == 401
    async with client.post("/api/login", json={"token": secret}) as response:
        assert response.status == 429
    assert [line.act for line, _ in small.noted] == ["login-failed"] * 10
    small.at += 60_000_000
    assert await log_in(client, secret)


def test_however_many_try_memory_stays_bounded() -> None:
    attempts = Attempts(lambda: 1)
    for number in range(ADDRESSES + 500):
        attempts.failed(str(number))
    assert attempts.count("0") == 0
    assert attempts.count(str(ADDRESSES + 499)) == 1
    assert len(attempts._failed) == ADDRESSES


async def test_logins_do_not_fill_the_store(guarded: tuple[Dated, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    small, client = guarded
    monkeypatch.setattr("ramify.logins.MOST", 5)
    secret = small.token("ann", "read")
    cookies = []
    for _ in range(8):
        small.at += 1
        cookies.append(await log_in(client, secret))
    assert len(read_logins(small.questions.store)) == 5
    small.access.read()
    assert [await status(client, cookie) for cookie in cookies] == [401] * 3 + [200] * 5


async def test_a_refused_token_is_noted_once_a_minute_and_never_told(guarded: tuple[Dated, Client]) -> None:
    small, client = guarded
    wrong = new_secret()
    for _ in range(5):
        async with client.get(f"/api/tasks?token={wrong}", headers=bearer(wrong)) as response:
            assert response.status == 401
    [(line, _)] = small.noted
    assert (line.act, line.who, line.what, line.more) == ("refused", "nobody", "/api/tasks", {})


async def test_an_open_feed_ends_when_its_reader_may_no_longer_read(guarded: tuple[Dated, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.web.live.LOOK_SECONDS", 0.05)
    small, client = guarded
    cookie = await log_in(client, small.token("ann", "read"))
    token = small.token("bob", "read")
    for path, headers in (("/api/live", {"cookie": cookie, **OWN}), ("/api/events/stream", bearer(token))):
        async with client.get(path, headers=headers) as response:
            assert response.status == 200
            await response.content.readany()
            await asyncio.sleep(0.2)
            assert not response.content.at_eof()
            small.made.revoke("ann" if "cookie" in headers else "bob", LOCAL)
            small.access.read()
            with pytest.raises(Exception):  # noqa: B017, PT011  # cut off, however the client calls that
                await asyncio.wait_for(drained(response.content), 5)


async def drained(content: object) -> None:
    async for _ in content:  # type: ignore[attr-defined]
        pass
    raise ConnectionError("it ended")


async def test_strangers_are_told_how_to_log_in_and_nothing_else(guarded: tuple[Dated, Client]) -> None:
    _, client = guarded
    async with client.get("/api/login") as response:
        assert await response.json() == {"needed": True, "token": True, "oidc": None}
    async with client.get("/api/me") as response:
        assert response.status == 401


async def test_where_nobody_has_to_log_in_everybody_is_this_machines_user() -> None:
    small = Dated(require_token=False)
    async with serving(small) as client:
        async with client.get("/api/me") as response:
            assert (await response.json())["name"] == "local"
        async with client.get("/api/login") as response:
            assert (await response.json())["needed"] is False
