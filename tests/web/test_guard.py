import pytest

from ramify.web.guard import host_name, is_local
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
