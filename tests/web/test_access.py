"""Who may ask what: tokens, scopes and projects, tried on every route of a server."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator

import pytest

from ramify.access import Access
from ramify.model.identity import LOCAL, SCOPES, Scope
from ramify.model.observation import Record
from ramify.settings import Settings
from ramify.storage.base import StoreDown
from ramify.tokens import Tokens, Wanted, new_secret
from ramify.web.app import ROUTES
from ramify.web.route import Route
from tests.web.served import Client, Small, serving

IN_PATH = re.compile(r"\{\w+\}")
GRANTED: dict[Scope, set[str]] = {
    "capture": {"capture"},
    "read": {"read"},
    "write": {"write", "read"},
    "admin": {"capture", "read", "write", "admin"},
}


class Guarded(Small):
    def __init__(self, **settings: object) -> None:
        super().__init__()
        given = {"store": "memory:", "require_token": True} | settings
        self.access = Access(self.questions.store, Settings(**given), self.clock)  # type: ignore[arg-type]
        self.made = Tokens(self.questions.store, self.clock)

    def token(self, name: str, *scopes: str, projects: list[str] | None = None) -> str:
        secret = self.made.create(Wanted(name, scopes, projects), LOCAL)[1]
        self.access.read()
        return secret


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


@pytest.fixture
async def guarded() -> AsyncIterator[tuple[Guarded, Client]]:
    small = Guarded()
    async with serving(small) as client:
        yield small, client


async def refused(client: Client, route: Route, headers: dict[str, str]) -> int:
    """0: let through. The body does not matter: feeds never end."""
    path = IN_PATH.sub("x", route.path)
    json: dict[str, str] | None = {} if route.takes else None
    async with client.request(route.method, path, headers=headers, json=json) as response:
        if response.status == 403:
            assert (await response.json())["error"]["code"] == "missing_scope"
        return response.status if response.status in (401, 403) else 0


@pytest.mark.parametrize("scope", SCOPES)
async def test_every_route_wants_its_scope(guarded: tuple[Guarded, Client], scope: Scope) -> None:
    small, client = guarded
    secret = small.token("somebody", scope)
    for route in ROUTES:
        allowed = route.scope in ("open", "any") or route.scope in GRANTED[scope]
        assert await refused(client, route, bearer(secret)) == (0 if allowed else 403), route.path


async def test_without_a_token_nothing_is_answered_but_that_the_process_lives(guarded: tuple[Guarded, Client]) -> None:
    _, client = guarded
    for route in ROUTES:
        for headers in ({}, bearer(new_secret()), {"authorization": "Basic x"}, {"x-ramify-token": new_secret()}):
            if route.path != "/api/login":  # says 401 itself to who has no token
                assert await refused(client, route, headers) == (0 if route.scope == "open" else 401), route.path
    async with client.get("/api/no/such/thing") as response:
        assert response.status == 401


def test_what_needs_nothing_tells_nothing() -> None:
    assert {route.path for route in ROUTES if route.scope == "open"} == {"/api/alive", "/api/ready", "/api/login", "/api/logout", "/api/oidc/login", "/api/oidc/callback"}
    assert {route.path for route in ROUTES if route.scope == "any"} == {"/api/me"}
    assert {route.path for route in ROUTES if route.scope == "admin"} == {
        "/api/conversations/{id}", "/api/tokens", "/api/tokens/{name}", "/api/tokens/{name}/rotate", "/api/audit",
    }
    acts = {(route.method, route.path) for route in ROUTES if route.method != "GET" and route.scope == "read"}
    assert acts == {("POST", "/api/sql")}


async def test_the_description_says_which_scope_is_needed(guarded: tuple[Guarded, Client]) -> None:
    small, client = guarded
    async with client.get("/api/openapi.json", headers=bearer(small.token("a", "read"))) as response:
        paths = (await response.json())["paths"]
    for route in ROUTES:
        scopes = [] if route.scope == "any" else [route.scope]
        needed = [{}] if route.scope == "open" else [{}, {"token": scopes}]
        assert paths[route.path][route.method.lower()]["security"] == needed


async def test_a_refusal_says_which_scope_is_missing(guarded: tuple[Guarded, Client]) -> None:
    small, client = guarded
    async with client.delete("/api/conversations/x", headers=bearer(small.token("ci", "read", "capture"))) as response:
        error = (await response.json())["error"]
    assert error["message"] == 'This needs the scope "admin"; "ci" has capture, read'


# -- time --------------------------------------------------------------------------------------------------------------


async def health(client: Client, secret: str) -> int:
    async with client.get("/api/health", headers=bearer(secret)) as response:
        return response.status


async def test_another_process_revokes_and_a_second_later_it_counts(guarded: tuple[Guarded, Client]) -> None:
    small, client = guarded
    secret = small.token("a", "read")
    assert await health(client, secret) == 200
    small.made.revoke("a", LOCAL)
    await asyncio.sleep(1.1)
    assert await health(client, secret) == 401


async def test_what_is_changed_through_a_server_counts_there_at_once(guarded: tuple[Guarded, Client]) -> None:
    small, client = guarded
    boss = bearer(small.token("boss", "admin"))
    for number in range(5):  # whatever the moment at which the list was read last
        async with client.post("/api/tokens", json={"name": f"ci{number}", "scopes": ["read"]}, headers=boss) as response:
            first = (await response.json())["secret"]
        assert await health(client, first) == 200
        async with client.post(f"/api/tokens/ci{number}/rotate", json={"grace": 0}, headers=boss) as response:
            second = (await response.json())["secret"]
        assert (await health(client, first), await health(client, second)) == (401, 200)
        async with client.delete(f"/api/tokens/ci{number}", headers=boss) as response:
            assert response.status == 200
        assert await health(client, second) == 401


async def test_a_list_that_was_asked_for_earlier_does_not_replace_a_later_one(guarded: tuple[Guarded, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    small, client = guarded
    facts, asked, go_on = small.questions.store.facts, threading.Event(), threading.Event()

    def slow(prefix: str) -> dict[str, str | bytes | int]:
        found = facts(prefix)
        asked.set()
        go_on.wait(10)
        return found

    monkeypatch.setattr(small.questions.store, "facts", slow)
    earlier = asyncio.create_task(asyncio.to_thread(small.access.read))
    await asyncio.to_thread(asked.wait, 10)
    monkeypatch.setattr(small.questions.store, "facts", facts)
    secret = small.token("a", "read")
    go_on.set()
    await earlier
    assert await health(client, secret) == 200


async def test_the_store_is_not_asked_for_each_request(guarded: tuple[Guarded, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    small, client = guarded
    secret, store, asked = small.token("a", "read"), small.questions.store, list[str]()
    facts = store.facts

    def counted(prefix: str) -> dict[str, str | bytes | int]:
        asked.append(prefix)
        return facts(prefix)

    monkeypatch.setattr(store, "facts", counted)
    await asyncio.gather(*(health(client, each) for each in [secret, new_secret()] * 50))
    assert len(asked) <= 2


async def test_while_the_store_is_away_those_known_last_count_on(guarded: tuple[Guarded, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    small, client = guarded
    secret = small.token("a", "read")

    def away(prefix: str) -> dict[str, str | bytes | int]:
        raise StoreDown("gone")

    monkeypatch.setattr(small.questions.store, "facts", away)
    monkeypatch.setattr("ramify.access.FRESH_SECONDS", 0.0)
    assert await health(client, secret) == 200
    assert await health(client, new_secret()) == 401


# -- where nobody has to say who they are ------------------------------------------------------------------------------


async def test_an_open_server_knows_who_says_who_they_are() -> None:
    small = Guarded(require_token=False)
    async with serving(small) as client:
        reader = bearer(small.token("a", "read"))
        async with client.get("/api/health") as response:
            assert response.status == 200
        async with client.get("/api/health", headers=reader) as response:
            assert response.status == 200
        async with client.post("/api/links", json={"child": "a", "parent": "b"}, headers=reader) as response:
            assert response.status == 403
        async with client.get("/api/health", headers=bearer(new_secret())) as response:
            assert response.status == 401
        async with client.get("/api/health", headers=bearer("what another server wanted")) as response:
            assert response.status == 200


# -- captured traffic --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/messages", "/openai/v1/responses", "/anthropic/v1/messages", "/a2a/planner/"])
async def test_captured_traffic_needs_a_token_for_it(guarded: tuple[Guarded, Client], path: str) -> None:
    small, client = guarded
    capture, read = small.token("c", "capture"), small.token("r", "read")
    for given, status in ((capture, 200), (read, 403), (new_secret(), 401), ("", 401)):
        headers = {"x-ramify-token": given, "authorization": "Bearer of-the-upstream"}
        async with client.post(path, headers=headers, json={}) as response:
            assert response.status == status


async def test_a_client_of_this_machine_does_not_suffer_from_a_token_that_opens_nothing() -> None:
    small = Guarded(require_token=False, token="a-token-for-tests")
    async with serving(small) as client:
        for given in (new_secret(), "wrong"):
            async with client.post("/v1/messages", headers={"x-ramify-token": given}, json={}) as response:
                assert response.status == 200


async def hooked(small: Guarded, client: Client, secret: str, project: str = "") -> str | int:
    headers = bearer(secret) | ({"x-ramify-project": project} if project else {})
    async with client.post("/api/hooks/claude", json={}, headers=headers) as response:
        if response.status != 200:
            assert (await response.json())["error"]["code"] == "foreign_project"
            return response.status
    seen = small.observed[-1]
    assert isinstance(seen, Record)
    return seen.project


async def test_what_is_captured_belongs_to_the_tokens_project(guarded: tuple[Guarded, Client]) -> None:
    small, client = guarded
    one = small.token("one", "capture", projects=["billing"])
    assert await hooked(small, client, one) == "billing"
    assert await hooked(small, client, one, "billing") == "billing"
    assert await hooked(small, client, one, "search") == 403
    two = small.token("two", "capture", projects=["billing", "search"])
    assert await hooked(small, client, two, "search") == "search"
    assert await hooked(small, client, two, "default") == 403
    assert await hooked(small, client, two) == 403
    own = small.token("own", "capture", projects=["billing", "default"])
    assert await hooked(small, client, own) == "default"
    every = small.token("all", "capture")
    assert await hooked(small, client, every) == "default"
    assert await hooked(small, client, every, "anything") == "anything"
