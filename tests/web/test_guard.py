import socket

import pytest

from ramify.access import Access
from ramify.settings import Settings
from ramify.web.names import host_name, is_local
from tests.web.served import Small, serving

TOKEN = "a-token-for-tests"


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8377", "127.0.0.1:8377", "[::1]:8377", "LOCALHOST", "x.localhost:1"]
)
async def test_names_of_this_machine_are_accepted(host: str) -> None:
    assert is_local(host_name(host))
    async with serving(Small()) as client, client.get("/api/health", headers={"host": host}) as response:
        assert response.status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8377", "127.0.0.1.evil.example", "192.168.1.7:8377", "[::2]:1", "["],
)
async def test_a_foreign_name_is_refused_without_a_token(host: str) -> None:
    for path in ("/api/health", "/api/nothing", "/"):
        async with serving(Small()) as client, client.get(path, headers={"host": host}) as response:
            assert response.status == 403
            assert (await response.json())["error"]["code"] == "foreign_host"


def test_an_old_address_inside_a_new_one_counts_as_itself() -> None:
    assert is_local("::ffff:127.0.0.1")
    assert not is_local("::ffff:10.0.0.1")


async def test_with_a_token_any_name_is_fine_and_the_token_is_needed() -> None:
    async with serving(Small(TOKEN)) as client:
        for given in ("", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer", "Bearer é"):
            async with client.get(
                "/api/health", headers={"authorization": given} if given else {}
            ) as response:
                assert response.status == 401
                assert response.headers["www-authenticate"] == "Bearer"
                assert "Authorization: Bearer" in (await response.json())["error"]["hint"]
        headers = {"authorization": f"Bearer {TOKEN}", "host": "ramify.example"}
        for path in ("/api/health", "/api/openapi.json"):
            async with client.get(path, headers=headers) as response:
                assert response.status == 200


async def test_a_token_in_the_address_counts_for_nothing() -> None:
    async with serving(Small(TOKEN)) as client, client.get(f"/api/health?token={TOKEN}") as response:
        assert response.status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
    ],
)
async def test_a_foreign_page_may_not_act(headers: dict[str, str]) -> None:
    small = Small()
    async with serving(small) as client:
        async with client.post("/api/links", json={"child": "a", "parent": "b"}, headers=headers) as response:
            assert response.status == 403
        async with client.delete("/api/links/a", headers=headers) as response:
            assert response.status == 403
    assert small.acts == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:3000", "sec-fetch-site": "cross-site"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example"}, 403),
    ],
)
async def test_agents_are_kept_from_foreign_pages_and_names(headers: dict[str, str], status: int) -> None:
    async with serving(Small()) as client, client.post("/a2a/planner/", json={}, headers=headers) as response:
        assert response.status == status


async def test_our_own_page_may_act() -> None:
    async with serving(Small()) as client:
        origin = f"http://{client.host}:{client.port}"
        body = {"child": "a", "parent": "b"}
        async with client.post("/api/links", json=body, headers={"origin": origin}) as response:
            assert response.status == 200


async def test_traffic_of_this_machine_is_watched_without_a_token() -> None:
    async with serving(Small(TOKEN)) as client:
        headers = {"authorization": "Bearer of-the-upstream", "host": "host.docker.internal"}
        async with client.post("/v1/messages", headers=headers) as response:
            assert response.status == 200


WATCHED = ["/v1/messages", "/v1/traces", "/anthropic/v1/messages", "/openai/v1/chat/completions", "/api/hello", "/a2a/planner/"]
PAGE = {"content-type": "text/plain"}


@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "guarded"])
@pytest.mark.parametrize("path", WATCHED)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "http://evil.example"},
        {"origin": "http://localhost.evil.example"},
        {"origin": "http://evil.example@localhost.example"},
        {"origin": "http://192.168.1.7:3000"},
        {"origin": "null"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
    ],
)
async def test_a_foreign_page_sends_nothing_through_what_is_watched(headers: dict[str, str], path: str, token: str | None) -> None:
    small = Small(token)
    async with serving(small) as client:
        for method in ("POST", "GET") if path != "/v1/traces" else ("POST",):
            async with client.request(method, path, data="{}" if method == "POST" else None, headers=PAGE | headers) as response:
                assert response.status == 403
                error = (await response.json())["error"]
                assert (error["code"], "x-ramify-token" in error["hint"] or path.startswith("/a2a")) == ("foreign_origin", True)
    assert small.observed == []


@pytest.mark.parametrize("path", ["/v1/messages", "/openai/v1/chat/completions", "/api/hello"])
async def test_a_page_that_points_its_own_name_at_us_sends_nothing_either(path: str) -> None:
    headers = {"host": "evil.example:8377", "origin": "http://evil.example:8377", "sec-fetch-site": "same-origin"}
    async with serving(Small()) as client, client.post(path, data="{}", headers=PAGE | headers) as response:
        assert response.status == 403


@pytest.mark.parametrize("path", ["/v1/messages", "/anthropic/v1/messages", "/openai/v1/chat/completions", "/api/hello", "/a2a/planner/"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://localhost:3000"},
        {"origin": "http://localhost:3000", "sec-fetch-site": "cross-site"},  # to 127.0.0.1, as a browser sees it
        {"origin": "http://127.0.0.1:5173", "sec-fetch-site": "same-site"},
        {"origin": "http://[::1]:5173"},
        {"origin": "tauri://localhost"},
        {"sec-fetch-mode": "cors"},  # as Node sends it
    ],
)
async def test_programs_and_pages_of_this_machine_are_watched(headers: dict[str, str], path: str) -> None:
    async with serving(Small()) as client, client.post(path, data="{}", headers=headers) as response:
        assert response.status == 200


async def test_a_page_with_a_token_is_somebody() -> None:
    headers = {"origin": "https://app.example", "sec-fetch-site": "cross-site", "x-ramify-token": TOKEN}
    async with serving(Small(TOKEN)) as client:
        async with client.post("/v1/messages", data="{}", headers=headers) as response:
            assert response.status == 200
        async with client.post("/v1/messages", data="{}", headers=headers | {"x-ramify-token": "wrong"}) as response:
            assert response.status == 403


async def test_a_container_is_watched_under_any_name() -> None:
    async with serving(Small()) as client, client.post("/v1/messages", data="{}", headers={"host": "ramify:8377"}) as response:
        assert response.status == 200


READ = ["/v1/models", "/anthropic/v1/models", "/openai/v1/models", "/api/hello", "/a2a/planner/.well-known/agent-card.json"]


@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "guarded"])
@pytest.mark.parametrize("path", READ)
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8377", "127.0.0.1.evil.example", "EVIL.example.", "internal.evil.example", "a b.c"])
async def test_a_page_that_points_its_own_name_at_us_gets_nothing(host: str, path: str, token: str | None) -> None:
    async with serving(Small(token)) as client:
        for method in ("GET", "HEAD", "OPTIONS"):
            async with client.request(method, path, headers={"host": host}) as response:
                assert response.status == 403
                if method == "GET":
                    assert (await response.json())["error"]["code"] == "foreign_host"


@pytest.mark.parametrize("path", READ[:4])
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8377", "[::1]:8377", "localhost", "x.localhost:1", "192.168.1.7:8377", "10.0.2.2", "[fe80::1]:8377",
        "ramify:8377", "host.docker.internal:8377", "host.containers.internal", "HOST.Docker.Internal.", socket.gethostname(),
    ],
)  # fmt: skip
async def test_a_program_gets_what_it_asks_for_under_every_name_that_no_stranger_has(host: str, path: str) -> None:
    async with serving(Small()) as client, client.get(path, headers={"host": host}) as response:
        assert response.status == 200


async def test_the_public_name_and_a_token_open_what_is_got() -> None:
    small = Small(TOKEN)
    small.access = Access(small.questions.store, Settings(store="memory:", token=TOKEN, public_url="https://Ramify.Example"), small.clock)
    async with serving(small) as client:
        for headers in ({"host": "ramify.example"}, {"host": "other.example", "x-ramify-token": TOKEN}):
            async with client.get("/v1/models", headers=headers) as response:
                assert response.status == 200
        async with client.get("/v1/models", headers={"host": "other.example", "x-ramify-token": "wrong"}) as response:
            assert response.status == 403
